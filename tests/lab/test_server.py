"""Who a lab answers, what it refuses, and that nothing brings it down."""

from __future__ import annotations

import json
import os
import random
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import jax
import pytest

from tutelage.cli import main
from tutelage.lab import guard, server
from tutelage.lab.guard import Door
from tutelage.lab.live import Follower, Tail
from tutelage.runs.directory import RunDirectory

from .made_lab import STRAIGHT, Served, served_lab

LEVEL = {"text": STRAIGHT}


# --- pages


def test_the_page_and_all_that_it_asks_for(served: Served):
    status, body, headers = served.ask("/")
    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert headers["x-content-type-options"] == "nosniff"
    asked = set(re.findall(rb'(?:src|href)="(/[^"#]+)"', body))
    pages = server.web_files()
    for name, (data, _) in pages.items():
        if name.endswith(".js"):
            asked |= {b"/web/" + found for found in re.findall(rb'from "\./([\w.-]+)"', data)}
    assert {b"/web/lab.js", b"/web/grid-editor.js", b"/web/base.css"} <= asked
    for path in asked:
        assert served.ask(path.decode()).status == 200, path


def test_pages_load_nothing_from_the_network():
    for name, (data, _) in server.web_files().items():
        addresses = set(re.findall(rb"https?://[^\s\"'`)]+", data)) - {b"http://www.w3.org/2000/svg"}
        assert not addresses, name


@pytest.mark.parametrize(
    "path",
    [
        "/web/../serve.py",
        "/web/..%2fserve.py",
        "/web/%2e%2e/serve.py",
        "/web/....//serve.py",
        "/web//etc/passwd",
        "/web/lab.js/..",
        "/web/lab.js%00.html",
        "/web/",
        "/../../etc/passwd",
        "/api/nothing",
        "/config.toml",
        "/.git/config",
        "/web/lab.html\\..\\x",
    ],
)
def test_no_path_leads_elsewhere(served: Served, path: str):
    status, body, _ = served.ask(path)
    assert status == 404
    assert body == {"error": "There is nothing at this address."}


# --- who may ask


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:{port}"}, 421),
        ({"host": "localhost.evil.example:{port}"}, 421),
        ({"host": "127.0.0.1:1"}, 421),
        ({"host": "127.0.0.1"}, 421),
        ({"host": ""}, 421),
        ({"host": "192.168.0.7:{port}"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"host": "localhost:{port}"}, 200),
        ({"origin": "http://127.0.0.1:{port}", "sec-fetch-site": "same-origin"}, 200),
        ({"content-type": "application/json; charset=utf-8"}, 200),
    ],
)
def test_only_the_labs_own_pages_may_ask(served: Served, headers: dict[str, str], status: int):
    filled = {name: value.replace("{port}", str(served.port)) for name, value in headers.items()}
    answer = served.ask("/api/level", {"level": LEVEL}, filled)
    assert answer.status == status
    assert status == 200 or answer.body["error"].endswith(".")


def test_a_link_from_elsewhere_opens_the_page_and_nothing_else(served: Served):
    arrives = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert served.ask("/", headers=arrives).status == 200
    assert served.ask("/api/lab", headers=arrives).status == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(served: Served, method: str):
    assert served.ask("/api/lab", method=method).status == 405


def test_a_token_is_asked_for(lab):
    with served_lab(lab, "abcdefgh12345678") as served:
        assert served.ask("/").status == 401
        assert served.ask("/api/lab").status == 401
        assert served.ask("/?token=wrong").status == 401
        assert served.ask("/api/lab?token=abcdefgh12345678").status == 401
        status, _, headers = served.ask("/?token=abcdefgh12345678")
        assert (status, headers["location"]) == (303, "/")
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert served.ask("/api/lab", headers={"cookie": cookie.split(";")[0]}).status == 200
        assert served.ask("/api/lab", headers={"cookie": "tutelage_lab=x"}).status == 401


