"""Students of hidden games whose policy and values are given, played by the library's own collector."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from tutelage.rl.agent import Agent, AgentState
from tutelage.rl.distributions import Categorical
from tutelage.rl.moments import none_yet
from tutelage.rollout import JaxCollector
from tutelage.types import Rollout


class Table(nn.Module):
    """In the place of a network: values and the chance of the first action are looked up by the history."""

    outputs: int = 2
    recurrent = False

    def initial_carry(self, batch: int) -> Any:
        return ()

    @nn.compact
    def __call__(self, carry: Any, obs: Any, first: Any) -> Any:
        found = obs @ self.variable("table", "rows", lambda: None).value  # [T, B, 3]
        return carry, found[..., :2], found[..., 2]


def play(env: Any, levels: Any, policy: list[float], values: list[float], steps: int) -> Rollout:
    """One student on levels ``[B, n]``; arrays ``[1, T, B]``. Policy and values are of every history."""
    chances = np.clip(np.array([policy, 1 - np.array(policy)]).T, 1e-30, 1)
    rows = np.column_stack([np.log(chances), values]).astype(np.float32)
    network: Any = Table()
    state = AgentState({"table": {"rows": rows}}, none_yet(), ())
    one = jax.tree.map(lambda x: jnp.asarray(x)[None], (state, levels))
    collect = JaxCollector(env, Agent(network, Categorical(2)), steps)
    return jax.device_get(jax.jit(collect)(jax.random.key(0), *one))
