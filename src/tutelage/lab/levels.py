"""Levels that a page sends: read, judged, drawn, made anew, and scored."""

from __future__ import annotations

import base64
import io
import math
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray
from PIL import Image

from ..envs.base import Brought, Domain, Task, as_brought, observation_spec
from ..envs.editing import GridEditor, TrackEditor, described
from ..envs.texts import fields, from_fields, from_text, to_fields, to_text
from ..errors import UserError, require, unknown
from ..evaluation.evaluate import episode_key, player, sampler
from ..evaluation.suite_file import FixedLevel
from ..runs.session import Run
from .students import Students, Who

BATCH, DEAR_BATCH = 32, 8
"""Episodes that are played at once, and where a step is dear: one shape, so one program."""
MOST_EPISODES = 512
MOST_CHANGES = 20
SEEDS = 2**31


class Opened(NamedTuple):
    """A level as a run plays it."""

    level: Any
    """As the environment's training has it; None for a test that has rules of its own."""
    brought: Brought
    task: Task
    """What episodes' randomness comes from."""


class Levels:
    """The levels of one lab."""

    def __init__(self, students: Students) -> None:
        self.students = students
        self._opened: OrderedDict[Any, Opened] = OrderedDict()
        self._batches: dict[int, int] = {}

    @property
    def domain(self) -> Domain:
        return self.students.run(0).domain

    # --- reading

    def open(self, run: int, given: Any) -> Opened:
        """A level that a page names: by its text, by its fields, or as a task of a suite."""
        domain = self.students.run(run).domain
        require(isinstance(given, dict), "The level is missing; send its text, its fields, or the name of a task.")
        text, task = given.get("text"), given.get("task")
        if isinstance(text, str):
            return self._remembered((run, text), lambda: self._read(domain, from_text(domain, self._bounded(text))))
        if isinstance(task, str):
            number = whole(given.get("number", 0), "number", 10_000)
            return self._remembered((run, task, number), lambda: self._task(domain, task, number))
        return self._read(domain, from_fields(domain, given.get("fields")))

    def _bounded(self, text: str) -> str:
        editor = self._editor
        if isinstance(editor, GridEditor) and editor.largest:
            lines = text.strip().splitlines()
            most = max([len(lines), *map(len, lines)])
            require(
                most <= editor.largest, f"The level has {most} rows or columns; draw at most {editor.largest} cells."
            )
        return text

    def _remembered(self, key: Any, read: Callable[[], Opened]) -> Opened:
        if key not in self._opened:
            self._opened[key] = read()
            while len(self._opened) > 256:
                self._opened.popitem(last=False)
        return self._opened[key]

    def _read(self, domain: Domain, level: Any) -> Opened:
        brought = as_brought(domain, level)
        return Opened(level, brought, Task("lab", brought.env, FixedLevel(brought.level), brought.max_steps))

    def _task(self, domain: Domain, name: str, number: int) -> Opened:
        task = self.task(domain, name)
        keys = episode_key(0, task, number)[None]
        level = jax.device_get(jax.tree.map(lambda x: x[0], sampler(task)(keys)))
        return Opened(None, Brought(task.env, level, task.max_steps), task)

    def task(self, domain: Domain, name: str) -> Task:
        """A task that is part of a suite of the environment."""
        for suite in domain.suites.values():
            for task in suite.tasks:
                if task.name == name:
                    return task
        raise unknown("task", name[:80], {task.name for suite in domain.suites.values() for task in suite.tasks})

    # --- judging

    @cached_property
    def _editor(self) -> Any:
        return self.domain.viewer.editor if self.domain.viewer else None

    @cached_property
    def _metrics(self) -> Callable[[Any], Mapping[str, Any]]:
        return self.domain.measured or jax.jit(self.domain.levels.metrics)

    @cached_property
    def _optimum(self) -> Callable[[Any], Any] | None:
        optimum = self.domain.rules.optimum
        return None if optimum is None else jax.jit(optimum)

    def about(self, given: Any) -> dict[str, Any]:
        """What is known of a level without playing it."""
        opened, domain = self.open(0, given), self.domain
        level = opened.brought.level if opened.level is None else opened.level
        found: dict[str, Any] = {"limit": opened.brought.max_steps, "picture": self.picture(level)}
        found["optimum"] = self.optimum(0, given)
        if opened.level is None:  # measured as what it looks like in the editor, where it can be drawn there
            found["text"] = text = self.text_of(level)
            return found | {"metrics": {} if text is None else self._measured(from_text(domain, text))}
        found["text"] = to_text(domain, level)
        if not isinstance(self._editor, GridEditor):
            found["fields"] = to_fields(level)
        if isinstance(self._editor, TrackEditor):
            found["outline"] = self._editor.outline(level)
        return found | {"metrics": self._measured(level)}

    def _measured(self, level: Any) -> dict[str, Any]:
        told = jax.device_get(self._metrics(level))
        return {name: value if isinstance(value, str) else plain(value) for name, value in told.items()}

    def text_of(self, level: Any) -> str | None:
        """The text of a level, if it can be read back."""
        try:
            text = to_text(self.domain, level)
            from_text(self.domain, text)
            return text
        except (UserError, ValueError, TypeError, AttributeError, IndexError):  # of a test's level there may be none
            return None

    def optimum(self, run: int, given: Any) -> float | None:
        """The highest return possible, where that is known."""
        rules, brought = self.students.run(run).domain.rules, self.open(run, given).brought
        if rules.optimum is None or self._optimum is None:
            return None
        program = self._optimum if run == 0 else _jitted(rules.optimum)
        try:
            return plain(program(brought.level))
        except (TypeError, AttributeError):  # a test's level has another form than those of training
            return None

    def picture(self, level: Any) -> str | None:
        viewer = self.domain.viewer
        return None if viewer is None or viewer.picture is None else data_uri(viewer.picture(level))

    # --- making

    @cached_property
    def _sample(self) -> Callable[[PRNGKeyArray], Any]:
        return jax.jit(self.domain.levels.sample)

    @cached_property
    def _easy(self) -> Callable[[PRNGKeyArray], Any] | None:
        easy = self.domain.levels.easy
        return None if easy is None else jax.jit(easy)

    @cached_property
    def _edit(self) -> Callable[..., Any] | None:
        edit = self.domain.levels.edit
        return None if edit is None else jax.jit(edit, static_argnums=2)

    @cached_property
    def _generators(self) -> dict[str, Callable[[PRNGKeyArray], Any]]:
        viewer = self.domain.viewer
        return {name: jax.jit(draw) for name, draw in (viewer.generators if viewer else ())}

    def new(self, kind: Any, seed: int, given: Any) -> dict[str, Any]:
        """A level as text: ``random``, ``easy``, of a generator of the viewer, or another level after an edit
        (``edited``).
        """
        key = jax.random.key(seed)
        if kind == "random":
            level = self._sample(key)
        elif kind == "easy" and self._easy is not None:
            level = self._easy(key)
        elif isinstance(kind, str) and kind in self._generators:
            level = self._generators[kind](key)
        elif kind == "edited" and self._edit is not None:
            level = self.open(0, given).level
            require(level is not None, "A test of a suite cannot be changed as it is; open it in the editor first.")
            level = self._edit(key, level, 1)
        else:
            raise unknown("kind of level", str(kind)[:40], self.kinds)
        return self.about({"text": to_text(self.domain, jax.device_get(level))})

    @property
    def kinds(self) -> list[str]:
        """What ``new`` can make."""
        levels, others = self.domain.levels, list(self._generators)
        easy = levels.easy is not None and "empty" not in others
        return ["random", *(["easy"] if easy else []), *others, *(["edited"] if levels.edit else [])]

    # --- scoring

    def batch(self, index: int) -> int:
        """Episodes of a run at once; fewer where the student sees large images, or where simulators are waited for."""
        if index not in self._batches:
            spec = _observation(self.students.run(index))
            few = max(math.prod(x.shape) for x in jax.tree.leaves(spec)) >= 4096
            self._batches[index] = DEAR_BATCH if few else BATCH
        return self._batches[index]

    def score(self, who: Who, given: Any, episodes: int, seed: int) -> dict[str, Any]:
        """How a student does on a level, over some episodes."""
        run, agent, state = self.students.get(who)
        opened, size, began = self.open(who.run, given), self.batch(who.run), time.perf_counter()
        env, level, longest = opened.brought
        play = player(agent, env, False)
        levels = jax.tree.map(lambda x: np.broadcast_to(x, (size, *np.shape(x))), level)
        returns: list[np.ndarray] = []
        for start in range(0, min(episodes, MOST_EPISODES), size):
            keys = keys_of(opened.task, seed, range(start, start + size))
            found, _ = jax.device_get(play(state, keys, levels, np.int32(longest)))
            returns.append(found)
        every = np.concatenate(returns)
        solved = int((every > run.domain.rules.success).sum())
        low, high = wilson(solved, len(every))
        optimum = self.optimum(who.run, given)
        return {
            "student": who.id,
            "episodes": len(every),
            "solved": solved / len(every),
            "low": low,
            "high": high,
            "return": plain(every.mean()),
            "regret": None if optimum is None else optimum - plain(every.mean()),
            "seconds": time.perf_counter() - began,
        }

    def differing(self, whos: Sequence[Who], seed: int, number: int) -> list[dict[str, Any]]:
        """Of some new random levels, those on which students' returns differ most."""
        size = min(self.batch(who.run) for who in whos)
        keys = jax.random.split(jax.random.key(seed), size)
        texts = [to_text(self.domain, jax.device_get(self._sample(key))) for key in keys]
        means = np.stack([self._means(who, texts) for who in whos])
        spread = means.max(axis=0) - means.min(axis=0)
        best = [int(i) for i in np.argsort(-spread, kind="stable")[:number]]
        return [
            {
                "text": texts[i],
                "picture": self.picture(self.open(0, {"text": texts[i]}).level),
                "returns": {who.id: plain(means[at, i]) for at, who in enumerate(whos)},
                "difference": plain(spread[i]),
            }
            for i in best
        ]

    def _means(self, who: Who, texts: Sequence[str], attempts: int = 4) -> np.ndarray:
        """A student's mean return on each of some levels."""
        _, agent, state = self.students.get(who)
        opened = [self.open(who.run, {"text": text}) for text in texts]
        levels = jax.tree.map(lambda *x: np.stack(x), *(one.brought.level for one in opened))
        longest = max(one.brought.max_steps for one in opened)
        play = player(agent, opened[0].brought.env, False)
        numbers = [range(i * len(texts), (i + 1) * len(texts)) for i in range(attempts)]
        played = [play(state, keys_of(opened[0].task, 0, each), levels, np.int32(longest))[0] for each in numbers]
        return np.mean(jax.device_get(played), axis=0)

    # --- what the page must know

    def describe(self) -> dict[str, Any]:
        """The environment, as far as a page needs it to draw, watch and play."""
        domain, viewer = self.domain, self.domain.viewer
        space = domain.env.action_space
        controls = viewer.controls if viewer else None
        return {
            "editor": described(self._editor),
            "fields": fields(domain),
            "kinds": self.kinds,
            "suites": list(domain.suites),
            "actions": list(viewer.actions) if viewer and viewer.actions else [str(i) for i in range(space.n)],
            "continuous": type(space).__name__ == "Continuous",
            "frames": viewer is not None and viewer.frames is not None,
            "pace": viewer.pace if viewer else 120,
            "success": domain.rules.success,
            "optimum": domain.rules.optimum is not None,
            "controls": None
            if controls is None
            else {"keys": [one._asdict() for one in controls.keys], "rest": list(controls.rest)},
        }


