"""DrAC and UCB-DrAC: what their loss is, what it moves, and which change the bandit chooses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.rl import augmentations
from tutelage.rl.augmentations import AUGMENTATIONS
from tutelage.rl.distributions import Categorical
from tutelage.rl.drac import UCB, DrAC, UCBDrAC
from tutelage.rl.learner import Learner, Minibatch, StudentState
from tutelage.rl.ppo import ppo_learner
from tutelage.settings import PPOSettings

from .made_images import OBS, agent, images
from .made_rollouts import ACTIONS

SETTINGS = PPOSettings(epochs=2, minibatches=2, learning_rate=0.01, normalise_returns=True)
KEY, START = jax.random.key(0), jnp.float32(0)
ARMS = tuple(AUGMENTATIONS)


def drac(*arms: Any, **options: Any) -> DrAC:
    return DrAC(Categorical(ACTIONS), arms, **options)


def learner(*terms: Any, core: str = "none", **changes: Any) -> Learner:
    return ppo_learner(agent(core), replace(SETTINGS, **changes), more=terms)


@pytest.fixture(scope="module")
def learn(random_state):
    """An update from random parameters, compiled."""

    def update(chosen: Learner, state: StudentState | None = None) -> tuple[StudentState, dict[str, Any]]:
        if state is None:
            state = random_state(chosen, OBS)
            state = state._replace(terms=tuple(term.init(KEY) for term in chosen.terms))
        return jax.jit(chosen.update)(KEY, state, images(), START)

    return update


def assert_same(a: Any, b: Any) -> None:
    jax.tree.map(np.testing.assert_array_equal, a, b)


# --- the loss


@pytest.fixture(scope="module")
def parts(random_state):
    """Gradients of the term's loss, by the network that sees plain images and by the one that sees changed images."""

    def split(term: DrAC, core: str = "none") -> tuple[Any, Any, dict[str, Any]]:
        chosen = learner(term, core=core)
        state = random_state(chosen, OBS)

        @jax.jit
        def gradients(params: Any, obs: Any, first: Any) -> Any:
            zeros = jnp.zeros(first.shape)
            batch = Minibatch(obs, first, zeros.astype(jnp.int32), zeros, zeros, zeros, zeros)
            batch = term.change(KEY, term.init(KEY), batch)

            def loss(plain: Any, changed: Any) -> Any:
                output = chosen.agent.forward(plain, obs, first)
                return term.loss(term.init(KEY), batch, output, lambda *x: chosen.agent.forward(changed, *x))

            return jax.grad(loss, (0, 1), has_aux=True)(params, params)

        rollout = images()
        (plain, changed), metrics = gradients(state.agent.params, rollout.obs, rollout.first)
        return plain, changed, metrics

    return split


def largest(tree: Any) -> float:
    return max(float(np.abs(x).max()) for x in jax.tree.leaves(tree))


@pytest.fixture
def identity(monkeypatch):
    """A change that changes nothing, in the place of the flip."""
    monkeypatch.setitem(augmentations.AUGMENTATIONS, "flip", lambda key, images: images)


@pytest.mark.parametrize("core", ["none", "gru"])
def test_images_that_were_not_changed_cost_nothing_and_move_nothing(parts, identity, core):
    _, gradient, metrics = parts(drac("flip"), core)
    assert metrics == {"changed_policy_loss": 0, "changed_value_loss": 0}
    assert largest(gradient) < 1e-7
    assert largest(parts(drac("cutout"), core)[1]) > 1e-4, "those that were do"


@pytest.mark.parametrize("divergence", ["exact", "sampled"])
def test_targets_are_constants(parts, divergence):
    plain, changed, _ = parts(drac("crop", divergence=divergence))
    assert largest(plain) == 0
    assert largest(changed) > 1e-4


def test_a_sampled_policy_loss_is_the_cross_entropy_on_average(random_state):
    """So its gradient is that of the exact one, on average: here the loss is compared for many draws of actions."""
    term, exact = drac("crop", divergence="sampled"), drac("crop")
    chosen = agent()
    params, rollout = random_state(chosen, OBS).params, images(steps=1)

    @jax.jit
    def both(params: Any) -> Any:
        zeros = jnp.zeros(rollout.first.shape)
        batch = Minibatch(rollout.obs, rollout.first, zeros.astype(jnp.int32), zeros, zeros, zeros, zeros)
        changed = exact.change(KEY, (), batch).extra
        output = chosen.forward(params, batch.obs, batch.first)

        def loss(params: Any, key: Any, term: DrAC, noise: Any) -> Any:
            mine = batch._replace(extra=changed._replace(noise=noise))
            return term.loss((), mine, output, lambda *x: chosen.forward(params, *x))[0]

        keys = jax.random.split(KEY, 4000)
        noise = jax.vmap(lambda key: chosen.actions.noise(key, zeros.shape))(keys)
        sampled = jax.vmap(lambda n: jax.value_and_grad(loss)(params, KEY, term, n))(noise)
        entropy = chosen.actions.entropy(output.policy).mean()
        return sampled, jax.value_and_grad(loss)(params, KEY, exact, ()), entropy

    (values, gradients), (value, gradient), entropy = both(params)
    assert values.mean() - 0.1 * entropy == pytest.approx(float(value), abs=2e-3)

    def same_on_average(many: Any, one: Any) -> None:
        error = np.asarray(many).std(axis=0) / len(many) ** 0.5
        assert (np.abs(np.asarray(many).mean(axis=0) - one) < 5 * error + 1e-6).all()

    jax.tree.map(same_on_average, gradients, gradient)


