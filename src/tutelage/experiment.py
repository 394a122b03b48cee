"""From settings to the objects that run them."""

from __future__ import annotations

from .algorithms import Parts, iterations, method
from .devices import ONE, Devices, use
from .envs.base import Domain
from .envs.registry import environment
from .errors import require
from .hosts.environment import HostEnvironment
from .rl.distributions import distribution
from .rl.networks import CORES, ActorCritic
from .rl.ppo import Student
from .settings import Settings
from .trainer import Trainer


def build_domain(settings: Settings) -> Domain:
    """The environment that some settings describe."""
    return environment(settings.environment).build(settings.env)


def build_student(settings: Settings, domain: Domain, devices: Devices = ONE) -> Student:
    """A student with the right eyes and hands for an environment."""
    network = settings.network
    actions = distribution(domain.env.action_space, network.policy)
    return Student(
        ActorCritic(
            encoder=domain.encoder(network),
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
    domain = build_domain(settings)
    require(
        train.devices == 1 or not isinstance(domain.env, HostEnvironment),
        f"train.devices is {train.devices}, and this environment is played outside of JAX, which one device does; "
        "give 1.",
    )
    devices = use(train.devices)
    parts = Parts(domain, train.levels, settings.ppo, train.training_set, devices)
    return Trainer(
        env=domain.env,
        space=domain.space,
        student=build_student(settings, domain, devices),
        curriculum=chosen.build(settings.curriculum, parts),
        students=chosen.students(settings.curriculum),
        levels=train.levels,
        rollout=train.rollout,
        iterations=iterations(settings),
        success=domain.success,
        optimum=domain.optimum,
    )
