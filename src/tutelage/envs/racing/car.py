"""The car: Gymnasium's hull, four wheels and joints as one rigid body.

Box2D's solver iterates until the joints hold. What it converges to is written down here: total momentum is conserved,
and hull and wheels move together. Forces come from the wheels, each with its own spin and its own friction.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

DT = 1 / 50
"""Seconds of a step."""

# Of Box2D's bodies: hull and wheels, taken together round their common centre of mass.
MASS = 7.30192
CENTRE = -0.0804592
"""Where the centre of mass is, behind the hull's origin."""
ORBITAL, SPIN = 0.928533, 18.242113
"""Inertia of the wheels going round the centre, and of all that turns by itself."""
WHEEL_SPIN = 0.0074592
WHEELS = np.array([(-1.1, 1.6), (1.1, 1.6), (-1.1, -1.64), (1.1, -1.64)], np.float32)
"""Front left, front right, rear left, rear right, from the hull's origin; x is to the right, y is forward."""
_ARMS = WHEELS - np.array([0.0, CENTRE], np.float32)
WHEEL_HALF = (0.28, 0.54)
RADIUS = 0.54

ENGINE, WHEEL_INERTIA, GRIP, SLIP, BRAKES = 40_000.0, 1.6, 400.0, 82.0, 15.0
FASTEST = 2.0
"""Units in a step: Box2D's limit."""

# The steering joint's limit. Its motor presses against it, and what it has pressed is undone before it lets go.
_LIMIT, _PRESS, _MOST_PRESSED = 0.4, 1.342, 1.296
_SLACK = 0.0349066
"""How far beyond the limit a joint may stand that has reached it."""
_JOINT_PULL = 0.0485
"""How much of a turn's second-order error the solver takes from the hull and gives to the wheels."""


class Car(NamedTuple):
    """What moves. Lengths are units of the field, angles are in radians, counterclockwise; 0 faces up the y axis."""

    centre: Float[Array, "2"]
    """Of mass."""
    velocity: Float[Array, "2"]
    angle: Float[Array, ""]
    previous: Float[Array, ""]
    """The angle one step before: by it the wheels' last velocities were computed."""
    turning: Float[Array, ""]
    """Radians in a second."""
    steer: Float[Array, ""]
    """Angle of the front wheels to the hull."""
    steering: Float[Array, ""]
    """How fast that angle changes."""
    pressed: Float[Array, ""]
    """Impulse of the motor against the joint's limit."""
    gas: Float[Array, ""]
    spin: Float[Array, "4"]
    """Of each wheel."""
    grip: Float[Array, "4"]
    """Friction under each wheel, as the last step found it."""


class Control(NamedTuple):
    """In Gymnasium's ranges."""

    steer: Float[Array, ""]
    """-1 is left, 1 is right."""
    gas: Float[Array, ""]
    brake: Float[Array, ""]


def rotated(angle: Array, vectors: Array) -> Array:
    """``[..., 2]``, turned counterclockwise."""
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    x, y = vectors[..., 0], vectors[..., 1]
    return jnp.stack([cos * x - sin * y, sin * x + cos * y], axis=-1)


def parked(origin: Float[Array, "2"], angle: Float[Array, ""], grip: Float[Array, "4"]) -> Car:
    """A car at rest with its hull at a place."""
    angle = jnp.asarray(angle, jnp.float32)
    zero = jnp.zeros((), jnp.float32)
    centre = jnp.asarray(origin, jnp.float32) + rotated(angle, jnp.array([0.0, CENTRE], jnp.float32))
    return Car(centre, jnp.zeros(2), angle, angle, zero, zero, zero, zero, zero, jnp.zeros(4), grip)


def origin(car: Car) -> Float[Array, "2"]:
    """Where the hull is."""
    return car.centre - rotated(car.angle, jnp.array([0.0, CENTRE], jnp.float32))


def wheels(car: Car) -> tuple[Float[Array, "4 2"], Float[Array, "4"]]:
    """Where the wheels are and the angles at which they stand."""
    return car.centre + rotated(car.angle, jnp.asarray(_ARMS)), _wheel_angles(car)


