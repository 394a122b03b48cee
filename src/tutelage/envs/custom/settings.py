"""The preset for environments that users bring. No JAX here."""

from __future__ import annotations

from typing import Any

from ...settings import (
    EvolveSettings,
    NetworkSettings,
    PPOSettings,
    ReplaySettings,
    ScanSettings,
    TrainSettings,
)
from ..presets import Preset

VECTOR_STUDENT = NetworkSettings(core="separate", layers=2, head=64, activation="tanh")
IMAGE_STUDENT = NetworkSettings(core="none", width=256, layers=1, head=64)


STEPS, LONGEST = 256, 2048
"""Of a rollout: where no time limit is known, and at most."""


def standard(
    env: Any, encoder: Any, as_it_is: bool, network: NetworkSettings | None, limit: int | None = None
) -> Preset:
    """A small student, and PPO's usual settings for it. Its encoder may take observations as they are, or has to have
    them normalised. A rollout is as long as an episode may be: in a shorter one a good student never ends an episode.
    """
    return Preset(
        "a small student, and PPO's usual settings",
        env=env,
        encoder=encoder,
        network=network or (IMAGE_STUDENT if as_it_is else VECTOR_STUDENT),
        ppo=PPOSettings(
            discount=0.99,
            learning_rate=3e-4,
            epochs=5,
            minibatches=8,
            value_clip=False,
            normalise_returns=True,
            normalise_observations=not as_it_is,
        ),
        train=TrainSettings(
            steps=1_000_000,
            levels=16,
            rollout=min(limit, LONGEST) if limit else STEPS,
            log_every=1,
            checkpoint_every=25,
            suite="fresh",
            episodes=20,
        ),
        sections=(
            ReplaySettings(capacity=1000, min_fill=0.25),
            EvolveSettings(start="random", edits=3),
            ScanSettings(candidates=64, attempts=4, keep=32, every=50),
        ),
        training_set=200,
    )
