"""Robust PLR: random levels are only scored; what is learned comes from replay (thesis, chapter 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..settings import ReplaySettings, section
from .base import Method, Parts
from .building import attempted, levels_from, played_for_replay, replay

if TYPE_CHECKING:
    from ..curricula.base import Curriculum


@dataclass(frozen=True)
class RobustPLRSettings:
    replay: ReplaySettings = section(ReplaySettings)


def build(settings: RobustPLRSettings, parts: Parts) -> Curriculum:
    def curriculum(parts: Parts) -> Curriculum:
        base = levels_from(parts.domain.levels.sample, parts)
        return replay(base, settings.replay, parts, learn_from_new=False)

    return attempted(settings.replay, parts, curriculum)


method = Method(
    "robust-plr",
    "PLR that learns only from replayed levels (PLR⊥)",
    RobustPLRSettings,
    build,
    batches_per_update=lambda settings, levels: played_for_replay(settings.replay.rate),
)
