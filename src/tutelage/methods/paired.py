"""PAIRED: a teacher designs levels that one student does better than the other (thesis, section 2.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..settings import AdversarySettings, TeacherSettings, section
from .base import EVERY_LEVEL, Method, Parts
from .building import adversary

if TYPE_CHECKING:
    from ..curricula.base import Curriculum


@dataclass(frozen=True)
class PairedSettings:
    adversary: AdversarySettings = section(AdversarySettings, objective="regret", students=2)
    teacher: TeacherSettings = section(TeacherSettings)


def build(settings: PairedSettings, parts: Parts) -> Curriculum:
    return adversary(settings.adversary, settings.teacher, parts)


method = Method(
    "paired",
    "a teacher designs levels of high regret for two students",
    PairedSettings,
    build,
    students=lambda settings: settings.adversary.students,
    insists=EVERY_LEVEL,
)
