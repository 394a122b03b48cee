"""PAIRED with a population of students."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..settings import AdversarySettings, TeacherSettings, section
from .base import EVERY_LEVEL, Method, Parts
from .building import adversary

if TYPE_CHECKING:
    from ..curricula.base import Curriculum


@dataclass(frozen=True)
class PopulationPairedSettings:
    adversary: AdversarySettings = section(AdversarySettings, objective="population-regret", students=4)
    teacher: TeacherSettings = section(TeacherSettings)


def build(settings: PopulationPairedSettings, parts: Parts) -> Curriculum:
    return adversary(settings.adversary, settings.teacher, parts)


method = Method(
    "population-paired",
    "PAIRED with a population of students",
    PopulationPairedSettings,
    build,
    students=lambda settings: settings.adversary.students,
    insists=EVERY_LEVEL,
)
