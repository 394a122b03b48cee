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

    drawn, ids = curator.sample(8)
    assert isinstance(ids, np.ndarray)
    assert isinstance(drawn["grid"], np.ndarray)
    assert drawn["number"].tolist() == [number + 1 for number in ids]
    np.testing.assert_array_equal(drawn["grid"], levels(*drawn["number"])["grid"])

    known, p = curator.probabilities()
    assert known.tolist() == [0, 1, 2]
    np.testing.assert_allclose(p.sum(), 1, atol=1e-6)
    assert (p > 0).all()


def test_a_level_that_is_known_is_recognised_without_its_id(curator):
    curator.update(levels(1, 2, 3), [0.5, 2.0, 1.0], returns=[1.0, -1.0, 0.0])
    ids = curator.update(levels(2, 7, 2), [0.1, 0.2, 0.3], returns=[-5.0, -5.0, -0.5])
    assert ids[0] == ids[2] == 1
    assert ids[1] not in (0, 1, 2)
    assert curator.state.score.tolist() == pytest.approx([0.5, 0.3, 1.0, 0.2])
    assert curator.best([0, 1, 2, ids[1], 99]).tolist() == [1.0, -0.5, 0.0, -5.0, -np.inf]


@pytest.mark.parametrize("duplicates", [False, True])
def test_a_late_score_never_lands_on_the_level_that_took_the_place(duplicates):
    """What happens to whoever updates later than he samples: Stable-Baselines3, several workers."""
    example = {"number": np.int32(0), "grid": np.zeros((2, 2), np.float32)}
    curator = Curator(LevelBuffer(2, staleness=0.0, duplicates=duplicates), example)
    first = curator.update(levels(1, 2), [0.1, 0.2])
    drawn, ids = curator.sample(6)
    assert set(ids) <= set(first)
    curator.update(levels(8, 9), [5.0, 6.0])  # evicts both
    assert sorted(curator.state.levels["number"].tolist()) == [8, 9]

    late = curator.update(drawn, np.full(6, 0.01), ids)
    assert sorted(curator.state.levels["number"].tolist()) == [8, 9]
    assert sorted(curator.state.score.tolist()) == [5.0, 6.0], "and their scores are their own"
    assert late.tolist() == [-1] * 6
    again = curator.update(drawn, np.full(6, 7.0), ids)  # now they are worth keeping, as new levels
    number = np.array(curator.state.levels["number"])
    for level, name in zip(drawn["number"], again, strict=True):
        if name >= 0:
            assert number[np.array(curator.state.id).tolist().index(name)] == level
            assert name not in first


def test_a_level_with_the_id_of_another_is_refused(curator):
    curator.update(levels(1, 2, 3), [0.5, 2.0, 1.0])
    with pytest.raises(UserError, match="Level 1 of this batch is not the level with the id 2"):
        curator.update(levels(1, 2), [1.0, 1.0], ids=[0, 2])


def test_returns_that_are_not_given_are_not_remembered(curator):
    curator.update(levels(1, 2, 3), [0.5, 2.0, 1.0])
    assert curator.state.best.tolist() == [-np.inf] * 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.sample(2), "The buffer is empty"),
        (lambda c: c.update(levels(1, 2), [1.0, np.nan]), "not finite"),
        (lambda c: c.update(levels(1, 2), [[1.0, 2.0]]), "one number per level"),
        (lambda c: c.sample(0), "at least 1"),
        (lambda c: c.update(levels(1, 2), [1.0]), r"has the shape \(2, 2, 2\); with 1 scores"),
        (lambda c: c.update(levels(1, 2), [1.0, 2.0], ids=[0, -1]), "whole numbers below 0"),
        (lambda c: c.update(levels(1, 2), [1.0, 2.0], returns=[1.0]), "returns have the shape"),
        (lambda c: c.update(levels(1, 2)["number"], [1.0, 2.0]), "have the structure"),
        (lambda c: c.update({**levels(1, 2), "number": np.array([0.5, 1.5])}, [1.0, 2.0]), "is of float64"),
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
        drawn, ids = curator.sample(3)
        curator.update(drawn, [(3 * n) % 4 for n in drawn["number"].tolist()], ids)
        history.append(ids.tolist())
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
