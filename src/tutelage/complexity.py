"""How hard a sequence of actions is to compress: who knows the way repeats itself, and who errs does not."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int


def lzw(actions: Int[Array, " T"], number: int) -> Int[Array, ""]:
    """How many codes Lempel-Ziv-Welch compression makes of a sequence over ``number`` different actions.

    The dictionary is a tree whose edges are actions. It starts with the single actions, and at every step that leaves
    the tree a code is written and the tree grows by that step.
    """
    length = actions.shape[0]
    # The nodes 0 to number - 1 are the single actions; every step adds one node at most.
    tree = jnp.full((number + length, number), -1, jnp.int32)

    def read(carry: tuple[Array, Array, Array], action: Array) -> tuple[tuple[Array, Array, Array], None]:
        tree, node, codes = carry
        child = tree[node, action]
        known = child >= 0
        tree = tree.at[node, action].set(jnp.where(known, child, number + codes))
        return (tree, jnp.where(known, child, action), codes + ~known), None

    (_, _, codes), _ = jax.lax.scan(read, (tree, actions[0], jnp.int32(0)), actions[1:])
    return codes + 1
