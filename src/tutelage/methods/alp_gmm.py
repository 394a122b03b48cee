"""ALP-GMM: levels from Gaussians that are fitted to where returns change (Portelas et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..settings import MixtureSettings, section
from .base import EVERY_LEVEL, Method, Parts
from .building import endless

if TYPE_CHECKING:
    from ..curricula.base import Curriculum


@dataclass(frozen=True)
class AlpGmmSettings:
    mixture: MixtureSettings = section(MixtureSettings)


def build(settings: AlpGmmSettings, parts: Parts) -> Curriculum:
    from ..curricula.alp_gmm import AlpGmm
    from ..envs.base import missing

    mixture, vectors = settings.mixture, parts.domain.levels.vectors
    if vectors is None:
        raise missing(
            "levels that are vectors", "Gaussians are fitted to them", "choose a method that needs none, such as tscl"
        )
    endless(parts, "ALP-GMM draws every level anew")
    return AlpGmm(
        vectors,
        levels=parts.levels,
        fit_every=mixture.fit_every,
        explore=mixture.explore,
        fewest=mixture.fewest,
        most=mixture.most,
        history=mixture.history,
    )


method = Method(
    "alp-gmm",
    "draws levels from Gaussians fitted to where returns change",
    AlpGmmSettings,
    build,
    insists=EVERY_LEVEL,
)
