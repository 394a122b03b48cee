"""Time our PPO update beside a plain flax one on identical shapes; print one JSON line of seconds.

usage: python update.py SECONDS [--devices N]

32 levels x 256 steps of the 13x13 maze, LSTM-256, five epochs, one minibatch. Both are compiled first and then take
turns, one update each, so that whatever else the machine does hits both. With --devices ours runs on a CPU that is cut
into N devices; plain flax stays on one of them, whose threads are still those of all cores.
"""

import argparse
import json
import time
from typing import Any

import jax
import jax.numpy as jnp
from plain import Network, make_update

import tutelage
from tutelage.rl.advantages import gae
from tutelage.runs.processes import ALONE, start


def measure_update(seconds: float, devices: int = 1) -> dict[str, list[float]]:
    start(ALONE, devices)
    settings = tutelage.override(tutelage.preset("maze", "dr", "thesis-accel"), {"train.devices": str(devices)})
    trainer = tutelage.build(settings)
    state, key = trainer.init(0), jax.random.key(0)
    _, proposal = jax.jit(trainer.curriculum.propose)(key, key, state.curriculum)
    collect = jax.jit(trainer.collector.__call__)
    rollout = jax.tree.map(lambda x: x[0], collect(jax.random.key(1), state.students.agent, proposal.levels))
    student = jax.tree.map(lambda x: x[0], state.students)

    ppo = settings.ppo
    ends = (rollout.terminated, rollout.cut)
    advantage = gae(rollout.reward, rollout.value, rollout.next_value, *ends, ppo.discount, ppo.gae_lambda)
    batch = {
        "obs": rollout.obs,
        "first": rollout.first,
        "action": rollout.action,
        "log_prob": rollout.log_prob,
        "value": rollout.value,
        "target": rollout.value + advantage,
        "advantage": (advantage - advantage.mean()) / (advantage.std() + 1e-5),
    }
    batch = jax.device_put(batch, jax.devices()[0])
    init, plain_update = make_update(Network(settings.network.width), ppo.epochs, ppo.learning_rate, ppo.entropy_coef)
    plain_state = jax.jit(init)(jax.random.key(2), batch)

    sides: dict[str, Any] = {
        "tutelage": jax.jit(lambda s, r: trainer.learner.update(jax.random.key(3), s, r, jnp.float32(0))),
        "flax": jax.jit(plain_update),
    }
    arguments = {"tutelage": (student, rollout), "flax": (plain_state, batch)}
    measured: dict[str, list[float]] = {name: [] for name in sides}
    for name, update in sides.items():
        jax.block_until_ready(update(*arguments[name]))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(measured["flax"]) < 3:
        for name, update in sides.items():
            began = time.perf_counter()
            jax.block_until_ready(update(*arguments[name]))
            measured[name].append(time.perf_counter() - began)
    return measured


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--devices", type=int, default=1)
    given = parser.parse_args()
    print(json.dumps(measure_update(given.seconds, given.devices)))