def test_the_loss_is_the_divergence_of_policies_and_half_the_squared_distance_of_values(random_state):
    """By hand, for gray images: nothing about them is random."""
    term = drac("grayscale", weight=0.25)
    chosen = learner(term)
    params, rollout = random_state(chosen, OBS).agent.params, images()

    def loss(term: DrAC) -> Any:
        zeros = jnp.zeros(rollout.first.shape)
        batch = Minibatch(rollout.obs, rollout.first, zeros.astype(jnp.int32), zeros, zeros, zeros, zeros)
        output = chosen.agent.forward(params, batch.obs, batch.first)
        return term.loss((), term.change(KEY, (), batch), output, lambda *x: chosen.agent.forward(params, *x))

    value, metrics = jax.jit(lambda: loss(term))()
    camera = np.asarray(rollout.obs["camera"], np.float64) @ [0.299, 0.587, 0.114]
    gray = np.broadcast_to(np.round(camera)[..., None], rollout.obs["camera"].shape).astype(np.uint8)
    plain = chosen.agent.forward(params, rollout.obs, rollout.first)
    other = chosen.agent.forward(params, {**rollout.obs, "camera": gray}, rollout.first)
    p, q = (jax.nn.softmax(x.policy) for x in (plain, other))
    policy_loss = float((p * jnp.log(p / q)).sum(-1).mean())
    value_loss = float(0.5 * ((plain.value - other.value) ** 2).mean())
    assert metrics["changed_policy_loss"] == pytest.approx(policy_loss, rel=2e-2)
    assert metrics["changed_value_loss"] == pytest.approx(value_loss, rel=2e-2)
    assert value == pytest.approx(0.25 * (policy_loss + value_loss), rel=2e-2)


@pytest.mark.parametrize("core", ["none", "gru"])
def test_without_a_weight_it_is_plain_ppo_to_the_bit(learn, core):
    plain, metrics = learn(learner(core=core))
    weightless = UCBDrAC(drac(*ARMS[:2], weight=0.0, divergence="sampled"), UCB(2))
    for term in (drac("color-jitter", weight=0.0), weightless):
        after, more = learn(learner(term, core=core))
        assert_same(after._replace(terms=()), plain._replace(terms=()))
        assert_same({name: more[name] for name in metrics}, metrics)
    after, _ = learn(learner(drac("color-jitter"), core=core))
    assert any(jax.tree.leaves(jax.tree.map(lambda a, b: not np.array_equal(a, b), after.agent, plain.agent)))


def test_all_of_an_update_is_changed_in_one_way_with_new_draws_for_every_minibatch(learn):
    seen: list[Any] = []

    @dataclass(frozen=True)
    class Watching(DrAC):
        def loss(self, state: Any, batch: Minibatch, output: Any, forward: Any) -> Any:
            jax.debug.callback(lambda *x: seen.append(x), batch.obs["camera"], batch.extra.obs["camera"])
            return super().loss(state, batch, output, forward)

    jax.block_until_ready(learn(learner(Watching(Categorical(ACTIONS), ("cutout-color",)))))
    jax.effects_barrier()
    colors = []
    for plain, changed in seen:
        assert plain.shape == (1, 12, 16, 16, 3)
        for before, after in zip(plain[0], changed[0], strict=True):
            colors.append(after[(before != after).any(-1)][0])
    assert len(np.unique(colors, axis=0)) == 4 * 12


# --- the bandit


def by_hand(payoffs: np.ndarray, c: float, window: int, try_all: bool, memory: int) -> list[int]:
    """The rules in plain Python: counts begin at 1, and an arm is paid before the next is chosen."""
    arms = payoffs.shape[1]
    n, counts, paid, pulled = 1, [1] * arms, [[] for _ in range(arms)], []
    for t in range(len(payoffs)):
        if pulled:
            last = pulled[-1]
            n, counts[last] = n + 1, counts[last] + 1
            paid[last] = [*paid[last], (t, payoffs[t, last])][-window:]
        known = [[x for when, x in p if memory == 0 or t - when < memory] for p in paid]
        worth = [float(np.mean(p)) if p else 0.0 for p in known]
        bounds = [worth[i] + c * np.sqrt(np.log(n) / counts[i]) for i in range(arms)]
        untried = [i for i in range(arms) if not known[i]]
        pulled.append(untried[0] if try_all and untried else int(np.argmax(bounds)))
    return pulled