def test_names_of_a_lab_that_others_can_reach():
    door = Door("0.0.0.0", 80_00, "abcdefgh12345678")
    assert door.knows("192.168.0.7:8000")
    assert door.knows("[fe80::1]:8000")
    assert not door.knows("evil.example:8000")
    assert guard.is_loopback("127.0.0.1")
    assert guard.is_loopback("::1")
    assert not guard.is_loopback("0.0.0.0")


# --- how much


def test_a_question_that_is_too_large_is_refused(served: Served):
    assert served.ask("/api/level", b" " * 70_000).status == 413
    assert served.ask("/api/level", b"[" * 60_000).status == 400


def test_half_a_letter_is_refused(served: Served):
    text = json.dumps({"level": {"text": STRAIGHT.replace("#", "\ud83d")}}).encode()
    for path in ("/api/level", "/api/play", "/api/new"):
        answer = served.ask(path, text)
        assert (answer.status, answer.body) == (
            400,
            {"error": "The question is not JSON in UTF-8; send an object."},
        )


def test_a_question_that_does_not_come_is_let_go(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "SECONDS_FOR_A_BODY", 0.2)
    line = socket.create_connection(("127.0.0.1", served.port), 20)
    head = f"POST /api/level HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\ncontent-type: application/json\r\n"
    line.sendall(f"{head}content-length: 100\r\n\r\n{{".encode())
    assert line.recv(100).startswith(b"HTTP/1.1 408")
    line.close()


def test_who_does_not_finish_a_request_is_let_go(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guard, "SECONDS_FOR_A_REQUEST", 0.2)
    line = socket.create_connection(("127.0.0.1", served.port), 20)
    line.sendall(b"GET / HTTP/1.1\r\nx-slow: ")
    assert line.recv(100) == b""
    line.close()


def test_many_connections_do_not_stop_it(served: Served):
    with ExitStack() as held:
        for _ in range(200):
            try:
                line = held.enter_context(socket.create_connection(("127.0.0.1", served.port), 5))
                line.sendall(b"GET / HTTP/1.1\r\nx-slow: ")
            except OSError:
                pass
        refused = served.ask("/api/lab")
        assert refused.status in (200, 503)
    until = time.monotonic() + 30
    while (answer := served.ask("/api/lab")).status != 200 and time.monotonic() < until:
        time.sleep(0.1)
    assert answer.status == 200


# --- live


def test_records_are_told_as_they_come(tmp_path: Path):
    (tmp_path / "checkpoints").mkdir()
    run, file = RunDirectory(tmp_path), tmp_path / "metrics.jsonl"
    follower = Follower([run])
    (first,) = follower.news()
    assert (first["metrics"], first["checkpoint"], first["training"]) == ([], 0, False)
    assert follower.news() == []
    run.append("metrics.jsonl", [{"iteration": 1, "solved": 0.5, "note": "<script>"}])
    (second,) = follower.news()
    assert second["metrics"] == [{"iteration": 1, "solved": 0.5}]
    assert second["training"]
    with file.open("ab") as stream:
        stream.write(b'{"iteration": 2, ')
    assert follower.news() == []
    with file.open("ab") as stream:
        stream.write(b'"solved": 1}\n')
    assert follower.news()[0]["metrics"] == [{"iteration": 2, "solved": 1}]
    file.write_bytes(b'{"iteration": 1}\n')  # a run that was resumed from an earlier checkpoint
    assert follower.news()[0]["metrics"] == [{"iteration": 1}]
    (tmp_path / "checkpoints" / "000000010.npz").touch()
    assert follower.news()[0]["checkpoint"] == 10


def test_a_long_history_is_thinned_out(tmp_path: Path):
    (tmp_path / "metrics.jsonl").write_text("".join(f'{{"iteration": {i}}}\n' for i in range(5000)))
    (news,) = Follower([RunDirectory(tmp_path)]).news()
    assert len(news["metrics"]) <= 600
    assert news["metrics"][-1] == {"iteration": 4999}
    assert len(Tail(tmp_path / "metrics.jsonl").new()) == 5000


