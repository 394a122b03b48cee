"""Every method as a composition of curricula, and nothing else. The only place that knows methods by name.

Imports of JAX wait until a method is built, so that listing the methods is instant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .errors import UserError, unknown
from .settings import (
    AccelSettings,
    AdversarySettings,
    AlpGmmSettings,
    DRSettings,
    EvolveSettings,
    PairedSettings,
    PLRSettings,
    PPOSettings,
    RepairedSettings,
    ReplaySettings,
    Settings,
    TeacherSettings,
    TsclSettings,
)

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray

    from .curricula.adversary import Adversary
    from .curricula.base import Curriculum
    from .curricula.designer import Designer
    from .curricula.editors import Editor
    from .curricula.replay import Replay
    from .devices import Devices
    from .envs.base import DesignTask, Domain
    from .types import Level


@dataclass(frozen=True)
class Parts:
    """What methods are composed from."""

    domain: Domain
    levels: int
    ppo: PPOSettings
    training_set: int = 0
    """Size of a fixed set of random levels; 0 for a source without end."""
    devices: Devices | None = None
    """Over which teachers that learn split their work, as students do; None for one."""


@dataclass(frozen=True)
class Method:
    """A way to choose what students train on."""

    name: str
    summary: str
    settings: type
    build: Callable[[Any, Parts], Curriculum]
    students: Callable[[Any], int] = lambda settings: 1
    """How many students learn, from the method's settings."""


def _replay(base: Curriculum, replay: ReplaySettings, parts: Parts, learn_from_new: bool, students: int = 1) -> Replay:
    from .curricula.buffer import LevelBuffer
    from .curricula.replay import Replay
    from .envs.base import Discrete
    from .scores import OF_CHOICES, Score

    if replay.score in OF_CHOICES and not isinstance(parts.domain.env.action_space, Discrete):
        raise UserError(
            f"replay.score is {replay.score}, which compares the probabilities of single actions, and the actions of "
            "this environment are numbers; choose another, such as pvl or maxmc."
        )
    return Replay(
        base,
        LevelBuffer(replay.capacity, replay.prioritisation, replay.temperature, replay.staleness, replay.duplicates),
        Score(replay.score, parts.ppo.discount, parts.ppo.gae_lambda, parts.domain.success),
        levels=parts.levels,
        students=students,
        rate=replay.rate,
        schedule=replay.schedule,
        min_fill=replay.min_fill,
        learn_from_new=learn_from_new,
        relative=replay.relative,
        optimum=parts.domain.optimum if replay.score == "exact-regret" else None,
    )


def _designer(task: DesignTask, settings: TeacherSettings, parts: Parts) -> Designer:
    """A teacher is a student of a design task; what its settings do not say, it shares with the students."""
    from .curricula.designer import Designer
    from .devices import ONE
    from .rl.distributions import distribution
    from .rl.networks import CORES, ActorCritic
    from .rl.ppo import Student

    assert parts.domain.design_encoder is not None, "an environment with a design task has eyes for its designer"
    actions = distribution(task.action_space)
    # Two layers before the action: with a memory they follow it, without one the first stands in its place.
    recurrent = settings.core != "none"
    network = ActorCritic(
        encoder=parts.domain.design_encoder(settings, task),
        core=CORES[settings.core](settings.width if recurrent else settings.head),
        outputs=actions.outputs,
        head=settings.head,
        layers=2 if recurrent else 1,
        constants=actions.constants,
    )
    shared = replace(
        parts.ppo,
        learning_rate=settings.learning_rate,
        entropy_coef=settings.entropy_coef,
        anneal=False,
        normalise_observations=False,  # what a designer sees is of the order of one
    )
    return Designer(task, Student(network, actions, shared, parts.devices or ONE))


def _adversary(settings: AdversarySettings, teacher: TeacherSettings, parts: Parts) -> Adversary:
    from .curricula.adversary import Adversary
    from .curricula.objectives import Objective

    if parts.domain.design is None:
        raise UserError(
            "This environment has no design task, so no teacher can learn to build its levels; "
            "choose a method without one, such as dr, robust-plr or accel."
        )
    ppo = parts.ppo
    objective = Objective(settings.objective, ppo.discount, ppo.gae_lambda, settings.clip, parts.domain.optimum)
    return Adversary(_designer(parts.domain.design, teacher, parts), objective, parts.levels, settings.students)


def _source(sample: Callable[[PRNGKeyArray], Level], parts: Parts) -> Curriculum:
    """New levels without end, or a training set that is drawn once."""
    from .curricula.random import Finite, Random

    if parts.training_set == 0:
        return Random(sample, parts.levels)
    return Finite(_drawn(sample, parts.training_set), parts.training_set, parts.levels)


def _drawn(sample: Callable[[PRNGKeyArray], Level], size: int) -> Callable[[PRNGKeyArray], Level]:
    import jax

    return lambda key: jax.vmap(sample)(jax.random.split(key, size))


def dr(settings: DRSettings, parts: Parts) -> Curriculum:
    """Domain randomisation: every batch is new, and learned from."""
    return _source(parts.domain.space.sample, parts)


def plr(settings: PLRSettings, parts: Parts) -> Curriculum:
    """Prioritised level replay: random levels and replayed ones, all learned from."""
    return _replay(dr(DRSettings(), parts), settings.replay, parts, learn_from_new=True)


def robust_plr(settings: PLRSettings, parts: Parts) -> Curriculum:
    """Robust PLR: random levels are only scored; what is learned comes from replay."""
    return _replay(dr(DRSettings(), parts), settings.replay, parts, learn_from_new=False)