def pulls(bandit: UCB, payoffs: np.ndarray) -> list[int]:
    def step(state: Any, payoff: Any) -> Any:
        state = bandit.choose(bandit.credit(state, payoff[jnp.maximum(state.arm, 0)]))
        return state, state.arm

    return jax.jit(lambda: jax.lax.scan(step, bandit.init(), jnp.asarray(payoffs, jnp.float32))[1])().tolist()


@pytest.mark.parametrize("try_all", [False, True])
@pytest.mark.parametrize("memory", [0, 8, 40])
@pytest.mark.parametrize(("exploration", "window"), [(0.1, 10), (1.0, 3)])
def test_the_bandit_pulls_what_it_does_by_hand(try_all, memory, exploration, window):
    rng = np.random.default_rng(0)
    payoffs = rng.normal(np.linspace(0.0, 0.2, 8), 0.1, (400, 8))
    expected = by_hand(payoffs, exploration, window, try_all, memory)
    assert len(set(expected)) == 8
    assert pulls(UCB(8, exploration, window, try_all, memory), payoffs) == expected


def test_what_was_tried_while_returns_were_low_is_tried_again():
    """Returns rise as a student learns, whatever is pulled. Without forgetting, the last arm looks best for ever."""
    rng = np.random.default_rng(0)
    rise = 2 * (1 - np.exp(-np.arange(600) / 20))[:, None]
    payoffs = rise + rng.normal(0, 0.02, (600, 8))
    assert np.mean(np.array(pulls(UCB(8, memory=0), payoffs)) == 7) > 0.9
    alike = np.bincount(pulls(UCB(8), payoffs), minlength=8) / 600
    assert alike.min() > 0.02
    assert alike.max() < 0.5
    payoffs[:, 2] += 0.3
    better = np.bincount(pulls(UCB(8), payoffs), minlength=8) / 600
    assert better.argmax() == 2
    assert better[2] > 0.6


def test_as_published_the_first_arm_is_never_left_if_it_pays_well():
    """Also if another pays better. Trying all of them once finds that one."""
    payoffs = np.ones((1525, 8))
    published = UCB(8, try_all=False, memory=0)
    assert set(pulls(published, payoffs)) == {0}
    payoffs[:, 5] = 1.2
    assert set(pulls(published, payoffs)) == {0}
    found = pulls(UCB(8), payoffs)
    assert found[:8] == list(range(8))
    assert np.mean(np.array(found) == 5) > 0.8


def test_an_arm_is_worth_its_last_payoffs_only():
    """The first arm pays well for three updates, and then nothing."""
    payoffs = np.tile([1.0, 0.3], (30, 1))
    payoffs[5:, 0] = 0.0
    found = pulls(UCB(2, exploration=0.01, window=3), payoffs)
    assert found[:6] == [0, 1, 0, 0, 0, 0]
    assert set(found[9:]) == {1}
    assert 0 in pulls(UCB(2, exploration=0.01, window=30), payoffs)[7:9], "a longer window remembers"


def test_an_arm_is_paid_with_the_mean_target_of_the_next_batch(learn):
    """In the network's unit. The arm is the same in all of an update, and in the student's state after it."""

    @dataclass(frozen=True)
    class Watching(UCBDrAC):
        def before(self, key: Any, state: Any, batch: Minibatch) -> Any:
            state, figures = super().before(key, state, batch)
            return state, figures | {"target": batch.target.mean()}

        def loss(self, state: Any, batch: Minibatch, output: Any, forward: Any) -> Any:
            value, figures = super().loss(state, batch, output, forward)
            return value, figures | {"used": 4.0**state.arm}

    names = ("grayscale", "flip", "cutout")
    chosen = learner(Watching(drac(*names), UCB(3, window=2)))
    state, targets = None, []
    for update in range(5):
        state, metrics = learn(chosen, state)
        targets.append(float(metrics["target"]))
        bandit = state.terms[1]
        assert metrics["used"] == 4.0 ** int(bandit.arm), "the mean over four minibatches"
        assert update >= 3 or int(bandit.arm) == update
        assert int(bandit.pulls.sum()) == update
    np.testing.assert_allclose(bandit.payoffs[:, 0], targets[1:4], rtol=1e-5)
    np.testing.assert_allclose(metrics["worth/flip"], bandit.payoffs[1].sum() / bandit.pulls[1], rtol=1e-5)
    assert sorted(float(metrics[f"pulled/{name}"]) for name in names) == [0.25, 0.25, 0.5]
