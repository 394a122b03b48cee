"""TSCL: the levels of a training set whose returns change most steeply (Matiisen et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import require
from ..settings import BanditSettings, section
from .base import EVERY_LEVEL, Method, Parts
from .building import training_set

if TYPE_CHECKING:
    from ..curricula.base import Curriculum


@dataclass(frozen=True)
class TsclSettings:
    bandit: BanditSettings = section(BanditSettings)


def build(settings: TsclSettings, parts: Parts) -> Curriculum:
    from ..curricula.tscl import Tscl

    bandit, size = settings.bandit, parts.training_set
    require(
        size > 0,
        "train.training_set is 0, and TSCL follows the returns of each level of a finite set; "
        "give it a size, such as 200, or choose a method for an unlimited supply of levels, such as dr or robust-plr.",
    )
    return Tscl(
        training_set(parts.domain.levels.sample, parts),
        size,
        levels=parts.levels,
        window=bandit.window,
        rate=bandit.rate,
        policy=bandit.policy,
        epsilon=bandit.epsilon,
        temperature=bandit.temperature,
        staleness=bandit.staleness,
        optimism=bandit.optimism,
    )


method = Method(
    "tscl",
    "plays the levels of a training set whose returns change fastest",
    TsclSettings,
    build,
    finite=True,
    insists=EVERY_LEVEL,
)
