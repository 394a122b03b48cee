"""Calls, records, configs and manifests that nobody would write, by hypothesis. None may end in a traceback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tutelage import config
from tutelage.cli.commands import COMMANDS
from tutelage.compose import preset
from tutelage.runs import session

from .calls import Outcome, call, digest
from .tally import Tally

ODD = [
    "",
    " ",
    "-",
    "--",
    "\u2028",
    "\ufeff",
    "\x1b[31mred\x1b[0m",
    "<script>alert(1)</script>",
    "[bold]x[/]",
    "a" * 300,
]
NUMBERS = [
    *(
        "0",
        "-1",
        "1",
        "2",
        "3",
        "7",
        "1e18",
        "2147483648",
        "4294967296",
        "9223372036854775808",
        "9" * 40,
        "-2147483649",
    ),
    *(
        "1__0",
        "_1",
        "1_",
        "\u0661\u0660",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "1e-400",
        "1.5",
        "1e999999999",
        "0x10",
        "1k",
        "5M",
    ),
    *("true", "no", "None", "1,000", "1e6", "+3", ".5", "5."),
]
odd_text = st.one_of(st.sampled_from(ODD), st.text(max_size=12))
odd_number = st.one_of(st.sampled_from(NUMBERS), st.integers().map(str), st.floats().map(str))
odd_value = st.one_of(odd_number, odd_text)
odd_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), odd_text),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(odd_text, inner, max_size=3)),
    max_leaves=6,
)


class Reached(Exception):
    """Everything was accepted, and training would begin."""


@contextmanager
def stopped_before_training() -> Iterator[None]:
    """Nothing is compiled: what is accepted has been built and weighed."""

    def stop(*args: Any) -> None:
        raise Reached

    with patch.object(session, "_train", stop):
        yield


def many(number: int, strategy: st.SearchStrategy[Any], attack: Callable[[Any], None], seed: int = 0) -> None:
    """Try so many examples. Failures are counted and not shrunk: the next example may break something else."""
    from hypothesis import seed as seeded

    quiet = {"deadline": None, "database": None, "phases": [Phase.generate], "suppress_health_check": list(HealthCheck)}
    test = settings(max_examples=number, derandomize=False, **quiet)(given(strategy)(attack))
    seeded(seed)(test)()


# --- calls


def _settings() -> list[str]:
    found: set[str] = set()
    for environment, method in (("maze", "accel"), ("maze", "paired"), ("matrix", "tscl"), ("racing", "sfl")):
        found |= {name.removeprefix("curriculum.") for name, *_ in config.describe(preset(environment, method))}
    return sorted(found)


def arguments(run: Path, folder: Path) -> st.SearchStrategy[list[str]]:
    """Command lines: commands that exist and not, with arguments that do and do not fit."""
    places = [
        str(run),
        str(folder),
        str(folder / "missing"),
        "/dev/null",
        "a" * 300,
        str(run / "config.toml"),
        "",
        "~x",
        ".",
    ]
    place = st.one_of(st.sampled_from(places), odd_text)
    names = st.sampled_from(_settings())
    change = st.one_of(
        st.builds("--{}={}".format, names, odd_value),
        st.builds("--{}={}".format, odd_text, odd_value),
    )
    environment = st.sampled_from(["maze", "matrix", "minigrid", "racing", "hidden-games", "walker", "no.py", "x"])
    method = st.sampled_from(["accel", "dr", "plr", "paired", "tscl", "alp-gmm", "sfl", "samplr", "x"])
    flags = {
        "train": ["--preset", "--config", "--seed", "--seeds", "--steps", "--run", "--devices", "--log", "--grounding"],
        "resume": ["--devices", "--log", "--processes", "--coordinator"],
        "study": ["--out", "--engine", "--jobs", "--log"],
        "eval": ["--suite", "--episodes", "--seed", "--student", "--worst-of"],
        "levels": ["--top", "--png", "--student", "--generated"],
        "compare": ["--suite", "--measure", "--against", "--interval"],
        "report": ["--suite", "--out", "--top", "--interval"],
    }

    def line(command: str) -> st.SearchStrategy[list[str]]:
        options = st.lists(st.tuples(st.sampled_from(flags.get(command, ["--x"])), odd_value).map(list), max_size=2)
        more = options.map(lambda pairs: [word for pair in pairs for word in pair])
        if command == "train":
            chosen = st.tuples(environment, method, st.lists(change, min_size=1, max_size=2), more)
            new = ["--run", str(folder / "new")]
            return chosen.map(lambda parts: ["train", parts[0], parts[1], *parts[2], *parts[3], *new])
        given = st.lists(place, min_size=1, max_size=2)
        return st.tuples(given, more).map(lambda parts: [command, *parts[0], *parts[1]])

    quick = ["show", "compare", "methods", "envs", "metrics", "reproduce"]
    return st.one_of(
        line("train"),
        line("train"),
        st.sampled_from(quick).flatmap(line),
        # What would play and draw for real, for seconds each: mostly of a run that is none.
        st.sampled_from(["eval", "levels", "resume", "check", "study", "report", "play", "page", "export", "plot"])
        .flatmap(line)
        .filter(lambda words: str(run) not in words and "." not in words),
        st.lists(st.one_of(st.sampled_from(sorted(COMMANDS)), odd_value), max_size=4).filter(
            lambda words: not words or words[0] not in ("report", "study", "page", "play", "lab")
        ),
    )


def calls(number: int, run: Path, folder: Path, tally: Tally, seed: int = 0) -> None:
    """Fuzzed command lines, up to the moment when training would begin."""

    def attack(words: list[str]) -> None:
        with stopped_before_training():
            outcome = call([word.replace("\0", "") for word in words])
        if "Reached" in outcome.err.splitlines()[-1:].__str__():
            outcome = Outcome(0, outcome.out, "")
        shutil.rmtree(folder / "new", ignore_errors=True)
        problem = outcome.problem()
        tally.note("calls", f"{words}: {problem}" if problem else "")

    many(number, arguments(run, folder), attack, seed)


# --- records


def _changed(record: Any, at: list[int], value: Any, act: str) -> Any:
    """A record with one of its places changed: another value, or none."""
    if not isinstance(record, dict | list) or not record or not at:
        return value
    keys = list(record) if isinstance(record, dict) else list(range(len(record)))
    key = keys[at[0] % len(keys)]
    changed = dict(record) if isinstance(record, dict) else list(record)
    if len(at) == 1 or not isinstance(record[key], dict | list):
        if act == "delete":
            del changed[key]
        elif act == "rename" and isinstance(changed, dict):
            changed[str(value)] = changed.pop(key)
        else:
            changed[key] = value
    else:
        changed[key] = _changed(record[key], at[1:], value, act)
    return changed


place = st.lists(st.integers(0, 20), min_size=1, max_size=3)
mutation = st.tuples(place, odd_json, st.sampled_from(["replace", "delete", "rename"]))
noise = st.tuples(st.integers(0, 10**6), st.binary(max_size=8), st.sampled_from(["insert", "cut", "overwrite"]))


def _noisy(content: bytes, at: int, more: bytes, act: str) -> bytes:
    at %= len(content) + 1
    return (
        content[:at]
        + (b"" if act == "cut" else more)
        + (b"" if act == "cut" else content[at + len(more) * (act != "insert") :])
    )


def records(number: int, run: Path, tally: Tally, seed: int = 0) -> None:
    """Records of a finished run with one changed: what is read of the others, and the run's digest, stay."""
    wanted = digest(run)
    files = {name: (run / name).read_bytes() for name in ("metrics.jsonl", "evaluations.jsonl")}
    readers = [["show", str(run)], ["compare", str(run)], ["report", str(run), "--no-pictures", "--out"]]
    tried = [0]

    def attack(drawn: Any) -> None:
        name, line, change, disturbed, mode = drawn
        lines = files[name].splitlines()
        line %= len(lines)
        if mode == "json":
            text = json.dumps(_changed(json.loads(lines[line]), *change))
            lines[line] = text.encode(errors="surrogatepass")
        else:
            lines[line] = _noisy(lines[line], *disturbed)
        (run / name).write_bytes(b"\n".join(lines) + b"\n")
        tried[0] += 1
        # All of them look at some; reports take longest.
        which = 2 if tried[0] % 100 == 50 else 1 if tried[0] % 50 == 25 else 0
        reader = readers[which] + ([str(run.parent / "page.html")] if which == 2 else [])
        outcome = call(reader)
        problem = outcome.problem()
        if not problem and which == 0 and (outcome.code != 0 or wanted not in outcome.out):
            problem = f"show ended with {outcome.code} and another digest: {outcome.err}"
        if not problem and which == 2 and outcome.code == 0:
            page = (run.parent / "page.html").read_text()
            problem = "markup of a record is in the page" if "<script>alert" in page else ""
        if not problem and "\x1b[31m" in outcome.out + outcome.err:
            problem = "a record's escape sequence reached the terminal"
        tally.note(
            "records", f"{reader[0]}, line {line} of {name} as {lines[line][:300]!r}: {problem}" if problem else ""
        )

    drawn = st.tuples(
        st.sampled_from(sorted(files)), st.integers(0, 50), mutation, noise, st.sampled_from(["json", "bytes"])
    )
    try:
        many(number, drawn, attack, seed)
    finally:
        for name, content in files.items():
            (run / name).write_bytes(content)


