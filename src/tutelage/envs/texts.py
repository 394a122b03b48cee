"""Levels as text, in every environment: as its viewer writes and reads them, or as JSON of the level's arrays."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ..errors import UserError, require
from ..types import Level
from .base import Domain

ALONE = "level"
"""The name of an array that is the whole level."""


def writes_text(domain: Domain) -> bool:
    """Has the environment a text form of its own, that can be read back?"""
    return domain.viewer is not None and domain.viewer.parse is not None


def to_text(domain: Domain, level: Level) -> str:
    """A level as text; ``from_text`` reads it back."""
    if domain.viewer is not None and domain.viewer.parse is not None:
        return domain.viewer.text(level)
    return json.dumps(to_fields(level))


def from_text(domain: Domain, text: str) -> Level:
    """The level of a text. Refuses what is none with a sentence."""
    if domain.viewer is not None and domain.viewer.parse is not None:
        return domain.viewer.parse(text)
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise UserError(f"The level is not JSON ({problem}); give an object with {_allowed(domain)}.") from None
    return _from_json(domain, given)


def to_fields(level: Level) -> dict[str, Any]:
    """The arrays of a level by name, as JSON has them; ``from_fields`` reads them back."""
    return {name: _plain(np.asarray(value)) for name, value in _by_name(jax.device_get(level)).items()}


def from_fields(domain: Domain, given: Any) -> Level:
    """The level whose arrays are these. What an environment would refuse as text is refused here, too."""
    level = _from_json(domain, given)
    return from_text(domain, to_text(domain, level)) if writes_text(domain) else level


@lru_cache(maxsize=32)
def _like(sample: Callable[[PRNGKeyArray], Level]) -> Any:
    """Shapes and dtypes of the levels of a generator, which is traced once: people send many levels."""
    return jax.eval_shape(sample, jax.random.key(0))


def _allowed(domain: Domain) -> str:
    like = _like(domain.levels.sample)
    return ", ".join(f"'{name}' ({_kind(spec)})" for name, spec in _by_name(like).items())


def _from_json(domain: Domain, given: Any) -> Level:
    like, allowed = _like(domain.levels.sample), _allowed(domain)
    expected = _by_name(like)
    require(isinstance(given, dict), f"The level is JSON, but not an object; give one with {allowed}.")
    require(
        set(given) == set(expected),
        f"The level has the fields {', '.join(map(repr, given)) or 'none'}; give {allowed}.",
    )
    leaves = [_read(name, given[name], spec) for name, spec in expected.items()]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def fields(domain: Domain) -> dict[str, dict[str, Any]]:
    """What arrays a level has: the shape and type of each, by name."""
    like = _like(domain.levels.sample)
    return {name: {"shape": list(spec.shape), "dtype": str(spec.dtype)} for name, spec in _by_name(like).items()}


def _by_name(level: Level) -> dict[str, Any]:
    flat, _ = jax.tree_util.tree_flatten_with_path(level)
    return {jax.tree_util.keystr(path, simple=True, separator="/") or ALONE: leaf for path, leaf in flat}


def _plain(array: np.ndarray) -> Any:
    """Numbers that become the same bits again; of single precision the shortest such."""
    if array.dtype == np.float32:
        return json.loads(json.dumps(array.astype(object).tolist(), default=lambda x: float(str(x))))
    return array.tolist()


def _kind(spec: Any) -> str:
    return f"{spec.dtype}{list(spec.shape)}"


def _read(name: str, value: Any, spec: Any) -> np.ndarray:
    wanted = np.dtype(spec.dtype)
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        array = np.asarray(None)
    kinds = {"b": "b", "i": "iu", "u": "iu", "f": "fiu"}.get(wanted.kind, "")
    require(
        array.shape == tuple(spec.shape) and (array.size == 0 or array.dtype.kind in kinds),
        f"The level's '{name}' is not {_kind(spec)}; give numbers of this shape and type.",
    )
    with np.errstate(over="ignore"):
        result = array.astype(wanted)
    fits = np.isfinite(result).all() if wanted.kind == "f" else (result == array).all()
    require(bool(fits), f"The level's '{name}' has a number that {wanted} cannot hold; give smaller ones.")
    return result
