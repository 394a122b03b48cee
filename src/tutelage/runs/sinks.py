"""Where else a run's figures go, beside its own records: TensorBoard, Weights & Biases.

The records of the run directory are the truth and a sink is a copy of them. So a sink is first given what a resumed run
has recorded already, and one that fails is dropped: a figure that somebody wanted to watch is no reason to lose a run.
"""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .. import config
from ..compose import evaluation_episodes
from ..errors import require, unknown
from ..settings import Settings
from .directory import EVALUATIONS, METRICS, RunDirectory
from .files import write_atomically

if TYPE_CHECKING:
    from .snapshots import Snapshot

Record = Mapping[str, Any]


class Sink(Protocol):
    """Somewhere that figures go. Whatever it raises, it is closed and asked no more."""

    def metrics(self, record: Record) -> None:
        """A line of ``metrics.jsonl``."""
        ...

    def evaluated(self, record: Record) -> None:
        """A line of ``evaluations.jsonl``."""
        ...

    def pictures(self, steps: int, shown: Snapshot) -> None:
        """Levels and an episode."""
        ...

    def close(self) -> None: ...


class TensorBoard:
    """Event files in the run's own directory, written anew by every process that trains the run.

    Event files can only grow, and a resumed run may go back by some iterations. A new file that begins with all that
    the run has recorded shows every step once; its first event makes a TensorBoard that is open forget the old file.
    """

    FOLDER = "tensorboard"

    def __init__(self, directory: RunDirectory, settings: Settings) -> None:
        from tensorboardX import SummaryWriter

        folder = directory.path / self.FOLDER
        folder.mkdir(exist_ok=True)
        for old in folder.glob("events.out.tfevents.*"):
            old.unlink()
        self._writer = SummaryWriter(str(folder), purge_step=0)

    def metrics(self, record: Record) -> None:
        for name, value in _figures(record).items():
            self._writer.add_scalar(name, value, record["steps"])
        self._writer.flush()

    def evaluated(self, record: Record) -> None:
        self.metrics({"steps": record["steps"], **_held_out(record)})

    def pictures(self, steps: int, shown: Snapshot) -> None:
        """An episode is up to twelve of its frames: a video would need another package."""
        if shown.levels is not None:
            self._writer.add_image("levels", shown.levels, steps, dataformats="HWC")
        if shown.episode:
            from ..pictures import strip

            self._writer.add_image("episode", strip(shown.episode), steps, dataformats="HWC")
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class WandB:
    """A run of Weights & Biases, the same one whenever the run directory is trained further.

    It never takes a step back. Steps that it has are not sent again; they would be the same, as the run is.
    """

    PROJECT = "tutelage"

    def __init__(self, directory: RunDirectory, settings: Settings) -> None:
        # By name: it is an extra that nobody needs in order to check the types here.
        wandb: Any = import_module("wandb")
        path = directory.path.resolve()
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", self.PROJECT),
            id=_identity(path),
            name=f"{path.parent.name}/{path.name}",
            resume="allow",
            dir=str(path),
            config={name: value for name, _, value, _ in config.describe(settings)},
        )
        self._next = int(getattr(self._run, "starting_step", 0) or 0)

    def metrics(self, record: Record) -> None:
        if record["steps"] >= self._next:
            self._run.log(_figures(record), step=record["steps"])

    def evaluated(self, record: Record) -> None:
        self.metrics({"steps": record["steps"], **_held_out(record)})

    def pictures(self, steps: int, shown: Snapshot) -> None:
        if steps < self._next:
            return
        wandb: Any = import_module("wandb")
        found: dict[str, Any] = {}
        if shown.levels is not None:
            found["levels"] = wandb.Image(shown.levels)
        if shown.episode:
            from ..pictures import gif

            moving = gif(shown.episode, shown.pace)
            found["episode"] = wandb.Video(io.BytesIO(moving), format="gif")
        if found:
            self._run.log(found, step=steps)

    def close(self) -> None:
        self._run.finish()


@dataclass(frozen=True)
class Kind:
    """A sort of sink, the package that it needs and the extra that brings it."""

    package: str
    extra: str
    open: Callable[[RunDirectory, Settings], Sink]


SINKS = {
    "tensorboard": Kind("tensorboardX", "tensorboard", TensorBoard),
    "wandb": Kind("wandb", "wandb", WandB),
}


