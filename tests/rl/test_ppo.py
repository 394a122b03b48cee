"""PPO against a plain rewrite of what the thesis says, through the one function that learners call."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import build, compiled, preset
from tutelage.rl.advantages import gae
from tutelage.rl.learner import Learner, StudentState
from tutelage.rl.moments import Moments
from tutelage.rl.ppo import PPO, ppo_learner
from tutelage.settings import NetworkSettings, PPOSettings
from tutelage.types import Rollout

from .made_rollouts import BATCH, STEPS, experience

ONE_STEP = PPOSettings(epochs=1, learning_rate=0.01, max_grad_norm=1e9, discount=0.9, gae_lambda=0.8)
KEY, START = jax.random.key(0), jnp.float32(0)


@pytest.fixture(scope="module")
def school(toy_agent, random_state):
    """From settings to a learner, its first state, and its compiled update."""

    def build_one(ppo: PPOSettings, core: str = "none"):
        agent = toy_agent(core, width=5, eyes=6, normalise_returns=ppo.normalise_returns)
        learner = ppo_learner(agent, ppo)
        return learner, random_state(learner, np.zeros(4, np.float32)), jax.jit(learner.update)

    return build_one


def plain_loss(params, learner: Learner, rollout: Rollout):
    """The loss of the thesis's section 2.2.2, written as a table of numbers."""
    ppo, agent = learner.ppo, learner.agent
    _, logits, value = agent.network.apply(params, agent.initial_carry(BATCH), rollout.obs, rollout.first)
    flags = (rollout.terminated, rollout.truncated)
    advantage = gae(rollout.reward, rollout.value, rollout.next_value, *flags, ppo.discount, ppo.gae_lambda)
    target = rollout.value + advantage
    normalised = (advantage - advantage.mean()) / (advantage.std() + 1e-5)

    p = jax.nn.softmax(logits)
    ratio = jnp.take_along_axis(p, rollout.action[..., None], -1)[..., 0] / jnp.exp(rollout.log_prob)
    inside = jnp.where(ratio > 1 + ppo.clip, 1 + ppo.clip, jnp.where(ratio < 1 - ppo.clip, 1 - ppo.clip, ratio))
    policy_loss = -jnp.minimum(ratio * normalised, inside * normalised).mean()

    def error(v):
        d = jnp.abs(v - target)
        return jnp.where(d < ppo.huber, d**2 / 2, ppo.huber * (d - ppo.huber / 2)) if ppo.huber else d**2

    moved = rollout.value + jnp.clip(value - rollout.value, -ppo.clip, ppo.clip)
    value_loss = (jnp.maximum(error(value), error(moved)) if ppo.value_clip else error(value)).mean()
    entropy = -(p * jnp.log(p)).sum(-1).mean()
    parts = {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy}
    return policy_loss + ppo.value_coef * value_loss - ppo.entropy_coef * entropy, parts


def adam(state: StudentState):
    """What the optimiser remembers."""
    (found,) = [s for s in jax.tree.leaves(state.optimiser, is_leaf=lambda x: hasattr(x, "mu")) if hasattr(s, "mu")]
    return found


@pytest.mark.parametrize(
    "changes",
    [{}, {"value_clip": False}, {"huber": 0.5}, {"entropy_coef": 0.3, "value_coef": 2.0}],
    ids=["default", "no value clip", "huber", "coefficients"],
)
def test_one_update_descends_the_plain_loss(school, changes):
    """The figures are the rewrite's, and so is the direction: Adam's first step is the gradient over its size."""
    learner, state, update = school(replace(ONE_STEP, **changes), "none" if changes else "gru")
    rollout = experience()
    after, metrics = update(KEY, state, rollout, START)
    params = state.agent.params
    gradient, parts = jax.jit(lambda params: jax.grad(plain_loss, has_aux=True)(params, learner, rollout))(params)
    for name, value in parts.items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-4)
    assert 0 < metrics["clipped"] < 1, "the rollout must have ratios on both sides of the clip"

    def expected(p, g):
        return p - ONE_STEP.learning_rate * g / (np.abs(g) + ONE_STEP.adam_epsilon)

    want = jax.tree.map(expected, params, gradient)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-4), after.agent.params, want)
    assert adam(after).count == 1


