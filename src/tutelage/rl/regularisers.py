"""From settings to the terms that a learner has besides PPO's own."""

from __future__ import annotations

import jax

from ..errors import require
from ..settings import AugmentationName, RegulariserSettings
from ..types import Observation
from .augmentations import AUGMENTATIONS, is_image, unsuited
from .distributions import Distribution
from .drac import UCB, DrAC, UCBDrAC
from .encoders import SMALLEST, listed
from .learner import LossTerm
from .mixreg import Mixreg


def regularisers(
    settings: RegulariserSettings, actions: Distribution, observation: Observation
) -> tuple[LossTerm, ...]:
    """Terms for a student of observations such as this one: a tree of shapes and dtypes, without the batch's axes."""
    kind, leaves = settings.kind, jax.tree.leaves(observation)
    if kind == "none":
        return ()
    require(
        any(map(is_image, leaves)),
        f"regulariser.kind is {kind}, which changes images, and there is none in an observation of {listed(leaves)}; "
        f"an image has the axes height, width and channels, at least {SMALLEST}x{SMALLEST} pixels, and is of uint8. "
        "Set regulariser.kind to none.",
    )
    if kind == "mixreg":
        return (Mixreg(settings.beta_shape, settings.renormalise),)
    if kind == "drac":
        reason = unsuited(settings.augmentation, observation)
        require(
            not reason,
            f"regulariser.augmentation is {settings.augmentation}, {reason}; choose another, such as crop.",
        )
        return (DrAC(actions, (settings.augmentation,), settings.weight, settings.divergence),)
    arms: tuple[AugmentationName, ...] = tuple(name for name in AUGMENTATIONS if not unsuited(name, observation))
    bandit = UCB(len(arms), settings.exploration, settings.window, settings.try_all, settings.memory)
    return (UCBDrAC(DrAC(actions, arms, settings.weight, settings.divergence), bandit),)
