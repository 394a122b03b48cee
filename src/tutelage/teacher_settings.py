"""What can be set about teachers: the sections of which the methods' settings are made (``settings`` has them too)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .errors import require
from .options import WIDEST, NoSettings, option, positive, share

if TYPE_CHECKING:
    from .settings import TrainSettings

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

ObjectiveName = Literal["minimax", "regret", "population-regret", "pvl", "exact-regret"]


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
    scored: Literal["all", "latest"] = option("all", "episodes of a rollout that a level is scored by")

    def __post_init__(self) -> None:
        for name in ("rate", "min_fill", "staleness"):
            share(f"replay.{name}", getattr(self, name))
        for name in ("attempts", "capacity", "temperature"):
            positive(f"replay.{name}", getattr(self, name))

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
        require(
            self.attempts == 1 or train.queue == 1,
            f"replay.attempts is {self.attempts} and train.queue is {train.queue}, and attempts at a level are not "
            "queued behind other levels; set one of the two to 1.",
        )
        require(
            self.score != "learnability" or self.scored == "all",
            "replay.score is learnability, a share of several episodes, and replay.scored is latest; set it to all.",
        )
        different = train.levels * train.queue // self.attempts
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
        share("evolve.rate", self.rate)
        positive("evolve.parents", self.parents)
        require(self.edits >= 1, f"evolve.edits is {self.edits}; an edited level needs at least 1 change.")

    def idle(self) -> dict[str, str]:
        return ({"parents": "evolve.criterion is batch"} if self.criterion == "batch" else {}) | (
            {"edits": "evolve.editor is none"} if self.editor == "none" else {}
        )

    def check(self, train: TrainSettings) -> None:
        """Refuse what does not go with the shape of a run."""
        levels = train.levels * train.queue
        require(
            self.criterion != "hard" or levels % self.parents == 0,
            f"evolve.parents is {self.parents}, which does not divide the {levels} levels of a batch; "
            f"choose a divisor of {levels}.",
        )
        require(
            self.editor != "learned" or train.queue == 1,
            f"evolve.editor is learned and train.queue is {train.queue}; such an editor is paid for every level, and "
            "of a queue some are not played: set train.queue to 1.",
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
            positive(f"teacher.{name}", getattr(self, name))
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
        positive("adversary.students", self.students)
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
        share("mixture.explore", self.explore)
        positive("mixture.fewest", self.fewest)
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
        share("bandit.epsilon", self.epsilon)
        share("bandit.staleness", self.staleness)
        positive("bandit.temperature", self.temperature)
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
            positive(f"scan.{name}", getattr(self, name))
        share("scan.share", self.share)
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
