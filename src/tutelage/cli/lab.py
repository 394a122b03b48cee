"""`tutelage lab`."""

from __future__ import annotations

import secrets
import sys
from importlib.util import find_spec
from pathlib import Path

from ..errors import UserError, require
from ..runs.launch import start_jax
from .parser import parser_of
from .terminal import warn

SHORTEST_TOKEN = 12


def run(arguments: list[str]) -> int:
    """Serve a page on which levels are drawn and students watched."""
    parser = parser_of("lab")
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="directories of runs, of the runs of several seeds, or of a study"
    )
    parser.add_argument("--port", type=int, default=8765, help="the port (default 8765), or 0 for any that is free")
    parser.add_argument(
        "--host", default="127.0.0.1", help="another address than this machine's own; visitors then need a token"
    )
    parser.add_argument("--token", default="", help="token that visitors need, instead of a random one")
    parser.add_argument(
        "--keep", default="lab-levels.txt", metavar="FILE", help="where levels are kept (default lab-levels.txt)"
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--trust", action="store_true", help="run the Python files of runs without asking")
    options = parser.parse_args(arguments)
    require(0 <= options.port < 65_536, f"--port is {options.port}; give a number from 0 to 65535.")
    require(
        not options.token or (len(options.token) >= SHORTEST_TOKEN and options.token.isalnum()),
        f"--token is too short or has other characters in it; give at least {SHORTEST_TOKEN} letters and digits.",
    )
    keep = Path(options.keep)
    require(
        keep.suffix == ".txt" and keep.parent.is_dir() and not keep.is_dir(),
        f"Levels cannot be kept in {keep}; give a file that ends in .txt, in an existing directory.",
    )
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise UserError("The lab needs Starlette and uvicorn, which are not installed: pip install 'tutelage[lab]'.")
    from ..lab.guard import is_loopback
    from ..lab.opening import directories, opened, python_files

    found = directories(options.runs)
    if not options.trust:
        _ask(python_files(found))
    start_jax()
    from ..lab.laboratory import Laboratory
    from ..lab.serve import serve

    token = options.token or ("" if is_loopback(options.host) else secrets.token_hex(16))
    lab = Laboratory(opened(found, warn), keep)
    serve(lab, options.host, options.port, token, options.open)
    return 0


def _ask(files: list[str]) -> None:
    """Let a person decide whether to run what somebody wrote."""
    if not files:
        return
    listed = ", ".join(files)
    if not sys.stdin.isatty():
        raise UserError(f"These runs need Python files, which would be run: {listed}. Read them, then give --trust.")
    print(f"These runs need Python files, which will be run: {listed}")
    if input("Run them? [y/N] ").strip().lower() not in ("y", "yes"):
        raise UserError("Nothing was run. Read the files, and start the lab again.")