def keys_of(task: Task, seed: int, numbers: Sequence[int] | range) -> PRNGKeyArray:
    """The keys of some episodes, as ``evaluate`` has them. The task's name is data here: no level compiles anew."""
    return _keys(np.uint32(seed), np.uint32(zlib.crc32(task.name.encode())), np.asarray(numbers, np.int32))


@jax.jit
def _keys(seed: Array, name: Array, numbers: Array) -> PRNGKeyArray:
    return jax.vmap(lambda number: jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), name), number))(numbers)


_PROGRAMS: dict[Any, Callable[..., Any]] = {}


def _jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """One program for a function, however often it is asked for."""
    if function not in _PROGRAMS:
        _PROGRAMS[function] = jax.jit(function)
    return _PROGRAMS[function]


def _observation(run: Run) -> Any:
    return observation_spec(run.domain.env, jax.eval_shape(run.domain.levels.sample, jax.random.key(0)))


# --- small things


def wilson(successes: int, trials: int, z: float = 1.959964) -> tuple[float, float]:
    """A 95% interval of a share that also holds where all or none succeeded (Wilson's score interval)."""
    share, more = successes / trials, z * z / trials
    middle = (share + more / 2) / (1 + more)
    reach = z / (1 + more) * math.sqrt(share * (1 - share) / trials + more / (4 * trials))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def plain(value: Any) -> Any:
    """A number as JSON has it; None for what is not finite."""
    number = float(value)
    return number if math.isfinite(number) else None


def whole(value: Any, name: str, most: int = SEEDS - 1, least: int = 0) -> int:
    """A whole number that somebody sent."""
    good = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    require(good, f"'{name}' is not a whole number from {least} to {most}.")
    return value


def data_uri(picture: np.ndarray) -> str:
    """A picture as an address that holds it. Compressed little: it goes no farther than this machine."""
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture)).save(stream, format="PNG", compress_level=3)
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"
