"""Small runs of many kinds, to be attacked. Each is trained once, undisturbed; what it ends in is what others must."""

from __future__ import annotations

from pathlib import Path

MAZE = {
    "preset": "small",
    "env.size": "4",
    "env.view": "3",
    "env.blocks": "6",
    "env.max-steps": "12",
    "network.core": "none",
    "network.width": "8",
    "encoder.filters": "2",
    "ppo.epochs": "2",
    "train.levels": "8",
    "train.rollout": "16",
    "train.episodes": "2",
    "train.suite": "fresh",
}
SCHEDULE = {"train.log-every": "2", "train.checkpoint-every": "2", "train.evaluate-every": "4", "train.devices": "1"}
ITERATIONS = 12
MATRIX = {"train.levels": "8", "train.rollout": "4"}

WALKER = {
    "env.max-steps": "12",
    "env.workers": "2",
    "network.head": "8",
    "ppo.epochs": "2",
    "ppo.minibatches": "2",
    "train.levels": "8",
    "train.rollout": "8",
    "train.episodes": "1",
}

CORRIDOR = '''
"""A corridor of some length, in Gymnasium: walk to its end."""
import gymnasium, jax, numpy as np
import tutelage

class Corridor(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-20, 20, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.end, self.at, self.time = float(options["level"][0]), 0.0, 0
        return np.array([self.at, self.end], np.float32), {}

    def step(self, action):
        self.at, self.time = self.at + (1 if action else -1), self.time + 1
        obs = np.array([self.at, self.end], np.float32)
        return obs, float(self.at >= self.end), self.at >= self.end, self.time >= 12, {}

def sample(key):
    return jax.random.uniform(key, (1,), minval=1.0, maxval=6.0)

environment = tutelage.Gymnasium(make=Corridor, sample=sample, edit=lambda key, level: sample(key),
                                 bounds=([1.0], [6.0]), max_steps=20,
                                 settings={"train.levels": "8", "train.rollout": "8", "train.episodes": "2",
                                           "env.workers": "1", "ppo.minibatches": "2"})
'''

RUNS = {
    "accel": ["maze", "accel", "--replay.capacity=16"],
    "plr": ["matrix", "plr", "--replay.capacity=16"],
    "paired": ["maze", "paired"],
    "repaired": ["maze", "repaired", "--replay.capacity=16"],
    "tscl": ["maze", "tscl", "--train.training-set=16"],
    "learned editor": ["maze", "accel", "--replay.capacity=16", "--evolve.editor=learned"],
    "two seeds": ["maze", "accel", "--replay.capacity=16", "--seeds=2"],
    "two devices": ["maze", "accel", "--replay.capacity=16", "--train.devices=2"],
    "walker": ["walker", "robust-plr", "--replay.capacity=16"],
    "workers": ["corridor.py", "robust-plr", "--replay.capacity=16"],
    "alp-gmm": ["corridor.py", "alp-gmm", "--mixture.fit-every=16", "--mixture.history=32"],
}
"""Arguments of `tutelage train` without a directory."""


def arguments(name: str, folder: Path) -> list[str]:
    """Of `tutelage train`, for a run of some kind that takes a second or so once it is compiled."""
    environment, *rest = RUNS[name]
    given = {word.partition("=")[0].removeprefix("--") for word in rest}
    shape = {"maze": MAZE, "matrix": MATRIX, "walker": WALKER}.get(environment, {})
    levels, rollout = int(shape.get("train.levels", 8)), int(shape.get("train.rollout", 8))
    options = {**shape, **SCHEDULE, "steps": str(ITERATIONS * levels * rollout)}
    options = {key: value for key, value in options.items() if key not in given}
    if environment.endswith(".py"):
        file = folder / environment
        if not file.exists():
            file.write_text(CORRIDOR)
        environment = str(file)
    return ["train", environment, *rest, *(f"--{key}={value}" for key, value in options.items()), "--quiet"]


def products(path: Path) -> list[Path]:
    """The run itself, or the runs of several seeds."""
    return sorted(path.glob("seed-*")) or [path]
