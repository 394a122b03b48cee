"""Every setting of a run as typed, documented data. Imports neither JAX nor anything slow, so that help is instant.

A setting that contradicts itself is refused here, where it is built; nothing fails later inside a compiled step. A
section may have ``idle``, which names the settings that are not read as the others are, each with the reason, and
``check``, which refuses what does not go with the shape of a run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from .errors import require
from .options import DEEPEST, WIDEST, positive, share
from .options import NoSettings as NoSettings
from .options import option as option
from .options import section as section
from .teacher_settings import AdversarySettings as AdversarySettings
from .teacher_settings import BanditSettings as BanditSettings
from .teacher_settings import EvolveSettings as EvolveSettings
from .teacher_settings import MixtureSettings as MixtureSettings
from .teacher_settings import ObjectiveName as ObjectiveName
from .teacher_settings import ReplaySettings as ReplaySettings
from .teacher_settings import ScanSettings as ScanSettings
from .teacher_settings import ScoreName as ScoreName
from .teacher_settings import TeacherSettings as TeacherSettings

LARGEST = 2**63 - 1
"""Of seeds and of the steps of a run."""
OWN = -1
"""The run's own seed, in the place of another."""
AUTO = -1
"""Evaluations in the place of a number of iterations: as many as make a good curve."""

AugmentationName = Literal[
    "crop", "convolution", "grayscale", "flip", "rotate", "cutout", "cutout-color", "color-jitter"
]
GroundingName = Literal["none", "naive", "samplr"]
"""What is done about hidden parameters whose distribution a curriculum would bias (``envs.wrappers``)."""


@dataclass(frozen=True)
class NetworkSettings:
    """A network after its encoder: a core that may remember, and two heads (thesis, appendix B)."""

    core: Literal["lstm", "gru", "none", "separate"] = option(
        "lstm", "shared layer: recurrent, 'none' for a dense one, 'separate' for no layer that policy and value share"
    )
    width: int = option(256, "units of the core", most=WIDEST)
    head: int = option(32, "hidden units of each layer of the policy head and of the value head", most=WIDEST)
    layers: int = option(1, "hidden layers of each head; 0 for policy and value straight from the core", most=DEEPEST)
    activation: Literal["relu", "tanh"] = option("relu", "activation function after each layer of a head")
    policy: Literal["auto", "gaussian", "beta"] = option(
        "auto", "action distribution; 'auto': categorical, or gaussian for continuous actions"
    )

    def __post_init__(self) -> None:
        for name in ("width", "head"):
            positive(f"network.{name}", getattr(self, name))
        require(self.layers >= 0, f"network.layers is {self.layers}; give 0 or more.")

    def idle(self) -> dict[str, str]:
        no_core = {"width": "network.core is separate"} if self.core == "separate" else {}
        return no_core | (dict.fromkeys(("head", "activation"), "network.layers is 0") if self.layers == 0 else {})

    @property
    def recurrent(self) -> bool:
        return self.core in ("lstm", "gru")


