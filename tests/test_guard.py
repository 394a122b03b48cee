"""How long a user's code may take: what the machine gave to others meanwhile is not its fault."""

from __future__ import annotations

import os
import time

import pytest

from tutelage import guard, machine


def test_code_that_sleeps_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "waited", lambda: 0.0)
    with pytest.raises(guard.Failed, match=r"x\.py has not ended after 0\.1 s"):
        guard.guarded("x.py", "", lambda: time.sleep(3600), 0.1)


def test_code_that_gets_no_core_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nothing but others had run since it began."""
    monkeypatch.setattr(machine, "waited", time.monotonic)

    def act() -> str:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            pass
        return "done"

    assert guard.guarded("x.py", "", act, 0.1) == "done"


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="this system does not say")
def test_waiting_is_counted_and_never_goes_back() -> None:
    before = machine.waited()
    assert before > 0
    assert machine.waited(os.getpid()) >= before
    assert machine.waited(2**30) == 0.0
