"""From settings to the objects that run them."""

from __future__ import annotations

from .algorithms import Parts, iterations, method
from .devices import ONE, Devices, use
from .envs.base import Room
from .envs.registry import environment
from .errors import require
from .hosts.environment import HostEnvironment
from .rl.distributions import distribution
from .rl.networks import CORES, ActorCritic
from .rl.ppo import Student
from .settings import Settings
from .trainer import Trainer


def build_room(settings: Settings) -> Room:
    """The environment that some settings describe."""
    return environment(settings.environment).build(settings.env)


def build_student(settings: Settings, room: Room, devices: Devices = ONE) -> Student:
    """A student with the right eyes and hands for an environment."""
    network = settings.network
    actions = distribution(room.env.action_space, network.policy)
    return Student(
        ActorCritic(
            encoder=room.encoder(network),
            core=CORES[network.core](network.width),
            outputs=actions.outputs,
            head=network.head,
            layers=network.layers,
            activation=network.activation,
            constants=actions.constants,
        ),
        actions,
        settings.ppo,
        devices,
    )


def build(settings: Settings) -> Trainer:
    """Everything that a run needs, from its settings. Compiles nothing yet."""
    chosen, train = method(settings.method), settings.train
    room = build_room(settings)
    require(
        train.devices == 1 or not isinstance(room.env, HostEnvironment),
        f"train.devices is {train.devices}, and this environment is played outside of JAX, which one device does; "
        "give 1.",
    )
    devices = use(train.devices)
    parts = Parts(room, train.levels, settings.ppo, train.training_set, devices)
    return Trainer(
        env=room.env,
        space=room.space,
        student=build_student(settings, room, devices),
        curriculum=chosen.build(settings.curriculum, parts),
        students=chosen.students(settings.curriculum),
        levels=train.levels,
        rollout=train.rollout,
        iterations=iterations(settings),
        success=room.success,
        optimum=room.optimum,
    )
