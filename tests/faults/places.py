"""Where a run lies, and whose it is: disks that are full or read-only, users without a name or a home."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .calls import Outcome, digest, finish, run
from .made import arguments
from .tally import Tally

PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}


def command(words: list[str]) -> list[str]:
    return [sys.executable, "-m", "tutelage.cli", *words]


# --- disks


def limited_files(wanted: str, folder: Path, rng: random.Random, tally: Tally, kind: str = "accel") -> None:
    """No file may grow beyond some size, which the system itself refuses: then there is room again, and it goes on."""
    path = folder / f"full-{rng.randrange(10**9)}"
    limit = rng.choice([0, 100, 400, 1000, 3000, 20_000, 40_000])
    # The limit is set by the process itself, before it becomes the command.
    limited = (
        "import os, resource as r, sys; r.setrlimit(r.RLIMIT_FSIZE, (int(sys.argv[1]), r.RLIM_INFINITY));"
        "os.execv(sys.executable, [sys.executable, '-m', 'tutelage.cli', *sys.argv[2:]])"
    )
    words = arguments(kind, folder)
    called = [sys.executable, "-c", limited, str(limit), *words, "--run", str(path)]
    first = finish(subprocess.Popen(called, text=True, errors="replace", start_new_session=True, **PIPES))
    problem = first.problem((0, 2)) or _goes_on(path, words, wanted)
    tally.note("disks", f"files of at most {limit} bytes: {problem}" if problem else "")


def _goes_on(path: Path, words: list[str], wanted: str) -> str:
    """With room again, the run ends where it should."""
    if (path / "config.toml").exists():
        again = run(["resume", str(path), "--quiet"])
    else:
        shutil.rmtree(path, ignore_errors=True)
        again = run([*words, "--run", str(path)])
    problem = again.problem((0,)) or ("" if digest(path) == wanted else "another result")
    shutil.rmtree(path, ignore_errors=True)
    return problem


class NotAllowed(Exception):
    """A disk cannot be mounted here."""


def _mount(*words: str) -> None:
    try:
        done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    except OSError as problem:
        raise NotAllowed(str(problem)) from problem
    if done.returncode:
        raise NotAllowed(done.stderr.strip())


@contextmanager
def disk(place: Path, options: str) -> Iterator[Path]:
    """A small disk of its own."""
    place.mkdir(exist_ok=True)
    _mount("-t", "tmpfs", "-o", options, "tmpfs", str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def small_disk(wanted: str, run_path: Path, folder: Path, rng: random.Random, tally: Tally, kind: str) -> None:
    """A disk that is full after some bytes, or some files; then it is made larger, and the run goes on."""
    needed = sum(path.stat().st_size for path in run_path.rglob("*") if path.is_file())
    size, files = rng.randrange(1, 12) * max(needed // 8192, 1) * 1024, rng.choice([0, 0, rng.randrange(4, 24)])
    options = f"size={size},nr_inodes={files}"
    try:
        with disk(folder / "small", options) as place:
            words = arguments(kind, folder)
            first = run([*words, "--run", str(place / "x")])
            _mount("-o", "remount,size=64m,nr_inodes=0", str(place))
            problem = first.problem((0, 2)) or _goes_on(place / "x", words, wanted)
    except NotAllowed as reason:
        tally.skip("disks", f"a small disk ({reason})")
        return
    tally.note("disks", f"a disk with {options}: {problem}" if problem else "")


def read_only_disk(wanted: str, run_path: Path, folder: Path, tally: Tally, kind: str) -> None:
    """A disk that nobody may write to: what reads works, what writes says so, and nothing changes."""
    try:
        with disk(folder / "still", "size=64m") as place:
            shutil.copytree(run_path, place / "x")
            newest = max((place / "x" / "checkpoints").glob("*.npz"))
            newest.unlink()  # so that there is something to go on with
            _mount("-o", "remount,ro", str(place))
            cases: list[tuple[list[str], tuple[int, ...]]] = [
                (["show", str(place / "x")], (0,)),
                (["compare", str(place / "x")], (0,)),
                (["report", str(place / "x"), "--no-pictures", "--out", str(place / "page.html")], (2,)),
                (["resume", str(place / "x"), "--quiet"], (2,)),
                (["eval", str(place / "x"), "--episodes", "1"], (0, 2)),
                ([*arguments(kind, folder), "--run", str(place / "y")], (2,)),
            ]
            for words, endings in cases:
                problem = run(words).problem(endings)
                tally.note("disks", f"read-only, {words[0]}: {problem}" if problem else "")
            _mount("-o", "remount,rw", str(place))
            problem = _goes_on(place / "x", arguments(kind, folder), wanted)
            tally.note("disks", f"read-only, and writable again: {problem}" if problem else "")
    except NotAllowed as reason:
        tally.skip("disks", f"a read-only disk ({reason})")


# --- users

SOMEBODY = "54321"
"""The number of a user whom nobody knows."""
ENTER = """
set -e
hidden=$1 needed=$2 keep=$3
shift 3
if [ -n "$hidden" ]; then
    mount --bind "$needed" "$keep"
    mount -t tmpfs -o mode=755 tmpfs "$hidden"
    mkdir -p "$needed"
    mount --bind "$keep" "$needed"
