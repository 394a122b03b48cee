"""Prioritised level replay: random levels and replayed ones, all learned from (thesis, chapter 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..settings import ReplaySettings, section
from .base import Method, Parts
from .building import attempted, levels_from, replay

if TYPE_CHECKING:
    from ..curricula.base import Curriculum


@dataclass(frozen=True)
class PLRSettings:
    replay: ReplaySettings = section(ReplaySettings)


def build(settings: PLRSettings, parts: Parts) -> Curriculum:
    def curriculum(parts: Parts) -> Curriculum:
        base = levels_from(parts.domain.levels.sample, parts)
        return replay(base, settings.replay, parts, learn_from_new=True)

    return attempted(settings.replay, parts, curriculum)


method = Method("plr", "prioritised level replay: random and replayed levels, all learned from", PLRSettings, build)
