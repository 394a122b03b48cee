"""REPAIRED: robust replay, a buffer for each student, over the levels of a PAIRED teacher (thesis, chapter 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..settings import AdversarySettings, ReplaySettings, TeacherSettings, section
from .base import EVERY_LEVEL, Method, Parts
from .building import adversary, attempted, played_for_replay, replay

if TYPE_CHECKING:
    from ..curricula.base import Curriculum


@dataclass(frozen=True)
class RepairedSettings:
    replay: ReplaySettings = section(ReplaySettings, rate=0.95, relative=True)
    adversary: AdversarySettings = section(AdversarySettings, objective="regret", students=2)
    teacher: TeacherSettings = section(TeacherSettings)


def build(settings: RepairedSettings, parts: Parts) -> Curriculum:
    def curriculum(parts: Parts) -> Curriculum:
        generator = adversary(settings.adversary, settings.teacher, parts)
        students = settings.adversary.students
        return replay(generator, settings.replay, parts, learn_from_new=False, students=students)

    return attempted(settings.replay, parts, curriculum)


method = Method(
    "repaired",
    "robust PLR over a PAIRED teacher's levels",
    RepairedSettings,
    build,
    students=lambda settings: settings.adversary.students,
    batches_per_update=lambda settings, levels: played_for_replay(settings.replay.rate),
    insists=EVERY_LEVEL,
)
