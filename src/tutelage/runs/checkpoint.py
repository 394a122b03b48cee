"""A pytree of arrays as one verified file (``archive``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import UserError
from . import archive
from .archive import DamagedCheckpoint, Spec

__all__ = ["DamagedCheckpoint", "digest", "load", "save"]

_NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
_DTYPES = ("bool", *_NUMBERS, "complex64", "complex128")


def digest(tree: Any) -> str:
    """SHA-256 over path, dtype, shape and bytes of every leaf: equal digests mean equal trees, bit for bit."""
    return archive.digest(*_stored(tree))


def save(path: Path, tree: Any, meta: dict[str, Any]) -> None:
    """Write the tree and some JSON beside it. Whatever goes wrong, a file already at `path` stays as it was."""
    archive.write(path, *_stored(tree), meta)


def load(path: Path, like: Any) -> tuple[Any, dict[str, Any]]:
    """The tree and the JSON that `save` was given. `like` is a tree, or the shapes of one, with the same structure."""
    specs, arrays, meta, _ = archive.read(path)
    leaves, structure = jax.tree.flatten(like)
    _require_same(path, specs, _specs(like))
    return jax.tree.unflatten(structure, map(_restore, specs, arrays, leaves)), meta


def _specs(tree: Any) -> list[Spec]:
    """One for every leaf, in tree order; leaves may be arrays or their shapes."""
    found = [_spec(path, leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)]
    if len({spec.path for spec in found}) < len(found):
        raise UserError("Two leaves of the tree have the same path; rename the dictionary keys that contain a '/'.")
    return found


def _spec(path: Any, leaf: Any) -> Spec:
    name, key = jax.tree_util.keystr(path, simple=True, separator="/"), ""
    if not isinstance(leaf, jax.Array | jax.ShapeDtypeStruct | np.ndarray | np.generic):
        raise UserError(f"'{name}' is a {type(leaf).__name__}; a checkpoint holds arrays only, so make it an array.")
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        key, leaf = _key_spec(leaf)
    if leaf.dtype.name not in _DTYPES:
        raise UserError(
            f"'{name}' has the dtype {leaf.dtype.name}, which a checkpoint cannot hold; "
            f"convert it to one of {', '.join(_DTYPES)}."
        )
    return Spec(name, leaf.dtype.name, tuple(leaf.shape), key)


def _key_spec(key: Any) -> tuple[str, jax.ShapeDtypeStruct]:
    """The implementation and the shape of the data. Traced, because a bare shape does not tell its implementation."""
    implementations: list[str] = []

    def data(key: jax.Array) -> jax.Array:
        implementations.append(str(jax.random.key_impl(key)))
        return jax.random.key_data(key)

    shape = jax.eval_shape(data, key)
    return implementations[0], shape


def _stored(tree: Any) -> tuple[list[Spec], list[np.ndarray]]:
    """The leaves as the bytes that are written and digested: little-endian, in C order."""
    specs = _specs(tree)
    leaves = [
        jax.random.key_data(leaf) if spec.key else leaf for spec, leaf in zip(specs, jax.tree.leaves(tree), strict=True)
    ]
    return specs, [
        np.asarray(leaf, np.dtype(spec.dtype).newbyteorder("<"), order="C")
        for spec, leaf in zip(specs, jax.device_get(leaves), strict=True)
    ]


def _require_same(path: Path, saved: Sequence[Spec], wanted: Sequence[Spec]) -> None:
    there, here = {spec.path: spec for spec in saved}, {spec.path: spec for spec in wanted}
    for name in there | here:
        if there.get(name) != here.get(name):
            raise UserError(
                f"Checkpoint {path} does not fit these settings: '{name}' is {_text(there.get(name))} in the "
                f"checkpoint, but {_text(here.get(name))} here. The settings have changed since it was written; "
                "resume with the run's own config.toml, or start a new run."
            )


def _text(spec: Spec | None) -> str:
    return f"{f'{spec.key} key as ' if spec.key else ''}{spec.dtype}{list(spec.shape)}" if spec else "absent"


def _restore(spec: Spec, array: np.ndarray, like: Any) -> Any:
    """The leaf in the kind that it had: numpy stays numpy. Copied, so that no buffer of ours is donated away."""
    if spec.key:
        return jax.random.wrap_key_data(jnp.array(array), impl=spec.key)
    return array if isinstance(like, np.ndarray | np.generic) else jnp.array(array)
