"""Domain randomisation: every batch is new, and learned from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..settings import NoSettings
from .base import Method, Parts
from .building import levels_from

if TYPE_CHECKING:
    from ..curricula.base import Curriculum


def build(settings: NoSettings, parts: Parts) -> Curriculum:
    return levels_from(parts.domain.levels.sample, parts)


method = Method("dr", "domain randomisation: random levels, all learned from", NoSettings, build)