fi
exec "$@"
"""
"""Where Python lies in a place that others may not enter, as in root's home: a view of the files in which they may. It
is this process's alone.
"""


def as_somebody(words: list[str], folder: Path) -> list[str]:
    """A command of a user whom nobody knows."""
    base = Path(sys.base_prefix).resolve()
    hidden = next((str(path) for path in reversed(base.parents) if not path.stat().st_mode & 0o001), "")
    keep = folder / "keep"
    keep.mkdir(exist_ok=True)
    become = ["setpriv", "--reuid", SOMEBODY, "--regid", SOMEBODY, "--clear-groups"]
    return ["unshare", "--mount", "sh", "-c", ENTER, "sh", hidden, str(base), str(keep), *become, *words]


def users(run_path: Path, folder: Path, wanted: str, tally: Tally, only: slice = slice(None)) -> None:
    """Somebody without a name, without a home, with a home that cannot be written, and a run that may not be."""
    if os.getuid() != 0:
        tally.skip("users", "only root can become another user")
        return
    folder.chmod(0o777)
    try:
        probe = subprocess.run(
            as_somebody([sys.executable, "-c", "import os, tutelage; os.getuid() == 0 and exit(3)"], folder),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as problem:
        tally.skip("users", str(problem))
        return
    if probe.returncode:
        tally.skip("users", f"this Python cannot be run by others ({probe.stderr.strip()[-300:]})")
        return
    shared, closed, free = folder / "shared", folder / "closed", folder / "free"
    for path in (closed, free):
        path.mkdir(exist_ok=True)
    shutil.copytree(run_path, shared)
    max((shared / "checkpoints").glob("*.npz")).unlink()
    for path in (shared, *shared.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    closed.chmod(0o000)
    free.chmod(0o777)

    def code(*right: int) -> Callable[[Outcome], bool]:
        return lambda outcome: outcome.code in right

    def trained(outcome: Outcome) -> bool:
        return outcome.code == 0 and digest(free / "run") == wanted

    cases: list[tuple[str, list[str], Callable[[Outcome], bool]]] = [
        ("show", ["show", str(shared)], code(0)),
        ("compare", ["compare", str(shared)], code(0)),
        ("resume what is not theirs", ["resume", str(shared)], code(2)),
        ("eval", ["eval", str(shared), "--episodes", "1"], code(0, 2)),
        ("train where they may not", [*arguments("accel", folder), "--run", str(shared / "x")], code(2)),
        ("a closed directory", ["show", str(closed / "x")], code(2)),
        ("train", [*arguments("accel", folder), "--run", str(free / "run")], trained),
    ]
    homes = {"no home": {}, "a home that is not": {"HOME": "/nonexistent"}, "a closed home": {"HOME": str(closed)}}
    homes["a cache that cannot be written"] = {"HOME": str(free), "JAX_COMPILATION_CACHE_DIR": str(closed)}
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HOME", "XDG", "JAX_COMP"))}
    todo = [(home, *case) for home in homes for case in cases]
    try:
        for home, name, words, right in todo[only]:
            called = as_somebody(command(words), folder)
            environment = clean | homes[home]
            outcome = finish(
                subprocess.Popen(called, text=True, env=environment, errors="replace", start_new_session=True, **PIPES)
            )
            problem = outcome.problem() or ("" if right(outcome) else f"{outcome}")
            tally.note("users", f"{name}, {home}: {problem}" if problem else "")
            shutil.rmtree(free / "run", ignore_errors=True)
    finally:
        for path in (closed, shared, *shared.rglob("*")):
            path.chmod(0o755)
        shutil.rmtree(shared)
