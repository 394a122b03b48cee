"""Minimax: a teacher designs levels on which the student earns least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..settings import AdversarySettings, TeacherSettings, section
from .base import EVERY_LEVEL, Method, Parts
from .building import adversary

if TYPE_CHECKING:
    from ..curricula.base import Curriculum


@dataclass(frozen=True)
class MinimaxSettings:
    adversary: AdversarySettings = section(AdversarySettings, objective="minimax", students=1)
    teacher: TeacherSettings = section(TeacherSettings)


def build(settings: MinimaxSettings, parts: Parts) -> Curriculum:
    return adversary(settings.adversary, settings.teacher, parts)


method = Method(
    "minimax",
    "a teacher designs levels with low return for the student",
    MinimaxSettings,
    build,
    students=lambda settings: settings.adversary.students,
    insists=EVERY_LEVEL,
)
