"""Every setting of a run as typed, documented data. Imports neither JAX nor anything slow, so that help is instant.

A setting that contradicts itself is refused here, where it is built; nothing fails later inside a compiled step. A
section may have ``idle``, which names the settings that are not read as the others are, each with the reason, and
``check``, which refuses what does not go with the shape of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from .errors import require

ScoreName = Literal[
    "entropy",
    "min-margin",
    "least-confidence",
    "td-error",
    "gae",
    "l1-value-loss",
    "pvl",
    "maxmc",
    "maxmc-undiscounted",
    "maxmc-initial",
    "learnability",
    "exact-regret",
]

LARGEST, WIDEST, DEEPEST = 2**63 - 1, 65_536, 64
"""Of seeds and of the steps of a run; units of a layer; layers."""
OWN = -1
"""The run's own seed, in the place of another."""
AUTO = -1
"""Evaluations in the place of a number of iterations: as many as make a good curve."""

AugmentationName = Literal[
    "crop", "convolution", "grayscale", "flip", "rotate", "cutout", "cutout-color", "color-jitter"
]
GroundingName = Literal["none", "naive", "samplr"]
"""What is done about hidden parameters whose distribution a curriculum would bias (``envs.wrappers``)."""

ObjectiveName = Literal["minimax", "regret", "population-regret", "pvl", "exact-regret"]


def option(default: Any, help: str, **bounds: int) -> Any:
    """A field with a default and a sentence for the help page. A whole number is at most ``most`` (``config.MOST``)."""
    return field(default=default, metadata={"help": help, **bounds})


def section(kind: Callable[..., Any], **insists: Any) -> Any:
    """A field of a method's settings: a section of some kind. An environment's preset may recommend its values, except
    for those that the method insists on.
    """
    return field(default_factory=lambda: kind(**insists), metadata={"section": kind, "insists": insists})


def _share(name: str, value: float) -> None:
    require(0.0 <= value <= 1.0, f"{name} is {value}; it is a probability, so give a number from 0 to 1.")


def _positive(name: str, value: float) -> None:
    require(value > 0, f"{name} is {value}; give a number greater than 0.")


@dataclass(frozen=True)
class NoSettings:
    """A section with nothing to set."""


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
            _positive(f"network.{name}", getattr(self, name))
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
            _share(f"ppo.{name}", getattr(self, name))
        for name in ("epochs", "minibatches", "clip", "learning_rate", "adam_epsilon", "max_grad_norm"):
            _positive(f"ppo.{name}", getattr(self, name))
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
    beta_shape: float = option(0.01, "both parameters of the weights' Beta; small: hardly any mixing")
    renormalise: bool = option(False, "normalise advantages again after mixing, per minibatch, as in published code")

    def __post_init__(self) -> None:
        for name in ("weight", "exploration"):
            require(getattr(self, name) >= 0, f"regulariser.{name} is {getattr(self, name)}; give 0 or more.")
        for name in ("window", "beta_shape"):
            _positive(f"regulariser.{name}", getattr(self, name))

    def idle(self) -> dict[str, str]:
        read = {
            "none": (),
            "drac": ("augmentation", "weight", "divergence"),
            "ucb-drac": ("weight", "divergence", "exploration", "window", "try_all"),
            "mixreg": ("beta_shape", "renormalise"),
        }[self.kind]
        return {
            part.name: f"regulariser.kind is {self.kind}" for part in fields(self) if part.name not in ("kind", *read)
        }


@dataclass(frozen=True)
class ReplaySettings:
    """The level buffer and when to replay from it (thesis, Algorithms 1 and 2)."""

    rate: float = option(0.5, "probability of replaying instead of playing new levels")
    schedule: Literal["fixed", "proportional", "all-first"] = option(
        "fixed", "for a finite training set: 'proportional' to the share seen so far, 'all-first' once all were seen"
    )
    capacity: int = option(4000, "levels the buffer holds")
    min_fill: float = option(0.5, "share of the buffer that must be filled before replay starts")
    score: ScoreName = option("pvl", "what makes a level worth replaying")
    prioritisation: Literal["rank", "proportional", "greedy", "uniform"] = option("rank", "from scores to weights")
    temperature: float = option(0.3, "low: only the best levels; high: close to uniform")
    staleness: float = option(0.3, "share of replay by staleness (time since last played)")
    duplicates: bool = option(False, "store identical levels separately instead of once")
    relative: bool = option(False, "take a level's best return over all students that played it")
    attempts: int = option(1, "copies of each level in a batch, scored together; learnability needs several")
    clock: Literal["levels", "replays"] = option(
        "levels", "what staleness counts: all levels played, or only replayed ones"
    )

    def __post_init__(self) -> None:
        for name in ("rate", "min_fill", "staleness"):
            _share(f"replay.{name}", getattr(self, name))
        for name in ("attempts", "capacity", "temperature"):
            _positive(f"replay.{name}", getattr(self, name))

    def idle(self) -> dict[str, str]:
        fixed = {"rate": f"replay.schedule is {self.schedule}"} if self.schedule != "fixed" else {}
        by_rank = self.prioritisation in ("greedy", "uniform")
        return fixed | ({"temperature": f"replay.prioritisation is {self.prioritisation}"} if by_rank else {})

    def check(self, train: TrainSettings) -> None:
        """Refuse what does not go with the shape of a run."""
        require(
            train.levels % self.attempts == 0,
            f"replay.attempts is {self.attempts}, which does not divide the {train.levels} levels of a batch; "
            f"choose a divisor of {train.levels}.",
        )
        different = train.levels // self.attempts
        require(
            self.capacity >= different,
            f"replay.capacity is {self.capacity}, smaller than the {different} levels of one batch; "
            f"give at least {different}.",
        )
        require(
            self.schedule == "fixed" or train.training_set > 0,
            f"replay.schedule is {self.schedule}, which follows how much of a training set was seen; "
            "give train.training_set a size, or set replay.schedule to fixed.",
        )


