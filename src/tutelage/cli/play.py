"""`tutelage play`."""

from __future__ import annotations

from pathlib import Path

from ..errors import UserError
from ..runs.launch import start_jax
from ..settings import LARGEST
from .parser import MANY, parser_of, whole_number
from .terminal import warn


def run(arguments: list[str]) -> int:
    """Play an episode on each level, say how it ended, and draw it."""
    parser = parser_of("play")
    parser.add_argument("run", help="the directory of the run")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--level", metavar="FILE", help="levels of your own, in a text file (docs/suite-files.md)")
    which.add_argument("--suite", default="", help="a suite or a single task (default: the run's own suite)")
    parser.add_argument("--gif", metavar="FILE", help="write the episode as a GIF")
    parser.add_argument("--mp4", metavar="FILE", help="write the episode as a video; needs ffmpeg")
    parser.add_argument("--png", metavar="FILE", help="write up to twelve frames as one picture")
    parser.add_argument("--seed", type=whole_number(LARGEST), default=0, help="seed of the episode (default 0)")
    parser.add_argument(
        "--episode", type=whole_number(1_000_000), default=0, help="which episode of this seed (default 0)"
    )
    parser.add_argument("--greedy", action="store_true", help="take the likeliest action instead of sampling")
    parser.add_argument("--student", type=whole_number(MANY), default=0, help="which student (default 0)")
    options = parser.parse_args(arguments)
    wanted = {f".{kind}": getattr(options, kind) for kind in ("gif", "mp4", "png") if getattr(options, kind)}
    for suffix, file in wanted.items():
        if Path(file).suffix != suffix:
            raise UserError(f"--{suffix[1:]} is {file}; give a name that ends with {suffix}.")
    if options.mp4:
        from ..pictures import encoder

        encoder()  # refuse before anything is played
    if options.level and not options.level.endswith(".txt"):
        raise UserError(f"--level is {options.level}; give a text file whose name ends with .txt.")
    start_jax()
    from ..runs import session
    from ..runs.play import as_text, play, save

    run = session.load(options.run, warn)
    watched = play(run, options.level or options.suite, options.seed, options.episode, options.greedy, options.student)
    for one in watched:
        print(one)
        if options.level and not wanted:
            print(as_text(run, one.episode.level), end="\n\n")
    for file in wanted.values():
        print(f"Wrote {', '.join(map(str, save(run, watched, file)))}.")
    return 0
