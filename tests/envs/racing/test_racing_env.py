"""Racing as an environment: rules, black ice, pictures, suites, settings."""

from __future__ import annotations

from dataclasses import fields, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import build_agent, override, preset
from tutelage.envs.base import HiddenParameters, observation_spec
from tutelage.envs.racing.circuits import OUTLINES
from tutelage.envs.racing.domain import build
from tutelage.envs.racing.env import GRASS_GRIP, HELD_OUT_MAP, Racing, TrainingTracks
from tutelage.envs.racing.ice import IcyRacing
from tutelage.envs.racing.level import TILES, make, packed
from tutelage.envs.racing.settings import RacingSettings
from tutelage.envs.racing.space import RacingSpace
from tutelage.envs.racing.suites import Circuit, centre_line
from tutelage.envs.racing.view import View
from tutelage.envs.wrappers import ActionRepeat, Grounded
from tutelage.errors import UserError

KEY = jax.random.key(0)
SMALL = View(size=48)
TRAINING = Racing(SMALL, TrainingTracks(), "thesis", patience=100)
ENV = IcyRacing(TRAINING)
ROUND = make([(100 * np.cos(0.5236 * k), 100 * np.sin(0.5236 * k)) for k in range(12)])
AHEAD, STILL, AWAY = np.float32([0.0, 0.2, -1.0]), np.float32([0.0, -1.0, 1.0]), np.float32([1.0, 1.0, -1.0])


def moved(env, state, action, level):
    """One step that nobody looks at."""
    moving, near = env.focus(state, level)
    moving, outcome = env.move(KEY, moving, action, near)
    return env.settle(state, moving, near), outcome


def drive(env, level, action, steps):
    """Every outcome and the last state of an episode of one action, ends ignored."""

    def step(state, _):
        state, outcome = moved(env, state, action, prepared)
        return state, (outcome, state.visited.sum(), state.car.grip)

    prepared = env.prepare(level)
    state, history = jax.lax.scan(step, env.reset(KEY, prepared)[0], length=steps)
    return state, *history


drive = jax.jit(drive, static_argnums=(0, 3))
prepare, reset = jax.jit(ENV.prepare), jax.jit(ENV.reset)


@pytest.fixture(scope="module")
def prepared():
    return prepare(ROUND)


ON_ICE = ROUND._replace(ice=packed(jnp.ones(TILES, bool)))


def test_every_new_tile_pays_its_share_and_every_step_costs():
    state, outcome, visited, _ = drive(TRAINING, ROUND, AHEAD, 60)
    paid = np.diff(np.concatenate([[0], visited])) * 1000 / TILES - 0.1
    np.testing.assert_allclose(outcome.reward, paid, rtol=1e-5)
    assert visited[0] >= 2  # where it starts: paid for with the first action
    assert state.paid == visited[-1] > 10


def test_an_episode_without_new_tiles_ends_and_one_of_full_length_is_cut_off():
    _, outcome, *_ = drive(replace(TRAINING, tracks=TrainingTracks(max_steps=150)), ROUND, STILL, 160)
    assert np.flatnonzero(outcome.terminated)[0] == 100  # the first step visited tiles
    assert np.flatnonzero(outcome.truncated)[0] == 149
    _, outcome, *_ = drive(replace(TRAINING, patience=0), ROUND, STILL, 160)
    assert not outcome.terminated.any()


def test_leaving_the_field_is_paid_as_settings_say(prepared):
    paid = {}
    for shaping in ("thesis", "published", "none"):
        env = replace(TRAINING, patience=0, shaping=shaping)
        state, _ = reset(KEY, prepared)
        outside = state._replace(car=state.car._replace(centre=jnp.array([0.0, 334.0])), paid=state.visited.sum())
        _, outcome = moved(env, outside, AHEAD, prepared)
        assert outcome.terminated
        paid[shaping] = float(outcome.reward)
    assert paid == {"thesis": pytest.approx(-0.1), "published": 0.0, "none": -100.0}
    assert (Racing(SMALL).shaping, Racing(SMALL).patience) == ("none", 0), "in tests"


