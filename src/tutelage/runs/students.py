"""Trained students without their runs: one file each, as `tutelage export` writes it, by path or by name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import config, player
from ..envs.base import Domain, observation_spec
from ..errors import UserError, require, unknown
from ..evaluation.evaluate import Evaluation, evaluate
from ..evaluation.robustness import WorstCase, worst_case
from ..evaluation.suite_file import find_suite
from ..experiment import build_agent, build_domain
from ..rl.agent import Agent, AgentState
from ..settings import Settings
from .directory import settings_from

PREFIX = "pretrained:"
SUFFIX = ".safetensors"
CONFIG = "config"
"""The settings of the run, in a file's metadata."""
STATE = "state/"
"""Before the names of what acting depends on besides the weights."""


@dataclass(frozen=True, repr=False)
class Student:
    """A trained student: what acts, where it is tested, and the settings it was trained with."""

    name: str
    settings: Settings
    domain: Domain
    agent: Agent
    state: AgentState

    def __repr__(self) -> str:
        return f"<Student {self.name}: {self.settings.environment}, {self.settings.method}>"

    def evaluate(self, suite: str = "", episodes: int = 100, seed: int = 0, greedy: bool = False) -> Evaluation:
        """Play on a suite, by its name or the path of a file of levels; without either, on the one that was watched in
        training.
        """
        chosen = find_suite(self.domain, suite or self.settings.train.suite)
        return evaluate(self.agent, self.state, chosen, episodes, seed, self.domain.rules.success, greedy)

    def worst_case(
        self, suite: str = "fresh", levels: int = 10_000, episodes: int = 10, seed: int = 0, greedy: bool = False
    ) -> WorstCase:
        """Play many new levels, to see how it does on the worst of them."""
        chosen, domain = find_suite(self.domain, suite), self.domain
        # The optimum is that of the environment trained on; one for tests may have other limits and other levels.
        optimum = domain.rules.optimum if all(task.env == domain.env for task in chosen.tasks) else None
        return worst_case(self.agent, self.state, chosen, levels, episodes, seed, domain.rules.success, greedy, optimum)


def is_student(name: str) -> bool:
    """Is this the name or the file of a student, and not the directory of a run?"""
    return name.startswith(PREFIX) or name.endswith(SUFFIX)


def find_student(name: str) -> Student:
    """By ``pretrained:NAME`` or by the path of a file."""
    return pretrained(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else read_student(name)


def names() -> list[str]:
    """Of the students that come with Tutelage."""
    folder = files("tutelage").joinpath("pretrained")
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(entry.name.removesuffix(SUFFIX) for entry in found if entry.name.endswith(SUFFIX))


def pretrained(name: str) -> Student:
    """A student that comes with Tutelage, such as ``maze-accel-fast``."""
    if name not in names():
        raise unknown("pretrained student", name, names())
    return read_student(Path(str(files("tutelage").joinpath("pretrained"))) / f"{name}{SUFFIX}")


def read_student(path: Path | str) -> Student:
    """A student from a file that `tutelage export` wrote."""
    try:
        tensors, metadata = player.read(path)
        text = metadata[CONFIG]
    except OSError as problem:
        raise UserError(f"The student {path} could not be read: {problem.strerror or problem}.") from problem
    except (ValueError, KeyError, TypeError, IndexError):
        raise UserError(f"{path} is not a student that `tutelage export` wrote; export it again.") from None
    settings = settings_from(text, str(path))
    domain = build_domain(settings)
    agent = build_agent(settings, domain)
    seen = observation_spec(domain.env, jax.eval_shape(domain.levels.sample, jax.random.key(0)))
    like = jax.eval_shape(lambda: agent.init(jax.random.key(0), seen))
    state = jax.tree_util.tree_map_with_path(lambda where, leaf: _filled(path, tensors, _name(where), leaf), like)
    return Student(Path(path).name.removesuffix(SUFFIX), settings, domain, agent, state)


def named(state: AgentState) -> dict[str, np.ndarray]:
    """Everything that acting depends on, by the names that a file has."""
    flat, _ = jax.tree_util.tree_flatten_with_path(state)
    return {_name(path): np.asarray(leaf) for path, leaf in flat}


def about(settings: Settings, spec: dict[str, Any]) -> dict[str, str]:
    """A file's metadata."""
    return {"format": "tutelage", "tutelage": json.dumps(spec), CONFIG: config.to_toml(settings)}


def _name(path: Any) -> str:
    text = jax.tree_util.keystr(path, simple=True, separator="/")
    return text.removeprefix("params/params/") if text.startswith("params/params/") else STATE + text


def _filled(path: Path | str, tensors: dict[str, np.ndarray], name: str, leaf: Any) -> jax.Array:
    require(name in tensors, f"{path} has no tensor {name}, which its settings ask for; export the student again.")
    # A convolution that is computed as one product of patches is written as a convolution.
    found = tensors[name]
    require(
        found.size == np.prod(leaf.shape, dtype=int) and found.ndim >= len(leaf.shape),
        f"The tensor {name} of {path} has the shape {list(found.shape)} and not {list(leaf.shape)}, as its settings "
        "ask for; export the student again.",
    )
    return jnp.asarray(found.reshape(leaf.shape), leaf.dtype)
