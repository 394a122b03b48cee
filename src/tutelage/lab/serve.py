"""Runs the lab's server until somebody stops it."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable

import uvicorn

from ..errors import UserError
from .guard import Door, Patient
from .laboratory import Laboratory
from .server import Worker, application

MOST_CONNECTIONS = 100


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens. Port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as problem:
        listening.close()
        raise UserError(
            f"The lab cannot be served at {host}, port {port}: {problem.strerror or problem}. "
            "Give another with --port, or --port 0 for any that is free."
        ) from problem
    return listening


def address(door: Door) -> str:
    """Where a browser finds the lab."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(door.host, door.host)
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{door.port}/" + (f"?token={door.token}" if door.token else "")


def server(lab: Laboratory, door: Door) -> uvicorn.Server:
    """A server that has not been started. Its first work is to compile what the first visitor would wait for."""
    worker = Worker()
    worker.first(lab.warm_up)
    return uvicorn.Server(
        uvicorn.Config(
            application(lab, door, worker),
            http=Patient,
            ws="none",
            lifespan="off",
            log_level="critical",
            access_log=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=16_384,
        )
    )


def serve(lab: Laboratory, host: str, port: int, token: str, browse: bool, say: Callable[..., None] = print) -> None:
    """Serve until Ctrl-C."""
    with bound(host, port) as listening:
        door = Door(host, listening.getsockname()[1], token)
        say(f"The lab is at {address(door)} (Ctrl-C stops it).", flush=True)
        if browse:
            webbrowser.open(address(door))
        server(lab, door).run(sockets=[listening])
