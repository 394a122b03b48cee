"""A recurrent PPO update as one would write it with flax and nothing else: what ours is measured against.

The same network, loss and optimiser as the thesis preset, from parts off the shelf: `nn.Conv`, `nn.OptimizedLSTMCell`
under `nn.scan`, `optax`. No rule of its own for any gradient.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax


class Memory(nn.Module):
    """An LSTM over time, reset where an episode starts."""

    width: int

    @nn.compact
    def __call__(self, carry: Any, inputs: Any) -> Any:
        def step(cell: nn.Module, carry: Any, inputs: Any) -> Any:
            x, first = inputs
            return cell(jax.tree.map(lambda c: jnp.where(first[:, None], 0.0, c), carry), x)

        scan = nn.scan(step, variable_broadcast="params", split_rngs={"params": False})
        return scan(nn.OptimizedLSTMCell(self.width), carry, inputs)


class Network(nn.Module):
    """The thesis's maze student."""

    width: int = 256
    actions: int = 7

    @nn.compact
    def __call__(self, obs: Any, first: Any) -> Any:
        steps, batch = first.shape
        image = obs.image.astype(jnp.float32) / 10.0
        x = nn.relu(nn.Conv(16, (3, 3), padding="VALID")(image)).reshape(steps, batch, -1)
        facing = nn.Dense(5)(jax.nn.one_hot(obs.direction, 4))
        zeros = jnp.zeros((batch, self.width))
        _, x = Memory(self.width)((zeros, zeros), (jnp.concatenate([x, facing], -1), first))
        policy = nn.Dense(self.actions)(nn.relu(nn.Dense(32)(x)))
        value = nn.Dense(1)(nn.relu(nn.Dense(32)(x)))
        return policy, value[..., 0]


def make_update(network: Network, epochs: int, learning_rate: float, entropy_coef: float, clip: float = 0.2) -> Any:
    """``init(key, batch)`` and ``update(state, batch)`` for batches that are dicts of arrays ``[T, B, ...]``."""
    optimiser = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(learning_rate, eps=1e-5))

    def loss(params: Any, batch: Any) -> Any:
        policy, value = network.apply(params, batch["obs"], batch["first"])  # pyright: ignore[reportGeneralTypeIssues]
        logs = jax.nn.log_softmax(policy)
        log_prob = jnp.take_along_axis(logs, batch["action"][..., None], -1)[..., 0]
        ratio = jnp.exp(log_prob - batch["log_prob"])
        gain = jnp.minimum(ratio * batch["advantage"], jnp.clip(ratio, 1 - clip, 1 + clip) * batch["advantage"])
        near = batch["value"] + jnp.clip(value - batch["value"], -clip, clip)
        error = jnp.maximum((value - batch["target"]) ** 2, (near - batch["target"]) ** 2)
        entropy = -(jnp.exp(logs) * logs).sum(-1)
        return -gain.mean() + 0.5 * error.mean() - entropy_coef * entropy.mean()

    def init(key: Any, batch: Any) -> Any:
        params = network.init(key, batch["obs"], batch["first"])
        return params, optimiser.init(params)

    def update(state: Any, batch: Any) -> Any:
        def epoch(state: Any, _: None) -> Any:
            params, opt = state
            change, opt = optimiser.update(jax.grad(loss)(params, batch), opt, params)
            return (optax.apply_updates(params, change), opt), None

        return jax.lax.scan(epoch, state, None, length=epochs)[0]

    return init, update
