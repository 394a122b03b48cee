"""One step of an exported student as ONNX: the same layers as ``tutelage.player`` computes, node by node.

Inputs are the arrays of an observation (``obs_0``, ...) and, of a student that remembers, ``memory``, which is zero at
the start of an episode. Outputs are ``policy``, the parameters of the distribution of actions, and ``memory_after``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

OPSET = 18


class _Graph:
    """Nodes in the order in which they are computed."""

    def __init__(self, onnx: Any, tensors: dict[str, np.ndarray]) -> None:
        self.onnx, self.tensors = onnx, tensors
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.known: set[str] = set()

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"{op}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(self.onnx.numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def weight(self, name: str) -> str:
        if name not in self.known:
            self.known.add(name)
            self.initializers.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(self.tensors[name]), name))
        return name

    def dense(self, x: str, name: str) -> str:
        return self.add("Add", self.add("MatMul", x, self.weight(f"{name}/kernel")), self.weight(f"{name}/bias"))

    def flat(self, x: str) -> str:
        return self.add("Reshape", x, self.constant([-1], np.int64))

    def through(self, layers: list[list[Any]], x: str) -> str:
        """Images come and go as ``[H, W, c]``."""
        for op, *more in layers:
            if op == "scale":
                x = self.add("Div", self.add("Cast", x, to=1), self.constant(more[0]))
                x = self.add("Add", x, self.constant(more[1]))
            elif op == "one-hot":
                x = self._one_hot(x, more[0])
            elif op == "relu":
                x = self.add("Relu", x)
            elif op == "dense":
                x = self.dense(self.flat(x), more[0])
            elif op == "convolution":
                name, stride, same = more
                kernel = self.constant(np.transpose(self.tensors[f"{name}/kernel"], (3, 2, 0, 1)))
                x = self._image("Conv", x, [kernel, self.weight(f"{name}/bias")], stride, same)
            elif op == "largest":
                size, stride, same = more
                x = self._image("MaxPool", x, [], stride, same, kernel_shape=[size, size])
            elif op == "residual":
                x = self.add("Add", x, self.through(more[0], x))
            else:
                raise AssertionError(op)
        return x

    def _image(self, op: str, x: str, more: list[str], stride: int, same: bool, **attributes: Any) -> str:
        x = self.add("Transpose", self.add("Unsqueeze", x, self.constant([0], np.int64)), perm=[0, 3, 1, 2])
        pad = "SAME_UPPER" if same else "VALID"
        x = self.add(op, x, *more, strides=[stride, stride], auto_pad=pad, **attributes)
        return self.add("Squeeze", self.add("Transpose", x, perm=[0, 2, 3, 1]), self.constant([0], np.int64))

    def _one_hot(self, x: str, sizes: list[int]) -> str:
        values = self.constant([0.0, 1.0])
        x = self.add("Cast", x, to=7)
        if len(sizes) == 1:
            return self.add("OneHot", self.flat(x), self.constant([sizes[0]], np.int64), values, axis=-1)
        channels = [self.add("Gather", x, self.constant(i, np.int64), axis=-1) for i in range(len(sizes))]
        hot = [
            self.add("OneHot", channel, self.constant([size], np.int64), values, axis=-1)
            for channel, size in zip(channels, sizes, strict=True)
        ]
        return self.add("Concat", *hot, axis=-1)

    def remember(self, core: str, x: str, width: int) -> tuple[str, str | None]:
        """What the core makes of a vector, and the memory after it."""
        if core == "none":
            return self.add("Relu", self.dense(x, "core/Dense_0")), None
        if core == "separate":
            return x, None
        if core == "lstm":
            hidden, cell = (self.add("Gather", "memory", self.constant(i, np.int64), axis=0) for i in (0, 1))
            seen = self.add("Concat", x, hidden, axis=0)
            both = self.add("Add", self.add("MatMul", seen, self.weight("core/kernel")), self.weight("core/bias"))
            i, f, g, o = self.add("Split", both, outputs=4, axis=0, num_outputs=4)
            kept = self.add("Mul", self.add("Sigmoid", f), cell)
            cell = self.add("Add", kept, self.add("Mul", self.add("Sigmoid", i), self.add("Tanh", g)))
            hidden = self.add("Mul", self.add("Sigmoid", o), self.add("Tanh", cell))
            rows = [self.add("Unsqueeze", part, self.constant([0], np.int64)) for part in (hidden, cell)]
            return hidden, self.add("Concat", *rows, axis=0)
        seen = self.add("Concat", x, "memory", axis=0)
        gates = self.add("MatMul", seen, self.weight("core/gate_kernel"))
        gates = self.add("Sigmoid", self.add("Add", gates, self.weight("core/gate_bias")))
        r, z = self.add("Split", gates, outputs=2, axis=0, num_outputs=2)
        into, again = (
            self.add(
                "Add", self.add("MatMul", what, self.weight(f"core/{name}_kernel")), self.weight(f"core/{name}_bias")
            )
            for what, name in ((x, "input"), ("memory", "hidden"))
        )
        n = self.add("Tanh", self.add("Add", into, self.add("Mul", r, again)))
        difference = self.add("Mul", z, self.add("Sub", "memory", n))
        hidden = self.add("Add", n, difference)
        return hidden, hidden


def to_onnx(tensors: dict[str, np.ndarray], spec: dict[str, Any]) -> bytes:
    """The file."""
    onnx: Any = import_module("onnx")
    graph = _Graph(onnx, tensors)
    inputs, pieces = [], []
    for i, (entry, layers) in enumerate(zip(spec["observation"], spec["encoder"], strict=True)):
        kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(entry["dtype"]))
        inputs.append(onnx.helper.make_tensor_value_info(f"obs_{i}", kind, entry["shape"]))
        x = f"obs_{i}"
        if "normalise" in spec:
            mean, deviation = (graph.weight(f"observations/{i}/{name}") for name in ("mean", "deviation"))
            x = graph.add("Div", graph.add("Sub", graph.add("Cast", x, to=1), mean), deviation)
            x = graph.add("Clip", x, graph.constant(-10.0), graph.constant(10.0))
        pieces.append(graph.flat(graph.add("Cast", graph.through(layers, x), to=1)))
    x = pieces[0] if len(pieces) == 1 else graph.add("Concat", *pieces, axis=0)
    width = spec["width"]
    shape = {"lstm": [2, width], "gru": [width]}.get(spec["core"])
    if shape:
        inputs.append(onnx.helper.make_tensor_value_info("memory", 1, shape))
    x, memory = graph.remember(spec["core"], x, width)
    for i in range(spec["layers"]):
        x = graph.add("Relu" if spec["activation"] == "relu" else "Tanh", graph.dense(x, f"policy_hidden_{i}"))
    x = graph.dense(x, "policy")
    number = spec["outputs"]
    if "policy_constants" in tensors:
        number += tensors["policy_constants"].size
        x = graph.add("Concat", x, graph.weight("policy_constants"), axis=0)
    results = [("policy", x, [number])] + ([("memory_after", memory, shape)] if shape else [])
    outputs = []
    for name, source, size in results:
        graph.nodes.append(onnx.helper.make_node("Identity", [source], [name]))
        outputs.append(onnx.helper.make_tensor_value_info(name, 1, size))
    whole = onnx.helper.make_graph(graph.nodes, "student", inputs, outputs, graph.initializers)
    model = onnx.helper.make_model(whole, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=9)
    onnx.checker.check_model(model)
    return model.SerializeToString()
