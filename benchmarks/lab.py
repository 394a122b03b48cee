"""How soon the lab answers, and what it takes in memory: a real server, asked as its page asks.

python benchmarks/lab.py RUN... --draws 200              latencies
python benchmarks/lab.py RUN... --minutes 60 --pause 2   memory while somebody watches
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


class Server:
    """`tutelage lab` in a process of its own."""

    def __init__(self, runs: list[str]) -> None:
        self.place = tempfile.TemporaryDirectory()
        keep = f"{self.place.name}/kept.txt"
        command = [sys.executable, "-m", "tutelage.cli", "lab", *runs, "--port", "0", "--keep", keep]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(re.findall(r":(\d+)/", self.process.stdout.readline())[0])
        self.line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def ask(self, path: str, question: dict | None = None) -> dict:
        method = "GET" if question is None else "POST"
        body = None if question is None else json.dumps(question)
        try:
            self.line.request(method, path, body, {"content-type": "application/json"} if body else {})
            answer = self.line.getresponse()
        except (http.client.HTTPException, ConnectionError):  # kept open for too long
            self.line.close()
            self.line.request(method, path, body, {"content-type": "application/json"} if body else {})
            answer = self.line.getresponse()
        found = json.loads(answer.read())
        assert answer.status == 200, found
        return found

    @property
    def megabytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        self.place.cleanup()


def drawn(text: str, dice: random.Random) -> str:
    """A maze as somebody draws it: some cells of another one are changed."""
    rows = [list(row) for row in text.splitlines()]
    for _ in range(dice.randint(1, 6)):
        y, x = dice.randrange(1, len(rows) - 1), dice.randrange(1, len(rows[0]) - 1)
        if rows[y][x] in ".#":
            rows[y][x] = dice.choice(".#")
    return "\n".join("".join(row) for row in rows)


def latencies(server: Server, draws: int) -> None:
    lab, dice = server.ask("/api/lab"), random.Random(0)
    students = [student["id"] for run in lab["runs"] for student in run["students"] if student["newest"]]
    text = server.ask("/api/new", {"kind": "random", "seed": 0})["text"]  # waits until all is compiled
    times: dict[str, list[float]] = {}

    def timed(name: str, path: str, question: dict | None = None) -> dict:
        began = time.perf_counter()
        answer = server.ask(path, question)
        times.setdefault(name, []).append(1000 * (time.perf_counter() - began))
        return answer

    for number in range(draws):
        text = drawn(text, dice)
        began, level = time.perf_counter(), {"text": text}
        timed("what a drawn level is", "/api/level", {"level": level})
        for student in students:
            question = {"student": student, "level": level, "seed": number, "greedy": False}
            episode = timed("a student's episode, with its first picture", "/api/episode", question)
        times.setdefault(f"drawn until {len(students)} students' first picture", []).append(
            1000 * (time.perf_counter() - began)
        )
        path = f"/api/frames?episode={episode['episode']}&first=1&count=16"
        timed("the next 16 pictures", path)
        timed("expected score, 32 episodes", "/api/score", {"student": students[0], "level": level, "episodes": 32})
        if lab["controls"]:
            hand = timed("a person's first picture", "/api/play", {"level": level})
            action = [0.0] * len(lab["actions"]) if lab["continuous"] else 0
            timed("a person's step", "/api/act", {"hand": hand["hand"], "actions": [action]})
    print(f"{'milliseconds, of ' + str(draws) + ' drawn levels':<48}  median    90%    99%   most")
    for name, each in times.items():
        middle, high, higher = np.percentile(each, (50, 90, 99))
        print(f"{name:<48}  {middle:6.1f} {high:6.1f} {higher:6.1f} {max(each):6.1f}")
    print(f"memory {server.megabytes:.0f} MB")


def memory(server: Server, minutes: float, pause: float) -> None:
    lab, dice, began = server.ask("/api/lab"), random.Random(1), time.monotonic()
    students = [student["id"] for run in lab["runs"] for student in run["students"]]
    text = server.ask("/api/new", {"kind": "random", "seed": 0})["text"]
    episodes, last = 0, -1
    while (past := (time.monotonic() - began) / 60) < minutes:
        if int(past / max(minutes / 12, 1e-9)) != last:
            last = int(past / max(minutes / 12, 1e-9))
            print(f"{past:5.1f} min, {episodes:6} episodes: {server.megabytes:.0f} MB", flush=True)
        text = (
            drawn(text, dice) if episodes % 50 else server.ask("/api/new", {"kind": "random", "seed": episodes})["text"]
        )
        server.ask("/api/level", {"level": {"text": text}})
        for student in students:
            question = {"student": student, "level": {"text": text}, "seed": episodes}
            episode = server.ask("/api/episode", question)
            first = 1
            while first <= episode["length"]:
                found = server.ask(f"/api/frames?episode={episode['episode']}&first={first}&count=16")
                first += max(1, len(found["views"]))
            server.ask("/api/score", {"student": student, "level": {"text": text}, "episodes": 32})
            episodes += 1
        time.sleep(pause)
    print(f"{past:5.1f} min, {episodes:6} episodes: {server.megabytes:.0f} MB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=0.0, help="watch for so long instead, and tell the memory")
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between levels")
    options = parser.parse_args()
    server = Server(options.runs)
    try:
        if options.minutes:
            memory(server, options.minutes, options.pause)
        else:
            latencies(server, options.draws)
    finally:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
