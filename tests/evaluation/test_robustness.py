"""The worst levels are found on one set of episodes and scored on another: they must not just be the unlucky ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.envs.base import Discrete, Domain, Rules, Suite, Suites, Task
from tutelage.errors import UserError
from tutelage.evaluation import robustness, tables
from tutelage.evaluation.evaluate import episode_key, episode_level, evaluate
from tutelage.evaluation.robustness import WorstCase, worst_case
from tutelage.evaluation.statistics import cvar
from tutelage.rl.agent import Decision
from tutelage.rl.distributions import Categorical
from tutelage.runs.session import Run
from tutelage.types import TimeStep, played

# --- something to play and somebody who plays


class Prize(NamedTuple):
    """A level: the prize, and the student's chance to win it."""

    chance: Any
    prize: Any


@dataclass(frozen=True)
class Lottery:
    """One step, in which action 1 wins the level's prize. The observation is the chance."""

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def prepare(self, level: Prize) -> Prize:
        return level

    def reset(self, key: Any, level: Prize) -> tuple[Prize, Any]:
        return level, level.chance[None]

    def step(self, key: Any, state: Prize, action: Any, level: Prize) -> tuple[Prize, TimeStep]:
        return state, played(state.chance[None], action * state.prize, jnp.bool_(True), jnp.bool_(False))


@dataclass(frozen=True)
class Prizes:
    """Levels of some chances, equally often."""

    chances: tuple[float, ...]

    def __call__(self, key: Any) -> Prize:
        k_chance, k_prize = jax.random.split(key)
        prize = jax.random.randint(k_prize, (), 1, 21).astype(jnp.float32)
        return Prize(jax.random.choice(k_chance, jnp.array(self.chances)), prize)


@dataclass(frozen=True)
class Player:
    """Plays action 1 with the probability that it sees."""

    @property
    def actions(self) -> Categorical:
        return Categorical(2)

    def initial_carry(self, batch: int) -> Any:
        return jnp.zeros(batch)

    def noise(self, key: Any, batch: int) -> Any:
        return jax.random.uniform(key, (batch,))

    def act(self, state: Any, noise: Any, memory: Any, obs: Any, first: Any) -> tuple[Any, Decision]:
        action = (noise < obs[:, 0]).astype(jnp.int32)
        zero = jnp.zeros(action.shape)
        return memory, Decision(action, zero, jax.nn.one_hot(action, 2), zero)


NOTHING = np.zeros(1)


def lottery(*chances: float) -> Suite:
    return Suite("lottery", (Task("prizes", Lottery(), Prizes(chances), 1),))


def play(suite: Suite, **options: Any) -> WorstCase:
    return worst_case(Player(), NOTHING, suite, **options)


def solvable(level: Prize) -> Any:
    """The highest return, where a chance of nothing means that nobody can win."""
    return jnp.where(level.chance > 0, level.prize, 0.0)


# --- ranked on one set, scored on another


def test_a_student_that_is_equally_good_everywhere_is_as_good_on_its_worst_levels() -> None:
    played = play(lottery(0.5), levels=4000)
    assert (played.levels, played.episodes) == (4000, 10)
    assert played.mean().solved == pytest.approx(0.5, abs=0.01)
    assert played.cvar(0.1).solved == pytest.approx(0.5, abs=0.04)  # of 4,000 episodes: 5 standard errors
    assert played.cvar(0.01).solved == pytest.approx(0.5, abs=0.125)
    # On the episodes that they were ranked by, the same levels look far worse.
    ranked_by = played.ranking.solved.mean(axis=1)
    assert cvar(ranked_by, 0.1) < 0.25
    assert cvar(ranked_by, 0.01) < 0.12


def test_levels_that_are_worse_are_found() -> None:
    played = play(lottery(0.1, 0.9, 0.9), levels=1000)
    assert played.mean().solved == pytest.approx(0.1 / 3 + 0.6, abs=0.05)
    for share in (0.2, 0.1, 0.05):
        assert played.cvar(share).solved == pytest.approx(0.1, abs=0.06)
    assert played.cvar(1.0).solved == pytest.approx(played.mean().solved)
    assert played.cvar(0.1).returns < played.mean().returns / 2


def test_all_episodes_have_dice_of_their_own() -> None:
    played = play(lottery(0.5), levels=500)
    flips = np.concatenate([played.ranking.solved, played.scoring.solved], axis=1)
    between = np.corrcoef(flips, rowvar=False)[~np.eye(20, dtype=bool)]
    assert np.abs(between).max() < 0.25  # the largest of 190, with a standard error of 0.045 each
    lowest = played.scoring.returns.min(axis=1).mean()
    assert played.worst_episode().returns == pytest.approx(lowest)
    assert lowest < played.mean().returns
    assert played.worst_episode().solved == pytest.approx(played.scoring.solved.all(axis=1).mean())