@dataclass(frozen=True)
class EvolveSettings:
    """Editing of replayed levels (thesis, chapter 5)."""

    criterion: Literal["hard", "batch"] = option(
        "hard", "'hard' edits the replayed levels with the highest score minus return; 'batch' edits all of them"
    )
    parents: int = option(1, "number of levels the hard criterion picks; each is edited equally often")
    edits: int = option(5, "changes made to each level", most=10_000)
    rate: float = option(1.0, "probability of editing after a replay")
    editor: Literal["random", "learned", "none"] = option(
        "random", "'learned': a teacher rewarded with PVL; 'none': ablation, new random levels instead of edits"
    )
    start: Literal["easy", "random"] = option("easy", "source of the levels that are not edits")

    def __post_init__(self) -> None:
        _share("evolve.rate", self.rate)
        _positive("evolve.parents", self.parents)
        require(self.edits >= 1, f"evolve.edits is {self.edits}; an edited level needs at least 1 change.")

    def idle(self) -> dict[str, str]:
        return ({"parents": "evolve.criterion is batch"} if self.criterion == "batch" else {}) | (
            {"edits": "evolve.editor is none"} if self.editor == "none" else {}
        )

    def check(self, train: TrainSettings) -> None:
        """Refuse what does not go with the shape of a run."""
        require(
            self.criterion != "hard" or train.levels % self.parents == 0,
            f"evolve.parents is {self.parents}, which does not divide the {train.levels} levels of a batch; "
            f"choose a divisor of {train.levels}.",
        )


@dataclass(frozen=True)
class TeacherSettings:
    """A teacher that designs levels (thesis, appendix B.2). All else of its PPO is the students'."""

    core: Literal["lstm", "gru", "none"] = option("none", "recurrent layer; the thesis uses one for PAIRED only")
    width: int = option(256, "units of the recurrent layer", most=WIDEST)
    head: int = option(32, "units of each of the two layers before the action", most=WIDEST)
    learning_rate: float = option(1e-4, "Adam's step size, constant over the run")
    entropy_coef: float = option(0.0, "weight of the entropy bonus")
    encoder: Any = field(default_factory=NoSettings)
    """Its eyes, where the environment has something to set about them."""

    def __post_init__(self) -> None:
        for name in ("width", "head", "learning_rate"):
            _positive(f"teacher.{name}", getattr(self, name))
        require(self.entropy_coef >= 0, f"teacher.entropy_coef is {self.entropy_coef}; give 0 or more.")

    def idle(self) -> dict[str, str]:
        return {"width": "teacher.core is none"} if self.core == "none" else {}


@dataclass(frozen=True)
class AdversarySettings:
    """What the designing teacher is paid for, and by whom."""

    objective: ObjectiveName = option("regret", "what the teacher maximises")
    clip: bool = option(False, "clip the teacher's reward at 0 from below; the thesis does not")
    antagonist: Literal["mean", "best"] = option(
        "mean", "the antagonist's mean return, or its best episode, which is never lower"
    )
    students: int = option(2, "number of students; the first, the protagonist, is evaluated and exported", most=10_000)

    def idle(self) -> dict[str, str]:
        reason = f"adversary.objective is {self.objective}"
        regret = self.objective in ("regret", "population-regret")
        loss = self.objective == "minimax"
        return ({} if regret else {"antagonist": reason}) | ({"clip": reason} if loss else {})

    def __post_init__(self) -> None:
        _positive("adversary.students", self.students)
        needs = {"regret": "exactly 2 students", "population-regret": "at least 2 students"}
        enough = {"regret": self.students == 2, "population-regret": self.students >= 2}
        require(
            enough.get(self.objective, True),
            f"adversary.students is {self.students}, and the objective {self.objective} needs "
            f"{needs.get(self.objective)}; change one of the two.",
        )


