"""A student as files that others can use: safetensors with a spec, a program of JAX, ONNX.

The safetensors file holds the weights and, as metadata, what is computed with them; ``tutelage.player`` reads it with
numpy alone. The format is a header in JSON and then the bytes of all tensors, so it is written here by hand.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from ..envs.base import observation_spec
from ..errors import UserError, require
from ..plugins import label
from ..rl.agent import AgentState
from ..rl.distributions import Beta, Categorical
from ..rl.encoders import within
from ..rl.networks import GRU, LSTM, Dense
from .directory import package_version
from .files import write_atomically
from .session import Run
from .students import STATE, about, named

PLAYER = "player.py"
FORMAT = 1
_KINDS = {"float32": "F32", "int32": "I32"}


class Exported(NamedTuple):
    """What was written."""

    weights: Path
    player: Path
    program: Path | None
    onnx: Path | None


def export(
    run: Run,
    path: Path | str = "student.safetensors",
    student: int = 0,
    program: Path | str | None = None,
    onnx: Path | str | None = None,
) -> Exported:
    """Write a student's weights and spec to one safetensors file, and beside it the player that needs numpy only.

    ``program`` is for a file of ``jax.export``, ``onnx`` for one of ONNX: one step of one student, memory in and out.
    """
    path = Path(path)
    require(path.suffix == ".safetensors", f"{path} holds tensors; give a name that ends with .safetensors.")
    if program is not None:
        _require("flatbuffers", "jax")
    if onnx is not None:
        _require("onnx", "onnx")
    state = jax.device_get(run.student(student))
    found, spec = tensors(run, state), describe(run)
    # What a player has no use for is there for who goes on with the student here.
    rest = {name: array for name, array in named(state).items() if name.startswith(STATE)}
    _write(path, _safetensors(found | rest, about(run.settings, spec)))
    _write(path.with_name(PLAYER), (Path(__file__).parents[1] / PLAYER).read_bytes())
    if program is not None:
        _write(Path(program), _program(run, state))
    if onnx is not None:
        from .onnx_file import to_onnx

        _write(Path(onnx), to_onnx(found, spec))
    other = [None if file is None else Path(file) for file in (program, onnx)]
    return Exported(path, path.with_name(PLAYER), other[0], other[1])


def _require(package: str, extra: str) -> None:
    require(
        find_spec(package) is not None,
        f"This file needs the package {package}, which is not installed; install it with "
        f"`pip install 'tutelage[{extra}]'`, or leave --{extra} out.",
    )


def describe(run: Run) -> dict[str, Any]:
    """All that a player has to know beside the weights."""
    agent = run.agent
    network, actions = agent.network, agent.actions
    core = network.core
    kind = "lstm" if isinstance(core, LSTM) else "gru" if isinstance(core, GRU) else "none"
    spec = {
        "version": FORMAT,
        "made by": f"tutelage {package_version()}",
        "environment": label(run.settings.environment),
        "method": label(run.settings.method),
        "iteration": run.iteration,
        "core": kind if isinstance(core, LSTM | GRU | Dense) else "separate",
        "width": getattr(core, "width", 0),
        "layers": network.layers,
        "activation": network.activation,
        "actions": "categorical" if isinstance(actions, Categorical) else _continuous(actions),
        "outputs": network.outputs,
        "observation": _observation(run),
        "encoder": [
            [within(layer, "encoder") for layer in part] for part in layers_of(network.encoder, len(_observation(run)))
        ],
    }
    return spec | ({"normalise": True} if agent.normalise_observations else {})


def _continuous(actions: Any) -> str:
    return "beta" if isinstance(actions, Beta) else "gaussian"


def _observation(run: Run) -> list[dict[str, Any]]:
    """The arrays of an observation, in the order of ``jax.tree.leaves``."""
    env, levels = run.domain.env, run.domain.levels
    flat, _ = jax.tree_util.tree_flatten_with_path(
        observation_spec(env, jax.eval_shape(levels.sample, jax.random.key(0)))
    )
    return [
        {
            "name": jax.tree_util.keystr(path, simple=True, separator="/"),
            "shape": list(leaf.shape),
            "dtype": str(leaf.dtype),
        }
        for path, leaf in flat
    ]


def layers_of(encoder: nn.Module, parts: int) -> list[list[list[Any]]]:
    """What an encoder does with each array of an observation, as layers that players know."""
    offered = getattr(encoder, "exported", None)
    if offered is None:
        raise UserError(
            f"The encoder {type(encoder).__name__} cannot be written as layers; export the student with --jax, or give "
            "the encoder a method exported() that lists its layers, as those in tutelage.rl.encoders do."
        )
    return offered(parts)


def tensors(run: Run, state: AgentState) -> dict[str, np.ndarray]:
    """A student's weights by name, and the moments of what it has seen where it needs them."""
    flat, _ = jax.tree_util.tree_flatten_with_path(state.params["params"])
    found = {jax.tree_util.keystr(path, simple=True, separator="/"): np.asarray(leaf) for path, leaf in flat}
    for layers in describe(run)["encoder"]:
        for name in _convolutions(layers):
            kernel = found[f"{name}/kernel"]
            if kernel.ndim == 2:  # written as one product of patches
                found[f"{name}/kernel"] = kernel.reshape(3, 3, kernel.shape[0] // 9, kernel.shape[1])
    if run.agent.normalise_observations:
        moments = jax.tree.leaves(state.observations, is_leaf=lambda x: hasattr(x, "squares"))
        for i, seen in enumerate(moments):
            found |= {f"observations/{i}/mean": np.asarray(seen.mean)}
            found |= {f"observations/{i}/deviation": np.asarray(seen.deviation, np.float32)}
    return found


def _convolutions(layers: list[list[Any]]) -> list[str]:
    names = []
    for op, *more in layers:
        names += [more[0]] if op == "convolution" else _convolutions(more[0]) if op == "residual" else []
    return names


def _safetensors(tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    header: dict[str, Any] = {"__metadata__": metadata}
    data = b""
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        header[name] = {
            "dtype": _KINDS[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + array.nbytes],
        }
        data += array.astype(array.dtype.newbyteorder("<")).tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def _program(run: Run, state: AgentState) -> bytes:
    """One step of the student as a program that JAX loads on any of its platforms: from memory, observation and whether
    the episode starts, to memory, parameters of the policy, and value.
    """
    from jax import export as jax_export

    agent = run.agent

    def step(memory: Any, obs: Any, first: Any) -> Any:
        batched = jax.tree.map(lambda x: x[None], (memory, obs, first))
        after, policy, value = agent._step(jax.tree.map(jnp.asarray, state), *batched)
        return jax.tree.map(lambda x: x[0], (after, policy, value))

    env, levels = run.domain.env, run.domain.levels
    obs = observation_spec(env, jax.eval_shape(levels.sample, jax.random.key(0)))
    memory = jax.eval_shape(lambda: jax.tree.map(lambda x: x[0], agent.initial_carry(1)))
    # Named tuples are unknown to whoever loads it: observations and memory go in as lists of arrays.
    _, seen = jax.tree.flatten(obs)
    _, kept = jax.tree.flatten(memory)

    def flat(memory: list[Any], obs: list[Any], first: Any) -> Any:
        after, policy, value = step(kept.unflatten(memory), seen.unflatten(obs), first)
        return jax.tree.leaves(after), policy, value

    shapes = jax.tree.leaves(memory), jax.tree.leaves(obs), jax.ShapeDtypeStruct((), jnp.bool_)
    exported = jax_export.export(jax.jit(flat), platforms=("cpu", "cuda", "tpu"))(*shapes)
    return bytes(exported.serialize())


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)
