"""Workers of a fleet that die, hang and lie. The run says so in a sentence, and goes on with honest ones."""

from __future__ import annotations

import shutil
from pathlib import Path

from tutelage.hosts.fleet import close_all

from .calls import Outcome, call, digest
from .made import CORRIDOR, arguments
from .tally import Tally

TRAP = '''
import os, signal, sys, time

def lie(number):
    """Once, in a worker, when an environment has taken so many steps."""
    if number != WHEN:
        return
    frame = sys._getframe()
    while frame is not None and "memory_name" not in frame.f_locals:
        frame = frame.f_back
    if frame is None:
        return  # it is only being looked at, in the process that trains
    pipe, shared, memory = (frame.f_locals[name] for name in ("pipe", "shared", "memory"))
    BODY
'''
STEP = "self.at, self.time = self.at + (1 if action else -1), self.time + 1"

SAID = {
    "dies": "os._exit(0)",
    "dies of a signal": "os.kill(os.getpid(), signal.SIGKILL)",
    "crashes": "os.kill(os.getpid(), signal.SIGSEGV)",
    "hangs": "time.sleep(3600)",
    "is stopped": "os.kill(os.getpid(), signal.SIGSTOP)",
    "closes its pipe": "pipe.close()",
    "exits": "sys.exit(0)",
    "raises": "raise KeyError",
    "raises what cannot be said": "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})()",
    "raises with surrogates": "raise ValueError('\\\\udcff\\\\x1b[31m')",
    "answers garbage": "pipe.send_bytes(bytes(range(256)))",
    "answers nothing": "pipe.send_bytes(b'')",
    "answers a number": "pipe.send_bytes(b'3')",
    "answers a list": "pipe.send_bytes(b'[]')",
    "answers half an object": "pipe.send_bytes(b'{\"error\": 3}')",
    "answers deep JSON": "pipe.send_bytes(b'[' * 100_000)",
    "answers a huge length": "os.write(pipe.fileno(), b'\\\\xff\\\\xff\\\\xff\\\\xff' + b'\\\\x7f' * 8)",
    "answers the beginning of something": "os.write(pipe.fileno(), b'\\\\0\\\\0\\\\0\\\\x64abc'); time.sleep(3600)",
    "answers NaN in JSON": 'pipe.send_bytes(b\'{"error": NaN, "trace": {}}\')',
    "names a slot that is not": "shared['busy'][:] = 2**40; raise ValueError('x')",
    "names a slot below": "shared['busy'][:] = -(2**40); raise ValueError('x')",
    "a reward for others that is not a number": "shared['reward'][:] = float('nan')",
    "observations of others that are not finite": "shared['obs/'][:] = float('inf')",
}
"""What must be noticed, at the latest when the student diverges."""
SILENT = {
    "flags that are no booleans": "for name in ('terminated', 'truncated'): shared[name].view('uint8')[:] = 254",
    "another worker's slots": "shared['obs/'][::-1] = shared['obs/'].copy()",
    "levels of its own": "shared['level/'][:] = 1e30",
    "seeds of its own": "shared['seed'][:] = -1",
    "garbage in observations": "shared['obs/'].view('uint8')[:, ::2] = 17",
    "no shared memory any more": "memory.unlink()",
    "nobody is active": "shared['active'].view('uint8')[:] = 7",
    "a name of its own": "os.chdir('/'); os.environ.clear()",
    "signals that are not for it": "[os.kill(os.getpid(), number) for number in (1, 2, 15)]",
}
"""What a parent cannot know from the truth: it must only not fall over it."""
STAYS = ("a name of its own", "signals that are not for it", "no shared memory any more")
"""Of these the result must be what it would have been."""
RETURNS = {
    "an observation of another shape": "np.zeros(3, np.float32), 0.0, False, False, {}",
    "of another type": "np.array(['a', 'b']), 0.0, False, False, {}",
    "complex": "np.zeros(2, complex), 0.0, False, False, {}",
    "not a number": "np.full(2, np.nan, np.float32), 0.0, False, False, {}",
    "beyond single precision": "np.array([1e300, 0.0]), 0.0, False, False, {}",
    "a reward that is text": "np.zeros(2, np.float32), 'much', False, False, {}",
    "an infinite reward": "np.zeros(2, np.float32), 1e400, False, False, {}",
    "a vector of rewards": "np.zeros(2, np.float32), np.zeros(2), False, False, {}",
    "ends that are neither": "np.zeros(2, np.float32), 0.0, np.array([]), 'no', {}",
    "four things": "np.zeros(2, np.float32), 0.0, False, False",
    "nothing": "None",
    "ragged": "[0.0, [1.0]], 0.0, False, False, {}",
}
"""What `step` gives instead."""


