"""Files of users in which one thing is wrong. Each ends in a sentence."""

from __future__ import annotations

from pathlib import Path

from .calls import call
from .tally import Tally

GYMNASIUM = """
import gymnasium, jax, numpy as np
import jax.numpy as jnp
import tutelage

class Corridor(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-20, 20, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.end, self.at, self.time = float(options["level"][0]), 0.0, 0
        return np.array([self.at, self.end], np.float32), {}

    def step(self, action):
        self.at, self.time = self.at + (1 if action else -1), self.time + 1
        obs = np.array([self.at, self.end], np.float32)
        return obs, float(self.at >= self.end), self.at >= self.end, self.time >= 12, {}

def make():
    return Corridor()

def sample(key):
    return jax.random.uniform(key, (1,), minval=1.0, maxval=6.0)

given = dict(make=make, sample=sample)
"""
JAX = """
import jax, jax.numpy as jnp, numpy as np
import tutelage

def sample(key):
    return jax.random.uniform(key, (2,))

def reset(key, level):
    return jnp.int32(0), level

def step(key, state, action):
    return state + 1, jnp.zeros(2), 1.0, state >= 5, False

given = dict(reset=reset, step=step, actions=2, sample=sample)
"""
COMMON = {
    "metrics": [
        "'solved'",
        "lambda level: 'x'",
        "lambda level: level",
        "lambda level: [1, 2]",
        "lambda level: None",
        "3",
        "lambda level: {'a': 'b'}",
        "lambda level: {'a': None}",
        "lambda level: {1: 2}",
        "lambda level: 1 / 0",
        "lambda level: {'a': level}",
        "lambda: {}",
        "lambda level: {'a': jnp.zeros((2, 2))}",
    ],
    "tests": [
        "[sample(jax.random.key(0))]",
        "'x'",
        "None",
        "{'a': None}",
        "{'a': 'b'}",
        "{3: sample(jax.random.key(0))}",
        "{'<script>alert(1)</script>': sample(jax.random.key(0))}",
        "{'': sample(jax.random.key(0))}",
        "{'a/b': sample(jax.random.key(0))}",
        "{'fresh': sample(jax.random.key(0))}",
        "{'a': [1, [2, 3]]}",
        "{'\\x1b[31m': sample(jax.random.key(0))}",
    ],
    "bounds": [
        "3",
        "'ab'",
        "(0, 1)",
        "([0.0],)",
        "([0.0], [1.0], [2.0])",
        "([1.0], [0.0])",
        "([float('nan')], [1.0])",
        "([float('-inf')], [float('inf')])",
        "(['a'], ['b'])",
        "([None], [None])",
        "{}",
    ],
    "success": ["'x'", "None", "float('nan')", "[1]", "lambda: 1"],
    "max_steps": ["'x'", "0", "-1", "None", "1.5", "10**12", "float('inf')"],
    "settings": [
        "3",
        "['a']",
        "{'train.steps': 5}",
        "{'train.steps': None}",
        "{3: '4'}",
        "{'x': 'y'}",
        "'train.steps'",
        "{'train.levels': '0'}",
        "{'train.steps': '1e30'}",
        "None",
    ],
    "edit": [
        "lambda key, level: None",
        "lambda key, level: level[0]",
        "lambda key: key",
        "3",
        "lambda key, level: 'x'",
        "lambda key, level: 1 / 0",
        "lambda key, level: [level]",
    ],
    "easy": ["lambda key: None", "lambda: 1", "'x'", "lambda key: jnp.zeros((5,))"],
    "sample": [
        "lambda key: None",
        "lambda key: 'x'",
        "lambda key: {}",
        "3",
        "None",
        "lambda: 1",
        "lambda key: 1 / 0",
        "lambda key: [1, 'a']",
        "lambda key: jnp.zeros((0,))",
        "lambda key: object()",
    ],
    "encoder": ["3", "'x'", "object()"],
    "network": ["3", "'x'", "{}"],
}
SPACES = [
    "gymnasium.spaces.Box(-1, 1, (0,), np.float32)",
    "gymnasium.spaces.Text(5)",
    "gymnasium.spaces.Dict({})",
    "None",
    "'x'",
    "gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(2))",
    "gymnasium.spaces.Discrete(3, start=-1)",
    "gymnasium.spaces.Tuple((gymnasium.spaces.Text(3), gymnasium.spaces.Discrete(2)))",
    "3",
    "gymnasium.spaces.Box(-1, 1, (3, 2), np.float32)",
    "gymnasium.spaces.MultiDiscrete([3, 4])",
    "gymnasium.spaces.Box(-1, 1, (10**6, 10**6), np.float32)",
    "np.zeros(3)",
    "gymnasium.spaces.Discrete(10**15)",
    "gymnasium.spaces.Graph(gymnasium.spaces.Discrete(2), None)",
    "[1, [2, 3]]",
]
ACTIONS = [
    "gymnasium.spaces.Discrete(2**40)",
    "gymnasium.spaces.Discrete(3, start=-1)",
    "gymnasium.spaces.Text(5)",
    "None",
    "gymnasium.spaces.Box(-1, 1, (0,), np.float32)",
    "gymnasium.spaces.MultiDiscrete([2, 2])",
    "3",
    "gymnasium.spaces.Box(0, 255, (2,), np.uint8)",
    "gymnasium.spaces.Box(-1, 1, (10**7,), np.float32)",
    "gymnasium.spaces.Discrete(2, start=10**18)",
    "gymnasium.spaces.Dict({})",
]
RESETS = [
    "return np.zeros(2, np.float32)",
    "return None",
    "return np.zeros(2, np.float32), {}, 1",
    "return 'ab', {}",
    "return [0.0, [1.0]], {}",
    "return np.full(2, np.nan, np.float32), {}",
    "raise ValueError('x' * 10**6)",
    "return (), {}",
    "import sys; sys.exit(3)",
    "import os; os._exit(3)",
    "raise KeyError",
    "return 3",
    "return np.zeros(2, complex), {}",
    "return np.array(['a', 'b']), {}",
    "return {}, {}",
    "options['level']; return np.zeros(3, np.float32), {}",
    "raise MemoryError",
    "return self.reset(options=options)",
]
STEPS = [
    "return None",
    "return 1, 2",
    "return np.zeros(2, np.float32), 'x', False, False, {}",
    "return np.zeros(2, np.float32), float('nan'), False, False, {}",
    "raise RuntimeError('no')",
    "return np.zeros(3, np.float32), 0.0, False, False, {}",
    "return np.zeros(2, np.float32), None, False, False, {}",
    "import sys; sys.exit(0)",
    "return np.zeros(2, np.float32), 0.0, None, 'x', {}",
    "import os; os._exit(3)",
]
FILES = [
    "import sys; sys.exit(3)",
    "import os; os._exit(3)",
    "raise SystemExit",
    "exit()",
    "quit()",
    "1 / 0",
    "x = (",
    "\ufeffx = 1",
    "environment = 3",
    "environment = None",
    "",
    "import no_such_module",
    "raise KeyError",
    "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
    "def f(): f()\nf()",
    "\0",
    "import os; os.abort()",
    "raise Exception('a\\nb\\u2028c\\x1b[31m')",
    "method = 3",
    "raise BaseException('x')",
    "import tutelage; environment = tutelage.Jax()",
    "import tutelage; environment = tutelage.Gymnasium",
    "import tutelage; environment = tutelage.DomainEntry('a', 'b', {}, None)",
    "raise GeneratorExit",
]
JAX_PARTS = {
    "actions": ["0", "-1", "'x'", "None", "1.5", "2**40", "tutelage.Continuous(0)", "[2]", "True"],
    "reset": [
        "lambda key, level: level",
        "lambda key, level: None",
        "lambda: 1",
        "3",
        "lambda key, level: (1, 2, 3)",
        "lambda key, level: ('a', 'b')",
        "lambda key, level: (jnp.int32(0), None)",
        "lambda key, level: 1 / 0",
        "lambda key, level: (jnp.int32(0), jnp.zeros((0,)))",
    ],
    "step": [
        "lambda key, state, action: None",
        "lambda key, state: 1",
        "lambda key, state, action: (state,) * 5",
        "lambda key, state, action: (state + 1, jnp.zeros(2), 'x', True, False)",
        "3",
        "lambda key, state, action: (state + 1, jnp.zeros(3), 1.0, True, False)",
        "lambda key, state, action: (state + 1, jnp.zeros(2), 1.0, None, False)",
        "lambda key, state, action: (state + 1, jnp.zeros(2), jnp.zeros(2), True, False)",
    ],
    "prepare": ["lambda level: None", "3", "lambda: 1", "lambda level: 1 / 0"],
}


