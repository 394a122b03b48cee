"""Gymnasium environments for tests, well-behaved and not. Workers import this file, so it does without JAX."""

import os
import time

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding


class Counting(gymnasium.Env):
    """Counts up by the action; pays and sees the count. A level says where to end, and what goes wrong."""

    observation_space = spaces.Box(-1000, 1000, (3,), np.float32)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        level = options["level"]
        self.goal, self.limit, self.trouble = (int(level[name]) for name in ("goal", "limit", "trouble"))
        if self.trouble == 6:
            raise ValueError("this level is outside of the space")
        self.count, self.time, self.start = 0, 0, self.np_random.random()
        return self._observation(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.count, self.time = self.count + action, self.time + 1
        if self.time == 2:
            self._misbehave()
        reward = float("nan") if self.trouble == 5 and self.time == 2 else self.count / 10
        return self._observation(), reward, self.count >= self.goal, self.time >= self.limit, {}

    def _misbehave(self):
        if self.trouble == 1:
            os._exit(3)
        if self.trouble == 2:
            time.sleep(60)
        if self.trouble == 3:
            raise RuntimeError("the physics exploded")

    def _observation(self):
        if self.trouble == 4 and self.time == 2:
            return np.zeros(7, np.float32)
        return np.array([self.count, self.time, self.start], np.float32)


class Seeing(gymnasium.Env):
    """Sees all sorts of arrays in dictionaries and tuples, decided by dice."""

    observation_space = spaces.Dict(
        {
            "image": spaces.Box(0, 255, (8, 8, 3), np.uint8),
            "body": spaces.Dict({"pose": spaces.Box(-9, 9, (4,), np.float64), "speed": spaces.Box(-9, 9, ())}),
            "mode": spaces.Discrete(3),
            "pair": spaces.Tuple([spaces.MultiBinary(2), spaces.Box(-9, 9, (2,), np.int32)]),
        }
    )
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.limit, self.trouble = int(options["level"]["limit"]), int(options["level"]["trouble"])
        self.time, self.mode = 0, 0
        return self._observation(), {}

    def step(self, action):
        self.time, self.mode = self.time + 1, action
        terminated, truncated = bool(self.np_random.random() < 0.2), self.time >= self.limit
        return self._observation(), float(self.np_random.random()), terminated, truncated, {}

    def _observation(self):
        dice, late = self.np_random, self.time == 2
        seen = {
            "image": dice.integers(0, 256, (8, 8, 3), np.uint8),
            "body": {"pose": dice.normal(size=4), "speed": float(dice.normal())},
            "mode": self.mode,
            "pair": (dice.integers(0, 2, 2, np.int8), dice.integers(-9, 9, 2, np.int32)),
        }
        if late and self.trouble == 1:
            seen["image"] = seen["image"][:7]
        if late and self.trouble == 2:
            seen["body"]["pose"][1] = np.nan
        if late and self.trouble == 3:
            seen["pair"] = (seen["pair"][0], np.float32([0.5, 1.5]))
        if late and self.trouble == 4:
            del seen["body"]["speed"]
        return seen


class Reaching(gymnasium.Env):
    """Continuous actions with bounds of their own, and an observation that is a dictionary."""

    observation_space = spaces.Dict({"at": spaces.Box(-9, 9, (2,)), "mode": spaces.Discrete(3)})
    action_space = spaces.Box(np.float32([0, -4]), np.float32([10, 4]))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.mode = int(options["level"])
        self.time = 0
        return {"at": np.zeros(2, np.float32), "mode": self.mode}, {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.time += 1
        return {"at": action.astype(np.float32) / 10, "mode": self.mode}, float(action[0]), False, self.time >= 5, {}


class CountingBatch:
    """Many of ``Counting`` in one call, without its troubles. It remembers how often it was called."""

    calls = 0

    def __init__(self, slots):
        self.count, self.time, self.start = np.zeros(slots, int), np.zeros(slots, int), np.zeros(slots)

    def reset(self, slots, which):
        self.count[which], self.time[which] = 0, 0
        self.start[which] = [seeding.np_random(int(seed))[0].random() for seed in slots.seed[which]]
        slots.obs[""][which] = self._observation(which)

    def step(self, slots, which):
        self.calls += 1
        self.count[which] += slots.action[which]
        self.time[which] += 1
        slots.final[""][which] = self._observation(which)
        slots.reward[which] = self.count[which] / 10
        if slots.level["trouble"][which].any() and self.time.max() == 2:
            slots.reward[which[-1]] = np.nan
        slots.terminated[which] = self.count[which] >= slots.level["goal"][which]
        slots.truncated[which] = self.time[which] >= slots.level["limit"][which]

    def _observation(self, which):
        return np.stack([self.count[which], self.time[which], self.start[which]], axis=1).astype(np.float32)
