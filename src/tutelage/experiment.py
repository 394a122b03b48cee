"""From settings to the objects that run them."""

from __future__ import annotations

import math

from .algorithms import Parts, method
from .envs.base import Room
from .envs.registry import environment
from .rl.distributions import Categorical
from .rl.networks import CORES, ActorCritic
from .rl.ppo import Student
from .settings import Settings
from .trainer import Trainer


def build_room(settings: Settings) -> Room:
    """The environment that some settings describe."""
    return environment(settings.environment).build(settings.env)


def build_student(settings: Settings, room: Room) -> Student:
    """A student with the right eyes and hands for an environment."""
    actions = Categorical(room.env.action_space.n)
    network = settings.network
    core = CORES[network.core](network.width)
    return Student(ActorCritic(room.encoder(network), core, actions.parameters, network.head), actions, settings.ppo)


def build(settings: Settings) -> Trainer:
    """Everything that a run needs, from its settings. Compiles nothing yet."""
    chosen, train = method(settings.method), settings.train
    room = build_room(settings)
    students = chosen.students(settings.curriculum)
    per_iteration = students * train.levels * train.rollout
    return Trainer(
        env=room.env,
        space=room.space,
        student=build_student(settings, room),
        curriculum=chosen.build(settings.curriculum, Parts(room, train.levels, settings.ppo, train.training_set)),
        students=students,
        levels=train.levels,
        rollout=train.rollout,
        iterations=math.ceil(train.steps / per_iteration),
        success=room.success,
    )
