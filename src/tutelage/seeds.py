"""The seed axis: several runs as one program, in which a branch that is not taken still costs nothing.

Under a plain ``vmap`` a conditional runs both its branches and selects. Here the axis has a name, and whatever steers a
conditional asks all seeds first: the answer is one scalar, so the conditional stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

T = TypeVar("T")

AXIS = "seeds"


def all_seeds(flag: Bool[Array, ""]) -> Bool[Array, ""]:
    """Does it hold for all seeds of the program? For a run alone, the flag itself."""
    return _asked(jax.lax.pmin, flag)


def any_seed(flag: Bool[Array, ""]) -> Bool[Array, ""]:
    """Does it hold for at least one seed of the program? For a run alone, the flag itself."""
    return _asked(jax.lax.pmax, flag)


def _asked(reduce: Callable[[Array, str], Array], flag: Array) -> Array:
    try:
        return reduce(flag, AXIS)
    except NameError:  # what JAX raises where there is no such axis: one run alone
        return flag


def recompute_if(needed: Bool[Array, ""], result: T, anew: Callable[[], T]) -> T:
    """``result``, or where that was not enough the same worked out anew.

    A loop of one turn and not a conditional: under any ``vmap``, of seeds or of students, it is skipped when nobody
    needs it.
    """
    start = (result, ~needed)
    return jax.lax.while_loop(lambda found: ~found[1], lambda _: (anew(), jnp.array(True)), start)[0]


def vmap_seeds(function: Callable[..., Any], seeds: int) -> Callable[..., Any]:
    """A function of a state and what all seeds share, for the states of all seeds. One seed has no axis."""
    return function if seeds == 1 else jax.vmap(function, in_axes=(0, None), axis_name=AXIS)


def stack(trees: Sequence[T]) -> T:
    """What each seed has of its own, as ``vmap_seeds`` takes it."""
    return trees[0] if len(trees) == 1 else _stacked(list(trees))


@jax.jit
def _stacked(trees: list[T]) -> T:
    """One small program, where one for each shape would take longer to compile."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def unstack(tree: T, seeds: int) -> list[T]:
    """What ``vmap_seeds`` gives back, for each seed by itself."""
    return [tree] if seeds == 1 else [jax.tree.map(lambda x, i=i: x[i], tree) for i in range(seeds)]
