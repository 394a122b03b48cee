"""`tutelage export`."""

from __future__ import annotations

from ..runs.launch import start_jax
from .parser import parser_of
from .terminal import warn


def run(arguments: list[str]) -> int:
    """Write a run's student to files that need neither the run nor Tutelage."""
    parser = parser_of("export")
    parser.add_argument("run", help="the directory of the run")
    parser.add_argument(
        "--out",
        default="student.safetensors",
        help="the file of weights and spec; a player that needs numpy only goes beside it (default %(default)s)",
    )
    parser.add_argument("--jax", metavar="FILE", help="one step as a program of jax.export as well")
    parser.add_argument("--onnx", metavar="FILE", help="one step as ONNX as well")
    parser.add_argument("--student", type=int, default=0, help="which student (default 0)")
    options = parser.parse_args(arguments)
    start_jax()
    from ..runs import session
    from ..runs.export import export

    run = session.load(options.run, warn)
    written = export(run, options.out, options.student, options.jax, options.onnx)
    print(f"Wrote {', '.join(str(file) for file in written if file is not None)}.")
    return 0