def _wheel_angles(car: Car) -> Float[Array, "4"]:
    return car.angle + jnp.stack([car.steer, car.steer, jnp.zeros_like(car.steer), jnp.zeros_like(car.steer)])


def drive(car: Car, control: Control, grip: Float[Array, "4"]) -> Car:
    """One step. Forces follow from ``car.grip``; ``grip`` is what is under the wheels now, for the step after."""
    gas = car.gas + jnp.minimum(jnp.clip(control.gas, 0.0, 1.0) - car.gas, 0.1)
    steering, pressed = _steering(car, -control.steer)
    force, torque, spin = _forces(car, gas, control.brake)

    carried = (ORBITAL * jnp.cos(car.angle - car.previous) + SPIN) * car.turning
    counter = 2 * WHEEL_SPIN * (car.steering - steering)
    turning = (carried + counter + torque * DT) / (ORBITAL + SPIN)
    velocity = car.velocity + force * (DT / MASS)
    moved = velocity * DT
    length = jnp.sqrt(jnp.maximum((moved * moved).sum(), 1e-12))
    velocity = velocity * jnp.minimum(1.0, FASTEST / length)
    turned = DT * turning
    pulled = _JOINT_PULL * (turned - jnp.arctan(turned))
    steer = car.steer + DT * steering + pulled
    most = _LIMIT + _SLACK
    held = jnp.where(jnp.abs(car.steer) >= _LIMIT, jnp.clip(steer, -most, most), steer)
    return Car(
        centre=car.centre + DT * velocity,
        velocity=velocity,
        angle=car.angle + turned - pulled + 2 * WHEEL_SPIN / (ORBITAL + SPIN) * (steer - held),
        previous=car.angle,
        turning=turning,
        steer=held,
        steering=steering,
        pressed=pressed,
        gas=gas,
        spin=spin,
        grip=grip,
    )


def _steering(car: Car, target: Array) -> tuple[Array, Array]:
    """Speed of the steering joint, and what its motor presses against the limit."""
    error = target - car.steer
    wanted = jnp.sign(error) * jnp.minimum(50.0 * jnp.abs(error), 3.0)
    at_limit = jnp.abs(car.steer) >= _LIMIT
    pressed = car.pressed + _PRESS * wanted * jnp.sign(car.steer)
    held = at_limit & (pressed >= 0)
    return jnp.where(held, 0.0, wanted), jnp.where(held, jnp.minimum(pressed, _MOST_PRESSED), 0.0)


def _forces(car: Car, gas: Array, brake: Array) -> tuple[Array, Array, Array]:
    """The sum of the wheels' forces, their torque, and how fast the wheels spin afterwards."""
    before, arms = rotated(car.previous, jnp.asarray(_ARMS)), rotated(car.angle, jnp.asarray(_ARMS))
    velocity = car.velocity + car.turning * jnp.stack([-before[:, 1], before[:, 0]], axis=-1)
    angles = _wheel_angles(car)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    ahead = -sin * velocity[:, 0] + cos * velocity[:, 1]
    aside = cos * velocity[:, 0] + sin * velocity[:, 1]

    driven = gas * jnp.array([0.0, 0.0, 1.0, 1.0])
    spin = car.spin + DT * ENGINE / WHEEL_INERTIA * driven / (jnp.abs(car.spin) + 5.0)
    slowed = spin - jnp.sign(spin) * jnp.minimum(BRAKES * jnp.maximum(brake, 0.0), jnp.abs(spin))
    spin = jnp.where(brake >= 0.9, 0.0, slowed)

    along, across = SLIP * (spin * RADIUS - ahead), -SLIP * aside
    size = jnp.sqrt(jnp.maximum(along * along + across * across, 1e-12))
    share = jnp.minimum(1.0, GRIP * car.grip / size)
    along, across = along * share, across * share
    spin = spin - DT * RADIUS / WHEEL_INERTIA * along
    x, y = across * cos - along * sin, across * sin + along * cos
    torque = (arms[:, 0] * y - arms[:, 1] * x).sum()
    return jnp.stack([x.sum(), y.sum()]), torque, spin
