"""How environments that users bring are drawn: by their own ``render``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from ...errors import UserError, require
from ...hosts.environment import HostEnvironment
from ...hosts.fields import nested
from ...hosts.play import by_name
from ...hosts.spaces import played
from ...types import Level, State
from ..base import Environment, Viewer
from .definition import Gymnasium, Jax

PACE = 60
"""Milliseconds a frame."""


def viewer(definition: Gymnasium | Jax, env: Environment | HostEnvironment) -> Viewer | None:
    """Of an environment that can be drawn; None of another."""
    if isinstance(definition, Gymnasium):
        return _of_gymnasium(definition) if _takes_render_mode(definition) else None
    return _of_jax(definition, env) if definition.render is not None else None


def _text(level: Level) -> str:
    return str(jax.tree.map(lambda x: np.asarray(x).tolist(), level))


def _takes_render_mode(definition: Gymnasium) -> bool:
    try:
        parameters = inspect.signature(definition.make).parameters
    except (TypeError, ValueError):  # of a callable that does not tell
        return False
    return "render_mode" in parameters


def _of_gymnasium(definition: Gymnasium) -> Viewer:
    def frames(level: Level, states: State) -> Iterator[np.ndarray]:
        """Plays the episode again: its states are its seed and its actions (see ``evaluation.record``)."""
        environment = definition.make(render_mode="rgb_array")
        try:
            environment.reset(seed=int(states["seed"][0]), options={"level": nested(by_name(level))})
            yield _picture(environment.render())
            for action in played(environment.action_space).actions(np.asarray(states["action"][:-1])):
                environment.step(action)
                yield _picture(environment.render())
        finally:
            environment.close()

    def picture(level: Level) -> np.ndarray:
        return next(frames(level, {"seed": np.zeros(1, int), "action": np.zeros((1, 1))}))

    return Viewer(_text, picture=picture, frames=frames, pace=PACE)


def _of_jax(definition: Jax, env: Environment | HostEnvironment) -> Viewer:
    assert definition.render is not None
    assert not isinstance(env, HostEnvironment)
    draw = jax.jit(definition.render)
    start = jax.jit(lambda level: env.reset(jax.random.key(0), env.prepare(level))[0])

    def frames(level: Level, states: State) -> Iterator[np.ndarray]:
        del level
        for t in range(len(jax.tree.leaves(states)[0])):
            yield _picture(draw(jax.tree.map(lambda x, t=t: x[t], states)))

    return Viewer(_text, picture=lambda level: _picture(draw(start(level))), frames=frames, pace=PACE)


def _picture(given: Any) -> np.ndarray:
    if given is None:
        raise UserError('render() gave nothing; with render_mode="rgb_array" it returns an array.')
    picture = np.asarray(given)
    require(
        picture.ndim == 3 and picture.shape[2] == 3 and picture.dtype == np.uint8,
        f"render() gave {picture.dtype}{list(picture.shape)}; a picture is uint8 [height, width, 3].",
    )
    return picture
