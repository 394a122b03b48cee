"""What every viewer promises: text that is read back, and pictures that are arrays of one kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.envs.base import Domain, Viewer
from tutelage.envs.registry import ENVIRONMENTS
from tutelage.errors import UserError
from tutelage.hosts.environment import HostEnvironment
from tutelage.types import Discrete

STEPS = 5


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def domain(request) -> Domain:
    entry = ENVIRONMENTS[request.param]
    domain = entry.build(entry.presets[entry.default_preset].env)
    if domain.viewer is None:
        pytest.skip("has no viewer")
    return domain


@pytest.fixture(scope="module")
def viewer(domain) -> Viewer:
    return domain.viewer


def levels(domain: Domain) -> Iterator[Any]:
    """Drawn, edited, the simplest, and as numpy has them."""
    sample, change, easy = jax.jit(domain.levels.sample), domain.levels.edit, domain.levels.easy
    for seed in range(5):
        key = jax.random.key(seed)
        yield (level := sample(key))
        if change is not None:
            yield jax.device_get(change(key, level, 3))
        if easy is not None:
            yield easy(key)


def episode(domain: Domain, level: Any) -> Any:
    """The states of an episode as ``record`` gives them."""
    if isinstance(domain.env, HostEnvironment):
        random, space = np.random.default_rng(0), domain.env.action_space
        if isinstance(space, Discrete):
            actions = random.integers(space.n, size=STEPS + 1, dtype=np.int32)
        else:
            actions = random.normal(size=(STEPS + 1, space.n)).astype(np.float32)
        return {"seed": np.zeros(STEPS + 1, np.int32), "action": actions}
    key, env = jax.random.key(0), domain.env
    level = env.prepare(level)
    state, _ = env.reset(key, level)
    states, step, space = [state], jax.jit(env.step), env.action_space
    for t in range(STEPS):
        action = jnp.int32(t % space.n) if isinstance(space, Discrete) else jnp.linspace(0.0, 1.0, space.n)
        state, _ = step(key, state, action, level)
        states.append(state)
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states)


def is_picture(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == np.uint8 and array.ndim == 3 and array.shape[2] == 3


def test_a_text_is_read_back_as_the_same_level(domain, viewer):
    for level in levels(domain):
        text = viewer.text(level)
        assert text.strip()
        if viewer.parse is not None:
            again = viewer.parse(text)
            assert jax.tree.structure(again) == jax.tree.structure(level)
            jax.tree.map(np.testing.assert_array_equal, again, level)
            assert jax.tree.map(lambda x: np.asarray(x).dtype, again) == jax.tree.map(lambda x: x.dtype, level)


@pytest.mark.parametrize("text", ["", "no such level", "column -1", "#####\n#>..#\n#####", "1, 2, 3\n"])
def test_other_texts_are_refused_with_a_sentence(viewer, text):
    if viewer.parse is None:
        pytest.skip("reads nothing")
    with pytest.raises(UserError, match=r"\.$"):
        viewer.parse(text)


def test_pictures_are_arrays_of_colours(domain, viewer):
    if viewer.picture is None:
        pytest.skip("draws nothing")
    for level, _ in zip(levels(domain), range(3), strict=False):
        picture = viewer.picture(level)
        assert is_picture(picture)
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 3
        np.testing.assert_array_equal(picture, viewer.picture(level))


def test_an_episode_has_a_frame_for_every_step_and_the_first(domain, viewer):
    if viewer.frames is None:
        pytest.skip("draws nothing")
    level = jax.device_get(domain.levels.sample(jax.random.key(0)))
    frames = list(viewer.frames(level, episode(domain, level)))
    assert len(frames) == STEPS + 1
    assert all(is_picture(frame) for frame in frames)
    assert len({frame.shape for frame in frames}) == 1
    assert any((frame != frames[0]).any() for frame in frames)
    assert viewer.pace >= 1
