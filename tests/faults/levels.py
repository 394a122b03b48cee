"""Levels that are almost levels, in every environment: as text, as JSON, and as files of several. Read, or refused."""

from __future__ import annotations

import json
import random
import traceback
from pathlib import Path
from typing import Any

import jax
from hypothesis import strategies as st

from tutelage.compose import preset
from tutelage.envs.base import Domain, as_brought
from tutelage.envs.registry import environment
from tutelage.envs.texts import from_fields, from_text, to_fields, to_text
from tutelage.errors import UserError
from tutelage.evaluation.suite_file import read_suite

from .calls import Hung, time_limit
from .fuzz import _changed, _noisy, many, mutation, noise, odd_json, odd_text
from .tally import Tally

DOMAINS = (
    *("maze", "minigrid", "fruit", "lava", "matrix", "hidden-games", "racing", "walker"),
    *("procgen", "minihack-lava", "minihack-fruit"),
)
SAMPLES = 3
WAYS = ("noise", "characters", "lines", "json", "fields", "odd", "file")


def build(name: str) -> Domain:
    """The environment as its default preset has it."""
    return environment(name).build(preset(name, "dr").env)


def levels(number: int, folder: Path, tally: Tally, seed: int = 0, names: tuple[str, ...] = DOMAINS) -> None:
    """Attack some of the environments, so many times in all."""
    chosen = random.Random(seed).sample(names, min(len(names), 3))
    for name in chosen:
        try:
            domain = build(name)
        except UserError as problem:  # a simulator that is not installed
            tally.skip("levels", f"{name}: {problem}")
            continue
        _attack(name, domain, -(-number // len(chosen)), folder, tally, seed)


def _attack(name: str, domain: Domain, number: int, folder: Path, tally: Tally, seed: int) -> None:
    sample = jax.jit(domain.levels.sample)
    drawn = [jax.device_get(sample(jax.random.key(k))) for k in range(SAMPLES)]
    texts, given = [to_text(domain, level) for level in drawn], [to_fields(level) for level in drawn]
    letters = [*sorted(set("".join(texts))), "\u2028", "\x1b", "<", "\u0661", "\t", "-", "9"]
    file = folder / f"{name}.txt"

    def attack(drawn: Any) -> None:
        which, way, change, disturbed, swaps, more = drawn
        text = texts[which % SAMPLES]
        if way == "noise":
            text = _noisy(text.encode(), *disturbed).decode(errors="replace")
        elif way == "characters":
            for at, letter in swaps:
                at %= len(text)
                text = text[:at] + letters[letter % len(letters)] + text[at + 1 :]
        elif way == "lines":
            lines = text.splitlines()
            at = disturbed[0] % len(lines)
            lines = {
                "insert": lines[:at] + [lines[at] + lines[at]] * (1 + disturbed[0] % 3) + lines[at:],
                "cut": lines[:at] + lines[at + 1 :],
                "overwrite": [line[: len(line) // 2] if k == at else line for k, line in enumerate(lines)],
            }[disturbed[2]]
            text = "\n".join(lines)
        elif way == "json":
            text = json.dumps(_changed(given[which % SAMPLES], *change))
        elif way == "odd":
            text = more
        value = _changed(given[which % SAMPLES], *change) if way == "fields" else None
        problem = ""
        try:
            with time_limit():
                if way == "file":
                    several = f"// x\n== {more}\n{text}\n== b\n// c\n{text}\n"
                    content = _noisy(several.encode(errors="replace"), *disturbed)
                    file.write_bytes(content)
                    text = repr(content)
                    read_suite(domain, file)
                else:
                    _read(domain, text, value, way)
        except UserError:
            pass
        except Hung:
            problem = "hung"
        except BaseException:
            problem = traceback.format_exc()[-1500:]
        given_as = value if way == "fields" else text[:600]
        tally.note("levels", f"{name}, {way}, {given_as!r}: {problem}" if problem else "")

    swap = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 200)), min_size=1, max_size=4)
    drawing = st.tuples(
        st.integers(0, SAMPLES - 1),
        st.sampled_from(WAYS),
        mutation,
        noise,
        swap,
        st.one_of(odd_text, odd_json.map(lambda x: json.dumps(x))),
    )
    many(number, drawing, attack, seed)
    file.unlink(missing_ok=True)


def _read(domain: Domain, text: str, value: Any, way: str) -> None:
    """What is taken for a level can be played, and written and read again; and drawn, of those that are cheap to."""
    level = from_fields(domain, value) if way == "fields" else from_text(domain, text)
    as_brought(domain, level)
    again = from_text(domain, to_text(domain, level))
    same = jax.tree.map(lambda a, b: bool((a == b).all()), jax.device_get(level), jax.device_get(again))
    assert all(jax.tree.leaves(same)), f"read back as another level: {to_text(domain, level)[:500]!r}"
    if domain.viewer is not None and domain.viewer.picture is not None:
        domain.viewer.picture(level)