@dataclass(frozen=True)
class PPOSettings:
    """Proximal policy optimisation (thesis, section 2.2 and appendix B)."""

    discount: float = option(0.995, "discount of future rewards")
    gae_lambda: float = option(0.95, "decay of generalised advantage estimation")
    epochs: int = option(5, "epochs over each rollout", most=10_000)
    minibatches: int = option(1, "minibatches per epoch; whole trajectories if the student is recurrent")
    clip: float = option(0.2, "clip range of the probability ratio and, if clipped, of the value")
    value_clip: bool = option(True, "also clip the change of the value")
    value_coef: float = option(0.5, "weight of the value loss")
    huber: float = option(0.0, "threshold of a Huber value loss; 0 means squared error")
    entropy_coef: float = option(0.0, "weight of the entropy bonus")
    learning_rate: float = option(1e-4, "Adam's step size")
    anneal: bool = option(False, "anneal the learning rate linearly to 0 at the end of the run")
    adam_epsilon: float = option(1e-5, "Adam's epsilon")
    max_grad_norm: float = option(0.5, "clip the gradient to this global norm")
    time_limit: Literal["bootstrap", "terminate"] = option(
        "bootstrap", "at a time limit: bootstrap from the next observation's value, or treat it as terminal"
    )
    average: float = option(
        0.0,
        "decay of an average of the weights, per update: what is evaluated and kept; 0 for the last weights themselves",
    )
    normalise_returns: bool = option(False, "normalise returns by their running standard deviation")
    return_discount: float = option(0.0, "discount of the returns used for that deviation; 0 for ppo.discount")
    reward_clip: float = option(0.0, "clip normalised rewards to this magnitude; 0 for no clipping")
    normalise_observations: bool = option(False, "normalise observations by their running mean and standard deviation")

    def __post_init__(self) -> None:
        for name in ("discount", "gae_lambda", "return_discount"):
            share(f"ppo.{name}", getattr(self, name))
        for name in ("epochs", "minibatches", "clip", "learning_rate", "adam_epsilon", "max_grad_norm"):
            positive(f"ppo.{name}", getattr(self, name))
        require(0 <= self.average < 1, f"ppo.average is {self.average}; give 0, or a decay below 1 such as 0.99.")
        for name in ("value_coef", "entropy_coef", "huber", "reward_clip"):
            require(getattr(self, name) >= 0, f"ppo.{name} is {getattr(self, name)}; give 0 or more.")

    def idle(self) -> dict[str, str]:
        reason = "ppo.normalise_returns is false"
        return {} if self.normalise_returns else dict.fromkeys(("return_discount", "reward_clip"), reason)


@dataclass(frozen=True)
class RegulariserSettings:
    """What is added to PPO so that a student learns less by heart what images look like (thesis, appendix B, Table B.1:
    UCB-DrAC and mixreg). Teachers that learn do so without.
    """

    kind: Literal["none", "drac", "ucb-drac", "mixreg"] = option(
        "none",
        "'drac': a loss on augmented images; 'ucb-drac': a bandit picks the augmentation; 'mixreg': mixed images",
    )
    augmentation: AugmentationName = option("crop", "how images are changed")
    weight: float = option(0.1, "weight of the loss on augmented images")
    divergence: Literal["exact", "sampled"] = option(
        "exact", "compare policies over all actions, or by one sampled action as in the published code"
    )
    exploration: float = option(0.1, "exploration bonus for augmentations chosen less often")
    window: int = option(10, "number of recent rewards averaged to value an augmentation")
    try_all: bool = option(True, "try every augmentation once first; the published code may never leave crop")
    memory: int = option(
        100, "updates after which a reward is forgotten and its augmentation tried again; 0: never, as published"
    )
    beta_shape: float = option(0.01, "both parameters of the weights' Beta; small: hardly any mixing")
    renormalise: bool = option(False, "normalise advantages again after mixing, per minibatch, as in published code")

    def __post_init__(self) -> None:
        for name in ("weight", "exploration"):
            require(getattr(self, name) >= 0, f"regulariser.{name} is {getattr(self, name)}; give 0 or more.")
        for name in ("window", "beta_shape"):
            positive(f"regulariser.{name}", getattr(self, name))
        arms = len(get_args(AugmentationName))
        require(
            self.memory == 0 or self.memory >= arms,
            f"regulariser.memory is {self.memory}; give 0 for never, or at least {arms}, one for each augmentation.",
        )

    def idle(self) -> dict[str, str]:
        read = {
            "none": (),
            "drac": ("augmentation", "weight", "divergence"),
            "ucb-drac": ("weight", "divergence", "exploration", "window", "try_all", "memory"),
            "mixreg": ("beta_shape", "renormalise"),
        }[self.kind]
        return {
            part.name: f"regulariser.kind is {self.kind}" for part in fields(self) if part.name not in ("kind", *read)
        }


