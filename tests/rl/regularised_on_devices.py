"""A program for the tests of regularisers: JAX decides how many devices there are when it starts.

An update of each on one device and on two, which must agree: ``regularised_on_devices.py``
"""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from tests.rl.made_images import OBS, agent, images
from tutelage.devices import ONE, use
from tutelage.rl.ppo import ppo_learner
from tutelage.rl.regularisers import regularisers
from tutelage.settings import PPOSettings, RegulariserSettings

PPO = PPOSettings(epochs=2, learning_rate=0.01, normalise_returns=True)
KINDS = {
    "drac": RegulariserSettings("drac", augmentation="color-jitter"),
    "ucb-drac": RegulariserSettings("ucb-drac", divergence="sampled"),
    "mixreg": RegulariserSettings("mixreg", beta_shape=0.5, renormalise=True),
}


def main() -> None:
    rollout = images()
    for kind, settings in KINDS.items():
        student = agent("gru" if kind == "mixreg" else "none")
        terms = regularisers(settings, student.actions, OBS)
        minibatches = 2 if kind == "drac" else 1
        start, results = None, []
        for devices in (ONE, use(2)):
            learner = ppo_learner(student, replace(PPO, minibatches=minibatches), devices, terms)
            start = start or jax.jit(lambda learner=learner: learner.init(jax.random.key(0), OBS))()
            state, update = devices.replicate(start), jax.jit(learner.update)
            for i in range(2):
                state, metrics = update(jax.random.key(i), state, devices.shard(rollout), jnp.float32(0))
            results.append(jax.device_get((state, metrics)))
        one, two = results
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-6), one, two)
        assert kind != "ucb-drac" or int(two[0].terms[1].arm) == 1
        print(kind, minibatches)


if __name__ == "__main__":
    main()
