"""Acts with a student that `tutelage export` has written. Needs numpy and nothing else: copy this file where you like.

player = Player("student.safetensors")
player.reset()                       # at the start of every episode
action = player.act(obs)             # drawn from the policy; player.act(obs, greedy=True) takes the likeliest
"""

import json
from pathlib import Path

import numpy as np


def read(path):
    """The tensors of a safetensors file by name, and its metadata."""
    data = Path(path).read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header, tensors = json.loads(data[8:end]), {}
    metadata = header.pop("__metadata__", {})
    for name, entry in header.items():
        begin, stop = entry["data_offsets"]
        kind = {"F32": np.float32, "I32": np.int32}[entry["dtype"]]
        tensors[name] = np.frombuffer(data[end + begin : end + stop], kind).reshape(entry["shape"])
    return tensors, metadata


def relu(x):
    return np.maximum(x, np.float32(0))


def sigmoid(x):
    return np.float32(0.5) * np.tanh(np.float32(0.5) * x) + np.float32(0.5)


def softplus(x):
    return np.logaddexp(x, np.float32(0))


def windows(x, size, stride, same, fill):
    """All windows of an image ``[H, W, c]``, as ``[h, w, size, size, c]``."""
    if same:
        total = [max((-(-side // stride) - 1) * stride + size - side, 0) for side in x.shape[:2]]
        x = np.pad(x, [(t // 2, t - t // 2) for t in total] + [(0, 0)], constant_values=fill)
    found = np.lib.stride_tricks.sliding_window_view(x, (size, size), (0, 1))[::stride, ::stride]
    return np.moveaxis(found, 2, -1)


class Player:
    """A student: what it sees becomes a vector, a core remembers, and a head says how to act."""

    def __init__(self, path, seed=0):
        self.tensors, metadata = read(path)
        self.spec = json.loads(metadata["tutelage"])
        self.rng = np.random.default_rng(seed)
        self.reset()

    def reset(self):
        """Forget the episode."""
        shape = (2, self.spec["width"]) if self.spec["core"] == "lstm" else (self.spec["width"],)
        self.memory = np.zeros(shape, np.float32)

    def act(self, obs, greedy=False):
        """The action for what is seen now: a whole number, or an array of numbers that are meant to be from -1 to 1."""
        policy, kind = self.policy(obs), self.spec["actions"]
        first, second = np.split(policy, 2) if kind != "categorical" else (policy, policy)
        if kind == "categorical":
            return int(np.argmax(policy if greedy else policy + self.rng.gumbel(size=policy.shape)))
        if kind == "gaussian":
            return first if greedy else first + np.exp(second) * self.rng.normal(size=first.shape)
        a, b = 1 + softplus(first), 1 + softplus(second)
        return 2 * ((a - 1) / (a + b - 2) if greedy else self.rng.beta(a, b)) - 1

    def policy(self, obs):
        """The parameters of the distribution of actions (logits, for one of several); the memory goes on by a step."""
        x = self.remember(self.see(obs))
        for i in range(self.spec["layers"]):
            x = self.dense(x, f"policy_hidden_{i}")
            x = relu(x) if self.spec["activation"] == "relu" else np.tanh(x)
        x = self.dense(x, "policy")
        return np.append(x, self.tensors["policy_constants"]) if "policy_constants" in self.tensors else x

    def see(self, obs):
        """An observation as a vector. It is one array, several in the order of the spec, or a dict by their names."""
        named = self.spec["observation"]
        parts = [obs[entry["name"]] for entry in named] if isinstance(obs, dict) else obs
        parts = [np.asarray(part) for part in (parts if len(named) > 1 or isinstance(obs, dict) else [obs])]
        if "normalise" in self.spec:
            mean, deviation = (
                [self.tensors[f"observations/{i}/{k}"] for i in range(len(parts))] for k in ("mean", "deviation")
            )
            parts = [np.clip((x - m) / d, -10, 10) for x, m, d in zip(parts, mean, deviation, strict=True)]
        pieces = [self.through(layers, part) for part, layers in zip(parts, self.spec["encoder"], strict=True)]
        return np.concatenate([np.asarray(piece, np.float32).ravel() for piece in pieces])

    def through(self, layers, x):
        for op, *more in layers:
            if op == "scale":
                x = np.asarray(x, np.float32) / np.float32(more[0]) + np.float32(more[1])
            elif op == "one-hot":  # of every channel of an image, or of a single number
                x = np.asarray(x if x.ndim else x[None], int)
                x = np.concatenate([np.eye(n, dtype=np.float32)[x[..., i]] for i, n in enumerate(more[0])], -1)
            elif op == "relu":
                x = relu(x)
            elif op == "dense":
                x = self.dense(np.ravel(x), more[0])
            elif op == "convolution":
                name, stride, same = more
                kernel = self.tensors[f"{name}/kernel"]
                x = np.tensordot(windows(x, kernel.shape[0], stride, same, 0), kernel, 3) + self.tensors[f"{name}/bias"]
            elif op == "largest":
                size, stride, same = more
                x = windows(x, size, stride, same, -np.inf).max((2, 3))
            elif op == "residual":
                x = x + self.through(more[0], x)
            else:
                raise ValueError(
                    f"This player does not know the layer {op!r}; use that of the version that exported it."
                )
        return x

    def dense(self, x, name):
        return x @ self.tensors[f"{name}/kernel"] + self.tensors[f"{name}/bias"]

    def remember(self, x):
        core, own = self.spec["core"], self.tensors
        if core == "none":
            return relu(self.dense(x, "core/Dense_0"))
        if core == "lstm":
            hidden, cell = self.memory
            i, f, g, o = np.split(np.append(x, hidden) @ own["core/kernel"] + own["core/bias"], 4)
            cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
            self.memory = np.stack([sigmoid(o) * np.tanh(cell), cell])
            return self.memory[0]
        if core == "gru":
            gates = sigmoid(np.append(x, self.memory) @ own["core/gate_kernel"] + own["core/gate_bias"])
            r, z = np.split(gates, 2)
            again = self.memory @ own["core/hidden_kernel"] + own["core/hidden_bias"]
            n = np.tanh(x @ own["core/input_kernel"] + own["core/input_bias"] + r * again)
            self.memory = (1 - z) * n + z * self.memory
            return self.memory
        return x