def test_a_finished_lap_ends_the_episode(prepared):
    env = TRAINING
    state, _ = reset(KEY, prepared)
    state = state._replace(visited=jnp.ones(TILES, bool), paid=jnp.int32(TILES - 1))
    _, outcome = moved(env, state, AHEAD, prepared)
    assert outcome.terminated
    assert outcome.reward == pytest.approx(1000 / TILES - 0.1, rel=1e-4)


def test_a_repeated_action_that_nobody_looks_at_is_the_same_as_one_looked_at(prepared):
    class Looked:
        """Hides that its steps can do without a picture."""

        def __init__(self, env):
            self.prepare, self.reset, self.step, self.action_space = env.prepare, env.reset, env.step, env.action_space

    state, _ = reset(KEY, prepared)
    for action in (AHEAD, AWAY):
        after = [jax.jit(ActionRepeat(env, 8).step)(KEY, state, action, prepared) for env in (ENV, Looked(ENV))]
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), *after)
        state = after[0][0]


# --- black ice


def test_ice_has_no_grip_and_grass_counts_only_off_the_road():
    state, *_, grip = drive(ENV, ON_ICE, AWAY, 60)
    assert (np.asarray(grip) == 0).all()
    np.testing.assert_allclose(state.car.centre, drive(ENV, ON_ICE, AWAY, 1)[0].car.centre, atol=1e-3)  # goes nowhere
    prepared = prepare(ON_ICE)
    first, _ = reset(KEY, prepared)
    assert (np.asarray(first.car.grip) == 0).all()
    lost = first._replace(car=first.car._replace(centre=jnp.zeros(2)))
    lost, _ = moved(ENV, lost, AHEAD, prepared)
    np.testing.assert_allclose(lost.car.grip, GRASS_GRIP)
    single = ROUND._replace(ice=packed(jnp.arange(TILES) % 2 == 0))  # a wheel that touches a dry tile too has grip
    assert 0 < (np.asarray(drive(ENV, single, AHEAD, 60)[3]) == 0).mean() < 1


def test_the_picture_does_not_show_ice():
    pictures = [reset(KEY, prepare(level))[1] for level in (ROUND, ON_ICE)]
    np.testing.assert_array_equal(*pictures)


def test_the_posterior_is_beta_of_what_was_visited(prepared):
    """Of 40 visited tiles 10 are icy: Beta(11, 45). All others share one q, so their number is a beta-binomial."""
    state, _ = reset(KEY, prepared)
    index = jnp.arange(TILES)
    state = state._replace(visited=index < 40, ice=(index < 10) | (index >= 400))
    draw = jax.jit(jax.vmap(lambda key: ENV.posterior(key, state, prepared)))
    drawn = np.asarray(draw(jax.random.split(KEY, 4000)))
    np.testing.assert_array_equal(drawn[:, :40], np.broadcast_to(np.arange(40) < 10, (4000, 40)))
    rest, a, b = drawn[:, 40:], 11.0, 45.0
    n = rest.shape[1]
    mean, spread = a / (a + b), a * b * (a + b + n) / (n * (a + b) ** 2 * (a + b + 1))
    assert rest.mean() == pytest.approx(mean, abs=4 * np.sqrt(spread / 4000))
    assert rest.mean(axis=1).var() == pytest.approx(spread, rel=0.1)
    np.testing.assert_allclose(rest.mean(axis=0), mean, atol=0.04)  # whatever the level says of them


def test_before_anything_is_visited_the_posterior_is_the_prior():
    prepared = prepare(ON_ICE)
    state, _ = reset(KEY, prepared)
    state = state._replace(visited=jnp.zeros(TILES, bool))
    for i in range(3):
        key = jax.random.key(i)
        np.testing.assert_array_equal(ENV.posterior(key, state, prepared), ENV.prior(key, prepared))


def test_imposed_ice_is_what_is_driven_on_and_only_icy_racing_can_be_grounded(prepared):
    state, _ = reset(KEY, prepared)
    imposed = ENV.impose(state, jnp.ones(TILES, bool))
    after, _ = moved(ENV, imposed, AHEAD, prepared)
    assert (np.asarray(after.car.grip) == 0).all()
    assert isinstance(ENV, HiddenParameters)
    with pytest.raises(UserError, match="Racing has no hidden parameters"):
        Grounded(TRAINING)