def accel(settings: AccelSettings, parts: Parts) -> Curriculum:
    """ACCEL: robust PLR whose replayed levels are edited into new ones."""
    from .curricula.evolve import Evolve

    evolve, domain = settings.evolve, parts.domain
    if evolve.start == "empty" and domain.empty is None:
        raise UserError("This environment has no empty levels to start from; set evolve.start to random.")
    start = domain.empty if evolve.start == "empty" and domain.empty is not None else domain.space.sample
    return Evolve(
        _replay(_source(start, parts), settings.replay, parts, learn_from_new=False),
        _editor(evolve, settings.teacher, parts),
        levels=parts.levels,
        criterion=evolve.criterion,
        parents=evolve.parents,
        rate=evolve.rate,
        inherit=evolve.editor != "none",
    )


def _editor(evolve: EvolveSettings, teacher: TeacherSettings, parts: Parts) -> Editor:
    from .curricula.editors import LearnedEditor, RandomEditor
    from .scores import Score

    domain = parts.domain
    if evolve.editor == "none":
        return RandomEditor(lambda key, level: domain.space.sample(key))
    if not domain.editable:
        raise UserError("The levels of this environment cannot be edited: its file gives no edit function. Add one.")
    if evolve.editor == "random":
        return RandomEditor(lambda key, level: domain.space.edit(key, level, evolve.edits))
    if domain.editing is None:
        raise UserError("This environment has no editing task for a teacher to learn; set evolve.editor to random.")
    designer = _designer(domain.editing(evolve.edits), teacher, parts)
    return LearnedEditor(designer, Score("pvl", parts.ppo.discount, parts.ppo.gae_lambda))


def paired(settings: PairedSettings, parts: Parts) -> Curriculum:
    """Minimax, PAIRED and population PAIRED: a teacher designs every level; they differ in what it is paid for."""
    return _adversary(settings.adversary, settings.teacher, parts)


def repaired(settings: RepairedSettings, parts: Parts) -> Curriculum:
    """REPAIRED: robust replay, a buffer for each student, over the levels of a PAIRED teacher."""
    generator = _adversary(settings.adversary, settings.teacher, parts)
    return _replay(generator, settings.replay, parts, learn_from_new=False, students=settings.adversary.students)


def tscl(settings: TsclSettings, parts: Parts) -> Curriculum:
    """TSCL: the levels of a training set whose returns change most steeply."""
    from .curricula.tscl import Tscl

    bandit, size = settings.bandit, parts.training_set
    if size == 0:
        raise UserError(
            "train.training_set is 0, and TSCL follows the returns of each level of a finite set; "
            "give it a size, such as 200, or choose a method for levels without end, such as dr or robust-plr."
        )
    return Tscl(
        _drawn(parts.domain.space.sample, size),
        size,
        levels=parts.levels,
        window=bandit.window,
        rate=bandit.rate,
        policy=bandit.policy,
        epsilon=bandit.epsilon,
        temperature=bandit.temperature,
        staleness=bandit.staleness,
        optimism=bandit.optimism,
    )


def alp_gmm(settings: AlpGmmSettings, parts: Parts) -> Curriculum:
    """ALP-GMM: levels from Gaussians that are fitted to where returns change."""
    from .curricula.alp_gmm import AlpGmm

    mixture = settings.mixture
    if parts.domain.parameters is None:
        raise UserError(
            "Levels of this environment are not vectors, so no Gaussians can be fitted to them; "
            "choose a method that needs none, such as dr, robust-plr or tscl."
        )
    if parts.training_set > 0:
        raise UserError(
            f"train.training_set is {parts.training_set}, and ALP-GMM draws every level anew; "
            "set it to 0, or choose a method for finite sets, such as tscl or plr."
        )
    return AlpGmm(
        parts.domain.parameters,
        levels=parts.levels,
        fit_every=mixture.fit_every,
        explore=mixture.explore,
        fewest=mixture.fewest,
        most=mixture.most,
        history=mixture.history,
    )


def _as_many(settings: PairedSettings | RepairedSettings) -> int:
    return settings.adversary.students


METHODS = {
    method.name: method
    for method in [
        Method("dr", "domain randomisation: random levels, all learned from", DRSettings, dr),
        Method("plr", "prioritised level replay: random and replayed levels, all learned from", PLRSettings, plr),
        Method("robust-plr", "replay that learns only from replayed levels (PLR⊥)", PLRSettings, robust_plr),
        Method("accel", "robust replay whose levels are edited into harder ones", AccelSettings, accel),
        Method(
            "minimax", "a teacher designs levels on which the student earns little", PairedSettings, paired, _as_many
        ),
        Method("paired", "a teacher designs levels of high regret for two students", PairedSettings, paired, _as_many),
        Method("population-paired", "PAIRED with a population of students", PairedSettings, paired, _as_many),
        Method("repaired", "robust replay of a PAIRED teacher's levels", RepairedSettings, repaired, _as_many),
        Method("tscl", "of a training set, the levels whose returns change most steeply", TsclSettings, tscl),
        Method("alp-gmm", "levels that are vectors, from Gaussians where returns change", AlpGmmSettings, alp_gmm),
    ]
}


def method(name: str) -> Method:
    """Look up a method."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]


def iterations(settings: Settings) -> int:
    """The length of a run: as many iterations as its environment steps need, on all levels of all students."""
    train = settings.train
    per_iteration = method(settings.method).students(settings.curriculum) * train.levels * train.rollout
    return math.ceil(train.steps / per_iteration)
