"""A user's own environment in pure JAX: a corridor in a file, its student, and every mistake as a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage
from tutelage.cli import main
from tutelage.runs.session import Silent
from tutelage.settings import NoSettings

CORRIDOR = """
import flax.linen as nn
import jax
import jax.numpy as jnp
import tutelage

LENGTH = 8


def sample(key):
    return {"goal": jax.random.randint(key, (), 2, LENGTH)}


def edit(key, level):
    return {"goal": jnp.clip(level["goal"] + jax.random.choice(key, jnp.array([-1, 1])), 1, LENGTH)}


def observe(state):
    return jnp.stack([state["at"], state["goal"]]) / LENGTH


def reset(key, level):
    state = {"at": 0, "time": 0, "goal": level["goal"], "key": key}
    return state, observe(state)


def step(key, state, action):
    state = {**state, "at": jnp.clip(state["at"] + 2 * action - 1, 0, LENGTH), "time": state["time"] + 1}
    there = state["at"] == state["goal"]
    return state, observe(state), 1.0 * there, there, state["time"] >= 12


more = {}
# MORE
environment = tutelage.Jax(
    **{
        "sample": sample,
        "reset": reset,
        "step": step,
        "actions": 2,
        "edit": edit,
        "easy": lambda key: {"goal": 1},
        "metrics": lambda level: level,
        "tests": {"near": {"goal": 2}, "far": {"goal": 7}},
        "max_steps": 20,
        **more,
    }
)
"""
SMALL = {
    "train.levels": "8",
    "train.rollout": "16",
    "train.steps": str(8 * 8 * 16),
    "train.log_every": "1",
    "train.checkpoint_every": "3",
    "train.evaluate_every": "0",
    "train.episodes": "4",
    "train.suite": "tests",
    "ppo.minibatches": "2",
    "ppo.epochs": "2",
    "network.head": "8",
    "replay.capacity": "16",
    "replay.min_fill": "0.5",
    "replay.duplicates": "true",
    "evolve.start": "easy",
}


@pytest.fixture
def corridor(tmp_path: Path) -> Any:
    """A file with the corridor; lines of Python may change ``more``, what the environment is defined with."""

    def write(lines: str = "", name: str = "corridor") -> Path:
        path = tmp_path / f"{name}.py"
        path.write_text(CORRIDOR.replace("# MORE", lines))
        return path

    return write


class Stopping(Silent):
    def __init__(self, at: int) -> None:
        self.at = at

    def advanced(self, record: Any) -> None:
        if record["iteration"] == self.at:
            raise KeyboardInterrupt


# --- the corridor


def test_an_environment_of_functions_plays_by_them(corridor: Any) -> None:
    domain = tutelage.build_domain(tutelage.preset(str(corridor()), "dr"))
    level = domain.levels.sample(jax.random.key(1))
    goal = int(level["goal"])
    state, obs = domain.env.reset(jax.random.key(2), domain.env.prepare(level))
    np.testing.assert_allclose(obs, [0, goal / 8])
    for i in range(goal):
        state, step = domain.env.step(jax.random.key(3), state, jnp.int32(1), level)
        assert float(step.reward) == (i == goal - 1)
        assert bool(step.done) == bool(step.transition.terminated) == (i == goal - 1)
        assert not step.transition.truncated
        np.testing.assert_allclose(step.obs, [(i + 1) / 8, goal / 8])
    assert (step.reward.dtype, step.done.dtype) == (jnp.float32, jnp.bool_)
    del state["key"]  # which has no such thing
    assert not any(leaf.weak_type for leaf in jax.tree.leaves((state, step, level)))


def test_levels_of_the_corridor_are_what_its_functions_say(corridor: Any) -> None:
    domain = tutelage.build_domain(tutelage.preset(str(corridor()), "dr"))
    levels, key = domain.levels, jax.random.key(0)
    assert levels.edit is not None
    assert levels.easy is not None
    start = levels.easy(key)
    reached = {int(levels.edit(jax.random.key(i), start, 3)["goal"]) for i in range(20)}
    assert reached > {1, 2}
    assert max(reached) <= 4
    assert {name: float(value) for name, value in levels.metrics(start).items()} == {"goal": 1.0}
    assert (levels.vectors, levels.design) == (None, None)
    assert list(domain.suites) == ["fresh", "tests", "near", "far"]
    assert [task.name for task in domain.suites["tests"].tasks] == ["near", "far"]
    assert int(domain.suites["far"].tasks[0].sample(key)["goal"]) == 7
    assert domain.suites["fresh"].tasks[0].max_steps == 20


def test_levels_that_are_vectors_have_bounds(corridor: Any) -> None:
    lines = """
