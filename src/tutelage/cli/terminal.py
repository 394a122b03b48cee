"""What a person sees of a command at work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..runs.session import Progress, Run


def warn(message: str) -> None:
    """Say something that is no result."""
    print(f"tutelage: {message}", file=sys.stderr)


def watch(start: Callable[[Progress], list[Run]], path: str, quiet: bool) -> int:
    """Train with a line of progress, unless ``quiet``, and say how it ended; returns the exit code."""
    from ..runs.processes import is_main_process
    from ..runs.progress import ProgressLine
    from ..runs.session import Silent

    if quiet or not is_main_process():
        runs = start(Silent())
    else:
        with ProgressLine() as progress:
            runs = start(progress)
    run = runs[0]
    if is_main_process():
        what, one = ("run is", "it") if len(runs) == 1 else (f"runs of {len(runs)} seeds are", "one")
        print(
            f"Finished. The {what} in {path}; see {one} with: tutelage show {run.directory.path}"
            if run.finished
            else f"Stopped at iteration {run.iteration} of {run.trainer.iterations}. Go on with: tutelage resume {path}"
        )
    return 0 if run.finished else 130
