"""A look at a user's environment: what would fail deep in a worker or a compiled step is said once, and plainly."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from ...errors import require
from ...guard import PATIENCE, guarded
from ...hosts.fields import Field, nested
from ...hosts.play import by_name
from ...hosts.spaces import MOST_ACTIONS, observed, played
from ...plugins import Plugin
from ...rl.encoder_settings import EncoderSettings, GridEncoder, ImageEncoder
from ...rl.encoders import suited
from ...settings import NoSettings
from ...types import ActionSpace, Continuous, Discrete, Level
from .adapter import JaxEnvironment, strong
from .definition import Definition, Gymnasium, Jax
from .fields import check_fields, check_metrics


@dataclass(frozen=True)
class Probe:
    """What an environment says of itself."""

    observation: Any
    """Shapes and dtypes, as a tree."""
    action_space: ActionSpace
    fields: tuple[Field, ...] = ()
    """Of a Gymnasium environment: the same observation as its workers share it."""
    limit: int | None = None
    """Steps after which an episode is cut off, where anybody says so."""


def chosen_encoder(plugin: Plugin) -> tuple[Any, bool]:
    """The settings of an environment's encoder, and whether it takes observations as they are."""
    given = plugin.value.encoder
    if isinstance(given, nn.Module):
        return NoSettings(), True  # of which nothing is known
    require(
        given is None or isinstance(given, EncoderSettings),
        f"encoder in {plugin.where} is {given!r}; give settings, such as tutelage.ImageEncoder(), or a flax module.",
    )
    settings = suited(probed(plugin).observation) if given is None else given
    return settings, isinstance(settings, ImageEncoder | GridEncoder)  # which know how large bytes and codes are


def probed(plugin: Plugin) -> Probe:
    """Look at an environment; once in a process."""
    return _probed(plugin.where, plugin.value)


@lru_cache(maxsize=16)
def _probed(where: str, definition: Gymnasium | Jax) -> Probe:
    # What no sentence below foresees is said as well.
    return guarded(where, "The environment", lambda: _look(where, definition), 4 * PATIENCE)


def _look(where: str, definition: Gymnasium | Jax) -> Probe:
    check_fields(where, definition)
    level = _look_at_levels(where, definition)
    return (
        _look_at_jax(where, definition, level)
        if isinstance(definition, Jax)
        else _look_at_gymnasium(where, definition, level)
    )


def _look_at_levels(where: str, definition: Definition) -> Level:
    """All functions of levels agree on what a level is. Returns one."""
    level = guarded(where, "sample()", lambda: jax.jit(lambda key: strong(definition.sample(key)))(jax.random.key(0)))
    require(len(jax.tree.leaves(level)) > 0, f"sample() in {where} gave a level without arrays; return at least one.")
    same = types_of(level)
    easy = definition.easy
    simplest = None if easy is None else lambda key, _: easy(key)
    for name, change in (("edit", definition.edit), ("easy", simplest)):
        if change is not None:
            after = guarded(where, f"{name}()", lambda change=change: jax.eval_shape(change, jax.random.key(0), level))
            require(
                len(jax.tree.leaves(after)) > 0,
                f"{name}() in {where} returns no level, but {_kind(after)}; return one like those of sample().",
            )
            require(
                types_of(after) == same,
                f"{name}() in {where} gives levels of other shapes or types than sample(): "
                f"{shapes(after)} and not {shapes(level)}; make them agree.",
            )
    if definition.metrics is not None:
        check_metrics(where, guarded(where, "metrics()", lambda: jax.eval_shape(_figures(where, definition), level)))
    for name, test in definition.tests.items():
        arrays = guarded(where, f"The test level '{name}'", lambda test=test: jax.tree.map(jnp.asarray, test))
        require(
            types_of(arrays) == same,
            f"The test level '{name}' in {where} has other shapes or types than sample(): "
            f"{shapes(arrays)} and not {shapes(level)}; make them agree.",
        )
    if definition.bounds is not None:
        sizes = {len(bound) for bound in definition.bounds}
        require(
            isinstance(level, jax.Array) and level.dtype == jnp.float32 and sizes == {level.size} and level.ndim == 1,
            f"The bounds in {where} are of {' and '.join(map(str, sorted(sizes)))} numbers, and a level of sample() is "
            f"{shapes(level)}; bounds are for levels that are one vector of float32, with two numbers for each entry.",
        )
        require(
            all(low < high for low, high in zip(*definition.bounds, strict=True)),
            f"The bounds in {where} are not two points of which the second is higher in every entry; let them be.",
        )
    return level


def _figures(where: str, definition: Definition) -> Callable[[Level], Any]:
    """A level's figures, as arrays where they are numbers; what they are otherwise is for a sentence to say."""
    metrics = definition.metrics
    assert metrics is not None

    def figures(level: Level) -> Any:
        named = metrics(level)
        require(
            isinstance(named, Mapping) and all(isinstance(name, str) and name for name in named),
            f"metrics() in {where} returns {_kind(named)}; return a dictionary of numbers by name.",
        )
        return {name: jnp.asarray(value, jnp.float32) for name, value in named.items()}

    return figures


# --- JAX