# --- configs and checkpoints


def configs(number: int, run: Path, tally: Tally, seed: int = 0) -> None:
    """A run's config.toml with a line changed, and its run.json."""
    original, note = (run / "config.toml").read_text(), (run / "run.json").read_text()
    whole_note = json.loads(note) | {"from": {"run": "x"}, "extended": [{"at": 1}]}
    value = st.one_of(
        odd_json.map(lambda x: json.dumps(x, default=str)), odd_value, st.just("[" * 5000), st.just("{a={b={}}}")
    )

    def attack(drawn: Any) -> None:
        line, value, mode, disturbed, command, change = drawn
        (run / "run.json").write_text(json.dumps(_changed(whole_note, *change)) if mode == "note" else note)
        lines = original.splitlines()
        line %= len(lines)
        key = lines[line].partition("=")[0]
        if mode == "value" and "=" in lines[line]:
            lines[line] = f"{key}= {value}"
        elif mode == "delete":
            del lines[line]
        elif mode == "section":
            lines[line] = f"[{value}]"
        content = "\n".join(lines).encode(errors="surrogatepass")
        (run / "config.toml").write_bytes(_noisy(content, *disturbed) if mode == "bytes" else content)
        with stopped_before_training():
            more = {"resume": ["--quiet"], "extend": ["--quiet", "--steps", "1M"]}.get(command, [])
            outcome = call([command.replace("extend", "resume"), str(run), *more])
        if "Reached" in str(outcome.err.splitlines()[-1:]):
            outcome = Outcome(0, outcome.out, "")
        problem = outcome.problem()
        tally.note("configs", f"{command}, {mode} {lines[line - 1 : line + 1]}: {problem}" if problem else "")

    modes = st.sampled_from(["value", "value", "delete", "section", "bytes", "note"])
    commands = st.sampled_from(["show", "show", "compare", "resume", "extend"])
    drawn = st.tuples(st.integers(0, 200), value, modes, noise, commands, mutation)
    try:
        many(number, drawn, attack, seed)
    finally:
        (run / "config.toml").write_text(original)
        (run / "run.json").write_text(note)


