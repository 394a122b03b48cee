"""Who may ask, and how much: a lab answers the pages that it served itself, and nobody else.

A page from elsewhere could ask a server on this machine, or come under a name that is then led here (DNS rebinding). So
the names by which a lab may be called are known (``Host``), and pages of other origins are refused (``Origin``,
``Sec-Fetch-Site``). Where others can reach the machine, a token is needed as well.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

COOKIE = "tutelage_lab"
SECONDS_FOR_A_REQUEST = 15.0
"""A connection on which nobody finishes asking is closed after this."""
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class Door:
    """Under which names a lab is called, and what one has to know to come in."""

    host: str
    port: int
    token: str = ""

    def knows(self, host: str) -> bool:
        """Is this a name of ours? Names of elsewhere may lead here as well, but addresses are never somebody else's."""
        name, _, port = host.rpartition(":")
        if not name or port != str(self.port):
            return self.port == 80 and host in ("localhost", "127.0.0.1")
        if name in ("localhost", "127.0.0.1", "[::1]"):
            return True
        if not self.token:
            return False
        return name in (self.host, f"[{self.host}]", socket.gethostname()) or is_address(name.strip("[]"))


def is_address(name: str) -> bool:
    """Numbers, and no name that somebody could let lead elsewhere."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Can only this machine reach it?"""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


@dataclass(frozen=True)
class Guarded:
    """An application behind a door."""

    app: App
    door: Door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = self._refusal(scope)
        if answer is not None:
            await answer(scope, receive, _with_headers(send))
            return
        await self.app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        """What to answer instead; None to who may come in."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            name = name.decode("latin-1").lower()
            if name in ("host", "origin") and name in headers:
                return refused(400, f"There are two headers called {name}.")
            headers[name] = value.decode("latin-1")
        host = headers.get("host", "")
        if not self.door.knows(host):
            return refused(421, "This lab is not called by that name; open the address that it has printed.")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        arrives = scope["path"] == "/" and scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return refused(403, "Pages of other sites may not use this lab.")
        if site not in ("same-origin", "none") and not arrives:
            return refused(403, "Pages of other sites may not use this lab.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return refused(405, "A lab is asked with GET and POST.")
        if scope["method"] == "POST" and headers.get("content-type", "").split(";")[0].strip() != "application/json":
            return refused(415, "Send JSON, and say so: content-type: application/json.")
        return self._without_token(scope, headers) if self.door.token else None

    def _without_token(self, scope: Scope, headers: dict[str, str]) -> Response | None:
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=20))
        if scope["path"] == "/" and _same(query.get("token", ""), self.door.token):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(COOKIE, self.door.token, httponly=True, samesite="strict")
            return answer
        if _same(cookie_parser(headers.get("cookie", "")).get(COOKIE, ""), self.door.token):
            return None
        return refused(401, "This lab needs its token; open the whole address that it has printed.")


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def refused(status: int, sentence: str) -> Response:
    """An answer that says why there is no other."""
    return JSONResponse({"error": sentence}, status)


def _with_headers(send: Send) -> Send:
    async def sent(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message.setdefault("headers", [])}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in there]
            message["headers"] = [*message["headers"], *more]
        await send(message)

    return sent


class Patient(H11Protocol):
    """HTTP to clients that may be slow, but not without end: who does not finish a request is let go."""

    _watch: asyncio.TimerHandle | None = None
    _before: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def _arm(self) -> None:
        self._watch = self.loop.call_later(SECONDS_FOR_A_REQUEST, self._look)

    def _look(self) -> None:
        busy = self.cycle is not None and not self.cycle.response_complete
        if not busy and self.cycle is self._before:
            self.transport.close()
            return
        self._before = None if busy else self.cycle
        self._arm()
