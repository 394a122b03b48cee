"""How long a user's code may take: what the machine gave to others meanwhile is not its fault."""

from __future__ import annotations

import os
import signal
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


def test_an_alarm_of_the_caller_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It rings within the guarded code, which goes on; it is not mistaken for the end of our own patience."""
    rung: list[int] = []
    monkeypatch.setattr(machine, "waited", lambda: 0.0)
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)

        def act() -> str:
            while not rung:
                time.sleep(0.01)
            return "done"

        assert guard.guarded("x.py", "", act, 3600) == "done"
        assert rung == [signal.SIGALRM]
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        # One that comes later is still to come afterwards, and then as often as it was to.
        signal.setitimer(signal.ITIMER_REAL, 3000.0, 7.0)
        assert guard.guarded("x.py", "", lambda: "done", 60) == "done"
        left, again = signal.getitimer(signal.ITIMER_REAL)
        assert 0 < left <= 3000
        assert again == 7
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_of_two_guards_the_outer_one_may_be_the_less_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "waited", lambda: 0.0)
    with pytest.raises(guard.Failed, match="has not ended"):
        guard.guarded("x.py", "make()", lambda: guard.guarded("x.py", "reset()", lambda: time.sleep(3600), 3600), 0.1)