more = {"sample": lambda key: jax.random.uniform(key, (2,)), "edit": None, "easy": None, "tests": {}, "metrics": None}
more |= {"reset": lambda key, level: reset(key, {"goal": 1 + level[0].astype(int)}), "bounds": ([0, 0], [7, 1])}
"""
    path = corridor(lines)
    small = {"train.levels": "4", "train.rollout": "4", "mixture.fit_every": "12"}
    trainer = tutelage.build(tutelage.override(tutelage.preset(str(path), "alp-gmm"), small))
    levels = trainer.propose(trainer.init(0))[1].levels
    assert levels.shape == (1, 4, 2)
    assert (levels <= np.array([7, 1])).all()


def test_a_run_on_the_corridor_trains_shows_and_goes_on_exactly(corridor: Any, monkeypatch, capsys) -> None:
    path: Path = corridor()
    monkeypatch.chdir(path.parent)
    options = [f"--{name}={value}" for name, value in SMALL.items()]
    assert main(["train", "corridor.py", "accel", "--quiet", *options]) == 0
    whole = tutelage.load("runs/corridor-accel-s0")
    assert whole.finished
    assert whole.settings.environment == str(path)
    records = whole.directory.read("metrics.jsonl")
    assert {name for record in records for name in record if name.endswith("/share")} == {
        "generated/share",
        "replayed/share",
        "edited/share",
    }
    assert 1 <= records[-1]["level/goal"] <= 8
    for command in (
        ["show"],
        ["eval", "--suite=far", "--episodes=3"],
        ["levels", "--top=2"],
        ["levels", "--generated"],
    ):
        assert main([command[0], "runs/corridor-accel-s0", *command[1:]]) == 0
    assert "goal" in capsys.readouterr().out
    with pytest.raises(KeyboardInterrupt):
        tutelage.train(whole.settings, "part", Stopping(at=5))
    (path.parent / "elsewhere").mkdir()
    monkeypatch.chdir(path.parent / "elsewhere")
    assert tutelage.load("../part").iteration == 3
    assert tutelage.resume("../part").digest == whole.digest


def test_several_seeds_on_the_corridor_are_one_program(corridor: Any, tmp_path: Path) -> None:
    few = {name: value for name, value in SMALL.items() if not name.startswith(("replay", "evolve"))}
    settings = tutelage.override(tutelage.preset(str(corridor()), "dr"), few | {"train.steps": "256"})
    runs = tutelage.train_seeds(settings, tmp_path / "seeds", 2)
    assert all(run.finished for run in runs)
    assert runs[0].digest != runs[1].digest


def test_what_is_dear_about_a_level_can_be_prepared(corridor: Any) -> None:
    lines = """
more = {
    "prepare": lambda level: {"goal": level["goal"] + 1, "table": jnp.arange(9.0)},
    "step": lambda key, state, action, prepared: (*step(key, state, action)[:2], prepared["table"][1], False, False),
}
"""
    domain = tutelage.build_domain(tutelage.preset(str(corridor(lines)), "dr"))
    level = {"goal": jnp.int32(3)}
    prepared = domain.env.prepare(level)
    state, _ = domain.env.reset(jax.random.key(0), prepared)
    assert int(state["goal"]) == 4
    _, step = domain.env.step(jax.random.key(0), state, jnp.int32(0), prepared)
    assert (float(step.reward), bool(step.done)) == (1.0, False)


# --- the student


def shapes_of(path: Path, **changes: str) -> Any:
    """Parameters of its student, by name."""
    settings = tutelage.override(tutelage.preset(str(path), "dr"), changes)
    params = jax.eval_shape(tutelage.build(settings).init, 0).students.agent.params["params"]
    return jax.tree.map(lambda x: x.shape[1:], params)


SEEING = """
def look(state):
    return {"image": jnp.zeros(SIDES, jnp.uint8) + state["at"].astype(jnp.uint8), "speed": jnp.float32(0)}

