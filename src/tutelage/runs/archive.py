"""Arrays by name as one verified file that plain numpy can open. No JAX here.

The file is an uncompressed ``.npz``: every array under its path in a tree, and a manifest with a SHA-256 digest over
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

import numpy as np

from ..errors import UserError
from ..regular import read_regular
from . import schema
from .files import write_atomically

FORMAT = 2
_MANIFEST = "manifest"
_PREFIX = "tree/"  # keeps leaves called "manifest", or anything np.savez reserves, out of trouble
_COUNTER = "iteration"


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


class Archive(NamedTuple):
    """What a file holds."""

    specs: list[Spec]
    arrays: list[np.ndarray]
    meta: dict[str, Any]
    digest: str


def digest(specs: Sequence[Spec], arrays: Sequence[np.ndarray]) -> str:
    """SHA-256 over path, dtype, shape and bytes of every array."""
    sha = hashlib.sha256()
    for spec, array in zip(specs, arrays, strict=True):
        # The JSON says where it ends and how many bytes follow, so no two trees give the same stream.
        sha.update(json.dumps(spec).encode())
        sha.update(array.tobytes())
    return sha.hexdigest()


def write(path: Path, specs: Sequence[Spec], arrays: Sequence[np.ndarray], meta: dict[str, Any]) -> None:
    """Write arrays and some JSON beside them. Whatever goes wrong, a file already at `path` stays as it was."""
    manifest = {
        "format": FORMAT,
        "digest": digest(specs, arrays),
        "meta": meta,
        "leaves": [spec._asdict() for spec in specs],
    }
    entries = {_PREFIX + spec.path: array for spec, array in zip(specs, arrays, strict=True)}
    entries[_MANIFEST] = np.frombuffer(json.dumps(manifest, allow_nan=False).encode(), np.uint8)
    # In memory first: zipfile does not survive a disk that fills up while it writes.
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **entries)
    write_atomically(path, buffer.getbuffer())


def read(path: Path) -> Archive:
    """All that a file holds, if it is what was written."""
    try:
        content = read_regular(path)
    except OSError as problem:
        raise UserError(f"Checkpoint {path} could not be read: {problem.strerror or problem}.") from problem
    try:
        return _parsed(path, content)
    except UserError:
        raise
    # Damage can surface as nearly any exception of zipfile, numpy or json. All of them mean the same here.
    except Exception as problem:
        raise DamagedCheckpoint(path, str(problem) or type(problem).__name__) from problem


def _parsed(path: Path, content: bytes) -> Archive:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
            raise ValueError("it is compressed, and checkpoints are not")  # nor can one grow beyond its own size
        manifest = schema.document(_entry(archive, _MANIFEST).tobytes())
        written = schema.named({"format": schema.whole})(manifest)["format"]
        if written != FORMAT:
            raise UserError(
                f"Checkpoint {path} has format {written}, but this version of tutelage reads format "
                f"{FORMAT}; use the version named in the run's run.json."
            )
        manifest = schema.manifest(manifest)
        specs = [Spec(**leaf | {"shape": tuple(leaf["shape"])}) for leaf in manifest["leaves"]]
        arrays = [_entry(archive, _PREFIX + spec.path) for spec in specs]
    if any((spec.dtype, spec.shape) != (a.dtype.name, a.shape) for spec, a in zip(specs, arrays, strict=True)):
        raise ValueError("its arrays are not those of its manifest")
    if digest(specs, arrays) != manifest["digest"]:
        raise ValueError("its digest does not match")
    meta = manifest["meta"]
    for spec, array in zip(specs, arrays, strict=True):
        # The digest covers the state's own counter, and not what is said beside it.
        if spec.path == _COUNTER and array.shape == () and int(array) != meta.get(_COUNTER):
            raise ValueError(f"it is of iteration {int(array)} and claims to be of {meta.get(_COUNTER)}")
    return Archive(specs, arrays, meta, manifest["digest"])


def _entry(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    # Read whole before it is parsed: that verifies zip's checksum, so numpy never sees a broken header.
    return np.load(io.BytesIO(archive.read(name + ".npy")), allow_pickle=False)
