"""All that a lab can be asked, and what it answers. No server here: a question is a mapping, an answer is JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from ..envs.texts import to_text
from ..errors import UserError, require
from ..plugins import label
from .episodes import MOST_FRAMES, Episodes
from .gallery import MOST_SHOWN, Gallery
from .keeping import Keeper
from .levels import MOST_EPISODES, Levels, keys_of, whole
from .opening import NamedRun
from .playing import Hand, watch
from .students import Students, who

Question = Mapping[str, Any]
Answer = dict[str, Any]

MOST_STUDENTS = 12
"""Of one question."""
MOST_ACTIONS = 8


class Laboratory:
    """Runs of one environment, and what people do with them."""

    def __init__(self, runs: Sequence[NamedRun], keep: Path) -> None:
        self.students = Students(list(runs))
        self.levels = Levels(self.students)
        self.episodes = Episodes(self.students, self.levels)
        self.gallery = Gallery(self.students, self.levels)
        self.keeper = Keeper(keep)

    def questions(self) -> dict[tuple[str, str], Callable[[Question], Answer]]:
        """What can be asked, by method and address."""
        return {
            ("GET", "/api/lab"): self.describe,
            ("POST", "/api/level"): self.level,
            ("POST", "/api/new"): self.new,
            ("POST", "/api/score"): self.score,
            ("POST", "/api/episode"): self.episode,
            ("GET", "/api/frames"): self.frames,
            ("POST", "/api/play"): self.play,
            ("POST", "/api/act"): self.act,
            ("GET", "/api/buffer"): self.buffer,
            ("GET", "/api/lineage"): self.lineage,
            ("GET", "/api/suite"): self.suite,
            ("GET", "/api/differences"): self.differences,
            ("POST", "/api/differing"): self.differing,
            ("GET", "/api/kept"): self.kept,
            ("POST", "/api/keep"): self.keep,
        }

    def without_waiting(self) -> list[Callable[[Question], Answer]]:
        """Questions that compute nothing: they are answered while others wait for their turn."""
        return [self.describe, self.suite]

    def warm_up(self) -> None:
        """Compile what the first visitor would wait for."""
        first = jax.device_get(self.levels.domain.levels.sample(jax.random.key(0)))
        given = {"text": to_text(self.levels.domain, first)}
        self.levels.about(given)
        agents = set()
        for index, named in enumerate(self.students.runs):
            run = named.run
            opened = self.levels.open(index, given)
            self.levels.optimum(index, given)
            if (run.agent, opened.brought.env) in agents:
                continue
            agents.add((run.agent, opened.brought.env))
            key = keys_of(opened.task, 0, range(1))[0]
            watch(run.agent, run.student(), opened.brought, key, True)
            self.levels.score(who(f"{index}.{run.iteration}.0"), given, 1, 0)
        if self.levels.domain.viewer is not None and self.levels.domain.viewer.controls is not None:
            opened = self.levels.open(0, given)
            hand = Hand(opened.brought, keys_of(opened.task, 0, range(1))[0])
            space = self.levels.domain.env.action_space
            hand.act(0 if type(space).__name__ == "Discrete" else [0.0] * space.n)
            hand.close()

    # --- answers

    def describe(self, given: Question) -> Answer:
        environment = self.students.run(0).settings.environment
        return {
            "environment": label(environment),
            "runs": self.students.listed(),
            "keep": self.keeper.path.name,
            **self.levels.describe(),
        }

    def level(self, given: Question) -> Answer:
        try:
            return self.levels.about(given.get("level"))
        except UserError as problem:  # half-drawn levels are nothing unusual
            return {"problem": str(problem)}

    def new(self, given: Question) -> Answer:
        return self.levels.new(given.get("kind"), whole(given.get("seed", 0), "seed"), given.get("level"))

    def score(self, given: Question) -> Answer:
        seed, student = whole(given.get("seed", 0), "seed"), who(given.get("student"))
        episodes = whole(given.get("episodes", 1), "episodes", MOST_EPISODES, 1)  # at least one batch is played
        return self.levels.score(student, given.get("level"), episodes, seed)

    def episode(self, given: Question) -> Answer:
        seed, number = whole(given.get("seed", 0), "seed"), whole(given.get("number", 0), "number", 1_000_000)
        student, greedy = who(given.get("student")), given.get("greedy", False)
        require(isinstance(greedy, bool), "'greedy' is neither true nor false.")
        return self.episodes.watch(student, given.get("level"), seed, number, greedy)

    def frames(self, given: Question) -> Answer:
        episode, first, count = (_number(given, name) for name in ("episode", "first", "count"))
        require(1 <= count <= MOST_FRAMES, f"'count' is not a number from 1 to {MOST_FRAMES}.")
        return self.episodes.pictures(episode, first, count)

    def play(self, given: Question) -> Answer:
        return self.episodes.start(given.get("level"), whole(given.get("seed", 0), "seed"))

    def act(self, given: Question) -> Answer:
        actions = given.get("actions")
        require(
            isinstance(actions, list) and 1 <= len(actions) <= MOST_ACTIONS,
            f"'actions' is not a list of 1 to {MOST_ACTIONS} actions.",
        )
        assert isinstance(actions, list)
        return self.episodes.act(whole(given.get("hand"), "hand"), actions)

    def buffer(self, given: Question) -> Answer:
        order = given.get("order", "best")
        require(order in ("best", "newest"), "'order' is neither best nor newest.")
        number = _number(given, "number") if "number" in given else 12
        return self.gallery.buffer(_number(given, "run"), _number(given, "student"), order, min(number, MOST_SHOWN))

    def lineage(self, given: Question) -> Answer:
        return self.gallery.lineage(*(_number(given, name) for name in ("run", "student", "level")))

    def suite(self, given: Question) -> Answer:
        return self.gallery.suite(given.get("name"))

    def differences(self, given: Question) -> Answer:
        return self.gallery.differences()

    def differing(self, given: Question) -> Answer:
        chosen = given.get("students")
        require(
            isinstance(chosen, list) and 2 <= len(chosen) <= MOST_STUDENTS,
            f"'students' is not a list of 2 to {MOST_STUDENTS} students.",
        )
        assert isinstance(chosen, list)
        return {
            "levels": self.levels.differing([who(one) for one in chosen], whole(given.get("seed", 0), "seed"), 8),
        }

    def kept(self, given: Question) -> Answer:
        entries = self.keeper.entries()
        return {
            "file": self.keeper.path.name,
            "levels": [{"name": one.name, "text": one.text, "comment": one.comment} for one in entries],
        }

    def keep(self, given: Question) -> Answer:
        opened = self.levels.open(0, given.get("level"))
        require(opened.level is not None, "A test of a suite is kept already; change it first.")
        return self.keeper.keep(given.get("name"), given.get("comment", ""), to_text(self.levels.domain, opened.level))


def _number(given: Question, name: str) -> int:
    """A whole number of an address."""
    text = given.get(name)
    if not (isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= 10):
        raise UserError(f"'{name}' is not a whole number.")
    return int(text)
