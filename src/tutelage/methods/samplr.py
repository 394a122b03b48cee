"""SAMPLR: robust PLR that learns from fictitious transitions, which no curriculum biases (thesis, chapter 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..settings import ReplaySettings, section
from .base import Method, Parts
from .building import attempted, levels_from, played_for_replay, replay

if TYPE_CHECKING:
    from ..curricula.base import Curriculum


@dataclass(frozen=True)
class SAMPLRSettings:
    replay: ReplaySettings = section(ReplaySettings)


def build(settings: SAMPLRSettings, parts: Parts) -> Curriculum:
    def curriculum(parts: Parts) -> Curriculum:
        base = levels_from(parts.domain.levels.sample, parts)
        return replay(base, settings.replay, parts, learn_from_new=False)

    return attempted(settings.replay, parts, curriculum)


method = Method(
    "samplr",
    "robust replay over a grounded environment: what is learned follows the true distribution",
    SAMPLRSettings,
    build,
    batches_per_update=lambda settings, levels: played_for_replay(settings.replay.rate),
    insists={"train.grounding": "samplr"},
)