def check(names: Sequence[str]) -> None:
    """Refuse sinks that do not exist or cannot be had, before anything is made or trained."""
    for name in names:
        if name not in SINKS:
            raise unknown("log", name, SINKS)
        kind = SINKS[name]
        require(
            _installed(kind.package),
            f"--log {name} needs the package {kind.package}, which is not installed; "
            f"install it with `pip install 'tutelage[{kind.extra}]'`, or leave --log {name} out.",
        )


@dataclass
class Sinks:
    """Some sinks of one run, of which those that fail are dropped."""

    warn: Callable[[str], None]
    _open: dict[str, Sink] = field(default_factory=dict)

    def add(self, name: str, directory: RunDirectory, settings: Settings) -> None:
        """Open a sink and give it all that the run has recorded so far, in the order of its steps."""

        def fill() -> None:
            sink = self._open[name] = SINKS[name].open(directory, settings)
            past = [(record, sink.metrics) for record in directory.read(METRICS)]
            past += [(record, sink.evaluated) for record in _watched(directory.read(EVALUATIONS), settings)]
            for record, tell in sorted(past, key=lambda pair: pair[0]["steps"]):
                tell(record)

        self._try(name, fill)

    def metrics(self, record: Record) -> None:
        for name, sink in list(self._open.items()):
            self._try(name, sink.metrics, record)

    def evaluated(self, record: Record) -> None:
        for name, sink in list(self._open.items()):
            self._try(name, sink.evaluated, record)

    @property
    def wanted(self) -> bool:
        """Does anybody listen?"""
        return bool(self._open)

    def pictures(self, steps: int, draw: Callable[[], Snapshot]) -> None:
        """Pictures of the run as it is now, which are drawn once for all sinks."""
        drawn: list[Snapshot] = []

        def tell(sink: Sink) -> None:
            if not drawn:
                drawn.append(draw())
            sink.pictures(steps, drawn[0])

        for name, sink in list(self._open.items()):
            if hasattr(sink, "pictures"):
                self._try(name, tell, sink)

    def close(self) -> None:
        for name, sink in list(self._open.items()):
            self._try(name, sink.close)

    def _try(self, name: str, act: Callable[..., None], *args: Any) -> None:
        try:
            act(*args)
        except Exception as problem:  # whatever another package raises, the run goes on
            sink = self._open.pop(name, None)
            if sink is not None and act != sink.close:
                with suppress(Exception):
                    sink.close()
            self.warn(
                f"--log {name} failed ({problem or type(problem).__name__}) and gets nothing more; "
                f"the run goes on, and {METRICS} has everything."
            )


@contextmanager
def opened(
    names: Sequence[str], directory: RunDirectory, settings: Settings, warn: Callable[[str], None]
) -> Iterator[Sinks]:
    """The sinks of a run while it is trained; closed however that ends."""
    sinks = Sinks(warn)
    try:
        for name in dict.fromkeys(names):
            sinks.add(name, directory, settings)
        yield sinks
    finally:
        sinks.close()


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # imported, by somebody who gave it no origin
        return True


def _watched(records: Sequence[Record], settings: Settings) -> list[Record]:
    """The evaluations that training made; those of `tutelage eval` are of other suites, students or dice."""
    train, numbers = settings.train, (evaluation_episodes(settings, 0), settings.train.episodes)
    return [
        record
        for record in records
        if (record["suite"], record["student"], record["seed"]) == (train.suite, 0, 0)
        and all(task["episodes"] in numbers for task in record["tasks"].values())
    ]


def _figures(record: Record) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in record.items()
        if name not in ("iteration", "steps") and isinstance(value, int | float)
    }


def _held_out(record: Record) -> dict[str, float]:
    suite = f"held-out/{record['suite']}"
    figures = {f"{suite}/solved": record["solved"], f"{suite}/return": record["return"]}
    return figures | {f"{suite}/{task}/solved": figure["solved"] for task, figure in record["tasks"].items()}


def _identity(path: Path) -> str:
    """Drawn once for a run directory and kept in it, so that a directory made anew is another run."""
    file = path / "wandb.id"
    if not file.exists():
        write_atomically(file, secrets.token_hex(8).encode())
    return file.read_text()
