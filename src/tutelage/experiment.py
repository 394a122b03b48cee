"""From settings to the objects that run them."""

from __future__ import annotations

import jax

from .compose import check_insists, iterations
from .config import check_bounds
from .curricula.base import learned
from .devices import use
from .envs.base import Domain, observation_spec
from .envs.registry import environment
from .envs.wrappers import ground
from .errors import require
from .hosts.environment import HostEnvironment
from .methods.base import Parts
from .methods.registry import find
from .rl.agent import Agent
from .rl.distributions import distribution
from .rl.learner import LossTerm
from .rl.networks import CORES, ActorCritic
from .rl.ppo import ppo_learner
from .rl.regularisers import regularisers
from .settings import Settings
from .trainer import Trainer
from .types import Discrete


def build_domain(settings: Settings) -> Domain:
    """The environment that some settings describe."""
    return environment(settings.environment).build(settings.env)


def build_agent(settings: Settings, domain: Domain) -> Agent:
    """An agent with the right eyes and hands for an environment."""
    network, space = settings.network, domain.env.action_space
    require(
        network.policy == "auto" or not isinstance(space, Discrete),
        f"network.policy is {network.policy}, which draws numbers, and the actions of this environment are one of "
        f"{space.n}; leave it at auto.",
    )
    actions = distribution(space, "gaussian" if network.policy == "auto" else network.policy)
    return Agent(
        ActorCritic(
            encoder=domain.encoder(settings.encoder),
            core=CORES[network.core](network.width),
            outputs=actions.outputs,
            head=network.head,
            layers=network.layers,
            activation=network.activation,
            constants=actions.constants,
        ),
        actions,
        settings.ppo.normalise_returns,
        settings.ppo.normalise_observations,
    )


def _regularisers(settings: Settings, domain: Domain, agent: Agent) -> tuple[LossTerm, ...]:
    """What the students' learning has besides PPO."""
    if settings.regulariser.kind == "none":
        return ()
    seen = observation_spec(domain.env, jax.eval_shape(domain.levels.sample, jax.random.key(0)))
    return regularisers(settings.regulariser, agent.actions, seen)


def build(settings: Settings, domain: Domain | None = None) -> Trainer:
    """Everything that a run needs, from its settings. Compiles nothing yet.

    ``domain`` is the environment of these settings, where somebody has built it already; the trainer's is grounded if
    they say so.
    """
    check_bounds(settings)
    chosen, train = find(settings.method), settings.train
    check_insists(settings)
    domain = ground(domain or build_domain(settings), train.grounding)
    require(
        train.devices == 1 or not isinstance(domain.env, HostEnvironment),
        f"train.devices is {train.devices}, and this environment is played outside of JAX, which one device does; "
        "give 1.",
    )
    require(
        train.queue == 1 or not isinstance(domain.env, HostEnvironment),
        f"train.queue is {train.queue}, and this environment is played outside of JAX, where a level is played until "
        "the end of a rollout; give 1.",
    )
    devices = use(train.devices)
    agent = build_agent(settings, domain)
    proposed = train.levels * train.queue
    parts = Parts(domain, proposed, train.rollout, settings.ppo, train.training_set, devices)
    curriculum = chosen.build(settings.curriculum, parts)
    require(
        train.queue == 1 or learned(curriculum) == slice(None),
        f"train.queue is {train.queue}, and this method learns from a part of every batch; set train.queue to 1.",
    )
    return Trainer(
        domain=domain,
        learner=ppo_learner(agent, settings.ppo, devices, _regularisers(settings, domain, agent)),
        curriculum=curriculum,
        students=chosen.students(settings.curriculum),
        levels=train.levels,
        rollout=train.rollout,
        iterations=iterations(settings),
        queue=train.queue,
    )