def reset_looking(key, level):
    state, _ = reset(key, level)
    state["at"] = jnp.int32(0)
    return state, look(state)

def step_looking(key, state, action):
    state, _, *ends = step(key, state, action)
    return state, look(state), *ends

more = {"reset": reset_looking, "step": step_looking, MORE}
"""


def seeing(more: str = "", sides: str = "(16, 16, 3)") -> str:
    return SEEING.replace("SIDES", sides).replace("MORE", more)


def test_numbers_get_a_student_of_vectors_and_are_normalised(corridor: Any) -> None:
    path = corridor()
    settings = tutelage.preset(str(path), "dr")
    assert (settings.env, settings.encoder) == (NoSettings(), tutelage.VectorEncoder())
    assert (settings.network.core, settings.network.activation) == ("separate", "tanh")
    assert settings.ppo.normalise_observations
    shapes = shapes_of(path)
    assert "encoder" not in shapes
    assert shapes["policy_hidden_0"]["kernel"] == shapes["value_hidden_0"]["kernel"] == (2, 64)


def test_images_get_a_convolutional_network_and_are_left_as_they_are(corridor: Any) -> None:
    path = corridor(seeing())
    settings = tutelage.preset(str(path), "dr")
    assert settings.encoder == tutelage.ImageEncoder()
    assert settings.network.core == "none"
    assert not settings.ppo.normalise_observations
    shapes = shapes_of(path, **{"encoder.channels": "4", "encoder.features": "8"})
    assert shapes["encoder"]["encoders_0"]["convolution_0"]["kernel"] == (8, 8, 3, 4)
    assert shapes["core"]["kernel" if "kernel" in shapes["core"] else "Dense_0"]["kernel"] == (8 + 1, 256)


@pytest.mark.parametrize("sides", ["(15, 16, 3)", "(16, 16, 17)", "(16, 16)"])
def test_what_is_too_small_too_deep_or_flat_is_no_image(corridor: Any, sides: str) -> None:
    assert tutelage.preset(str(corridor(seeing(sides=sides))), "dr").encoder == tutelage.VectorEncoder()


def test_a_file_may_choose_another_of_our_encoders(corridor: Any) -> None:
    path = corridor(seeing('"encoder": tutelage.GridEncoder(filters=3)'))
    assert tutelage.preset(str(path), "dr").encoder == tutelage.GridEncoder(3)
    assert not tutelage.preset(str(path), "dr").ppo.normalise_observations  # codes are no measurements
    grid = shapes_of(path, **{"encoder.filters": "5"})["encoder"]["encoders_0"]
    assert jax.tree.leaves(grid, is_leaf=lambda x: isinstance(x, tuple))[0][-1] == 5
    impala = '"encoder": tutelage.ImageEncoder("impala", channels=2, features=4)'
    path = corridor(seeing(impala, "(20, 20, 1)"), "other")
    assert "residual_0_0" in shapes_of(path)["encoder"]["encoders_0"]


def test_an_encoder_that_finds_nothing_to_look_at_is_refused_in_a_sentence(corridor: Any) -> None:
    path = corridor('more = {"encoder": tutelage.ImageEncoder()}')
    with pytest.raises(tutelage.UserError, match="The image encoder finds no image in an observation of 2 float32"):
        tutelage.build(tutelage.preset(str(path), "dr"))


OWN_EYES = """
class Eyes(nn.Module):
    width: int

    @nn.compact
    def __call__(self, obs):
        return nn.relu(nn.Dense(self.width, name="mine")(obs))

