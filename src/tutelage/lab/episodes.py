"""Episodes that somebody looks at: kept for a while, and drawn as far as somebody looks."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from ..envs.base import Domain
from ..errors import UserError, require
from ..hosts.environment import HostEnvironment
from .levels import Levels, data_uri, keys_of, plain
from .playing import Hand, Played, watch
from .students import Students, Who

MOST_BYTES = 200_000_000
MOST_EPISODES = 64
MOST_HANDS = 8
MOST_FRAMES = 64
"""In one answer."""
NUMBERS = 64
"""An observation of so many numbers is shown as bars."""


class Shown:
    """An episode, and those of its pictures that were asked for so far."""

    def __init__(self, domain: Domain, played: Played) -> None:
        self.domain, self.played = domain, played
        self._frames: list[str] = []
        draw = domain.viewer.frames if domain.viewer else None
        self._source: Iterator[np.ndarray] = iter(()) if draw is None else draw(played.level, played.states)

    def pictures(self, first: int, number: int) -> dict[str, Any]:
        """Frames and what the student saw, from one step on. Frames are drawn once, in order."""
        end = min(first + min(number, MOST_FRAMES), self.played.length + 1)
        while len(self._frames) < end:
            frame = next(self._source, None)
            if frame is None:
                break
            self._frames.append(data_uri(frame))
        views = [seen(self.domain, jax.tree.map(lambda x, t=t: x[t], self.played.obs)) for t in range(first, end)]
        return {"first": first, "frames": self._frames[first:end], "views": views}

    @property
    def bytes(self) -> int:
        return self.played.bytes + sum(map(len, self._frames))


def seen(domain: Domain, obs: Any) -> dict[str, Any]:
    """What a student sees: a picture, or numbers."""
    viewer = domain.viewer
    if viewer is not None and viewer.seen is not None:
        return {"picture": data_uri(viewer.seen(obs))}
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(obs)]
    images = [leaf for leaf in leaves if leaf.dtype == np.uint8 and leaf.ndim == 3]
    if images:
        image = images[0]
        channels = 3 if image.shape[-1] % 3 == 0 else 1
        last = np.repeat(image[..., -1:], 3, axis=-1) if channels == 1 else image[..., -3:]
        return {"picture": data_uri(last)}
    numbers = np.concatenate([leaf.astype(np.float64).ravel() for leaf in leaves]) if leaves else np.zeros(0)
    return {"numbers": [plain(round(x, 4)) for x in numbers[:NUMBERS].tolist()], "more": max(0, len(numbers) - NUMBERS)}


class Episodes:
    """The episodes of one lab, of students and of people."""

    def __init__(self, students: Students, levels: Levels) -> None:
        self.students, self.levels = students, levels
        self._shown: OrderedDict[int, Shown] = OrderedDict()
        self._hands: OrderedDict[int, tuple[Hand, Any]] = OrderedDict()
        self._last = 0
        self._lock = threading.Lock()

    # --- students

    def watch(self, who: Who, given: Any, seed: int, number: int, greedy: bool) -> dict[str, Any]:
        """Play a student and keep the episode."""
        run, agent, state = self.students.get(who)
        opened = self.levels.open(who.run, given)
        key = keys_of(opened.task, seed, range(number, number + 1))[0]
        played = watch(agent, state, opened.brought, key, greedy)
        return {"student": who.id} | self._kept(run.domain, played, self.levels.optimum(who.run, given))

    def _kept(self, domain: Domain, played: Played, optimum: float | None) -> dict[str, Any]:
        shown = Shown(domain, played)
        with self._lock:
            self._last += 1
            number = self._last
            self._shown[number] = shown
            while len(self._shown) > 1 and (
                len(self._shown) > MOST_EPISODES or sum(one.bytes for one in self._shown.values()) > MOST_BYTES
            ):
                self._shown.popitem(last=False)
        return {
            "episode": number,
            "length": played.length,
            "return": plain(played.total),
            "solved": played.total > domain.rules.success,
            "regret": None if optimum is None else optimum - played.total,
            "rewards": [plain(x) for x in played.rewards],
            "values": [plain(x) for x in played.values] if played.values.ndim == 1 else [],
            "bars": [[plain(x) for x in np.atleast_1d(row)] for row in played.bars],
            "actions": np.asarray(played.actions).tolist(),
            **self.pictures(number, 0, 1),
        }

    def pictures(self, number: int, first: int, count: int) -> dict[str, Any]:
        """Pictures of an episode that is still kept."""
        shown = self._shown.get(number)
        if shown is None:
            raise UserError("This episode is not kept any more; play it again.")
        self._shown.move_to_end(number)
        return shown.pictures(first, count)

    # --- people

    def start(self, given: Any, seed: int) -> dict[str, Any]:
        """An episode that a person plays, on a level of the first run."""
        domain = self.levels.domain
        require(
            domain.viewer is not None and domain.viewer.controls is not None,
            "This environment has no keys to play it with.",
        )
        opened = self.levels.open(0, given)
        hand = Hand(opened.brought, keys_of(opened.task, seed, range(1))[0])
        with self._lock:
            self._last += 1
            number = self._last
            self._hands[number] = hand, self.levels.optimum(0, given)
            while len(self._hands) > MOST_HANDS:
                self._hands.popitem(last=False)[1][0].close()
        return {"hand": number} | self._position(hand, 0.0)

    def act(self, number: int, actions: list[Any]) -> dict[str, Any]:
        """Play a few steps of such an episode; at its end it becomes one that can be watched."""
        hand, optimum = self._hands.get(number, (None, None))
        if hand is None:
            raise UserError("This episode is not kept any more; start another.")
        reward = 0.0
        for action in actions:
            reward += hand.act(action)
            if hand.over:
                break
        answer = self._position(hand, reward)
        if hand.over:
            del self._hands[number]
            hand.close()
            answer["whole"] = self._kept(self.levels.domain, hand.episode(), optimum)
        return answer

    def _position(self, hand: Hand, reward: float) -> dict[str, Any]:
        domain = self.levels.domain
        viewer = domain.viewer
        assert viewer is not None
        frame = None
        if isinstance(hand.brought.env, HostEnvironment):
            if viewer.snapshot is not None:
                frame = viewer.snapshot(hand.brought.level, hand.simulator.inner)
        elif viewer.frames is not None:
            frame = next(iter(viewer.frames(hand.brought.level, hand.last)))
        return {
            "step": hand.length,
            "reward": plain(reward),
            "done": hand.over,
            "frame": None if frame is None else data_uri(frame),
            "view": seen(domain, hand.obs),
        }
