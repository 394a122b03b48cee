from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import resource
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.errors import UserError
from tutelage.runs import archive
from tutelage.runs.checkpoint import DamagedCheckpoint, digest, load, save


class Pair(NamedTuple):
    first: Any
    second: Any


def make_tree() -> dict[str, Any]:
    return {
        "params": Pair(jnp.arange(6, dtype=jnp.float32).reshape(2, 3), jnp.array([jnp.nan, -0.0, jnp.inf])),
        "keys": jax.random.split(jax.random.key(3), 4),
        "rbg": jax.random.key(1, impl="rbg"),
        "count": jnp.int32(7),
        "host": np.arange(4, dtype=np.float64) / 3,
        "empty": jnp.zeros((0, 2), jnp.int8),
        "nothing": None,
        "file": jnp.array([True, False]),  # a word that np.savez keeps for itself
        "manifest": [jnp.uint8(1)],
    }


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "1.npz"
    save(path, make_tree(), {"iteration": 1})
    return path


@contextmanager
def full_disk() -> Iterator[None]:
    """The system itself refuses to write more than 100 bytes to a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def raw(tree: Any) -> list[Any]:
    """Leaves in a form that compares bit for bit."""
    leaves = [
        jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x for x in jax.tree.leaves(tree)
    ]
    return [(type(x) is np.ndarray, str(x.dtype), x.shape, np.asarray(x).tobytes()) for x in leaves]


@pytest.mark.parametrize("shapes_only", [False, True])
def test_a_tree_comes_back_bit_for_bit(saved: Path, shapes_only: bool) -> None:
    tree = make_tree()
    del tree["host"]
    path = saved.with_name("2.npz")
    save(path, tree, {"iteration": 2, "note": ["ü", 1.5]})
    back, meta = load(path, jax.eval_shape(lambda: tree) if shapes_only else tree)
    assert meta == {"iteration": 2, "note": ["ü", 1.5]}
    assert jax.tree.structure(back) == jax.tree.structure(tree)
    assert raw(back) == raw(tree)
    assert digest(back) == digest(tree)
    assert jax.random.key_impl(back["rbg"]) == "rbg"
    assert jax.random.bits(back["keys"][2]) == jax.random.bits(tree["keys"][2])


def test_numpy_stays_numpy(saved: Path) -> None:
    back, _ = load(saved, make_tree())
    assert type(back["host"]) is np.ndarray
    assert back["host"].dtype == np.float64
    assert raw(back) == raw(make_tree())


def test_a_bare_leaf_is_a_tree(tmp_path: Path) -> None:
    save(tmp_path / "x.npz", jnp.arange(3), {})
    assert load(tmp_path / "x.npz", jnp.arange(3))[0].tolist() == [0, 1, 2]


def test_plain_numpy_opens_it(saved: Path) -> None:
    with np.load(saved, allow_pickle=False) as file:
        assert file["tree/params/first"].tolist() == [[0, 1, 2], [3, 4, 5]]
        manifest = json.loads(file["manifest"].tobytes())
    assert manifest["format"] == archive.FORMAT
    assert manifest["digest"] == digest(make_tree())
    assert manifest["meta"]["iteration"] == 1
    assert {"path": "rbg", "dtype": "uint32", "shape": [4], "key": "rbg"} in manifest["leaves"]


def test_equal_trees_are_equal_files(saved: Path) -> None:
    other = saved.with_name("other.npz")
    save(other, make_tree(), {"iteration": 1})
    assert other.read_bytes() == saved.read_bytes()


# The digest


def test_the_digest_is_the_same_everywhere() -> None:
    tree = {"a": np.arange(3, dtype=np.int32), "b": np.float32(0.5)}
    stream = b'["a", "int32", [3], ""]' + bytes([0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0])
    stream += b'["b", "float32", [], ""]' + bytes([0, 0, 0, 0x3F])
    assert digest(tree) == hashlib.sha256(stream).hexdigest()


def test_the_digest_depends_on_every_bit_of_every_leaf() -> None:
    leaves, structure = jax.tree.flatten(make_tree())
    seen = {digest(make_tree())}
    for i, leaf in enumerate(leaves):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            changed = jax.random.wrap_key_data(jax.random.key_data(leaf) ^ 1, impl=jax.random.key_impl(leaf))
        else:
            data = bytearray(np.asarray(leaf).tobytes())
            if data:
                data[-1] ^= 1
            changed = np.frombuffer(bytes(data), leaf.dtype).reshape(leaf.shape if data else (2, 0))
        seen.add(digest(jax.tree.unflatten(structure, [*leaves[:i], changed, *leaves[i + 1 :]])))
    assert len(seen) == len(leaves) + 1


def test_the_digest_depends_on_name_dtype_shape_and_implementation() -> None:
    zeros = np.zeros(4, np.uint32)
    variants = [
        {"a": zeros},
        {"b": zeros},
        {"a": zeros.view(np.int32)},
        {"a": zeros.view(np.float32)},
        {"a": zeros.reshape(2, 2)},
        {"a": zeros[:2], "b": zeros[2:]},
        {"a": jax.random.wrap_key_data(jnp.asarray(zeros), impl="rbg")},
        {"a": jax.random.wrap_key_data(jnp.asarray(zeros), impl="unsafe_rbg")},
        {},
    ]
    assert len({digest(tree) for tree in variants}) == len(variants)


def test_the_digest_does_not_depend_on_memory_layout() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    same = [array, np.asfortranarray(array), array.astype(">i4"), jnp.asarray(array)]
    assert len({digest(other) for other in same}) == 1


# What cannot be saved


@pytest.mark.parametrize("leaf", [1, 1.0, "text", object()])
def test_only_arrays_are_saved(tmp_path: Path, leaf: Any) -> None:
    with pytest.raises(UserError, match=f"'a' is a {type(leaf).__name__}; a checkpoint holds arrays only"):
        save(tmp_path / "x.npz", {"a": leaf}, {})


@pytest.mark.parametrize(
    "leaf", [jnp.zeros(2, jnp.bfloat16), np.array([object()]), np.array(["a"]), np.array(["2020-01-01"], "M8[D]")]
)
def test_other_dtypes_are_refused(tmp_path: Path, leaf: Any) -> None:
    with pytest.raises(UserError, match=r"'a/0' has the dtype .*, which a checkpoint cannot hold; convert it to"):
        save(tmp_path / "x.npz", {"a": [leaf]}, {})
    assert list(tmp_path.iterdir()) == []


def test_ambiguous_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Two leaves of the tree have the same path"):
        save(tmp_path / "x.npz", {"a": {"b": jnp.zeros(1)}, "a/b": jnp.zeros(1)}, {})


# Atomicity


def test_a_full_disk_leaves_the_old_file(saved: Path) -> None:
    before, tree = saved.read_bytes(), {"a": np.zeros(1000, np.float32)}  # nothing for JAX to compile, or to cache
    with full_disk(), pytest.raises(UserError, match="could not be written: File too large. What was saved before"):
        save(saved, tree, {})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_any_failing_step_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    before = saved.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(UserError, match="No space left on device"):
        save(saved, {"a": jnp.zeros(3)}, {})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_an_interrupt_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(saved, {"a": jnp.zeros(3)}, {})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_the_data_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *args, real=real, name=name: (calls.append(name), real(*args))[1])
    save(tmp_path / "x.npz", jnp.zeros(3), {})
    assert calls == ["fsync", "replace", "fsync"]


def test_a_missing_directory_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="could not be written: No such file or directory"):
        save(tmp_path / "none" / "x.npz", jnp.zeros(3), {})


# Damage


def test_a_missing_file_is_not_damage(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="could not be read: No such file or directory") as caught:
        load(tmp_path / "x.npz", {})
    assert not isinstance(caught.value, DamagedCheckpoint)


def test_every_truncation_is_found(saved: Path) -> None:
    content = saved.read_bytes()
    for length in [*range(0, len(content), 97), len(content) - 1]:
        saved.write_bytes(content[:length])
        with pytest.raises(DamagedCheckpoint, match=r"Checkpoint .* is damaged \(.+\)\. Use an older one"):
            load(saved, make_tree())


def test_a_flipped_bit_never_changes_what_is_loaded(saved: Path) -> None:
    """Zip keeps some fields twice or not at all in use; a flip there may go unseen, but only there."""
    content, tree = saved.read_bytes(), make_tree()
    expected, found, offsets = raw(tree), 0, range(0, len(content), 13)
    for offset in offsets:
        flipped = bytearray(content)
        flipped[offset] ^= 1 << offset % 8
        saved.write_bytes(flipped)
        try:
            back, meta = load(saved, tree)
        except DamagedCheckpoint:
            found += 1
        else:
            assert raw(back) == expected
            assert meta == {"iteration": 1}
    assert found > 0.7 * len(offsets)


def test_every_flipped_bit_of_an_array_is_found(saved: Path) -> None:
    content = saved.read_bytes()
    start = content.index(np.asarray(make_tree()["params"].first).tobytes())
    for bit in range(24 * 8):
        flipped = bytearray(content)
        flipped[start + bit // 8] ^= 1 << bit % 8
        saved.write_bytes(flipped)
        with pytest.raises(DamagedCheckpoint, match="CRC"):
            load(saved, make_tree())


def rewrite(path: Path, **changes: np.ndarray) -> None:
    """Change entries with sound checksums, as zip itself would."""
    with np.load(path) as file:
        np.savez(path, **{**file, **changes})  # pyright: ignore[reportArgumentType]


def test_the_digest_finds_what_zip_does_not(saved: Path) -> None:
    rewrite(saved, **{"tree/count": np.int32(8)})  # pyright: ignore[reportArgumentType]
    with pytest.raises(DamagedCheckpoint, match="its digest does not match"):
        load(saved, make_tree())


@pytest.mark.parametrize("array", [np.int64(7), np.array([7], np.int32)])
def test_arrays_have_to_be_those_of_the_manifest(saved: Path, array: np.ndarray) -> None:
    rewrite(saved, **{"tree/count": array})
    with pytest.raises(DamagedCheckpoint, match="its arrays are not those of its manifest"):
        load(saved, make_tree())


def test_pickles_are_never_read(saved: Path) -> None:
    rewrite(saved, **{"tree/count": np.array([{}])})
    with pytest.raises(DamagedCheckpoint, match="allow_pickle=False"):
        load(saved, make_tree())


@pytest.mark.parametrize("content", [b"", b"text", b"\0" * 500])
def test_any_other_file_is_damage(saved: Path, content: bytes) -> None:
    saved.write_bytes(content)
    with pytest.raises(DamagedCheckpoint):
        load(saved, make_tree())


def test_an_empty_archive_is_damage(saved: Path) -> None:
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    saved.write_bytes(buffer.getvalue())
    with pytest.raises(DamagedCheckpoint, match="manifest"):
        load(saved, make_tree())


def test_another_format_is_not_damage(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = archive.FORMAT
    monkeypatch.setattr(archive, "FORMAT", mine + 1)
    said = f"has format {mine}, but this version of tutelage reads format {mine + 1}"
    with pytest.raises(UserError, match=said) as caught:
        load(saved, make_tree())
    assert not isinstance(caught.value, DamagedCheckpoint)


# Another structure


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"count": jnp.int8(7)}, r"'count' is int32\[\] in the checkpoint, but int8\[\] here"),
        ({"count": jnp.zeros(2, jnp.int32)}, r"'count' is int32\[\] in the checkpoint, but int32\[2\] here"),
        ({"more": jnp.zeros(2)}, r"'more' is absent in the checkpoint, but float32\[2\] here"),
        ({"count": None}, r"'count' is int32\[\] in the checkpoint, but absent here"),
        ({"rbg": jnp.zeros(4, jnp.uint32)}, r"'rbg' is rbg key as uint32\[4\] in the checkpoint, but uint32\[4\] here"),
        ({"rbg": jax.random.key(0)}, r"but threefry2x32 key as uint32\[2\] here"),
        ({"params": Pair(jnp.zeros((2, 4)), jnp.zeros(3))}, "'params/first'"),
    ],
)
def test_changed_settings_are_a_sentence(saved: Path, change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as caught:
        load(saved, make_tree() | change)
    assert not isinstance(caught.value, DamagedCheckpoint)
    assert "The settings have changed since it was written" in str(caught.value)


# Manifests


@pytest.mark.parametrize(
    "change",
    [
        *({name: value} for name in ("digest", "meta", "leaves") for value in (None, 3, "x", [], [None])),
        {"leaves": [{"path": "a", "dtype": "float32", "shape": "33", "key": ""}]},
        {"leaves": [{"path": "a", "dtype": "float32", "shape": [10**18, 10**18], "key": ""}]},
        {"format": "2"},
        {"format": None},
        {"meta": {"iteration": "1"}},
    ],
    ids=str,
)
def test_a_manifest_that_is_wrong_is_damage(saved: Path, change: dict[str, Any]) -> None:
    with np.load(saved) as file:
        manifest = json.loads(file["manifest"].tobytes()) | change
    manifest = {name: value for name, value in manifest.items() if value is not None}
    rewrite(saved, manifest=np.frombuffer(json.dumps(manifest).encode(), np.uint8))
    with pytest.raises(DamagedCheckpoint):
        load(saved, make_tree())


def test_a_state_of_another_iteration_is_damage(tmp_path: Path) -> None:
    save(tmp_path / "1.npz", {"iteration": jnp.int32(7)}, {"iteration": 7})
    assert load(tmp_path / "1.npz", {"iteration": jnp.int32(0)})[1] == {"iteration": 7}
    save(tmp_path / "2.npz", {"iteration": jnp.int32(7)}, {"iteration": 9})
    with pytest.raises(DamagedCheckpoint, match="it is of iteration 7 and claims to be of 9"):
        load(tmp_path / "2.npz", {"iteration": jnp.int32(0)})


def test_a_checkpoint_that_grows_when_it_is_read_is_damage(saved: Path) -> None:
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("manifest.npy", b"\0" * 10_000_000)
    with pytest.raises(DamagedCheckpoint, match="it is compressed"):
        load(saved, make_tree())
