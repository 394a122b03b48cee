"""Stable-Baselines3 with a curriculum: PPO learns CartPole on poles whose length a level buffer chooses (PLR)."""

from __future__ import annotations

import argparse

import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.wrappers import TimeLimit
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from tutelage import Curator, LevelBuffer, pvl

rng = np.random.default_rng(0)
curator = Curator(LevelBuffer(capacity=200), level=np.zeros((), np.float32))


class CartPole(CartPoleEnv):
    """Asks for its level when it is reset, and says in every step which one it plays."""

    def reset(self, *, seed=None, options=None):
        replay = len(curator) >= 32 and rng.random() < 0.5
        (self.length,), (self.id,) = curator.sample(1) if replay else (rng.uniform(0.05, 2, 1), [-1])
        self.polemass_length = self.masspole * self.length
        return super().reset(seed=seed, options=options)

    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward, terminated, truncated, info | {"level": np.float32(self.length), "id": self.id}


class Score(BaseCallback):
    """After every rollout, scores the level of every episode that ended in it."""

    def _on_rollout_start(self):
        self.infos, self.dones = [], []

    def _on_step(self):
        self.infos.append(self.locals["infos"])
        self.dones.append(self.locals["dones"])
        return True

    def _on_rollout_end(self):
        rewards, values = self.model.rollout_buffer.rewards, self.model.rollout_buffer.values
        for env, done in enumerate(np.array(self.dones).T):
            ends = np.flatnonzero(done) + 1
            for begin, end in zip([0, *ends], ends, strict=False):  # an episode may have begun before the rollout
                score = pvl(rewards[begin:end, env], values[begin:end, env], done[begin:end])
                info = self.infos[end - 1][env]
                curator.update(np.array([info["level"]]), [score], [info["id"]])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50_000)
    PPO("MlpPolicy", TimeLimit(CartPole(), 500), verbose=1, seed=0).learn(parser.parse_args().steps, callback=Score())
    ids, weights = curator.probabilities()
    print(f"{len(ids)} levels are kept; the likeliest to be replayed has the id {ids[weights.argmax()]}.")
