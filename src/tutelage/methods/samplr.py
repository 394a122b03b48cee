"""SAMPLR: robust PLR that learns from fictitious transitions, which no curriculum biases (thesis, chapter 6)."""

from __future__ import annotations

from .base import Method
from .building import played_for_replay
from .robust_plr import RobustPLRSettings, build

method = Method(
    "samplr",
    "robust PLR over a grounded environment: hidden parameters keep their true distribution",
    RobustPLRSettings,
    build,
    batches_per_update=lambda settings, levels: played_for_replay(settings.replay.rate),
    insists={"train.grounding": "samplr"},
)
