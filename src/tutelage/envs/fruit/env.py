"""The rules of Stochastic Fruit Choice, one level, no batch: NetHack's, as far as they matter for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, UInt8

from ...rl.glyphs import GlyphObs
from ...types import TimeStep, played
from ..base import Discrete
from ..grids import cell_mask
from .level import AGENT, APPLE, BANANA, BROKEN, DOOR, FLOOR, STONE, UP, WALL, FruitLevel

MOVES = np.array([(0, -1), (1, 0), (0, 1), (-1, 0), (1, -1), (1, 1), (-1, 1), (-1, -1)], np.int32)
"""By action, as (x, y): north, east, south, west, north-east, south-east, south-west, north-west, as in NLE."""
NO, YES, KICK, EAT = 5, 7, 8, 9
"""Of the moves, south-east's key also says no and north-west's yes."""

NOTHING_ASKED, WHERE_TO_KICK, REALLY_EAT = range(3)
"""Questions that the game may be waiting to have answered. They are not seen."""

HEALTH = 12
HEALS_EVERY = 15
PENALTY = -0.01
APPLE_PAYS, BANANA_PAYS = 3.0, 10.0

STRENGTHS = np.array([12, 13, 14, 15, 16, 17], np.int32)
STRENGTH_SHARES = np.array([19, 336, 1768, 2713, 1064, 100], np.float32) / 6000
"""Of Rogues: a third of strength, dexterity and constitution, as counted in 6,000 games."""
TOUGH, AGILE = 0.225, 0.941
"""Shares of Rogues with a constitution above 15, and with a dexterity of 16 or more."""

Penalty = Literal["frozen", "none"]


class Body(NamedTuple):
    """Who plays: drawn for each episode."""

    strength: Int[Array, ""]
    """A kicked door gives way with this of 35."""
    tough: Bool[Array, ""]
    """Walls hurt by 1 to 3 instead of 1 to 5."""
    agile: Bool[Array, ""]
    """Kicks into the air do no harm."""


class FruitState(NamedTuple):
    tiles: UInt8[Array, "H W"]
    """As in a level, and ``BROKEN`` where a door was."""
    seen: Bool[Array, "H W"]
    position: Int[Array, "2"]
    body: Body
    health: Int[Array, ""]
    legs: Int[Array, ""]
    """Turns until wounded legs have healed."""
    question: Int[Array, ""]
    turn: Int[Array, ""]
    """Of the game, from 1. It stands still while nothing happens."""
    time: Int[Array, ""]
    """Steps played."""
    apple_pays: Bool[Array, ""]
    """Hidden. Read from here and never from the level: grounding changes it."""


@dataclass(frozen=True)
class Fruit:
    """Ten actions: eight moves, kick and eat. Pays for the right fruit only; either ends the episode."""

    apple: float = 0.7
    """Probability that the apple is right, in truth."""
    penalty: Penalty = "frozen"
    max_steps: int = 250

    @property
    def action_space(self) -> Discrete:
        return Discrete(10)

    def prepare(self, level: FruitLevel) -> FruitLevel:
        return jax.tree.map(jnp.asarray, level)

    def reset(self, key: PRNGKeyArray, level: FruitLevel) -> tuple[FruitState, GlyphObs]:
        k_strength, k_tough, k_agile = jax.random.split(key, 3)
        strength = jax.random.choice(k_strength, jnp.asarray(STRENGTHS), p=jnp.asarray(STRENGTH_SHARES))
        body = Body(strength, jax.random.bernoulli(k_tough, TOUGH), jax.random.bernoulli(k_agile, AGILE))
        zero = jnp.int32(0)
        state = FruitState(
            tiles=level.tiles,
            seen=in_sight(level.tiles, level.start),
            position=level.start,
            body=body,
            health=jnp.int32(HEALTH),
            legs=zero,
            question=zero,
            turn=jnp.int32(1),
            time=zero,
            apple_pays=level.apple_pays,
        )
        return state, self._observe(state, level)

    def step(
        self, key: PRNGKeyArray, state: FruitState, action: Int[Array, ""], level: FruitLevel
    ) -> tuple[FruitState, TimeStep]:
        # One draw of four numbers: does the door open, how much does it hurt, are legs wounded, for how long?
        opens, hurts, wounds, lasts = jax.random.uniform(key, (4,))
        asked, body = state.question, state.body
        direction = action < len(MOVES)
        target = state.position + jnp.asarray(MOVES)[jnp.minimum(action, len(MOVES) - 1)]
        ahead = state.tiles[target[1], target[0]]
        solid = (ahead == WALL) | (ahead == STONE)
        on_apple, on_banana = (jnp.all(state.position == fruit) for fruit in (level.apple, level.banana))
        fruit_ahead = jnp.all(target == level.apple) | jnp.all(target == level.banana)

        free = asked == NOTHING_ASKED
        moves = free & direction & ((ahead == FLOOR) | (ahead == BROKEN))
        kicks = (asked == WHERE_TO_KICK) & direction
        eats = (asked == REALLY_EAT) & (action == YES)
        acts = moves | kicks | eats

        # Whoever kicks a door may break it, whoever kicks a wall is hurt; legs are wounded by walls and, of the clumsy,
        # by the air. A kicked fruit stays where it is.
        breaks = kicks & (ahead == DOOR) & (35 * opens < body.strength)
        damage = 1 + jnp.floor(hurts * jnp.where(body.tough, 3, 5)).astype(jnp.int32)
        harm = kicks & solid
        strain = kicks & ((ahead == FLOOR) | (ahead == BROKEN)) & ~fruit_ahead & ~body.agile
        wounded = (harm | strain) & (wounds < 1 / 3)
        legs = jnp.where(wounded, 6 + jnp.floor(5 * lasts).astype(jnp.int32), state.legs)

        position = jnp.where(moves, target, state.position)
        at = cell_mask(state.tiles.shape, target)
        tiles = jnp.where(at & breaks, jnp.uint8(BROKEN), state.tiles)
        turn = state.turn + acts
        health = state.health - jnp.where(harm, damage, 0)
        dead = health <= 0
        health = jnp.minimum(health + (acts & ~dead & (turn % HEALS_EVERY == 0)), HEALTH)
        question = jnp.where(
            free,
            jnp.where(
                (action == KICK) & (state.legs == 0),
                WHERE_TO_KICK,
                jnp.where((action == EAT) & (on_apple | on_banana), REALLY_EAT, NOTHING_ASKED),
            ),
            jnp.where((asked == REALLY_EAT) & (action != NO) & (action != YES), REALLY_EAT, NOTHING_ASKED),
        )
        right = jnp.where(state.apple_pays, on_apple, on_banana)
        worth = jnp.where(state.apple_pays, APPLE_PAYS, BANANA_PAYS)
        reward = jnp.where(eats & right, worth, 0.0)
        if self.penalty == "frozen":
            reward += jnp.where(acts, 0.0, PENALTY)
        state = FruitState(
            tiles=tiles,
            seen=state.seen | in_sight(tiles, position),
            position=position,
            body=body,
            health=health,
            legs=jnp.maximum(legs - acts, 0),
            question=question.astype(jnp.int32),
            turn=turn,
            time=state.time + 1,
            apple_pays=state.apple_pays,
        )
        obs = self._observe(state, level)
        return state, played(obs, reward.astype(jnp.float32), eats | dead, state.time >= self.max_steps)

    def _observe(self, state: FruitState, level: FruitLevel) -> GlyphObs:
        """What was ever seen, with the agent on top. Which question is open and which fruit pays is not in it."""
        shape = state.tiles.shape
        glyphs = state.tiles
        for glyph, cell in ((UP, level.start), (APPLE, level.apple), (BANANA, level.banana)):
            glyphs = jnp.where(cell_mask(shape, cell), jnp.uint8(glyph), glyphs)
        glyphs = jnp.where(state.seen, glyphs, jnp.uint8(STONE))
        glyphs = jnp.where(cell_mask(shape, state.position), jnp.uint8(AGENT), glyphs)
        numbers = (
            state.position[0] / shape[1],
            state.position[1] / shape[0],
            state.health / HEALTH,
            state.turn / self.max_steps,
            (state.body.strength - 15) / 2,
            state.legs > 0,  # in the game: dexterity is one lower
        )
        return GlyphObs(glyphs, state.position, jnp.stack([jnp.asarray(x, jnp.float32) for x in numbers]))

    # --- what is hidden: nothing that is seen before the end says which fruit pays

    def prior(self, key: PRNGKeyArray, level: FruitLevel) -> Bool[Array, ""]:
        del level
        return jax.random.bernoulli(key, self.apple)

    def posterior(self, key: PRNGKeyArray, state: FruitState, level: FruitLevel) -> Bool[Array, ""]:
        del state
        return self.prior(key, level)

    def impose(self, state: FruitState, hidden: Bool[Array, ""]) -> FruitState:
        return state._replace(apple_pays=hidden)


def in_sight(tiles: UInt8[Array, "H W"], position: Int[Array, "2"]) -> Bool[Array, "H W"]:
    """The room that the agent is in, with its walls; from a doorway the rooms on both sides; and all neighbours."""
    height, width = tiles.shape
    x, y = position
    in_doorway = tiles[y, x] == BROKEN
    beside = tiles[y, jnp.minimum(x + 1, width - 1)] == FLOOR  # floor to the east: rooms are east and west
    step = jnp.where(in_doorway, jnp.where(beside, jnp.array([1, 0]), jnp.array([0, 1])), 0)
    columns, rows = jnp.arange(width), jnp.arange(height)[:, None]
    near = (jnp.abs(columns - x) <= 1) & (jnp.abs(rows - y) <= 1)
    return near | _room(tiles, position + step) | _room(tiles, position - step)


def _room(tiles: UInt8[Array, "H W"], cell: Int[Array, "2"]) -> Bool[Array, "H W"]:
    """The rectangle around a cell, up to the first cells that are no floor along its row and its column."""
    height, width = tiles.shape
    x, y = cell
    columns, rows = jnp.arange(width), jnp.arange(height)
    left, right = _ends(tiles[y] != FLOOR, columns, x)
    top, bottom = _ends(tiles[:, x] != FLOOR, rows, y)
    return (columns >= left) & (columns <= right) & (rows[:, None] >= top) & (rows[:, None] <= bottom)


def _ends(walls: Bool[Array, " n"], places: Array, here: Array) -> tuple[Array, Array]:
    before = jnp.max(jnp.where(walls & (places < here), places, 0))
    after = jnp.min(jnp.where(walls & (places > here), places, len(places) - 1))
    return before, after
