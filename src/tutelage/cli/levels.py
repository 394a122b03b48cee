"""`tutelage levels`."""

from __future__ import annotations

from pathlib import Path

from ..errors import UserError
from ..runs.launch import start_jax
from ..settings import LARGEST
from .parser import MANY, parser_of, whole_number
from .terminal import warn


def run(arguments: list[str]) -> int:
    """Print or draw levels of a run's buffer, or new ones."""
    parser = parser_of("levels")
    parser.add_argument("run", help="the directory of the run")
    parser.add_argument("--top", type=whole_number(MANY), default=8, help="how many (default 8)")
    parser.add_argument("--png", help="draw them to this file instead of printing them")
    parser.add_argument("--student", type=whole_number(MANY), help="whose buffer (default 0, the first student's)")
    parser.add_argument(
        "--generated",
        type=whole_number(LARGEST),
        nargs="?",
        const=0,
        metavar="SEED",
        help="new levels from the generator as it is now, drawn with this seed (default 0), not the buffer's best",
    )
    options = parser.parse_args(arguments)
    if options.top < 1:
        raise UserError(f"--top is {options.top}; give at least 1.")
    if options.generated is not None and options.student is not None:
        raise UserError("Generated levels are the same for all students; leave --student out, or --generated.")
    start_jax()
    from ..runs import session
    from ..runs.levels import gallery, generated_levels, top_levels

    run = session.load(options.run, warn)
    if options.generated is not None:
        levels = generated_levels(run, options.top, options.generated)
    else:
        levels = top_levels(run, options.top, options.student or 0)
    if options.png:
        gallery(run, levels, Path(options.png))
        print(f"Drew {len(levels)} levels to {options.png}.")
        return 0
    for entry in levels:
        print(entry.caption)
        print(run.domain.viewer.text(entry.level) if run.domain.viewer else entry.level, end="\n\n")
    return 0
