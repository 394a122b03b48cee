"""Racing's rates: ours with 16 and 64 levels, Gymnasium's CarRacing, and Box2D with a picture by numpy. CPU time.

usage: python racing.py [--turns 7] [--decisions 24]

A decision is eight steps of physics and one picture of 96x96 pixels in colours. All cases take turns in one process, so
that a busy machine is busy for all of them. What Box2D's side draws is cheaper than ours: no score, no wheels.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.envs.box2d.car_racing import CarRacing

import tutelage
from tutelage.envs.racing.env import HELD_OUT_MAP, SHARP_IN_GYMNASIUM, Course, Racing, padded
from tutelage.envs.racing.level import FIELD
from tutelage.envs.racing.picture_map import CELL
from tutelage.envs.racing.track import Line
from tutelage.envs.racing.view import GRASS, HULL, MEADOW, RED, ROAD, WHITE, View, _masks

REPEAT, SIZE, ROLLOUT = 8, 96, 125
_RIGHT = (((np.arange(SIZE) + 0.5) * 1000 / SIZE - 500) / 16.2).astype(np.float32)[None, :]
_UP = ((600 - (np.arange(SIZE) + 0.5) * 800 / SIZE) / 16.2).astype(np.float32)[:, None]


def drivers(number: int) -> np.ndarray:
    """Actions of some seconds, held for a decision: little steering, some gas."""
    rng = np.random.default_rng(0)
    return np.float32(rng.uniform([-0.3, 0.1, 0.0], [0.3, 0.5, 0.05], size=(number, 3)))


class Ours:
    """Levels of the training space in one compiled loop. Pictures are kept, so that none is optimised away."""

    def __init__(self, levels: int, decisions: int) -> None:
        settings = tutelage.override(tutelage.preset("racing", "dr"), {"env.frames": "1"})
        domain = tutelage.build_domain(settings)
        env: Any = domain.env
        self.levels, self.decisions = levels, decisions
        batch = jax.jit(jax.vmap(domain.levels.sample))(jax.random.split(jax.random.key(0), levels))
        self.prepare = jax.jit(jax.vmap(env.prepare))
        self.batch, self.prepared = batch, self.prepare(batch)
        keys = jax.random.split(jax.random.key(1), levels)

        @jax.jit
        def play(prepared: Any, actions: Any) -> Any:
            start = jax.vmap(env.reset)(keys, prepared)[0]

            def step(state: Any, action: Any) -> Any:
                state, ts = jax.vmap(env.step)(keys, state, jnp.broadcast_to(action, (levels, 3)), prepared)
                fresh = jax.tree.map(
                    lambda new, old: jnp.where(ts.done.reshape(-1, *[1] * (new.ndim - 1)), new, old), start, state
                )
                return fresh, (ts.obs, ts.reward)

            return jax.lax.scan(step, start, actions)[1]

        self.play, self.actions = play, drivers(decisions) * [1, 2, 2] - [0, 1, 1]

    def __call__(self) -> float:
        """CPU seconds a decision."""
        began = time.process_time()
        jax.block_until_ready(self.play(self.prepared, self.actions))
        return (time.process_time() - began) / self.decisions / self.levels

    def preparing(self) -> float:
        """CPU seconds a level."""
        began = time.process_time()
        jax.block_until_ready(self.prepare(self.batch))
        return (time.process_time() - began) / self.levels


class Gymnasium:
    """CarRacing as it is: it draws at every step."""

    def __init__(self, decisions: int) -> None:
        self.env: Any = CarRacing()
        self.decisions, self.actions = decisions, drivers(decisions).astype(np.float64)
        self.env.reset(seed=0)

    def __call__(self) -> float:
        self.env.reset(seed=0)
        began = time.process_time()
        for action in self.actions:
            for _ in range(REPEAT):
                self.env.step(action)
        return (time.process_time() - began) / self.decisions

    def preparing(self) -> float:
        began = time.process_time()
        self.env.reset()
        return time.process_time() - began


class Box2DAndNumpy(Gymnasium):
    """Its physics without its pictures, and one picture a decision by numpy, from a map as ours."""

    def __init__(self, decisions: int) -> None:
        super().__init__(decisions)
        self.env._render = lambda mode: None
        self.env.reset(seed=0)
        track = np.array(self.env.track)
        line = Line(jnp.float32(track[:, 2:]), jnp.float32(track[:, 1]), jnp.int32(len(track)))
        limits = jnp.float32(FIELD), jnp.int32(1000), jnp.float32(SHARP_IN_GYMNASIUM)
        course = padded(Course(line, jnp.zeros(len(track), bool), *limits))
        road = jax.jit(Racing(View()).prepare)(course).road
        squares = np.asarray(road.square).reshape(HELD_OUT_MAP.side, HELD_OUT_MAP.side)
        cells = np.asarray(road.cells).reshape(-1, 16, 16)
        self.map = cells[squares].transpose(0, 2, 1, 3).reshape(HELD_OUT_MAP.side * 16, -1)
        n, masks = len(track), _masks(SIZE)
        self.table = np.zeros((2 * n + 1, 3), np.uint8)
        self.table[1::2] = np.array(ROAD)[np.arange(n) % 3][:, None]
        self.table[2::2] = np.where(np.arange(n)[:, None] % 2 == 0, WHITE, RED)
        self.corner, self.through = masks.corner, (1 - masks.hull)[..., None]
        self.painted = masks.hull[..., None] * np.array([HULL, 0, 0], np.float32)
        self.pictures: list[np.ndarray] = []

    def __call__(self) -> float:
        self.pictures = []
        self.env.reset(seed=0)  # on the road, as ours: on grass there is less to compute
        began = time.process_time()
        for action in self.actions:
            for _ in range(REPEAT):
                self.env.step(action)
            self.pictures.append(self.picture())
        return (time.process_time() - began) / self.decisions

    def picture(self) -> np.ndarray:
        hull = self.env.car.hull
        cos, sin = np.float32(np.cos(hull.angle)), np.float32(np.sin(hull.angle))
        x = np.float32(hull.position[0]) + cos * _RIGHT - sin * _UP
        y = np.float32(hull.position[1]) + sin * _RIGHT + cos * _UP
        last = self.map.shape[0] - 1
        column, row = (np.clip(((z + HELD_OUT_MAP.half) / CELL).astype(np.int32), 0, last) for z in (x, y))
        drawn = self.map[row, column]
        meadow = np.float32(FIELD / 20)
        even = (np.floor(x / meadow).astype(np.int32) | np.floor(y / meadow).astype(np.int32)) & 1 == 0
        ground = np.where(even[..., None], np.array(MEADOW, np.uint8), np.array(GRASS, np.uint8))
        visited = np.fromiter((tile.road_visited for tile in self.env.road), bool, len(self.env.road))
        table = self.table.copy()
        table[1::2][visited] = ROAD[0]
        image = np.where((drawn > 0)[..., None], table[drawn], ground)
        top, left = self.corner
        high, wide = self.through.shape[:2]
        patch = image[top : top + high, left : left + wide]
        image[top : top + high, left : left + wide] = patch * self.through + self.painted
        image[SIZE * 7 // 8 :] = 0
        speed = int(0.02 * np.hypot(*hull.linearVelocity) * 0.3)
        image[SIZE - 2 - speed : SIZE - 2, 12:14] = 253
        return image


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--decisions", type=int, default=24)
    options = parser.parse_args()
    cases: dict[str, Any] = {
        "ours, 16 levels": Ours(16, options.decisions),
        "ours, 64 levels": Ours(64, options.decisions),
        "Gymnasium's CarRacing": Gymnasium(max(options.decisions // 6, 2)),
        "Box2D and numpy, one process": Box2DAndNumpy(options.decisions),
    }

    def turns(measure: Callable[[Any], float], number: int) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {name: [] for name in cases}
        for turn in range(number + 1):  # the first one compiles
            for name, case in cases.items():
                seconds = measure(case)
                if turn:
                    found[name].append(1e6 * seconds)
        return found

    deciding, preparing = turns(lambda case: case(), options.turns), turns(lambda case: case.preparing(), 3)
    whole = {
        name: [each + statistics.median(preparing[name]) / ROLLOUT for each in values]
        for name, values in deciding.items()
    }
    reference = "Box2D and numpy, one process"
    print(f"load {os.getloadavg()[0]:.1f}; medians of {options.turns} turns, CPU time; ratios by turn (range)\n")
    print("| | us a decision | decisions a CPU second | times Box2D and numpy | a level, ms | times, with levels |")
    print("|---|---|---|---|---|---|")
    for name, values in deciding.items():
        ratios = [b / a for a, b in zip(values, deciding[reference], strict=True)]
        with_levels = statistics.median(b / a for a, b in zip(whole[name], whole[reference], strict=True))
        middle = statistics.median(values)
        print(
            f"| {name} | {middle:,.0f} | {1e6 / middle:,.0f} | {statistics.median(ratios):.2f} "
            f"({min(ratios):.2f}-{max(ratios):.2f}) | {statistics.median(preparing[name]) / 1000:.1f} | "
            f"{with_levels:.2f} |"
        )
    print(f"\nWith levels: preparing a level (Box2D: a reset) is shared by {ROLLOUT} decisions.")


if __name__ == "__main__":
    main()
