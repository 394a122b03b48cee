"""Simulators that own a batch of slots: the same episodes as with one simulator a slot, in fewer calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tutelage.envs.base import Discrete
from tutelage.errors import UserError
from tutelage.hosts import play
from tutelage.hosts.environment import HostEnvironment
from tutelage.hosts.fields import Field
from tutelage.hosts.fleet import _open, close_all, get_fleet
from tutelage.hosts.play import HostCollector
from tutelage.hosts.simulator import Maker
from tutelage.hosts.worker import ALL, EVEN, ODD, RESET, STEP, Player
from tutelage.rl.agent import Agent
from tutelage.rl.distributions import distribution
from tutelage.rl.encoders import Vector
from tutelage.rl.networks import CORES, ActorCritic

FILE = str(Path(__file__).with_name("simulators.py"))
VECTOR = (Field("", (3,), "float32"),)
BATCHED = Maker(FILE, "CountingBatch", batched=True)
ONE_BY_ONE = HostEnvironment(Maker(FILE, "Counting"), VECTOR, Discrete(3), workers=2)
BATCHES = HostEnvironment(BATCHED, VECTOR, Discrete(3), workers=2)


@pytest.fixture(scope="module", autouse=True)
def _nobody_stays():
    yield
    close_all()
    assert not _open


def levels(*shape: int, trouble: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    whole = {"goal": rng.integers(3, 9, shape), "limit": rng.integers(4, 7, shape), "trouble": np.full(shape, trouble)}
    return {name: value.astype(np.int32) for name, value in whole.items()}


@pytest.mark.parametrize("batch", [5, 6], ids=["as one", "in halves"])
def test_batches_give_the_rollout_of_single_simulators(batch, monkeypatch):
    monkeypatch.setattr(play, "ENOUGH", 4)
    actions = distribution(Discrete(3))
    agent = Agent(ActorCritic(Vector(), CORES["none"](4), actions.outputs, 4), actions)
    state = jax.vmap(lambda key: agent.init(key, BATCHES.observation_spec))(jax.random.split(jax.random.key(1), 1))
    rollouts = [
        HostCollector(env, agent, 20)(jax.random.key(3), state, levels(1, batch)) for env in (ONE_BY_ONE, BATCHES)
    ]
    assert rollouts[0].done.sum() > 5
    jax.tree.map(np.testing.assert_array_equal, *rollouts)


def shared(number: int) -> dict[str, np.ndarray]:
    fields = {f"level/{name}": value for name, value in levels(number).items()}
    whole = {name: np.zeros((number, 3), np.float32) for name in ("obs/", "final_obs/")}
    whole |= {"action": np.ones(number, np.int32), "reward": np.zeros(number, np.float32)}
    whole |= {name: np.zeros(number, bool) for name in ("terminated", "truncated")}
    return fields | whole | {"active": np.ones(number, bool), "seed": np.arange(number), "busy": np.zeros(number, int)}


def test_a_step_of_a_part_is_one_call():
    player = Player(shared(7), range(3, 7), BATCHED)
    simulators = {part: [batch.simulator for batch, _ in player._parts[part]] for part in (EVEN, ODD)}
    assert [batch.slots.number for batch, _ in player._parts[ALL]] == [2, 2]
    player.obey(RESET + ALL)
    for order in (STEP + EVEN, STEP + EVEN, STEP + ODD, STEP + ALL):
        player.obey(order)
    assert [simulators[EVEN][0].calls, simulators[ODD][0].calls] == [3, 2]


def test_only_what_a_worker_owns_and_somebody_plays_is_touched():
    there = shared(7)
    player = Player(there, range(3, 7), BATCHED)
    player.obey(RESET + ALL)
    there["active"][5] = False
    player.obey(STEP + ODD)
    assert there["obs/"][:, 1].tolist() == [0, 0, 0, 1, 0, 0, 0]
    assert there["reward"].tolist() == pytest.approx([0, 0, 0, 0.1, 0, 0, 0])


def test_a_worker_with_one_slot_has_no_other_half():
    there = shared(7)
    player = Player(there, range(3, 4), BATCHED)
    player.obey(RESET + ALL)
    player.obey(STEP + EVEN)
    assert there["obs/"][3, 1] == 0
    player.obey(STEP + ODD)
    assert there["obs/"][3, 1] == 1


def test_an_error_names_the_slot_also_within_a_batch():
    fleet = get_fleet(BATCHES, levels(4, trouble=1), 4)
    fleet.reset(levels(4, trouble=1), np.arange(4))
    fleet.send(np.zeros(4, np.int32))
    fleet.receive()
    fleet.send(np.zeros(4, np.int32))
    with pytest.raises(
        UserError, match=r"a reward of nan .*while playing a step in environment [02]\. Its level: goal"
    ):
        fleet.receive()
