"""Settings of an environment outside of JAX, and the preset for those that users bring. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import require
from ...settings import (
    EvolveSettings,
    MLPSettings,
    PPOSettings,
    ReplaySettings,
    Settings,
    TeacherSettings,
    TrainSettings,
    option,
)
from ..presets import curriculum, training_set


@dataclass(frozen=True)
class HostSettings:
    """Simulators in worker processes."""

    workers: int = option(0, "processes that play; 0 for one a core")
    patience: float = option(60.0, "seconds without an answer after which a worker counts as hung")

    def __post_init__(self) -> None:
        require(self.workers >= 0, f"env.workers is {self.workers}; give 0 for one a core, or how many.")
        require(self.patience > 0, f"env.patience is {self.patience}; give a number of seconds greater than 0.")


def standard(environment: str, method: str) -> Settings:
    """A small student of vectors, and PPO's usual settings for them."""
    return Settings(
        environment=environment,
        method=method,
        env=HostSettings(),
        network=MLPSettings(),
        ppo=PPOSettings(
            discount=0.99,
            learning_rate=3e-4,
            epochs=5,
            minibatches=8,
            value_clip=False,
            normalise_returns=True,
            normalise_observations=True,
        ),
        curriculum=curriculum(
            method,
            ReplaySettings(capacity=1000, min_fill=0.25),
            TeacherSettings(),
            EvolveSettings(start="random", edits=3),
        ),
        train=TrainSettings(
            steps=1_000_000,
            levels=16,
            rollout=256,
            training_set=training_set(method, 200),
            log_every=1,
            evaluate_every=25,
            checkpoint_every=25,
            suite="fresh",
            episodes=20,
        ),
    )
