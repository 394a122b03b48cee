"""The level buffer alone, for anybody's training loop: plain numpy in and out."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import require
from ..types import Level
from .buffer import BufferState, LevelBuffer


class Curator:
    """Remembers played levels by their scores, and says which to play again.

    A level is any pytree of arrays; a batch of them is the same pytree with a leading axis. Keep batches of one size:
    each new size compiles once.
    """

    def __init__(self, buffer: LevelBuffer, level: Level, seed: int = 0) -> None:
        """``level`` is one example: its shapes and dtypes are those of all levels to come."""
        self.buffer = buffer
        self.state: BufferState = buffer.init(level)
        self._key = jax.random.key(seed)
        self._sample = jax.jit(buffer.sample, static_argnums=2)
        self._take = jax.jit(buffer.take)
        self._insert = jax.jit(self._insert_batch, donate_argnums=0)

    def __len__(self) -> int:
        """How many levels are kept."""
        return int(self.state.size)

    def sample(self, number: int) -> tuple[Level, np.ndarray]:
        """Draw ``number`` levels to replay, and the slots they lie in (to be given back to ``update``)."""
        require(len(self) > 0, "The buffer is empty; update it with some played levels before sampling from it.")
        self._key, key = jax.random.split(self._key)
        slots = self._sample(key, self.state, number)
        return jax.tree.map(np.array, self._take(self.state, slots)), np.array(slots)

    def update(self, levels: Level, scores: Any, slots: Any = None, returns: Any = None) -> np.ndarray:
        """Insert played levels with their new scores. Returns the slot of each, -1 for those that were not kept.

        ``slots`` are those that ``sample`` gave; leave them out for new levels. ``returns``, if given, are
        remembered as each level's best.
        """
        scores = np.asarray(scores, np.float32)
        require(scores.ndim == 1, f"scores have the shape {scores.shape}; give one number a level.")
        require(bool(np.isfinite(scores).all()), "A score is not finite; give each level a finite score.")
        number = len(scores)
        sizes = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(levels)}
        require(sizes == {(number,)}, f"There are {number} scores, but the levels' leading axes are {sorted(sizes)}.")
        slots = np.full(number, -1) if slots is None else np.asarray(slots)
        require(
            slots.shape == (number,) and bool((slots < len(self)).all()),
            f"slots must be {number} numbers below {len(self)}, as `sample` returned them, or -1 for new levels.",
        )
        returns = np.full(number, -np.inf) if returns is None else np.asarray(returns)
        self.state, placed = self._insert(
            self.state,
            jax.tree.map(jnp.asarray, levels),
            jnp.asarray(slots, jnp.int32),
            jnp.asarray(scores),
            jnp.asarray(returns, jnp.float32),
        )
        return np.array(placed)

    def _insert_batch(self, state: BufferState, levels: Level, slots: Any, scores: Any, returns: Any) -> Any:
        played = self.buffer.recognise(state, levels, slots, returns)
        return self.buffer.insert(state, played, scores, jnp.full_like(slots, -1), jnp.zeros_like(slots))

    def probabilities(self) -> np.ndarray:
        """The replay distribution over slots."""
        return np.array(self.buffer.probabilities(self.state))

    def save(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays, for a checkpoint of your own."""
        tree = (jax.random.key_data(self._key), self.state)
        return {str(i): np.array(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        """Go on from what ``save`` returned."""
        leaves, structure = jax.tree.flatten((jax.random.key_data(self._key), self.state))
        require(len(saved) == len(leaves), "These arrays are not from a buffer of the same kind of levels.")
        key, self.state = structure.unflatten([jnp.asarray(saved[str(i)]) for i in range(len(leaves))])
        self._key = jax.random.wrap_key_data(key)