def lying(body: str, when: int) -> str:
    """The corridor with a worker that does something else once."""
    text = CORRIDOR.replace(STEP, STEP + "\n        lie_at()")
    count = "\nSTEPS = [0]\ndef lie_at():\n    STEPS[0] += 1\n    lie(STEPS[0])\n"
    return text + TRAP.replace("WHEN", str(when)).replace("BODY", body) + count


def giving(value: str, when: int) -> str:
    """The corridor with a `step` that gives something else from some step on."""
    head = f"\n        STEPS[0] += 1\n        if STEPS[0] == {when}:\n            return {value}"
    return CORRIDOR.replace(STEP, STEP + head) + "\nSTEPS = [0]\n"


def attacks() -> list[tuple[str, str, str]]:
    """Each by its name: what a worker does, and whether that must be said, may be, or changes nothing."""
    found = [(name, body, "said") for name, body in SAID.items()]
    found += [(name, body, "same" if name in STAYS else "silent") for name, body in SILENT.items()]
    return found + [(f"gives {name}", value, "given") for name, value in RETURNS.items()]


def fleets(folder: Path, tally: Tally, part: slice = slice(None), when: int = 300) -> None:
    """Train with such a worker, and then to the end with an honest one."""
    place = folder / "fleets"
    place.mkdir(exist_ok=True)
    file, words = place / "corridor.py", [*arguments("workers", place), "--trust", "--env.patience=30"]
    whole = place / "whole"
    if not whole.exists():
        outcome = _train([*words, "--run", str(whole)])
        assert outcome.code == 0, outcome
    wanted = digest(whole)
    for name, body, kind in attacks()[part]:
        path = place / "lied-to"
        shutil.rmtree(path, ignore_errors=True)
        file.write_text(giving(body, when) if kind == "given" else lying(body, when))
        outcome = _train([*words, "--run", str(path)])
        endings = {"said": (2,), "given": (2,), "same": (0,), "silent": (0, 2)}[kind]
        problem = outcome.problem(endings)
        file.write_text(CORRIDOR)
        if not problem and outcome.code == 2 and "tutelage: " not in outcome.err:
            problem = f"no sentence: {outcome}"
        if not problem and kind in ("said", "given"):
            problem = _goes_on(path, words, wanted)
        elif not problem and kind == "same" and (found := digest(path)) != wanted:
            problem = f"ended in {found} and not {wanted}"
        tally.note("fleets", f"{name}, at step {when}: {problem}" if problem else "")
        shutil.rmtree(path, ignore_errors=True)


def _train(words: list[str]) -> Outcome:
    """With workers that know the file as it is now."""
    close_all()
    outcome = call(words)
    close_all()
    return outcome


def _goes_on(path: Path, words: list[str], wanted: str) -> str:
    resume = ["resume", str(path), "--quiet", "--trust"]
    if not (path / "config.toml").exists():
        shutil.rmtree(path, ignore_errors=True)
        resume = [*words, "--run", str(path)]
    again = _train(resume)
    return again.problem((0,)) or ("" if digest(path) == wanted else f"another result: {again}")