def manifests(number: int, run: Path, tally: Tally, seed: int = 0) -> None:
    """The newest checkpoint with its manifest or its bytes changed: noticed, or the state is what it was."""
    wanted = digest(run)
    older, newest = sorted((run / "checkpoints").glob("*.npz"))[-2:]
    original = newest.read_bytes()
    with np.load(newest) as file:
        entries = dict(file)
    manifest = json.loads(entries["manifest"].tobytes())

    def attack(drawn: Any) -> None:
        change, disturbed, mode = drawn
        if mode == "json":
            text = json.dumps(_changed(manifest, *change)).encode(errors="surrogatepass")
            np.savez(newest, **{**entries, "manifest": np.frombuffer(text, np.uint8)})  # pyright: ignore
        else:
            newest.write_bytes(_noisy(original, *disturbed))
        outcome = call(["show", str(run)])
        problem = outcome.problem()
        refused = outcome.code == 2 and "has format" in outcome.err
        noticed = "is damaged" in outcome.err and older.name in outcome.err
        if not problem and not (refused or noticed or wanted in outcome.out):
            problem = f"another state was believed: {outcome}"
        tally.note("checkpoints", f"{mode} {change if mode == 'json' else disturbed}: {problem}" if problem else "")

    drawn = st.tuples(mutation, noise, st.sampled_from(["json", "bytes"]))
    try:
        many(number, drawn, attack, seed)
    finally:
        newest.write_bytes(original)
