"""Does what a user brings keep its promises? Every finding is a sentence.

Whatever can be seen from shapes is seen by building it (``envs.custom.probe``); here it is played.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .compose import compose
from .config import override
from .envs.base import Domain
from .envs.custom.adapter import JaxEnvironment
from .envs.custom.definition import Gymnasium, Jax
from .envs.custom.probe import chosen_encoder, probed
from .envs.presets import Preset
from .envs.registry import ENVIRONMENTS, environment
from .envs.registry import NAME as ENVIRONMENT
from .errors import UserError
from .experiment import build
from .guard import guarded
from .hosts.environment import HostEnvironment
from .hosts.fields import nested
from .hosts.play import by_name
from .hosts.spaces import played
from .methods.base import Method
from .methods.registry import NAME as METHOD
from .methods.registry import find
from .plugins import Plugin, absolute, from_file
from .rl.encoders import describe
from .settings import NoSettings
from .trainer import Trainer
from .trusted import trust
from .types import Discrete

LEVELS, STEPS = 8, 200
"""Levels that are drawn, and steps that are played on each."""


def check(path: str) -> Iterator[str]:
    """Check an environment, a method or both in a file. Yields what holds; raises a ``UserError`` for what does not."""
    found = [name for name in (ENVIRONMENT, METHOD) if _defines(path, name)]
    trust(absolute(path))  # who has a file checked has it run
    if not found:
        raise UserError(f"{path} defines neither '{ENVIRONMENT}' nor '{METHOD}', so there is nothing to check in it.")
    for name, look in ((ENVIRONMENT, check_environment), (METHOD, check_method)):
        if name in found:
            findings = look(path)
            while (holds := guarded(path, f"The {name}", lambda found=findings: next(found, None))) is not None:
                yield holds


def _defines(path: str, name: str) -> bool:
    try:
        from_file(path, name)
    except UserError as problem:
        if f"defines no {name}" in str(problem):
            return False
        raise
    return True


# --- environments


def check_environment(path: str) -> Iterator[str]:
    """Levels, rules, episodes."""
    plugin = from_file(path, ENVIRONMENT)
    entry = environment(path)
    domain = entry.build(entry.presets[entry.default_preset].env)
    yield f"{entry.summary} can be built"
    yield from _check_levels(domain)
    if isinstance(plugin.value, Jax):
        yield from _play_jax(plugin)
    elif isinstance(plugin.value, Gymnasium):
        yield from _play_gymnasium(plugin)
    if isinstance(plugin.value, Gymnasium | Jax):
        settings, _ = chosen_encoder(plugin)
        if not isinstance(settings, NoSettings):
            yield describe(settings, probed(plugin).observation)
    for name in domain.suites:
        _ = domain.suites[name]
    yield f"suites: {', '.join(domain.suites)}"


def _check_levels(domain: Domain) -> Iterator[str]:
    keys = jax.random.split(jax.random.key(0), LEVELS)
    draw = jax.jit(jax.vmap(domain.levels.sample))
    levels = draw(keys)
    _same(levels, draw(keys), "sample() gives different levels for the same key; draw everything random with the key.")
    if not any(len(np.unique(np.asarray(x), axis=0)) > 1 for x in jax.tree.leaves(levels)):
        raise UserError("sample() gives the same level for every key; draw it with the key, or there is no curriculum.")
    finite = all(np.isfinite(x).all() for x in jax.tree.leaves(levels) if np.asarray(x).dtype.kind == "f")
    if not finite:
        raise UserError("sample() gives a level with an entry that is not finite.")
    yield f"levels are drawn by their keys alone: {_shapes(jax.tree.map(lambda x: x[0], levels))}"
    edit = domain.levels.edit
    if edit is not None:
        edited = jax.jit(jax.vmap(lambda key, level: edit(key, level, 1)))(
            jax.random.split(jax.random.key(1), LEVELS), levels
        )
        if _equal(levels, edited):
            raise UserError(f"edit() changed none of {LEVELS} levels; change something.")
        yield "edits change levels and keep their shapes"
    abilities = {"easy": domain.levels.easy, "bounds": domain.levels.vectors, "edit": edit}
    absent = [name for name, ability in abilities.items() if ability is None]
    if absent:
        yield f"not given, so methods that need them are refused: {', '.join(absent)}"


def _play_jax(plugin: Plugin) -> Iterator[str]:
    definition: Jax = plugin.value
    env, space = JaxEnvironment(definition), probed(plugin).action_space
    actions = _random_actions(space)

    def episodes(key: Any) -> Any:
        k_level, k_reset, k_play = jax.random.split(key, 3)
        level = env.prepare(definition.sample(k_level))
        first, _ = env.reset(k_reset, level)

        def step(carry: Any, at: Any) -> Any:
            state, over = carry
            k_step, action = at
            after, ts = env.step(k_step, state, action, level)
            again, _ = env.reset(k_reset, level)
            # After its end an episode must stay where it ended.
            restarted = ts.done & _tree_equal(after, again) & ~_tree_equal(state, again)
            out = (ts.reward, ts.done & ~over, restarted & ~over, _all_finite(ts.obs))
            return (jax.tree.map(lambda old, new: jnp.where(over, old, new), state, after), over | ts.done), out

        keys = jax.random.split(k_play, STEPS)
        return jax.lax.scan(step, (first, jnp.array(False)), (keys, actions))[1]

    play = jax.jit(jax.vmap(episodes))
    keys = jax.random.split(jax.random.key(2), LEVELS)
    reward, ended, restarted, finite = out = jax.device_get(play(keys))
    _same(out, play(keys), "The same keys, level and actions give another episode; use no randomness but the keys.")
    if restarted.any():
        raise UserError(
            "step() starts a new episode by itself when one ends: the state after the end is that of a reset. Use the "
            "step that does not restart (step_env in gymnax); Tutelage starts the next episode."
        )
    if not (np.isfinite(reward).all() and finite.all()):
        raise UserError("step() gave a reward or an observation that is not finite.")
    share = ended.any(axis=1).mean()
    yield f"episodes repeat to the bit, and step() does not restart; {share:.0%} ended within {STEPS} random steps"


def _play_gymnasium(plugin: Plugin) -> Iterator[str]:
    definition: Gymnasium = plugin.value
    env = definition.make()
    try:
        acts = played(env.action_space)
        rng = np.random.default_rng(0)
        shape = (STEPS,) if acts.discrete else (STEPS, acts.n)
        plan = rng.integers(0, acts.n, shape) if acts.discrete else rng.uniform(-1, 1, shape).astype(np.float32)
        actions = list(acts.actions(np.asarray(plan)))
        level = nested(by_name(jax.device_get(definition.sample(jax.random.key(3)))))
        first, again = (_one_episode(env, level, actions) for _ in range(2))
    finally:
        getattr(env, "close", lambda: None)()
    if first != again:
        raise UserError(
            "The same level, seed and actions give another episode the second time; draw everything random with the "
            "seed that reset() is given, and set everything anew there. Otherwise a resumed run is not the same run."
        )
    yield f"episodes repeat to the bit; one of random actions had {len(first) - 1} steps"


def _one_episode(env: Any, level: Any, actions: list[Any]) -> list[Any]:
    obs, _ = env.reset(seed=7, options={"level": level})
    log: list[Any] = [_bytes(obs)]
    for action in actions:
        obs, reward, terminated, truncated, _ = env.step(action)
        if not np.isfinite(reward):
            raise UserError(f"step() gave a reward of {reward}; give a finite number.")
        log.append((_bytes(obs), float(reward), bool(terminated), bool(truncated)))
        if terminated or truncated:
            break
    return log


def _bytes(obs: Any) -> Any:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(obs)]


# --- methods


def check_method(path: str) -> Iterator[str]:
    """Settings, and a step of training in an environment that it can teach."""
    method = find(path)
    if not (is_dataclass(method.settings) and method.settings.__dataclass_params__.frozen):  # pyright: ignore
        raise UserError(
            f"The settings of {method.name} are not a frozen dataclass; write @dataclass(frozen=True) above it."
        )
    loose = [part.name for part in fields(method.settings) if not is_dataclass(getattr(method.settings(), part.name))]
    if loose:
        raise UserError(
            f"The settings of {method.name} have {', '.join(loose)} outside of a section; put them into a frozen "
            "dataclass of their own, with tutelage.option(default, help), and give that as tutelage.section(Kind)."
        )
    sections = ", ".join(part.name for part in fields(method.settings)) or "none"
    yield f"the settings of {method.name} have the sections: {sections}"
    refused = []
    for name, entry in ENVIRONMENTS.items():
        chosen = entry.presets[entry.default_preset]
        try:
            trainer = _small(name, path, chosen, method)
        except UserError as problem:
            refused.append(f"{name} refuses it: {problem}")
            continue
        yield from _check_step(trainer, name)
        return
    raise UserError(f"No built-in environment works with {method.name}. {' '.join(refused)}")


def _small(name: str, path: str, chosen: Preset, method: Method) -> Trainer:
    settings = compose(name, absolute(path), chosen, method)
    shape = {"train.levels": "32", "train.rollout": "8", "ppo.minibatches": "1", "ppo.epochs": "1"}
    small = override(settings, shape)
    trainer = build(replace(small, network=replace(small.network, width=16)))
    if isinstance(trainer.domain.env, HostEnvironment):
        raise UserError("it is played outside of JAX")
    return trainer


def _check_step(trainer: Trainer, where: str) -> Iterator[str]:
    state = jax.eval_shape(trainer.init, 0)
    try:
        after, report = jax.eval_shape(trainer.step, state)
    except UserError:
        raise
    except Exception as problem:
        first = (str(problem).strip().splitlines() or [""])[0]
        raise UserError(f"A training step on {where} cannot be traced: {type(problem).__name__}: {first}") from problem
    before, then = (jax.tree.map(lambda x: (x.shape, x.dtype), tree) for tree in (state, after))
    if before != then:
        raise UserError("The curriculum's state changes its structure, shapes or dtypes in a step; it must keep them.")
    yield f"a training step on {where} keeps every shape, and logs {len(report.metrics)} figures"
    once = jax.jit(trainer.step)
    first = trainer.init(0)
    _same(once(first)[0], once(first)[0], "The same state gives another step; use no randomness but the keys.")
    yield "it repeats to the bit"


# --- small things


def _random_actions(space: Any) -> Any:
    key = jax.random.key(4)
    if isinstance(space, Discrete):
        return jax.random.randint(key, (STEPS,), 0, space.n)
    return jax.random.uniform(key, (STEPS, space.n), minval=-1.0)


def _plain(x: Any) -> Any:
    """Of a PRNG key its data, which can be compared."""
    return jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x


def _tree_equal(a: Any, b: Any) -> Any:
    pairs = zip(map(_plain, jax.tree.leaves(a)), map(_plain, jax.tree.leaves(b)), strict=True)
    return jnp.stack([(x == y).all() for x, y in pairs]).all()


def _all_finite(tree: Any) -> Any:
    return jnp.stack([jnp.isfinite(x).all() for x in jax.tree.leaves(tree)]).all()


def _equal(a: Any, b: Any) -> bool:
    return bool(_tree_equal(jax.tree.map(jnp.asarray, a), jax.tree.map(jnp.asarray, b)))


def _same(a: Any, b: Any, sentence: str) -> None:
    if not _equal(a, b):
        raise UserError(sentence)


def _shapes(tree: Any) -> str:
    return str(jax.tree.map(lambda x: f"{x.dtype}{list(x.shape)}", tree))