def test_the_gradient_is_clipped_to_its_norm(school):
    """Adam forgets the gradient's size, but its second moment remembers what it was given."""
    _, state, update = school(replace(ONE_STEP, max_grad_norm=0.01))
    after, metrics = update(KEY, state, experience(), START)
    assert metrics["grad_norm"] > 0.01
    norm = np.sqrt(sum(float((m**2).sum()) for m in jax.tree.leaves(adam(after).mu)))
    assert norm == pytest.approx(0.1 * 0.01, rel=1e-3)


def spy_on_batches(monkeypatch) -> list:
    """Record what every minibatch holds."""
    seen: list = []
    original = PPO.loss

    def loss(self, state, batch, output, forward):
        jax.debug.callback(lambda *x: seen.append(tuple(np.asarray(a) for a in x)), batch.log_prob, batch.advantage)
        return original(self, state, batch, output, forward)

    monkeypatch.setattr(PPO, "loss", loss)
    return seen


@pytest.mark.parametrize(("core", "columns"), [("gru", BATCH), ("none", STEPS * BATCH)])
def test_minibatches_share_one_normalisation_and_cover_every_trajectory(school, monkeypatch, core, columns):
    """Recurrent students learn from whole trajectories, others from single transitions; each once an epoch."""
    learner, state, _ = school(replace(ONE_STEP, epochs=2, minibatches=2), core)
    seen = spy_on_batches(monkeypatch)
    rollout = experience()
    jax.block_until_ready(jax.jit(learner.update)(KEY, state, rollout, START))
    jax.effects_barrier()
    assert len(seen) == 4
    whole = rollout.log_prob.reshape(-1, columns)
    flags = (rollout.terminated, rollout.truncated)
    advantage = np.asarray(gae(rollout.reward, rollout.value, rollout.next_value, *flags, 0.9, 0.8))
    normalised = ((advantage - advantage.mean()) / (advantage.std() + 1e-5)).reshape(-1, columns)
    for epoch in (seen[:2], seen[2:]):
        log_prob, part = (np.concatenate(x, axis=1) for x in zip(*epoch, strict=True))
        order = [int(np.flatnonzero((column == whole.T).all(1))[0]) for column in log_prob.T]
        assert sorted(order) == list(range(columns))
        np.testing.assert_allclose(part, normalised[:, order], atol=1e-5)
    assert not np.array_equal(seen[0][0], seen[2][0]), "epochs are shuffled anew"


def test_the_learning_rate_ends_with_the_run(school):
    """Annealed or not, the first step is the same; at the end an annealed student stands still."""
    _, state, update = school(replace(ONE_STEP, anneal=True))
    _, _, constant = school(ONE_STEP)
    rollout = experience()

    def moved(function, progress):
        after, _ = function(KEY, state, rollout, jnp.float32(progress))
        return jax.tree.leaves(jax.tree.map(lambda a, b: np.asarray(a) - b, after.agent.params, state.agent.params))

    full, half, end, never = moved(update, 0), moved(update, 0.5), moved(update, 1), moved(constant, 1)
    for a, b, c, d in zip(full, half, end, never, strict=True):
        np.testing.assert_allclose(b, a / 2, atol=1e-6)
        assert (c == 0).all()
        np.testing.assert_array_equal(a, d)


# --- values in units of the returns' deviation


def returns_so_far(rollout: Rollout, discount: float) -> np.ndarray:
    out = np.zeros_like(rollout.reward)
    for b in range(out.shape[1]):
        total = 0.0
        for t in range(out.shape[0]):
            total = rollout.reward[t, b] + (0 if rollout.first[t, b] else discount * total)
            out[t, b] = total
    return out