more = {"encoder": Eyes(6), "network": tutelage.NetworkSettings(core="gru", width=4, head=5, layers=2)}
"""


def test_a_file_may_bring_its_own_encoder_and_choose_the_network(corridor: Any) -> None:
    path = corridor(OWN_EYES)
    settings = tutelage.preset(str(path), "dr")
    assert settings.encoder == NoSettings()
    assert settings.network == tutelage.NetworkSettings(core="gru", width=4, head=5, layers=2)
    assert not settings.ppo.normalise_observations
    shapes = shapes_of(path)
    assert shapes["encoder"]["mine"]["kernel"] == (2, 6)
    assert shapes["core"]["input_kernel"] == (6, 4)
    assert shapes["policy_hidden_1"]["kernel"] == (5, 5)


def test_numbers_as_actions_have_a_policy_of_numbers(corridor: Any) -> None:
    lines = """
more = {"actions": tutelage.Continuous(2), "settings": {"network.policy": "beta"}}
more["step"] = lambda key, state, action: step(key, state, (action[0] > 0).astype(jnp.int32))
"""
    settings = tutelage.preset(str(corridor(lines)), "dr")
    domain = tutelage.build_domain(settings)
    assert domain.env.action_space == tutelage.Continuous(2)
    agent = tutelage.build_agent(settings, domain)
    assert type(agent.actions).__name__ == "Beta"


# --- mistakes

WRONG = {
    "reset gives one thing": (
        '{"reset": lambda key, level: {"at": 0}}',
        "reset() in {path} returns one dict; return two things: state, obs.",
    ),
    "reset gives three things": (
        '{"reset": lambda key, level: (*reset(key, level), {})}',
        "reset() in {path} returns 3 things; return two things: state, obs.",
    ),
    "reset fails": (
        '{"reset": lambda key, level: level["gaol"]}',
        "reset() in {path}, line 36 failed: KeyError: 'gaol'. Correct it there.",
    ),
    "prepare fails": (
        '{"prepare": lambda level: level["gaol"]}',
        "prepare() in {path}, line 36 failed: KeyError: 'gaol'. Correct it there.",
    ),
    "step gives four things": (
        '{"step": lambda key, state, action: step(key, state, action)[:4]}',
        "step() in {path} returns 4 things; return five things: state, obs, reward, terminated, truncated.",
    ),
    "step gives a list": (
        '{"step": lambda key, state, action: [*step(key, state, action)]}',
        "step() in {path} returns one list; return five things: ",
    ),
    "step takes too little": (
        '{"step": lambda key, state: (state, 0, 0.0, False, False)}',
        "step() in {path} failed: TypeError: ",
    ),
    "step takes no level that is prepared": (
        '{"prepare": lambda level: level}',
        "step() in {path} failed: TypeError: ",
    ),
    "reward is an array": (
        '{"step": lambda key, state, action: (*step(key, state, action)[:2], jnp.zeros(3), False, False)}',
        "step() in {path} gives a reward of float32[3]; give one number.",
    ),
    "reward is several things": (
        '{"step": lambda key, state, action: (*step(key, state, action)[:2], {"a": 0.5}, False, False)}',
        "step() in {path} gives a reward of {{'a': 'float32[]'}}; give one number.",
    ),
    "terminated is a number": (
        '{"step": lambda key, state, action: (*step(key, state, action)[:2], 0.0, 1, False)}',
        "step() in {path} gives a terminated of int32[]; give one boolean.",
    ),
    "truncated is an array": (
        '{"step": lambda key, state, action: (*step(key, state, action)[:2], 0.0, False, jnp.zeros(2, bool))}',
        "step() in {path} gives a truncated of bool[2]; give one boolean.",
    ),
    "the state changes its dtype": (
        '{"step": lambda key, state, action: ({**state, "at": state["at"] + 0.5}, *step(key, state, action)[1:])}',
        "The state in {path} is {{'at': 'int32[]', ",
    ),
    "the state changes its structure": (
        '{"step": lambda key, state, action: ((state,), *step(key, state, action)[1:])}',
        "after step(); it must keep its structure, shapes and dtypes.",
    ),
    "a named tuple becomes a plain one": (
        '{"reset": lambda key, level: ({"at": S(0)}, jnp.zeros(2)), '
        '"step": lambda key, state, action: ({"at": (0,)}, jnp.zeros(2), 0.0, False, False)}',
        "The state in {path} is ",
    ),
    "the observation changes its shape": (
        '{"step": lambda key, state, action: (state, jnp.zeros(3), *step(key, state, action)[2:])}',
        "The obs in {path} is float32[2] after reset() and float32[3] after step(); it must keep its structure,",
    ),
    "there is no action": ('{"actions": 0}', "actions in {path} is 0; give the number of actions, or tutelage."),
    "actions have names": (
        '{"actions": ["left", "right"]}',
        "actions in {path} is ['left', 'right']; give the number of actions, or tutelage.Continuous(n) for n numbers.",
    ),
    "a level without arrays": (
        '{"sample": lambda key: {}}',
        "sample() in {path} gave a level without arrays; return at least one.",
    ),
    "sample fails": ('{"sample": lambda key: key.goal}', "sample() in {path}, line 36 failed: AttributeError: "),
    "easy gives other levels": (
        '{"easy": lambda key: {"goal": 1.5}}',
        "easy() in {path} gives levels of other shapes or types than sample(): {{'goal': 'float32[]'}} and not "
        "{{'goal': 'int32[]'}}; make them agree.",
    ),
    "a test gives other levels": (
        '{"tests": {"far": {"gaol": 7}}}',
        "The test level 'far' in {path} has other shapes or types than sample(): {{'gaol': 'int32[]'}} and not "
        "{{'goal': 'int32[]'}}; make them agree.",
    ),
    "an encoder that is a name": (
        '{"encoder": "cnn"}',
        "encoder in {path} is 'cnn'; give settings, such as tutelage.ImageEncoder(), or a flax module.",
    ),
    "an encoder that is a class": ('{"encoder": tutelage.ImageEncoder}', "give settings, such as tutelage.ImageEnc"),
    "nothing to see": (
        '{"reset": lambda key, level: (0, ()), "step": lambda key, state, action: (0, (), 0.0, False, False)}',
        "The observation is empty; a student needs at least one array to look at.",
    ),
    "settings that do not exist": ('{"settings": {"train.stepz": "1M"}}', "There is no setting called 'train.stepz'"),
    "settings that are not read": (
        '{"settings": {"network.width": "8"}}',
        "network.width is not read, because network.core is separate; leave it out.",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_in_a_function_is_a_sentence(corridor: Any, name: str) -> None:
    more, sentence = WRONG[name]
    path = corridor(f"import collections\nS = collections.namedtuple('S', 'at')\nmore = {more}")
    with pytest.raises(tutelage.UserError) as refusal:
        tutelage.build(tutelage.preset(str(path), "dr"))
    assert sentence.format(path=path) in str(refusal.value)


def test_a_corridor_without_an_ability_is_refused_by_who_needs_it(corridor: Any) -> None:
    def build(method: str, **changes: str) -> None:
        tutelage.build(tutelage.override(tutelage.preset(str(path), method), changes))

    path = corridor('more = {"edit": None, "easy": None}')
    with pytest.raises(
        tutelage.UserError, match="has no edit function, and replayed levels are changed by it; add one"
    ):
        build("accel")
    with pytest.raises(
        tutelage.UserError, match="has no easy levels, and the first levels are drawn from them; set evo"
    ):
        build("accel", **{"evolve.start": "easy"})
    with pytest.raises(tutelage.UserError, match="has no design task, and a teacher builds its levels step by step; "):
        build("paired")
    path = corridor(name="other")
    with pytest.raises(tutelage.UserError, match="has no editing task, .* set evolve.editor to random"):
        build("accel", **{"evolve.editor": "learned"})
