"""The parts that several methods are built from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import UserError, require
from ..settings import AdversarySettings, EvolveSettings, ReplaySettings, TeacherSettings
from .base import Parts

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray

    from ..curricula.adversary import Adversary
    from ..curricula.base import Curriculum
    from ..curricula.designer import Designer
    from ..curricula.editors import Editor
    from ..curricula.replay import Replay
    from ..envs.base import DesignTask
    from ..types import Level


def levels_from(sample: Callable[[PRNGKeyArray], Level], parts: Parts) -> Curriculum:
    """New levels without end, or a training set."""
    from ..curricula.random import DomainRandomization, FixedLevels

    if parts.training_set == 0:
        return DomainRandomization(sample, parts.levels)
    return FixedLevels(training_set(sample, parts), parts.training_set, parts.levels)


def endless(parts: Parts, why: str) -> None:
    """Refuse a training set where levels are always new."""
    require(
        parts.training_set == 0,
        f"train.training_set is {parts.training_set}, and {why}; set it to 0, or choose a method for finite sets.",
    )


def training_set(sample: Callable[[PRNGKeyArray], Level], parts: Parts) -> Callable[[PRNGKeyArray], Level]:
    """The first levels where an environment numbers them; otherwise levels that are drawn once."""
    import jax
    import jax.numpy as jnp

    size, levels = parts.training_set, parts.domain.levels
    if levels.numbered is not None and sample == levels.sample:
        numbered = levels.numbered
        return lambda key: jax.vmap(numbered)(jnp.arange(size))
    return lambda key: jax.vmap(sample)(jax.random.split(key, size))


def attempted(settings: ReplaySettings, parts: Parts, build: Callable[[Parts], Curriculum]) -> Curriculum:
    """A curriculum over several attempts at each level of a batch, where that is asked for."""
    from ..curricula.repeated import Repeated

    if settings.attempts == 1:
        return build(parts)
    return Repeated(build(replace(parts, levels=parts.levels // settings.attempts)), settings.attempts)


def replay(base: Curriculum, settings: ReplaySettings, parts: Parts, learn_from_new: bool, students: int = 1) -> Replay:
    """Replay of the levels of another curriculum."""
    from ..curricula.buffer import LevelBuffer
    from ..curricula.replay import Replay
    from ..scores import OF_CHOICES, Score
    from ..types import Discrete

    domain, name = parts.domain, settings.score
    require(
        name not in OF_CHOICES or isinstance(domain.env.action_space, Discrete),
        f"replay.score is {name}, which compares the probabilities of single actions, and the actions of "
        "this environment are numbers; choose another, such as pvl or maxmc.",
    )
    require(
        name != "exact-regret" or domain.rules.optimum is not None,
        "The score exact-regret needs an environment that knows its optimal returns, and this one does not; "
        "choose another score, such as maxmc or pvl.",
    )
    limit = domain.rules.limit
    require(
        name != "learnability" or settings.attempts > 1 or (limit is not None and parts.rollout >= 2 * limit),
        f"replay.score is learnability, and a rollout of {parts.rollout} steps may hold a single failed episode"
        f"{f' (they last up to {limit} steps)' if limit else ''}, so success rates would be 0 or 1 and every score "
        "0; set replay.attempts to 2 or more"
        f"{f', or train.rollout to at least {2 * limit}' if limit else ''}.",
    )
    return Replay(
        base,
        LevelBuffer(
            settings.capacity, settings.prioritisation, settings.temperature, settings.staleness, settings.duplicates
        ),
        Score(name, parts.ppo.discount, parts.ppo.gae_lambda, domain.rules.success, settings.scored),
        levels=parts.levels,
        students=students,
        rate=settings.rate,
        schedule=settings.schedule,
        min_fill=settings.min_fill,
        learn_from_new=learn_from_new,
        relative=settings.relative,
        clock=settings.clock,
        optimum=domain.rules.optimum if name == "exact-regret" else None,
    )


def designer(task: DesignTask, settings: TeacherSettings, parts: Parts) -> Designer:
    """A teacher is a student of a design task; what its settings do not say, it shares with the students."""
    from ..curricula.designer import Designer
    from ..devices import ONE
    from ..rl.agent import Agent
    from ..rl.distributions import distribution
    from ..rl.networks import CORES, ActorCritic
    from ..rl.ppo import ppo_learner

    design = parts.domain.levels.design
    assert design is not None, "whoever designs has asked for it"
    actions = distribution(task.action_space)
    # Two layers before the action: with a memory they follow it, without one the first stands in its place.
    recurrent = settings.core != "none"
    network = ActorCritic(
        encoder=design.encoder(settings.encoder, task),
        core=CORES[settings.core](settings.width if recurrent else settings.head),
        outputs=actions.outputs,
        head=settings.head,
        layers=2 if recurrent else 1,
        constants=actions.constants,
        allowed=design.allowed,
    )
    shared = replace(
        parts.ppo,
        learning_rate=settings.learning_rate,
        entropy_coef=settings.entropy_coef,
        anneal=False,
        normalise_observations=False,  # what a designer sees is of the order of one
        average=0.0,
    )
    agent = Agent(network, actions, shared.normalise_returns)
    return Designer(task, ppo_learner(agent, shared, parts.devices or ONE))


def adversary(settings: AdversarySettings, teacher: TeacherSettings, parts: Parts) -> Adversary:
    """A teacher that designs every level."""
    from ..curricula.adversary import Adversary
    from ..curricula.objectives import Objective
    from ..envs.base import missing

    design = parts.domain.levels.design
    if design is None or design.build is None:
        raise missing(
            "design task", "a teacher builds its levels step by step", "choose a method without such a teacher"
        )
    endless(parts, "a teacher that designs levels draws from no set")
    ppo = parts.ppo
    objective = Objective(
        settings.objective,
        ppo.discount,
        ppo.gae_lambda,
        settings.clip,
        settings.antagonist,
        parts.domain.rules.optimum,
    )
    return Adversary(designer(design.build, teacher, parts), objective, parts.levels, settings.students)


def editor(settings: EvolveSettings, teacher: TeacherSettings, parts: Parts) -> Editor:
    """Who changes replayed levels."""
    from ..curricula.editors import LearnedEditor, RandomEditor
    from ..envs.base import missing
    from ..scores import Score

    levels = parts.domain.levels
    if settings.editor == "none":
        return RandomEditor(lambda key, level: levels.sample(key))
    edit = levels.edit
    if settings.editor == "random":
        if edit is None:
            raise missing("edit function", "replayed levels are changed by it", "add one, or choose another method")
        return RandomEditor(lambda key, level: edit(key, level, settings.edits))
    if levels.design is None or levels.design.edit is None:
        raise missing("editing task", "a teacher learns to change levels in it", "set evolve.editor to random")
    task = levels.design.edit(settings.edits)
    return LearnedEditor(designer(task, teacher, parts), Score("pvl", parts.ppo.discount, parts.ppo.gae_lambda))


def played_for_replay(rate: float) -> float:
    """Batches a student update, where only replayed levels are learned from."""
    if rate <= 0:
        raise UserError(
            "The replay rate is 0, and only replayed levels are learned from; give a number greater than 0."
        )
    return 1 / rate
