"""A pytree of arrays as one verified file that plain numpy can open.

The file is an uncompressed ``.npz``: every leaf under its path in the tree, and a manifest with a SHA-256 digest over
all of them. It is either there whole or not at all, and one that was damaged later is recognised as such.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import UserError
from .files import write_atomically

FORMAT = 2
_MANIFEST = "manifest"
_PREFIX = "tree/"  # keeps leaves called "manifest", or anything np.savez reserves, out of trouble
_NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
_DTYPES = ("bool", *_NUMBERS, "complex64", "complex128")


class DamagedCheckpoint(UserError):
    """The file is not what was written. An older checkpoint may still be good."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"Checkpoint {path} is damaged ({reason}). Use an older one, or start the run again.")
        self.reason: str = reason


class Spec(NamedTuple):
    """What is known of a leaf without its data."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    key: str
    """For a typed random key its implementation, and the dtype and shape are those of its data. Else empty."""


def digest(tree: Any) -> str:
    """SHA-256 over path, dtype, shape and bytes of every leaf: equal digests mean equal trees, bit for bit."""
    return _digest(*_stored(tree))


def save(path: Path, tree: Any, meta: dict[str, Any]) -> None:
    """Write the tree and some JSON beside it. Whatever goes wrong, a file already at `path` stays as it was."""
    specs, arrays = _stored(tree)
    manifest = {
        "format": FORMAT,
        "digest": _digest(specs, arrays),
        "meta": meta,
        "leaves": [spec._asdict() for spec in specs],
    }
    entries = {_PREFIX + spec.path: array for spec, array in zip(specs, arrays, strict=True)}
    entries[_MANIFEST] = np.frombuffer(json.dumps(manifest, allow_nan=False).encode(), np.uint8)
    # In memory first: zipfile does not survive a disk that fills up while it writes.
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **entries)
    write_atomically(path, buffer.getbuffer())


def load(path: Path, like: Any) -> tuple[Any, dict[str, Any]]:
    """The tree and the JSON that `save` was given. `like` is a tree, or the shapes of one, with the same structure."""
    specs, arrays, meta = _read(path)
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


def _digest(specs: Sequence[Spec], arrays: Sequence[np.ndarray]) -> str:
    sha = hashlib.sha256()
    for spec, array in zip(specs, arrays, strict=True):
        # The JSON says where it ends and how many bytes follow, so no two trees give the same stream.
        sha.update(json.dumps(spec).encode())
        sha.update(array.tobytes())
    return sha.hexdigest()


def _read(path: Path) -> tuple[list[Spec], list[np.ndarray], dict[str, Any]]:
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise UserError(f"Checkpoint {path} could not be read: {problem.strerror or problem}.") from problem
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            manifest = json.loads(_entry(archive, _MANIFEST).tobytes())
            if manifest["format"] != FORMAT:
                raise UserError(
                    f"Checkpoint {path} has format {manifest['format']}, but this version of tutelage reads format "
                    f"{FORMAT}; use the version named in the run's run.json."
                )
            specs = [Spec(**leaf | {"shape": tuple(leaf["shape"])}) for leaf in manifest["leaves"]]
            arrays = [_entry(archive, _PREFIX + spec.path) for spec in specs]
            meta = manifest["meta"]
            if any((spec.dtype, spec.shape) != (a.dtype.name, a.shape) for spec, a in zip(specs, arrays, strict=True)):
                raise ValueError("its arrays are not those of its manifest")
            if _digest(specs, arrays) != manifest["digest"]:
                raise ValueError("its digest does not match")
            return specs, arrays, meta
    except UserError:
        raise
    # Damage can surface as nearly any exception of zipfile, numpy or json. All of them mean the same here.
    except Exception as problem:
        raise DamagedCheckpoint(path, str(problem) or type(problem).__name__) from problem


def _entry(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    # Read whole before it is parsed: that verifies zip's checksum, so numpy never sees a broken header.
    return np.load(io.BytesIO(archive.read(name + ".npy")), allow_pickle=False)


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
