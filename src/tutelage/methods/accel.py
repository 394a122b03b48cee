"""ACCEL: robust PLR whose replayed levels are edited into new ones (thesis, chapter 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..settings import EvolveSettings, ReplaySettings, TeacherSettings, section
from .base import Method, Parts
from .building import attempted, editor, levels_from, played_for_replay, replay

if TYPE_CHECKING:
    from ..curricula.base import Curriculum


@dataclass(frozen=True)
class AccelSettings:
    replay: ReplaySettings = section(ReplaySettings, rate=0.8)
    evolve: EvolveSettings = section(EvolveSettings)
    teacher: TeacherSettings = section(TeacherSettings)

    def idle(self) -> dict[str, str]:
        editor = self.evolve.editor
        return {} if editor == "learned" else {"teacher": f"evolve.editor is {editor}"}


def build(settings: AccelSettings, parts: Parts) -> Curriculum:
    from ..curricula.evolve import Evolve
    from ..envs.base import missing

    evolve = settings.evolve
    levels = parts.domain.levels
    if evolve.start == "easy" and levels.easy is None:
        raise missing("easy levels", "the first levels are drawn from them", "set evolve.start to random")
    start = levels.easy if evolve.start == "easy" and levels.easy is not None else levels.sample

    def curriculum(parts: Parts) -> Curriculum:
        return Evolve(
            replay(levels_from(start, parts), settings.replay, parts, learn_from_new=False),
            editor(evolve, settings.teacher, parts),
            levels=parts.levels,
            criterion=evolve.criterion,
            parents=evolve.parents,
            rate=evolve.rate,
            inherit=evolve.editor != "none",
        )

    return attempted(settings.replay, parts, curriculum)


method = Method(
    "accel",
    "robust PLR that edits replayed levels into new ones",
    AccelSettings,
    build,
    # Every replay is followed by a batch of edits.
    batches_per_update=lambda settings, levels: played_for_replay(settings.replay.rate) + settings.evolve.rate,
)