def test_ice_that_is_met_is_a_share_of_the_new_tiles(prepared):
    """Counted over the steps of a repeated action; what a fictitious step would have met is not."""
    icy = jnp.arange(TILES) % 3 == 0
    repeated = ActionRepeat(ENV, 8)
    step = jax.jit(repeated.step)
    state, _ = reset(KEY, prepared)
    state = state._replace(ice=icy)
    for _ in range(6):
        before = np.asarray(state.visited)
        after, time_step = step(KEY, state, AHEAD, prepared)
        met = np.asarray(after.visited) & ~before
        assert time_step.shares == {"ice-met": ((met & np.asarray(icy)).sum(), met.sum())}
        state = after
    assert met.sum() > 3
    _, might = jax.jit(Grounded(repeated).step)(KEY, state, AHEAD, prepared)
    _, real = step(jax.random.split(KEY, 3)[2], state, AHEAD, prepared)
    assert might.shares == real.shares


# --- what is seen


def test_pictures_have_the_size_and_the_colours_that_were_asked_for(prepared):
    seen = {}
    for view in (View(96), View(64), SMALL, replace(SMALL, grey=True), replace(SMALL, samples=2)):
        env = replace(TRAINING, view=view)
        _, picture = jax.jit(env.reset)(KEY, prepared)
        assert picture.shape == (view.size, view.size, view.channels)
        assert picture.dtype == jnp.uint8
        seen[view] = np.asarray(picture)
        dashboard = seen[view][view.size * 7 // 8 :]
        assert dashboard.mean() < 60 < seen[view][: view.size * 7 // 8].mean()
    red = seen[SMALL].astype(int)[..., 0] - seen[SMALL].astype(int)[..., 1]
    assert red[33:39, 23:25].max() > 60  # the car, in its place
    grey = seen[SMALL] @ np.array([0.299, 0.587, 0.114])
    assert np.abs(grey - seen[replace(SMALL, grey=True)][..., 0]).max() <= 1


# --- suites


@pytest.fixture(scope="module")
def domain():
    return build(RacingSettings(resolution=48, frames=1))


def test_suites_have_the_tracks_and_the_limits_of_the_thesis(domain):
    f1 = domain.suites["f1"].tasks
    assert len(f1) == 20
    assert {task.name: task.max_steps for task in f1} == {name: -(-o.steps // 8) for name, o in OUTLINES.items()}
    limits = {1500: "Australia Austria Belgium Italy Monaco Russia", 2500: "Bahrain China Malaysia Portugal"}
    for steps, names in limits.items():
        assert {name for name, outline in OUTLINES.items() if outline.steps == steps} == set(names.split())
    assert [task.name for task in domain.suites["f1-validation"].tasks] == ["Italy", "Singapore", "Germany"]
    assert len(domain.suites["icy-f1"].tasks) == 120
    assert [task.name for task in domain.suites["icy-f1-0.4"].tasks][:1] == ["Australia q=0.4"]
    assert domain.suites["Monaco"].tasks[0].max_steps == 188
    with pytest.raises(UserError, match="The share of ice q is 1.5"):
        Circuit("Monaco", 1.5)


def test_circuits_are_closed_counterclockwise_and_fit_on_the_map():
    env = Racing(SMALL)
    road = jax.jit(lambda key, place: env.prepare(place).road)
    for name in OUTLINES:
        place, angle = centre_line(name)
        steps = np.hypot(*(np.roll(place, -1, axis=0) - place).T)
        assert 2.5 < steps.min() <= steps.max() < 3.5
        x, y = place.T
        assert (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() < 0  # the car faces the other way
        assert np.abs(place).max() + 8 < HELD_OUT_MAP.half
        ahead = place[-1] - place[0]
        assert np.array([-np.sin(angle[0]), np.cos(angle[0])]) @ ahead / np.hypot(*ahead) > 0.9
    for name in ("Malaysia", "China"):  # the longest
        squares = road(KEY, Circuit(name)(KEY)).square
        assert np.asarray(squares).max() < HELD_OUT_MAP.squares


def test_ice_of_a_suite_has_its_share_and_stays_on_the_track():
    for q in (0.0, 0.8):
        course = Circuit("Italy", q)(KEY)
        n = int(course.line.length)
        assert np.asarray(course.ice)[:n].mean() == pytest.approx(q, abs=0.05)
        assert not np.asarray(course.ice)[n:].any()


def test_fresh_and_vanilla_are_new_tracks_every_time(domain):
    for name in ("fresh", "vanilla"):
        (task,) = domain.suites[name].tasks
        courses = jax.jit(jax.vmap(task.sample))(jax.random.split(KEY, 3))
        assert len(np.unique(np.asarray(courses.line.place[:, 5]), axis=0)) == 3
        assert task.max_steps == 125


# --- settings


def test_every_setting_of_the_environment_changes_it():
    changes = {
        "max_steps": 90, "repeat": 4, "frames": 2, "resolution": 64, "grey": True, "samples": 2, "start": "south",
        "shaping": "none", "patience": 7, "ice": "none", "ice_alpha": 2.0, "ice_beta": 3.0,
    }  # fmt: skip
    assert set(changes) == {field.name for field in fields(RacingSettings)}
    base = RacingSettings(ice="beta")

    def parts(settings):
        domain = build(settings)
        sample = domain.levels.sample.__self__
        return domain.env, sample, domain.rules

    assert parts(base) == parts(base)
    for name, value in changes.items():
        assert parts(replace(base, **{name: value})) != parts(base), name
    assert set(RacingSettings().idle()) == {"ice_alpha", "ice_beta"}
    assert isinstance(parts(base)[1], RacingSpace)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"resolution": 50}, "env.resolution is 50; give 96, 64 or 48."),
        ({"repeat": 9}, "env.repeat is 9; give a whole number from 1 to 8."),
        ({"samples": 3}, "env.samples is 3; give 1 or 2."),
        ({"ice_beta": 0.0}, "env.ice_beta is 0.0; give a number greater than 0."),
        ({"max_steps": 0}, "env.max_steps is 0; give at least 1."),
        ({"frames": 0}, "env.frames is 0; give at least 1."),
        ({"patience": -1}, "env.patience is -1; give 0 or more."),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, sentence):
    with pytest.raises(UserError, match=sentence):
        RacingSettings(**changes)


def features(settings):
    domain = build(settings.env)
    agent = build_agent(settings, domain)
    seen = observation_spec(domain.env, jax.eval_shape(domain.levels.sample, KEY))
    params = jax.eval_shape(agent.init, KEY, seen).params
    return params["params"]["core"]["Dense_0"]["kernel"].shape[0]


def test_the_students_eyes_are_those_of_the_tables():
    settings = preset("racing", "dr")
    assert features(settings) == 1024
    assert features(override(settings, {"encoder.kind": "published"})) == 256
    assert features(override(settings, {"encoder.kind": "small", "encoder.features": "50"})) == 50
    with pytest.raises(UserError, match="six convolutions need pictures of 96 pixels, and env.resolution is 64"):
        features(override(settings, {"env.resolution": "64"}))


def test_presets_are_the_tables_of_the_thesis():
    dry, ice = (preset("racing", "robust-plr", name) for name in ("thesis-racing", "thesis-ice"))
    for settings, (epochs, rate, value, capacity) in ((dry, (8, 3e-4, 0.5, 8000)), (ice, (3, 1e-4, 1.0, 500))):
        ppo, replay = settings.ppo, settings.curriculum.replay
        assert (ppo.epochs, ppo.learning_rate, ppo.value_coef) == (epochs, rate, value)
        assert (ppo.discount, ppo.gae_lambda, ppo.minibatches, ppo.clip, ppo.value_clip) == (0.99, 0.9, 4, 0.2, False)
        assert (replay.capacity, replay.score, replay.prioritisation) == (capacity, "pvl", "proportional")
        assert (replay.temperature, replay.staleness, replay.rate) == (1.0, 0.7, 0.5)
        assert (settings.train.levels, settings.train.rollout, settings.network.policy) == (16, 125, "beta")
    repaired = preset("racing", "repaired").curriculum
    assert (repaired.replay.score, repaired.teacher.entropy_coef) == ("maxmc", 0.01)
    assert preset("racing", "paired").curriculum.teacher.entropy_coef == 0.0