def test_a_run_is_followed_while_another_process_holds_its_lock(served: Served, runs: tuple[Path, Path]):
    run = RunDirectory(runs[0])
    with run.lock():
        line = socket.create_connection(("127.0.0.1", served.port), 20)
        line.sendall(f"GET /api/live HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\n\r\n".encode())
        seen = b""
        while b'"run": 1' not in seen:
            seen += line.recv(65536)
        run.append("metrics.jsonl", [{"iteration": 31, "steps": 4960, "solved": 0.125}])
        while b"0.125" not in seen:
            seen += line.recv(65536)
        line.close()
    assert b"content-type: text/event-stream" in seen


# --- the command


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "There is no run directory nowhere"),
        (["{run}", "--port", "70000"], "--port is 70000; give a number from 0 to 65535."),
        (["{run}", "--token", "short"], "--token is too short"),
        (["{run}", "--keep", "levels.json"], "give a file that ends in .txt"),
        (["{run}", "--keep", "/nowhere/x.txt"], "in an existing directory"),
        (["{file}"], "These runs need Python files, which would be run: "),
    ],
)
def test_wrong_commands_are_refused(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text('environment = "/x/mine.py"\nmethod = "dr"\n')
    filled = [word.replace("{run}", str(runs[1])).replace("{file}", str(tmp_path / "run")) for word in arguments]
    assert main(["lab", *filled]) == 2
    assert sentence in capsys.readouterr().err


# --- nonsense


def nonsense(dice: random.Random, served: Served) -> Iterator[bytes]:
    """Requests of all the kinds that a lab is not made for."""
    host = f"127.0.0.1:{served.port}".encode()
    paths = [path for _, path in served.lab.questions()] + ["/", "/web/lab.js", "/api/live", "/nowhere"]
    tricks = ["/../..", "/%2e%2e/", "//etc/passwd", "/%00", "/web/%ff", "/web/" + "a" * 3000, "/?" + "x=" * 500, "/\\"]
    values: list[Any] = [
        None, True, -1, 0, 1e308, 2**70, "", "x" * 5000, [], {}, [[]], {"text": 3}, "0.30.0", "../..", "\x00", "é" * 99,
        LEVEL, {"text": STRAIGHT.replace("G", ">")}, {"text": STRAIGHT[:-9]}, {"text": "#" * 30_000},
        {"text": "\n" * 500},
        {"text": "\u2028#"}, {"task": "../x"}, {"task": "FourRooms", "number": 1e9}, {"fields": {"walls": [[0]]}},
        {"text": STRAIGHT.replace("#", "\ud83d")}, ["0.30.0"] * 40, [1e999],
    ]  # fmt: skip
    names = ["level", "student", "students", "seed", "episodes", "kind", "hand", "actions", "name", "comment", "greedy"]
    asked = [path for method, path in served.lab.questions() if method == "POST"]
    while True:
        path = dice.choice(paths)
        headers = [b"host: " + dice.choice([host] * 40 + [b"evil.example", b"127.0.0.1:1", b"\xff", b""])]
        if dice.random() < 0.08:
            headers.append(b"origin: " + dice.choice([b"http://evil.example", b"null", b"http://" + host, b"\xfe"]))
        if dice.random() < 0.1:
            headers.append(dice.choice([b"transfer-encoding: chunked", b"x: " + b"y" * 20_000, b"bad header", b": x"]))
        kind = dice.random()
        if kind < 0.7:
            path = dice.choice([path, *asked])
            body = {name: dice.choice(values) for name in dice.sample(names, dice.randint(0, 6))}
            if dice.random() < 0.5:
                body["level"], body["student"] = LEVEL, "0.30.0"
                body[dice.choice(names)] = dice.choice(values)
            data = json.dumps(body, ensure_ascii=True).encode()
            if dice.random() < 0.3:
                spoiled = bytearray(data)
                for _ in range(dice.randint(1, 9)):
                    spoiled[dice.randrange(len(spoiled))] = dice.randrange(256)
                data = bytes(spoiled)
            length = len(data) + (dice.choice([0] * 9 + [-1, 5, 10**9]))
            lines = [b"POST " + path.encode() + b" HTTP/1.1", *headers, b"content-type: application/json"]
            yield b"\r\n".join([*lines, b"content-length: %d" % max(0, length), b"", b""]) + data
        elif kind < 0.9:
            path = dice.choice(
                [path + dice.choice(tricks), dice.choice(tricks), path + f"?run={dice.choice(values)!s:.40}"]
            )
            raw = path.encode("utf-8", "surrogateescape").replace(b" ", b"%20")
            yield b"\r\n".join([dice.choice([b"GET ", b"HEAD ", b"BREW "]) + raw + b" HTTP/1.1", *headers, b"", b""])
        else:
            yield dice.randbytes(dice.randint(1, 400)) + dice.choice([b"", b"\r\n\r\n"])


def throw(served: Served, requests: list[bytes]) -> list[bytes]:
    """Send each on a connection of its own, some slowly, and hear what comes back."""
    answers = []
    for number, request in enumerate(requests):
        with socket.create_connection(("127.0.0.1", served.port), 30) as line:
            try:
                half = len(request) // 2 if number % 20 == 0 else 0
                line.sendall(request[:half])
                if half:
                    time.sleep(0.01)
                line.sendall(request[half:])
                line.settimeout(1)  # whoever has promised more than came is waited for
                try:
                    answers.append(line.recv(2000))
                except TimeoutError:
                    line.settimeout(30)
                    line.shutdown(socket.SHUT_WR)
                    answers.append(line.recv(2000))
            except OSError:
                answers.append(b"")
    return answers


@cache
def files_opened() -> set[str]:
    """Those that this process opens from now on, by any means that Python has. Nobody can take such a hook away."""
    found = set[str]()

    def note(event: str, given: tuple[Any, ...]) -> None:
        if event == "open" and not isinstance(given[0], int):  # a number is of a file that is open
            found.add(os.fsdecode(given[0]))

    sys.addaudithook(note)
    return found


def check_nonsense(served: Served, number: int, capfd: pytest.CaptureFixture[str]) -> None:
    dice = random.Random(number)
    files_opened().clear()
    made = nonsense(dice, served)
    requests = [next(made) for _ in range(number)]
    answers: list[bytes] = []
    parts = [requests[i::4] for i in range(4)]
    threads = [threading.Thread(target=lambda part=part: answers.extend(throw(served, part))) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == number
    codes = [int(answer[9:12]) for answer in answers if answer.startswith(b"HTTP/1.1 ")]
    assert 500 not in codes
    assert {200, 400, 404, 421} <= set(codes)
    assert all(b"root:" not in answer and b"Traceback" not in answer for answer in answers)
    said = capfd.readouterr()
    assert "Traceback" not in said.err + said.out
    assert served.ask("/api/level", {"level": LEVEL}).body["metrics"]["path"] == 2
    assert set(served.lab.keeper.path.parent.iterdir()) <= {served.lab.keeper.path}
    # What was read is the runs' own, apart from modules and compiled programs.
    known = [named.run.directory.path for named in served.lab.students.runs] + [served.lab.keeper.path.parent]
    known += [Path(jax.config.jax_compilation_cache_dir or served.lab.keeper.path)]
    read = [Path(path) for path in files_opened() if not path.endswith((".py", ".pyc"))]
    assert [path for path in read if not any(path.is_relative_to(place) for place in known)] == []


def test_nonsense_is_refused_and_the_lab_goes_on(served: Served, capfd: pytest.CaptureFixture[str]):
    check_nonsense(served, 200, capfd)


@pytest.mark.long
def test_much_nonsense_is_refused_and_the_lab_goes_on(served: Served, capfd: pytest.CaptureFixture[str]):
    check_nonsense(served, 2000, capfd)
