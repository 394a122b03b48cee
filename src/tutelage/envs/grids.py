"""What all environments on grids need. Cells are (x, y), arrays are [y, x]."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int


def cell_mask(shape: tuple[int, ...], cell: Int[Array, "2"]) -> Bool[Array, "H W"]:
    """True at one cell. A comparison, where a scatter would be slow."""
    height, width = shape
    return (jnp.arange(height)[:, None] == cell[1]) & (jnp.arange(width) == cell[0])
