"""The level buffer alone, for anybody's training loop: plain numpy in and out."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import UserError, require
from ..types import Level
from .buffer import BufferState, LevelBuffer

NEW = -1
"""The id of a level that is not in the buffer."""


class Curator:
    """Remembers played levels by their scores, and says which to play again.

    A level is any pytree of arrays; a batch of them is the same pytree with a leading axis. Every level that is kept
    has an id of its own, which no other level ever gets: a score that comes late, when the level has been evicted, can
    never land on the level that took its place. Keep batches of one size: each new size compiles once.
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
        """Draw ``number`` levels to replay, and the id of each (to be given back to ``update``)."""
        require(number >= 1, f"{number} levels were asked for; ask for at least 1.")
        require(len(self) > 0, "The buffer is empty; update it with some played levels before sampling from it.")
        self._key, key = jax.random.split(self._key)
        slots = self._sample(key, self.state, number)
        return jax.tree.map(np.array, self._take(self.state, slots)), np.array(self.state.id)[np.array(slots)]

    def update(self, levels: Level, scores: Any, ids: Any = None, returns: Any = None) -> np.ndarray:
        """Insert played levels with their new scores. Returns the id of each, -1 for those that were not kept.

        ``ids`` are those that ``sample`` gave; leave them out, or give -1, for new levels. A level that was evicted
        since it was sampled is a new one. ``returns``, if given, are remembered as each level's best.
        """
        scores = np.asarray(scores, np.float32)
        require(scores.ndim == 1, f"scores have the shape {scores.shape}; give one number per level.")
        require(bool(np.isfinite(scores).all()), "A score is not finite; give each level a finite score.")
        number = len(scores)
        levels = self._checked(levels, number)
        slots = self._slots(levels, ids, number)
        returns = np.full(number, -np.inf) if returns is None else np.asarray(returns)
        require(returns.shape == (number,), f"There are {number} scores, and returns have the shape {returns.shape}.")
        self.state, placed = self._insert(
            self.state,
            jax.tree.map(jnp.asarray, levels),
            jnp.asarray(slots, jnp.int32),
            jnp.asarray(scores),
            jnp.asarray(returns, jnp.float32),
        )
        placed = np.array(placed)
        # A level of this batch may have been evicted by a later one of the same batch.
        there = (placed >= 0) & self._holds(np.maximum(placed, 0), levels)
        return np.where(there, np.array(self.state.id)[placed], NEW)

    def best(self, ids: Any) -> np.ndarray:
        """The best return so far on each level, as ``update`` was told; minus infinity where none is known."""
        slots = self._find(np.asarray(ids))
        return np.where(slots < 0, -np.inf, np.array(self.state.best)[slots])

    def probabilities(self) -> tuple[np.ndarray, np.ndarray]:
        """The ids of the levels that are kept, and the probability with which each is replayed."""
        size = len(self)
        return np.array(self.state.id)[:size], np.array(self.buffer.probabilities(self.state))[:size]

    def _insert_batch(self, state: BufferState, levels: Level, slots: Any, scores: Any, returns: Any) -> Any:
        played = self.buffer.recognise(state, levels, slots, returns)
        return self.buffer.insert(state, played, scores, jnp.full_like(slots, -1), jnp.zeros_like(slots))

    def _checked(self, levels: Level, number: int) -> Level:
        """The levels as arrays of the buffer's dtypes, after a look at whether they are such levels."""
        kept, structure = jax.tree.flatten(self.state.levels)
        given, other = jax.tree.flatten(levels)
        require(
            structure == other,
            f"The levels have the structure {other}, and the example that this buffer was made with has {structure}; "
            "give levels like the example, with one more leading axis.",
        )
        for leaf, own in zip(given, kept, strict=True):
            shape, one = np.shape(leaf), own.shape[1:]
            require(
                shape == (number, *one),
                f"An array of the levels has the shape {shape}; with {number} scores and levels of the shape {one} "
                f"give {(number, *one)}.",
            )
            require(
                np.can_cast(np.asarray(leaf).dtype, own.dtype, "same_kind"),
                f"An array of the levels is of {np.asarray(leaf).dtype}, and those of the example are of {own.dtype}; "
                "convert it.",
            )
        return structure.unflatten([np.asarray(leaf, own.dtype) for leaf, own in zip(given, kept, strict=True)])

    def _slots(self, levels: Level, ids: Any, number: int) -> np.ndarray:
        """Where each level lies; -1 for those that are new or were evicted. The level at an id is what it was."""
        ids = np.full(number, NEW) if ids is None else np.asarray(ids)
        issued = int(self.state.next_id)
        require(
            ids.shape == (number,)
            and np.issubdtype(ids.dtype, np.integer)
            and bool(((ids >= NEW) & (ids < issued)).all()),
            f"ids must be {number} whole numbers below {issued}, as `sample` or `update` returned them, or -1 for new "
            "levels.",
        )
        slots = self._find(ids)
        wrong = np.flatnonzero((slots >= 0) & ~self._holds(np.maximum(slots, 0), levels))
        if len(wrong):
            raise UserError(
                f"Level {wrong[0]} of this batch is not the level with the id {ids[wrong[0]]}; give each level with "
                "the id that came with it."
            )
        return slots

    def _holds(self, slots: np.ndarray, levels: Level) -> np.ndarray:
        """Does each of some slots hold the level beside it?"""
        kept = jax.tree.leaves(self._take(self.state, jnp.asarray(slots, jnp.int32)))
        pairs = [(np.asarray(own), leaf) for own, leaf in zip(kept, jax.tree.leaves(levels), strict=True)]
        return np.all([(own == leaf).reshape(len(slots), -1).all(axis=1) for own, leaf in pairs], axis=0)

    def _find(self, ids: np.ndarray) -> np.ndarray:
        """The slots of some ids, -1 for those that are not there."""
        size = len(self)
        kept = np.array(self.state.id)[:size]
        order = np.argsort(kept)
        if size == 0:
            return np.full(ids.shape, -1)
        place = np.minimum(np.searchsorted(kept[order], ids), size - 1)
        slots = order[place]
        return np.where((kept[slots] == ids) & (ids >= 0), slots, -1)

    def save(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays, for a checkpoint of your own."""
        tree = (jax.random.key_data(self._key), self.state)
        return {str(i): np.array(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        """Go on from what ``save`` returned."""
        leaves, structure = jax.tree.flatten((jax.random.key_data(self._key), self.state))
        require(
            set(saved) == {str(i) for i in range(len(leaves))}
            and all(np.shape(saved[str(i)]) == leaf.shape for i, leaf in enumerate(leaves)),
            "These arrays are not from a buffer of the same kind of levels and the same capacity.",
        )
        key, self.state = structure.unflatten([jnp.asarray(saved[str(i)]) for i in range(len(leaves))])
        self._key = jax.random.wrap_key_data(key)
