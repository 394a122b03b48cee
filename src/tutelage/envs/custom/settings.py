"""The preset for environments that users bring. No JAX here."""

from __future__ import annotations

from ...hosts.settings import HostSettings
from ...settings import (
    EvolveSettings,
    MLPSettings,
    PPOSettings,
    ReplaySettings,
    Settings,
    TeacherSettings,
    TrainSettings,
)
from ..presets import curriculum, training_set


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
