"""A toy environment whose every number can be worked out by hand, shared by the tests of what plays and teaches it."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

# Compiled programs are kept between test runs. Set before JAX is first imported.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# Files that tests run are nobody's to remember.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="tutelage-state-")
# Most programs run a few times on small arrays, so most of their time is compilation, which is several times shorter
# without what XLA does for speed. The processes that tests start inherit this, and share the compiled programs.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "true")
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_use_fusion_emitters=false"

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import settings

from tutelage.envs.base import Discrete, Domain, Levels, Suite, Suites
from tutelage.rl.agent import Agent
from tutelage.rl.distributions import Categorical
from tutelage.rl.networks import CORES, ActorCritic
from tutelage.settings import option
from tutelage.types import Rollout, TimeStep, played

# Programs that are traced make very many objects, which live long and are no garbage. Looking through all of them as
# often as Python does unless told otherwise would take a fifth of the time, and more as a process grows.
gc.collect()
gc.freeze()
gc.set_threshold(200_000, 20, 20)

settings.register_profile("quick", deadline=None, max_examples=20, derandomize=True)
settings.load_profile("quick")


@pytest.fixture(autouse=True, scope="module")
def forget_programs():
    """Compiled programs and what else is cached live no longer than the tests of a file: a worker must fit 2 GB."""
    yield
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "tutelage":
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
    jax.clear_caches()
    gc.collect()
    if _TRIM is not None:
        _TRIM(0)


# What is freed goes back to the system, where the C library can be asked for it.
_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None)


class Count(NamedTuple):
    """A level: reach ``goal`` within ``limit`` steps."""

    goal: Any
    limit: Any


class CountState(NamedTuple):
    level: Count
    count: Any
    time: Any


@dataclass(frozen=True)
class Counter:
    """Each action (0, 1 or 2) is added to a count and pays itself minus a half. The observation is the whole state."""

    @property
    def action_space(self) -> Discrete:
        return Discrete(3)

    def prepare(self, level: Count) -> Count:
        return level

    def reset(self, key: Any, level: Count) -> tuple[CountState, Any]:
        state = CountState(level, jnp.int32(0), jnp.int32(0))
        return state, self.observe(state)

    def step(self, key: Any, state: CountState, action: Any, level: Count) -> tuple[CountState, TimeStep]:
        state = CountState(state.level, state.count + action, state.time + 1)
        obs = self.observe(state)
        return state, played(obs, action - 0.5, state.count >= level.goal, state.time >= level.limit)

    def observe(self, state: CountState) -> Any:
        return jnp.stack([state.count, state.time, state.level.goal, state.level.limit]).astype(jnp.float32) / 10


@dataclass(frozen=True)
class Counts:
    """Goals from 1 to 100. Each edit adds 1000, so that a goal tells how often it was edited."""

    def sample(self, key: Any) -> Count:
        return Count(jax.random.randint(key, (), 1, 101), jnp.int32(4))

    def edit(self, key: Any, level: Count, edits: int) -> Count:
        return level._replace(goal=level.goal + 1000 * edits)

    def easy(self, key: Any) -> Count:
        return Count(jax.random.randint(key, (), 1, 11), jnp.int32(4))

    def metrics(self, level: Count) -> dict[str, Any]:
        return {"goal": level.goal.astype(jnp.float32)}


class Eyes(nn.Module):
    """Observations, embedded."""

    width: int

    @nn.compact
    def __call__(self, obs: Any) -> Any:
        return nn.tanh(nn.Dense(self.width)(obs))


@pytest.fixture(scope="session")
def optimised():
    """A process to run things in that are compiled as they are outside of tests: for what trains for long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "false")
        patch.setenv("XLA_FLAGS", f"{os.environ['XLA_FLAGS']} --xla_cpu_use_fusion_emitters=true")
        pool = ProcessPoolExecutor(1, get_context("spawn"))
        pool.submit(os.getpid).result()  # it has started, and with this environment
    with pool:
        yield pool


@dataclass(frozen=True)
class EyesSettings:
    width: int = option(16, "units of the embedding")


@pytest.fixture(scope="session")
def toy() -> Domain:
    space = Counts()
    return Domain(
        env=Counter(),
        levels=Levels(sample=space.sample, metrics=space.metrics, edit=space.edit, easy=space.easy),
        encoder=lambda eyes: Eyes(eyes.width),
        suites=Suites((), lambda name: Suite(name, ())),
    )


@pytest.fixture(scope="session")
def toy_agent(toy):
    """Makes small agents for the toy."""

    def build(core: str = "none", width: int = 4, eyes: int = 4, **options: bool) -> Agent:
        return Agent(ActorCritic(toy.encoder(EyesSettings(eyes)), CORES[core](width), 3, 4), Categorical(3), **options)

    return build


@pytest.fixture(scope="session")
def random_state():
    """A student with random parameters: as good as an initialised one for most tests, and nothing is compiled.

    Of a learner a whole ``StudentState``, of an agent its ``AgentState``.
    """

    def fill(who: Any, obs: Any, seed: int = 0) -> Any:
        rng = np.random.default_rng(seed)
        shapes = jax.eval_shape(who.init, jax.random.key(0), obs)
        zeros = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), shapes)
        agent = getattr(shapes, "agent", shapes)
        params = jax.tree.map(lambda x: rng.normal(0, 0.4, x.shape).astype(x.dtype), agent.params)
        if agent is shapes:
            return zeros._replace(params=params)
        return zeros._replace(agent=zeros.agent._replace(params=params))

    return fill


@pytest.fixture(scope="session")
def outcome():
    """Episodes of two steps, whose return, values and policy follow from the level alone."""

    def play(levels: Count) -> Rollout:
        goal = np.asarray(levels.goal, np.float32)
        value, reward = goal % 3 / 3, goal % 7 / 7 - 0.4

        def steps(first: Any, second: Any, dtype: Any = np.float32) -> np.ndarray:
            return np.stack([np.broadcast_to(first, goal.shape), np.broadcast_to(second, goal.shape)], 1).astype(dtype)

        policy = np.stack([steps(goal % 5 / 5, 0), steps(0, 0)], -1)
        rest = {"value": steps(value, 0), "next_value": steps(0, 0), "reward": steps(0, reward)}
        ends = {"terminated": steps(False, True, bool), "truncated": steps(False, False, bool)}
        flags = {"done": steps(False, True, bool), "first": steps(True, False, bool)}
        return Rollout((), (), steps(0, 0), policy, **rest, **ends, **flags)

    return play