@pytest.mark.parametrize("batch", [1, 10, 4096])
def test_levels_are_those_of_an_evaluation_however_many_are_played_at_once(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robustness, "BATCH", batch)
    suite = lottery(1.0)
    played = play(suite, levels=25, episodes=3, seed=3, success=4.0)
    task = suite.tasks[0]
    drawn = np.array([episode_level(task, episode_key(3, task, i)).prize for i in range(25)])
    assert evaluate(Player(), NOTHING, suite, episodes=25, seed=3).tasks[0].returns.tolist() == drawn.tolist()
    for episodes in (played.ranking, played.scoring):
        np.testing.assert_array_equal(episodes.returns, np.repeat(drawn[:, None], 3, axis=1))
    assert played.mean() == (pytest.approx((drawn > 4).mean()), pytest.approx(drawn.mean()))
    assert played.cvar(0.2).returns == pytest.approx(np.sort(drawn)[:5].mean())
    assert played.worst_episode().returns == pytest.approx(drawn.mean())


def test_the_same_seed_gives_the_same_figures_and_another_does_not() -> None:
    first, again, other = (play(lottery(0.5), levels=50, seed=seed) for seed in (1, 1, 2))
    assert first.cvar(0.1) == again.cvar(0.1)
    assert first.scoring.returns.tolist() == again.scoring.returns.tolist() != other.scoring.returns.tolist()


# --- levels that nobody can solve


def test_levels_that_cannot_be_solved_are_left_out_and_counted() -> None:
    suite = lottery(0.0, 0.5, 0.5, 0.5)
    everything, counted = play(suite, levels=400), play(suite, levels=400, optimum=solvable)
    assert everything.unsolvable == 0
    assert everything.cvar(0.1).solved < 0.1
    assert counted.levels + counted.unsolvable == 400
    assert 60 < counted.unsolvable < 140
    assert counted.cvar(0.1).solved > 0.3
    assert play(suite, levels=400, optimum=solvable, success=10.0).unsolvable > counted.unsolvable
    text = tables.worst_case(counted, "lottery", 0)
    assert f"{counted.levels} new levels ({counted.unsolvable} more cannot be solved and were left out)" in text
    assert "left out" not in tables.worst_case(everything, "lottery", 0)
    with pytest.raises(UserError, match="None of the 20 levels of prizes can be solved; give more, or easier ones."):
        play(lottery(0.0), levels=20, optimum=solvable)


def test_a_run_leaves_them_out_where_tests_are_played_in_its_own_environment(toy: Domain) -> None:
    suite = lottery(0.0, 0.5)

    def run(domain: Domain) -> Run:
        trainer: Any = SimpleNamespace(domain=domain, learner=SimpleNamespace(agent=Player()), students=1)
        state: Any = SimpleNamespace(students=SimpleNamespace(product=NOTHING[None]))
        settings: Any = SimpleNamespace(train=SimpleNamespace(grounding="none"))
        nowhere: Any = SimpleNamespace(path=Path("nowhere"))
        return Run(nowhere, settings, trainer, state, 0)

    suites = Suites(("fresh",), lambda name: suite)
    own = replace(toy, env=Lottery(), suites=suites, rules=Rules(optimum=solvable))
    assert run(own).worst_case(levels=100).unsolvable > 20
    # Another environment may have other levels and other limits, of which the optimum says nothing.
    assert run(replace(own, env=toy.env)).worst_case(levels=100).unsolvable == 0
    assert run(replace(own, rules=Rules())).worst_case(levels=100).unsolvable == 0


# --- refusals


def test_what_cannot_be_ranked_is_refused() -> None:
    one = Suite("suite", (Task("prize", Lottery(), lambda key: Prize(jnp.float32(0.5), jnp.float32(1)), 1),))
    with pytest.raises(UserError, match="prize is one level; give what draws new ones, such as fresh."):
        play(one, levels=8)
    with pytest.raises(UserError, match="The suite two has 2 tasks; give one that draws new levels, such as fresh."):
        play(Suite("two", one.tasks * 2), levels=8)
    with pytest.raises(UserError, match="0 levels were asked for; give at least 1."):
        play(lottery(0.5), levels=0)
    with pytest.raises(UserError, match="0 episodes were asked for; give at least 1."):
        play(lottery(0.5), levels=8, episodes=0)
