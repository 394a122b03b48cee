"""The student axis: how a function of one student becomes a function of all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def vmap_students(function: Callable[..., Any], students: int) -> Callable[..., Any]:
    """Apply ``function`` to each student's slice of its arguments (axis 0) and stack what it returns.

    One student, the common case, is a squeeze instead of a ``vmap``: a batch axis of one turns every matrix product
    into a batched one, which XLA's CPU backend runs through a slower path, and turns conditionals into selects.
    """
    if students == 1:

        def single(*args: Any) -> Any:
            return jax.tree.map(lambda x: x[None], function(*jax.tree.map(lambda x: x[0], args)))

        return single
    return jax.vmap(function)
