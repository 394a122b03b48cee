"""The lab's addresses. Whatever is asked is checked here, and whatever computes does so in one thread."""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

from h11 import LocalProtocolError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ..errors import UserError, require
from .guard import App, Door, Guarded, refused
from .laboratory import Laboratory
from .live import Follower

LARGEST_BODY = 64_000
"""Bytes of a question: the largest maze has a sixth of it."""
DEEPEST = 20
"""Brackets within brackets."""
SECONDS_FOR_A_BODY = 10.0
MOST_WAITING = 48
"""Questions that wait for others to be answered."""
MOST_STREAMS = 12
"""Pages that follow runs in training."""
PAUSE, SILENCE = 1.0, 15.0
"""Seconds between looks at records, and after which a stream shows that it is still there."""

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Busy(Exception):
    """Too much was asked at once."""


class Worker:
    """One thread that computes, and a queue of bounded length before it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "lab")
        self._waiting = 0

    async def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self._waiting >= MOST_WAITING:
            raise Busy
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)
        finally:
            self._waiting -= 1

    def first(self, function: Callable[[], Any]) -> None:
        """Do something before any question is answered."""
        self._thread.submit(_reported, function)


def _reported(function: Callable[[], Any]) -> None:
    try:
        function()
    except Exception:
        traceback.print_exc(file=sys.stderr)


def web_files() -> dict[str, tuple[bytes, str]]:
    """The pages by name: exactly these can be asked for, and no path is ever joined."""
    found = {}
    for entry in files("tutelage.lab").joinpath("web").iterdir():
        suffix = "." + entry.name.rpartition(".")[2]
        if entry.is_file() and suffix in TYPES:
            found[entry.name] = entry.read_bytes(), TYPES[suffix]
    return found


def application(lab: Laboratory, door: Door, worker: Worker) -> App:
    """The lab as an application for a server."""
    pages, streams = web_files(), set[object]()

    async def page(request: Request) -> Response:
        name = request.path_params.get("name", "lab.html")
        if name not in pages:
            raise HTTPException(404)
        data, kind = pages[name]
        return Response(data, headers={"content-type": kind})

    def answering(method: str, function: Callable[[Mapping[str, Any]], Any]) -> Callable[..., Any]:
        async def answer(request: Request) -> Response:
            given = dict(request.query_params) if method == "GET" else await body(request)
            if function in lab.without_waiting():
                return JSONResponse(await asyncio.to_thread(function, given))
            return JSONResponse(await worker(function, given))

        return answer

    async def live(request: Request) -> Response:
        if len(streams) >= MOST_STREAMS:
            raise Busy
        follower = Follower([named.run.directory for named in lab.students.runs])
        return StreamingResponse(_events(request, follower, streams), media_type="text/event-stream")

    routes = [Route("/", page), Route("/web/{name}", page), Route("/api/live", live)]
    for (method, path), function in lab.questions().items():
        routes.append(Route(path, answering(method, function), methods=[method]))
    app = Starlette(routes=routes, exception_handlers=_HANDLERS)
    return Guarded(app, door)


async def _events(request: Request, follower: Follower, streams: set[object]) -> AsyncIterator[str]:
    """What changes, as server-sent events."""
    streams.add(follower)
    try:
        quiet = 0.0
        while not await request.is_disconnected():
            news = await asyncio.to_thread(follower.news)
            for one in news:
                yield f"data: {json.dumps(one, allow_nan=False, default=str)}\n\n"
            quiet = 0.0 if news else quiet + PAUSE
            if quiet >= SILENCE:
                quiet = 0.0
                yield ": still here\n\n"
            await asyncio.sleep(PAUSE)
    finally:
        streams.discard(follower)


async def body(request: Request) -> dict[str, Any]:
    """The JSON object of a question, if it is small, whole and in time."""
    data = bytearray()
    try:
        async with asyncio.timeout(SECONDS_FOR_A_BODY):
            async for chunk in request.stream():
                data += chunk
                if len(data) > LARGEST_BODY:
                    raise HTTPException(413, f"That is more than {LARGEST_BODY:,} bytes; send less.")
    except TimeoutError:
        raise HTTPException(408, "The question did not come in time; ask again.") from None
    if data.count(b"[") + data.count(b"{") > LARGEST_BODY // 4:
        raise UserError("The question has too many brackets; send less.")
    try:
        given = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
        json.dumps(given, ensure_ascii=False).encode(
            "utf-8"
        )  # escapes may stand for half a letter, which no answer holds
    except (ValueError, RecursionError):
        raise UserError("The question is not JSON in UTF-8; send an object.") from None
    require(isinstance(given, dict), "The question is JSON, but no object; send one.")
    return given


def _no_constant(name: str) -> Any:
    raise ValueError(name)


# --- what goes wrong


async def _user_error(request: Request, problem: Exception) -> Response:
    return refused(400, str(problem))


async def _http(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    sentence = "There is nothing at this address." if problem.status_code == 404 else problem.detail
    return refused(problem.status_code, sentence)


async def _busy(request: Request, problem: Exception) -> Response:
    return refused(503, "The lab has too much to do at once; ask again in a moment.")


async def _gone(request: Request, problem: Exception) -> Response:
    return Response(status_code=499)


async def _bug(request: Request, problem: Exception) -> Response:
    if isinstance(problem, LocalProtocolError):  # a client that broke off while it was answered
        return Response(status_code=499)
    traceback.print_exception(problem, file=sys.stderr)
    return refused(500, "Something went wrong inside the lab; the terminal says what.")


_HANDLERS: Any = {
    UserError: _user_error,
    HTTPException: _http,
    Busy: _busy,
    ClientDisconnect: _gone,
    Exception: _bug,
}