def test_the_running_deviation_is_that_of_all_returns(school):
    _, state, update = school(replace(ONE_STEP, normalise_returns=True))
    assert Moments(*(jnp.zeros(()),) * 3).deviation == 1
    rollouts = [experience(seed)._replace(reward=3 * experience(seed).reward + seed) for seed in range(3)]
    for rollout in rollouts:
        state, _ = update(KEY, state, rollout, START)
    everything = np.concatenate([returns_so_far(rollout, 0.9) for rollout in rollouts])
    returns = state.agent.returns
    assert returns.number == everything.size
    np.testing.assert_allclose(returns.mean, everything.mean(), rtol=1e-5)
    np.testing.assert_allclose(returns.deviation, everything.std(), rtol=1e-5)


def test_values_speak_the_environments_units(school):
    """The network's output is in units of the deviation, and nobody but the agent knows."""
    learner, state, update = school(replace(ONE_STEP, normalise_returns=True, value_clip=False))
    returns = Moments(np.float32(100), np.float32(0), np.float32(400))  # deviation 2
    state, agent = state._replace(agent=state.agent._replace(returns=returns)), learner.agent
    memory, obs, first = agent.initial_carry(BATCH), experience().obs[0], np.ones(BATCH, bool)
    _, _, raw = agent.network.apply(state.agent.params, memory, obs[None], first[None])
    np.testing.assert_allclose(agent.value(state.agent, memory, obs, first), 2 * raw[0], rtol=1e-5)
    _, decision = agent.act(state.agent, agent.noise(KEY, BATCH), memory, obs, first)
    np.testing.assert_allclose(decision.value, 2 * raw[0], rtol=1e-5)

    # The loss compares the network's output with targets in the same unit: rewards in that of now, old values in that
    # in which they were said.
    rollout = experience()
    after, metrics = update(KEY, state, rollout, START)
    unit = float(after.agent.returns.deviation)
    _, _, value = agent.network.apply(state.agent.params, memory, rollout.obs, rollout.first)
    flags = (rollout.terminated, rollout.truncated)
    advantage = gae(rollout.reward / unit, rollout.value / 2, rollout.next_value / 2, *flags, 0.9, 0.8)
    expected = jnp.square(value - (rollout.value / 2 + advantage)).mean()
    np.testing.assert_allclose(metrics["value_loss"], expected, rtol=1e-4)


def test_rollouts_without_any_reward_do_not_change_what_values_mean(school):
    """Their deviation is nearly 0, and values of before, in units of 1, would be ten thousand times as large in it."""
    _, state, update = school(replace(ONE_STEP, normalise_returns=True))
    rollout = experience()._replace(reward=np.zeros_like(experience().reward))
    state, metrics = update(KEY, state, rollout, START)
    assert state.agent.returns.deviation == pytest.approx(1e-4)
    assert metrics["value_loss"] < 10
    small = jax.tree.map(lambda x: 1e-4 * x, (rollout.value, rollout.next_value))  # as it says them now
    _, metrics = update(KEY, state, rollout._replace(value=small[0], next_value=small[1]), START)
    assert metrics["value_loss"] < 10


def test_a_student_learns_small_mazes():
    settings = preset("maze", "dr", "small")
    settings = replace(
        settings,
        env=replace(settings.env, size=3, max_steps=20, blocks=2),
        encoder=replace(settings.encoder, filters=8),
        network=NetworkSettings(width=16, core="none"),
        ppo=replace(settings.ppo, learning_rate=5e-3, anneal=False, entropy_coef=0.01),
        train=replace(settings.train, levels=32, rollout=20, steps=32 * 20 * 60),
    )
    trainer = build(settings)
    _, report = compiled(trainer, 60)(trainer.init(0), 60)
    solved = report.metrics["solved"]
    early, late = solved[:5].mean(), solved[-5:].mean()
    assert late > 0.8 > early
