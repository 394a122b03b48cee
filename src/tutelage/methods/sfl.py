"""SFL, sampling for learnability: scan random levels, train on those solved sometimes (Rutherford et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import require
from ..settings import ScanSettings, section
from .base import EVERY_LEVEL, Method, Parts
from .building import endless

if TYPE_CHECKING:
    from ..curricula.base import Curriculum


@dataclass(frozen=True)
class SFLSettings:
    scan: ScanSettings = section(ScanSettings)


def build(settings: SFLSettings, parts: Parts) -> Curriculum:
    from ..curricula.scan import Scan
    from ..scores import Score

    endless(parts, "scans draw new levels without end")
    scan, rules = settings.scan, parts.domain.rules
    optimum = rules.optimum if scan.score == "exact-regret" else None
    require(
        scan.score != "exact-regret" or optimum is not None,
        "scan.score is exact-regret, and this environment does not know its optimal returns; choose learnability.",
    )
    score = Score(scan.score, parts.ppo.discount, parts.ppo.gae_lambda, rules.success)
    return Scan(parts.domain.levels.sample, parts.levels, scan, score, optimum)


method = Method(
    "sfl",
    "scans many levels for those that are solved sometimes",
    SFLSettings,
    build,
    batches_per_update=lambda settings, levels: 1 + settings.scan.batches(levels) / settings.scan.every,
    insists=EVERY_LEVEL,
)