@dataclass(frozen=True)
class MixtureSettings:
    """Gaussians over levels and their learning progress (Portelas et al., 2019; what chapter 5 compares with)."""

    fit_every: int = option(250, "levels between two fits, levels per fit, and random levels before the first")
    explore: float = option(0.2, "share of levels that are uniformly random")
    fewest: int = option(2, "smallest number of Gaussians to try")
    most: int = option(10, "largest number of Gaussians to try; AIC decides")
    history: int = option(10_000, "number of earlier levels among which the nearest is found to measure progress")

    def __post_init__(self) -> None:
        _share("mixture.explore", self.explore)
        _positive("mixture.fewest", self.fewest)
        for name, least in (("most", "fewest"), ("fit_every", "most"), ("history", "fit_every")):
            value, bound = getattr(self, name), getattr(self, least)
            require(
                value >= bound,
                f"mixture.{name} is {value}, less than mixture.{least}, which is {bound}; give at least {bound}.",
            )


@dataclass(frozen=True)
class BanditSettings:
    """Which levels of a finite set to play, by the slope of their returns (thesis, Table B.1: TSCL Window)."""

    window: int = option(10, "most recent returns per level used to fit its slope")
    rate: float = option(1.0, "learning rate: how much the newest slope counts")
    policy: Literal["epsilon-greedy", "boltzmann"] = option("epsilon-greedy", "from slopes to probabilities")
    epsilon: float = option(0.5, "epsilon-greedy: probability of a uniformly random level instead of the steepest")
    temperature: float = option(1.0, "boltzmann: low: only the steepest levels; high: close to uniform")
    staleness: float = option(0.0, "share of draws by staleness, as in replay")
    optimism: float = option(1.0, "slope assumed for a level played fewer than twice")

    def __post_init__(self) -> None:
        require(self.window >= 2, f"bandit.window is {self.window}; a slope needs at least 2 returns.")
        require(0 < self.rate <= 1, f"bandit.rate is {self.rate}; give a number greater than 0 and at most 1.")
        _share("bandit.epsilon", self.epsilon)
        _share("bandit.staleness", self.staleness)
        _positive("bandit.temperature", self.temperature)
        require(self.optimism >= 0, f"bandit.optimism is {self.optimism}; give 0 or more.")

    def idle(self) -> dict[str, str]:
        return {
            {"epsilon-greedy": "temperature", "boltzmann": "epsilon"}[self.policy]: f"bandit.policy is {self.policy}"
        }


@dataclass(frozen=True)
class ScanSettings:
    """Scans of many random levels for those worth training on (Rutherford et al., 2024: sampling for learnability)."""

    every: int = option(100, "student updates between two scans")
    candidates: int = option(5000, "random levels that a scan plays")
    attempts: int = option(5, "attempts at each of them, counted in the steps of the run")
    keep: int = option(1000, "levels kept until the next scan: those with the highest score")
    share: float = option(0.5, "share of a training batch that is drawn from the kept levels; the rest is new")
    score: Literal["learnability", "exact-regret"] = option(
        "learnability", "'learnability' is p(1 - p), where p is the share of attempts solved"
    )

    def __post_init__(self) -> None:
        for name in ("every", "candidates", "keep"):
            _positive(f"scan.{name}", getattr(self, name))
        _share("scan.share", self.share)
        least = 2 if self.score == "learnability" else 1
        require(
            self.attempts >= least,
            f"scan.attempts is {self.attempts}; with the score {self.score} give at least {least}.",
        )
        require(
            self.keep <= self.candidates,
            f"scan.keep is {self.keep}, more than the {self.candidates} candidates of a scan; give fewer.",
        )

    def batches(self, levels: int) -> int:
        """How many batches of so many levels a scan plays."""
        return -(-self.candidates * self.attempts // levels)

    def check(self, train: TrainSettings) -> None:
        """Refuse what does not go with the shape of a run."""
        require(
            train.levels % self.attempts == 0,
            f"scan.attempts is {self.attempts}, which does not divide the {train.levels} levels of a batch; "
            f"choose a divisor of {train.levels}.",
        )


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
        for name in ("steps", "levels", "rollout", "devices", "log_every", "checkpoint_every", "episodes"):
            _positive(f"train.{name}", getattr(self, name))
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
            train.training_set == 0 or train.training_set >= train.levels,
            f"train.training_set is {train.training_set}, fewer than the {train.levels} levels of one batch; "
            "give more, or 0 for an unlimited supply of new levels.",
        )
        for part in fields(self.curriculum):
            check = getattr(getattr(self.curriculum, part.name), "check", None)
            if check is not None:
                check(train)