def made() -> list[tuple[str, str]]:
    """Every file, with a few words on what is wrong in it."""
    found = [(f"file {text[:40]!r}", text) for text in FILES]
    for kind, base in (("Gymnasium", GYMNASIUM), ("Jax", JAX)):
        parts = COMMON | (JAX_PARTS if kind == "Jax" else {"make": ["3", "None", "lambda: None", "lambda: 1 / 0"]})
        for name, values in parts.items():
            ending = f"\nenvironment = tutelage.{kind}(**(given | {{{name!r}: VALUE}}))\n"
            found += [(f"{kind} {name} = {value}", base + ending.replace("VALUE", value)) for value in values]
    ending = "\nenvironment = tutelage.Gymnasium(**given)\n"
    box, discrete = "gymnasium.spaces.Box(-20, 20, (2,), np.float32)", "gymnasium.spaces.Discrete(2)"
    for space in SPACES:
        found.append((f"observation_space = {space}", GYMNASIUM.replace(box, space) + ending))
    for space in ACTIONS:
        found.append((f"action_space = {space}", GYMNASIUM.replace(discrete, space) + ending))
    for body in RESETS:
        end = 'self.end, self.at, self.time = float(options["level"][0]), 0.0, 0'
        found.append((f"reset: {body}", GYMNASIUM.replace(end, end + "\n        " + body) + ending))
    for body in STEPS:
        line = "self.at, self.time = self.at + (1 if action else -1), self.time + 1"
        found.append((f"step: {body}", GYMNASIUM.replace(line, body) + ending))
    return found


def environments(folder: Path, tally: Tally, part: slice = slice(None)) -> None:
    """Check each of them: what holds and what does not is said, and nothing else happens."""
    for number, (name, text) in enumerate(made()[part]):
        file = folder / f"wrong_{number}.py"
        file.write_text(text)
        outcome = call(["check", str(file)])
        problem = outcome.problem((0, 2))
        tally.note("environments", f"{name}: {problem}" if problem else "")
        file.unlink()
