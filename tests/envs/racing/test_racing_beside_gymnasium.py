"""The car, the road and the picture are Gymnasium's, within what rounding allows."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.envs.racing import vanilla
from tutelage.envs.racing.car import Control, drive, origin, parked
from tutelage.envs.racing.env import Racing
from tutelage.envs.racing.track import touching
from tutelage.envs.racing.view import View

from .beside_gymnasium import Beside, poses

SECONDS = 3
STEPS = 50 * SECONDS


def scenarios() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    held = np.repeat(rng.uniform(size=(STEPS // 8 + 1, 3)), 8, axis=0)[:STEPS] * [2, 1, 0.3] - [1, 0, 0]
    waves = np.cumsum(0.15 * rng.normal(size=(STEPS, 3)), axis=0)
    smooth = np.stack([np.sin(waves[:, 0]), (1 + np.sin(waves[:, 1])) / 2, np.sin(waves[:, 2]).clip(0) / 2], axis=1)
    circle = np.tile([0.7, 1.0, 0.0], (STEPS, 1))
    slide = np.tile([0.2, 0.7, 0.0], (STEPS, 1))
    slide[75:] = [-1.0, 0.0, 1.0]
    return {"held": held, "smooth": smooth, "circle": circle, "slide": slide}


def grounds() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    spells = np.repeat(rng.uniform(size=(STEPS // 10, 4)), 10, axis=0)
    return {
        "road": np.ones((STEPS, 4)),
        "grass": np.full((STEPS, 4), 0.6),
        "both": np.where(spells < 0.5, 0.6, 1.0),
        "ice": np.where(spells[:, :1] < 0.4, 0.0, np.ones((STEPS, 4))),
    }


@jax.jit
def driven(actions: Any, ground: Any) -> Any:
    """The same from our car."""

    def step(car: Any, now: Any) -> Any:
        action, following = now
        car = drive(car, Control(*action), following)
        return car, jnp.concatenate([origin(car), car.angle[None], car.steer[None]])

    after = jnp.concatenate([ground[1:], ground[-1:]])
    return jax.lax.scan(step, parked(jnp.zeros(2), jnp.float32(0), ground[0]), (actions, after))[1]


@pytest.mark.parametrize("ground", grounds())
def test_the_car_moves_as_in_box2d(ground):
    under = grounds()[ground]
    for name, actions in scenarios().items():
        theirs, ours = poses(actions, under), driven(actions.astype(np.float32), under.astype(np.float32))
        assert theirs[:, 4].max() < 99, name  # at Box2D's limit each of its five bodies is held back apart
        assert np.hypot(*theirs[-1, :2]) > 1, name
        away = np.hypot(*(theirs[:, :2] - ours[:, :2]).T)
        assert away[49] < 1e-3, name
        assert away[STEPS - 1] < 0.1, name
        np.testing.assert_allclose(ours[:50, 2:], theirs[:50, 2:4], atol=1e-3, err_msg=name)


ENV = Racing(View())
FINE = Racing(View(samples=2))


@pytest.fixture(scope="module")
def drives() -> list[dict[str, Any]]:
    """A few seconds on each of two tracks, ours and theirs under the same actions of a driver who looks at theirs."""
    prepare, reset, focus, move, settle = map(jax.jit, (ENV.prepare, ENV.reset, ENV.focus, ENV.move, ENV.settle))
    observe, look = jax.jit(ENV.observe), jax.jit(FINE.observe)
    on = jax.jit(lambda level, place, angle: touching(level.tiles.shape.T, place, angle))
    found = []
    for seed in range(2):
        theirs = Beside(seed)
        level = prepare(theirs.course)
        state, _ = reset(jax.random.key(0), level)
        place, angle = theirs.hull
        state = state._replace(car=parked(jnp.float32(place), jnp.float32(angle), state.car.grip))
        rewards, contacts, pictures, off = [], [], [], []
        for t in range(400):
            action = theirs.action()
            if t % 8 == 0:
                moving, near = focus(state, level)
            wheels = theirs.wheels
            paid = theirs.step(action)
            touched = [set(np.flatnonzero(row)) for row in np.asarray(on(level, *wheels))]
            contacts.append(touched == theirs.touched)
            moving, outcome = move(jax.random.key(0), moving, jnp.float32(action * [1, 2, 2] - [0, 1, 1]), near)
            state = settle(state, moving, near)
            rewards.append((paid, float(outcome.reward)))
            if t % 50 == 20:
                pictures.append((theirs.picture(), np.asarray(observe(state, level)), np.asarray(look(state, level))))
            off.append(np.hypot(*(np.asarray(origin(state.car)) - theirs.hull[0])))
        found.append(
            {
                "rewards": np.array(rewards),
                "contacts": np.array(contacts),
                "visited": (theirs.visited, np.asarray(state.visited)[: len(theirs.line)]),
                "pictures": pictures,
                "off": np.array(off),
            }
        )
    return found


def test_wheels_are_on_the_tiles_that_box2d_says(drives):
    assert all(each["contacts"].all() for each in drives)


def test_a_driver_is_paid_the_same_and_visits_the_same_tiles(drives):
    for each in drives:
        theirs, ours = each["rewards"].sum(axis=0)
        assert theirs > 200
        assert ours == pytest.approx(theirs, abs=1e-2)
        np.testing.assert_array_equal(*each["visited"])
        assert each["off"].max() < 0.05


@jax.jit
def paid(course: Any, place: Any, angle: Any, actions: Any) -> Any:
    """What our car is paid at every step of a whole drive from a pose of theirs."""
    level = ENV.prepare(course)
    state, _ = ENV.reset(jax.random.key(0), level)
    state = state._replace(car=parked(place, angle, state.car.grip))

    def decision(state: Any, actions: Any) -> Any:
        moving, near = ENV.focus(state, level)

        def step(moving: Any, action: Any) -> Any:
            moving, outcome = ENV.move(jax.random.key(0), moving, action, near)
            return moving, outcome.reward

        moving, rewards = jax.lax.scan(step, moving, actions)
        return ENV.settle(state, moving, near), rewards

    state, rewards = jax.lax.scan(decision, state, actions.reshape(-1, 8, 3))
    return state.visited, rewards.sum()


def test_returns_of_a_driver_are_the_same_on_ten_tracks():
    for seed in range(10, 20):
        theirs = Beside(seed)
        place, angle = theirs.hull
        actions, rewards = [], []
        for _ in range(480):
            actions.append(theirs.action())
            rewards.append(theirs.step(actions[-1]))
        given = jnp.float32(np.array(actions) * [1, 2, 2] - [0, 1, 1])
        visited, ours = paid(theirs.course, jnp.float32(place), jnp.float32(angle), given)
        assert sum(rewards) > 200, seed
        assert float(ours) == pytest.approx(sum(rewards), abs=2e-2), seed
        np.testing.assert_array_equal(np.asarray(visited)[: len(theirs.line)], theirs.visited, err_msg=str(seed))


def test_pictures_look_the_same(drives):
    theirs, ours, fine = (np.array([trio[k] for each in drives for trio in each["pictures"]], float) for k in range(3))
    assert np.abs(theirs - ours).mean() < 1.5
    assert np.abs(theirs - ours)[:, :84].mean() < 1.0
    assert np.abs(theirs - fine)[:, :84].mean() < np.abs(theirs - ours)[:, :84].mean()


class Dice:
    """Writes down what it draws, as shares."""

    def __init__(self, seed: int, draws: list[float]) -> None:
        self.rng, self.draws = np.random.default_rng(seed), draws

    def uniform(self, low: float, high: float) -> float:
        self.draws.append(self.rng.uniform())
        return low + self.draws[-1] * (high - low)


def test_vanilla_tracks_are_those_of_gymnasium():
    """From the same draws. Ours are rounded to 32 bits."""
    ours = jax.jit(vanilla.track)
    for seed in range(3):
        theirs, draws = Beside(0).env, []
        theirs._np_random = Dice(seed, draws)
        closed = theirs._create_track()
        noise, radius = np.float32(draws).reshape(-1, 2).T
        line, good = ours(noise, radius)
        assert bool(good) == closed
        expected = np.array(theirs.track)
        n = int(line.length)
        assert n == len(expected)
        np.testing.assert_allclose(np.asarray(line.place)[:n], expected[:, 2:], atol=1e-2)
        np.testing.assert_allclose(np.asarray(line.angle)[:n], expected[:, 1], atol=1e-4)
