"""What a person should know of a run before it begins: nothing is wrong, and yet it may not be what was meant."""

from __future__ import annotations

import math
from typing import Any

import jax

from ..compose import iterations
from ..envs.base import Domain, observation_spec
from ..plugins import is_file
from ..rl.encoder_settings import EncoderSettings
from ..rl.encoders import describe
from ..settings import Settings


def advice(settings: Settings, domain: Domain) -> list[str]:
    """Sentences."""
    found = []
    limit, rollout = domain.rules.limit, settings.train.rollout
    if limit is not None and rollout < limit:
        found.append(
            f"train.rollout is {rollout}, and an episode may take {limit} steps. A student that lasts longer than a "
            "rollout ends no episode in training: then `episodes` and `solved` are 0, and whatever compares returns or "
            f"success (learnability, TSCL, ALP-GMM, SFL) sees nothing. Set train.rollout to {limit}."
        )
    if sentence := _never_replayed(settings):
        found.append(sentence)
    if is_file(settings.environment) and isinstance(settings.encoder, EncoderSettings):
        spec = observation_spec(domain.env, jax.eval_shape(domain.levels.sample, jax.random.key(0)))
        found.append(f"What the student sees: {describe(settings.encoder, spec)}.")
    return found


def _never_replayed(settings: Settings) -> str:
    """A run that ends before its buffer is full enough. Of a training set, replay may start sooner."""
    replay: Any = getattr(settings.curriculum, "replay", None)
    train = settings.train
    if not hasattr(replay, "min_fill") or train.training_set:
        return ""
    needed = math.ceil(replay.min_fill * replay.capacity)
    before_the_last = (iterations(settings) - 1) * train.levels * train.queue // replay.attempts
    if before_the_last >= needed:
        return ""
    return (
        f"Replay starts when the buffer holds {needed:,} levels, and this run is over before it has played as many: "
        "nothing is replayed, and a student that learns from replay only (robust PLR, ACCEL) learns nothing. Train for "
        "more steps, or lower replay.min_fill."
    )