@dataclass(frozen=True)
class TrainSettings:
    """The shape of a run. One iteration proposes a batch of levels, plays it, and perhaps learns from it."""

    seed: int = option(0, "seed of all randomness", most=LARGEST)
    shared_seed: int = option(OWN, "seed for the replay and edit decisions; -1 for the run's own seed", most=LARGEST)
    steps: int = option(
        250_000_000,
        "environment steps of one student in the whole run, on all its levels, learned from or not",
        most=LARGEST,
    )
    levels: int = option(32, "levels per batch")
    rollout: int = option(256, "steps on each level in an iteration")
    queue: int = option(
        1, "levels queued behind each other: an episode each, the last one until the rollout ends", most=1000
    )
    devices: int = option(1, "devices that the batch is sharded over, in total over all processes")
    training_set: int = option(0, "size of a fixed training set; 0 for an unlimited supply of new levels")
    grounding: GroundingName = option(
        "none",
        "of hidden parameters: 'naive' draws them anew for each episode, 'samplr' learns from fictitious transitions",
    )
    log_every: int = option(10, "iterations between two lines of metrics", most=100_000)
    evaluate_every: int = option(
        AUTO, "iterations between two held-out evaluations; -1: forty in a run, cheap ones first, 0: none but the last"
    )
    checkpoint_every: int = option(250, "iterations between two checkpoints")
    suite: str = option("validation-3", "the held-out suite to watch while training")
    episodes: int = option(10, "episodes on each level of that suite", most=100_000)

    def __post_init__(self) -> None:
        for name in ("steps", "levels", "rollout", "queue", "devices", "log_every", "checkpoint_every", "episodes"):
            positive(f"train.{name}", getattr(self, name))
        for name in ("seed", "training_set"):
            require(getattr(self, name) >= 0, f"train.{name} is {getattr(self, name)}; give 0 or more.")
        require(
            self.evaluate_every >= AUTO,
            f"train.evaluate_every is {self.evaluate_every}; give a number of iterations, 0 for none but the last "
            f"evaluation, or {AUTO} for forty in a run.",
        )
        require(
            self.shared_seed >= OWN,
            f"train.shared_seed is {self.shared_seed}; give a seed of 0 or more, or {OWN} for the run's own.",
        )


@dataclass(frozen=True)
class Settings:
    """All that determines a run. ``env`` and ``encoder`` have the types that the environment asks for, ``curriculum``
    that of the method.
    """

    environment: str
    method: str
    env: Any
    encoder: Any
    network: NetworkSettings
    ppo: PPOSettings
    regulariser: RegulariserSettings = field(default=RegulariserSettings(), kw_only=True)
    curriculum: Any
    train: TrainSettings

    def __post_init__(self) -> None:
        train, ppo = self.train, self.ppo
        trajectories = self.network.recurrent
        unit, count = ("levels", train.levels) if trajectories else ("transitions", train.levels * train.rollout)
        require(
            count % ppo.minibatches == 0,
            f"ppo.minibatches is {ppo.minibatches}, which does not divide the {count} {unit} of a batch"
            f"{' (a recurrent student learns from whole trajectories)' if trajectories else ''}; "
            f"choose a divisor of {count}, or change train.levels.",
        )
        require(
            train.levels % train.devices == 0,
            f"train.devices is {train.devices}, which does not divide the {train.levels} levels of a batch; "
            f"choose a divisor of {train.levels}, or change train.levels.",
        )
        # A teacher shares the minibatches; its batches are of the same levels, and of steps that are not known here.
        smallest = train.levels if hasattr(self.curriculum, "teacher") else count
        require(
            train.devices == 1 or ppo.minibatches == 1 or smallest % (ppo.minibatches * train.devices) == 0,
            f"train.devices is {train.devices} and ppo.minibatches is {ppo.minibatches}, and their product does not "
            f"divide a batch of {smallest}, so that devices cannot share a minibatch equally; "
            "use fewer devices or minibatches, or change train.levels.",
        )
        require(
            self.regulariser.kind == "none" or not ppo.normalise_observations,
            f"regulariser.kind is {self.regulariser.kind}, which changes images of bytes, and "
            "ppo.normalise_observations makes other numbers of them; set the one to none or the other to false.",
        )
        require(
            train.training_set == 0 or train.training_set >= train.levels * train.queue,
            f"train.training_set is {train.training_set}, fewer than the {train.levels * train.queue} levels of a "
            "batch; give more, or 0 for an unlimited supply of new levels.",
        )
        for part in fields(self.curriculum):
            check = getattr(getattr(self.curriculum, part.name), "check", None)
            if check is not None:
                check(train)
