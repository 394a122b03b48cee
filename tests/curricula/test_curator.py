"""The buffer alone, as somebody else's training loop uses it."""

from __future__ import annotations

import numpy as np
import pytest

from tutelage import Curator, LevelBuffer, UserError


def levels(*numbers: int) -> dict[str, np.ndarray]:
    return {"number": np.array(numbers, np.int32), "grid": np.array([np.eye(2) * n for n in numbers], np.float32)}


@pytest.fixture
def curator() -> Curator:
    return Curator(LevelBuffer(4, staleness=0.5), {"number": np.int32(0), "grid": np.zeros((2, 2), np.float32)}, seed=1)


def test_plain_numpy_in_and_out(curator):
    assert len(curator) == 0
    placed = curator.update(levels(1, 2, 3), [0.5, 2.0, 1.0])
    assert isinstance(placed, np.ndarray)
    assert placed.tolist() == [0, 1, 2]
    assert len(curator) == 3

    drawn, slots = curator.sample(8)
    assert isinstance(slots, np.ndarray)
    assert isinstance(drawn["grid"], np.ndarray)
    assert drawn["number"].tolist() == [slot + 1 for slot in slots]
    np.testing.assert_array_equal(drawn["grid"], levels(*drawn["number"])["grid"])

    p = curator.probabilities()
    assert isinstance(p, np.ndarray)
    np.testing.assert_allclose(p.sum(), 1, atol=1e-6)
    assert p[3] == 0


def test_a_level_that_is_known_is_recognised_without_its_slot(curator):
    curator.update(levels(1, 2, 3), [0.5, 2.0, 1.0], returns=[1.0, -1.0, 0.0])
    assert curator.update(levels(2, 7, 2), [0.1, 0.2, 0.3], returns=[-5.0, -5.0, -0.5]).tolist() == [1, 3, 1]
    assert curator.state.score.tolist() == pytest.approx([0.5, 0.3, 1.0, 0.2])
    assert curator.state.best.tolist() == [1.0, -0.5, 0.0, -5.0]


def test_returns_that_are_not_given_are_not_remembered(curator):
    curator.update(levels(1, 2, 3), [0.5, 2.0, 1.0])
    assert curator.state.best.tolist() == [-np.inf] * 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.sample(2), "The buffer is empty"),
        (lambda c: c.update(levels(1, 2), [1.0, np.nan]), "not finite"),
        (lambda c: c.update(levels(1, 2), [[1.0, 2.0]]), "one number a level"),
        (lambda c: c.update(levels(1, 2), [1.0]), "There are 1 scores"),
        (lambda c: c.update(levels(1, 2), [1.0, 2.0], slots=[0, -1]), "numbers below 0"),
        (lambda c: c.restore({"0": np.zeros(2)}), "not from a buffer of the same kind"),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(curator, call, message):
    with pytest.raises(UserError, match=message):
        call(curator)


def play(curator: Curator, rounds: int) -> list[list[int]]:
    """A little training loop, whose scores follow from the levels alone."""
    history = []
    for i in range(rounds):
        curator.update(levels(i, i + 1, i + 2), [(7 * n) % 5 for n in range(i, i + 3)])
        drawn, slots = curator.sample(3)
        curator.update(drawn, [(3 * n) % 4 for n in drawn["number"].tolist()], slots)
        history.append(slots.tolist())
    return history


def test_saved_and_restored_it_goes_on_as_if_never_stopped(curator):
    play(curator, 2)
    saved = {name: array.copy() for name, array in curator.save().items()}
    assert all(isinstance(array, np.ndarray) for array in saved.values())
    went_on = play(curator, 3)

    other = Curator(curator.buffer, {"number": np.int32(0), "grid": np.zeros((2, 2), np.float32)}, seed=99)
    other.restore(saved)
    assert play(other, 3) == went_on
    other.restore(saved)
    assert play(other, 3) == went_on, "what was saved is still what it was"
    for name, array in curator.save().items():
        np.testing.assert_array_equal(array, other.save()[name])