def _look_at_jax(where: str, definition: Jax, level: Level) -> Probe:
    actions = definition.actions
    require(
        (isinstance(actions, Continuous) and 1 <= actions.n <= MOST_ACTIONS)
        or (isinstance(actions, int) and not isinstance(actions, bool) and 1 <= actions <= MOST_ACTIONS),
        f"actions in {where} is {actions!r}; give the number of actions, or tutelage.Continuous(n) for n numbers.",
    )
    env, key = JaxEnvironment(definition), jax.random.key(0)
    space = env.action_space
    action = jnp.int32(0) if isinstance(space, Discrete) else jnp.zeros(space.n)
    prepared = guarded(where, "prepare()", lambda: jax.eval_shape(env.prepare, level))
    begun = guarded(where, "reset()", lambda: jax.eval_shape(definition.reset, key, prepared))
    require(
        isinstance(begun, tuple) and len(begun) == 2,
        f"reset() in {where} returns {_kind(begun)}; return two things: state, obs.",
    )
    state, obs = jax.eval_shape(env.reset, key, prepared)
    more = () if definition.prepare is None else (prepared,)
    after = guarded(where, "step()", lambda: jax.eval_shape(definition.step, key, state, action, *more))
    require(
        isinstance(after, tuple) and len(after) == 5,
        f"step() in {where} returns {_kind(after)}; return five things: state, obs, reward, terminated, truncated.",
    )
    for name, end, kind in zip(
        ("reward", "terminated", "truncated"), after[2:], (jnp.number, jnp.bool_, jnp.bool_), strict=True
    ):
        require(
            isinstance(end, jax.ShapeDtypeStruct) and end.shape == () and jnp.issubdtype(end.dtype, kind),
            f"step() in {where} gives a {name} of {shapes(end)}; give "
            f"{'one number' if name == 'reward' else 'one boolean'}.",
        )
    for name, first, then in (("state", state, after[0]), ("obs", obs, after[1])):
        require(
            types_of(first) == types_of(then),
            f"The {name} in {where} is {shapes(first)} after reset() and {shapes(then)} after step(); it must keep its "
            "structure, shapes and dtypes.",
        )
    return Probe(obs, space, limit=definition.max_steps)


# --- Gymnasium


class _Watched(dict[str, Any]):
    """Options that notice whether anybody looks at the level."""

    looked = False

    def __getitem__(self, key: str) -> Any:
        self.looked = self.looked or key == "level"
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.looked = self.looked or key == "level"
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        self.looked = self.looked or key == "level"
        return super().pop(key, *default)


def _look_at_gymnasium(where: str, definition: Gymnasium, level: Level) -> Probe:
    environment = guarded(where, "make()", definition.make)
    try:
        limit = _time_limit(environment) or definition.max_steps
        require(
            callable(getattr(environment, "reset", None)) and _accepts_options(environment.reset),
            f"The environment of {where} cannot take a level: its reset() has no 'options'. "
            'Write reset(self, *, seed=None, options=None), and read options["level"] in it.',
        )
        watched = _Watched(level=nested(by_name(level)))
        begun = guarded(where, "reset()", lambda: environment.reset(seed=0, options=watched))
        require(
            isinstance(begun, tuple) and len(begun) == 2,
            f"reset() in {where} returns {_kind(begun)}; return two things: the observation, and a dictionary.",
        )
        obs = begun[0]
        require(
            watched.looked,
            f'The environment of {where} takes no notice of its level: reset() does not read options["level"]. '
            "Read it there and set the environment to it; without that every level is the same.",
        )
        seen, acts = observed(environment.observation_space), played(environment.action_space)
        for (name, shape, _), read in seen:
            given = guarded(where, "reset()", lambda read=read: read(obs)).shape
            what = f"'{name}' in observations" if name else "observations"
            require(
                given == shape,
                f"reset() in {where} gives {what} of the shape {given}, and observation_space says {shape}; "
                "make them agree.",
            )
    finally:
        getattr(environment, "close", lambda: None)()
    fields = tuple(one.field for one in seen)
    spec = nested({name: jax.ShapeDtypeStruct(shape, dtype) for name, shape, dtype in fields})
    return Probe(spec, Discrete(acts.n) if acts.discrete else Continuous(acts.n), fields, limit)


def _time_limit(environment: Any) -> int | None:
    """What a ``TimeLimit`` around an environment says, or the specification by which it was made."""
    spec = getattr(environment, "spec", None)
    while environment is not None:
        limit = vars(environment).get("_max_episode_steps") if hasattr(environment, "__dict__") else None
        if isinstance(limit, int):
            return limit
        environment = getattr(environment, "env", None)
    return getattr(spec, "max_episode_steps", None)


def _accepts_options(reset: Callable[..., Any]) -> bool:
    parameters = inspect.signature(reset).parameters
    return "options" in parameters or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


def types_of(tree: Any) -> Any:
    """Structure, shapes and dtypes, to be compared. A named tuple is another structure than a plain one."""
    leaves, structure = jax.tree.flatten(tree)
    arrays = [x if hasattr(x, "dtype") else jnp.asarray(x) for x in leaves]
    return structure, [(x.shape, x.dtype) for x in arrays]


def shapes(tree: Any) -> str:
    """For a person to read."""
    leaves = jax.tree.map(lambda x: x if hasattr(x, "dtype") else jnp.asarray(x), tree)
    return str(jax.tree.map(lambda x: f"{x.dtype}{list(x.shape)}", leaves))


def _kind(value: Any) -> str:
    return f"{len(value)} things" if isinstance(value, tuple) else f"one {type(value).__name__}"
