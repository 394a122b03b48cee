"""`tutelage play`: episodes on levels of one's own, drawn by whoever can draw them."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tutelage
from tutelage import pictures
from tutelage.cli import main
from tutelage.runs import play as playing

SMALL = {
    "train.levels": "4",
    "train.rollout": "8",
    "train.steps": "32",
    "train.episodes": "1",
    "train.evaluate_every": "0",
    "ppo.epochs": "1",
    "ppo.minibatches": "1",
}
LEVELS = """== Corridor
#####
#>.G#
#####

== Walled in
#####
#>#G#
#####
"""


@pytest.fixture(scope="module")
def maze(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("maze") / "run"
    tutelage.train(tutelage.override(tutelage.preset("maze", "dr", "small"), SMALL), path)
    return path


def test_levels_of_a_file_are_played_and_drawn(maze: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "my.txt").write_text(LEVELS)
    file = str(tmp_path / "my.txt")
    out = tmp_path / "episode.gif"
    assert main(["play", str(maze), "--level", file, "--gif", str(out), "--png", str(tmp_path / "a.png")]) == 0
    said = capsys.readouterr().out
    assert "Walled in: not solved in 64 steps, return 0.000" in said
    with Image.open(tmp_path / "episode-Corridor.gif") as moving:
        assert getattr(moving, "n_frames", 0) > 1
    with Image.open(tmp_path / "a-Walled-in.png") as strip:
        assert strip.size[0] > 100

    run = tutelage.load(maze)
    watched = tutelage.play(run, file)
    assert [one.name for one in watched] == ["Corridor", "Walled in"]
    counted = run.evaluate(file, episodes=1)
    assert [one.episode.total for one in watched] == pytest.approx([task.mean_return for task in counted.tasks])
    assert len(playing.frames(run, watched[0].episode)) == watched[0].episode.length + 1


def test_a_level_is_printed_where_nothing_is_drawn(maze: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "my.txt").write_text(LEVELS.split("\n\n")[0])
    assert main(["play", str(maze), "--level", str(tmp_path / "my.txt"), "--greedy"]) == 0
    assert "#>.G#" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--gif", "a.png"], "give a name that ends with .gif"),
        (["--level", "a.toml"], "whose name ends with .txt"),
        (["--level", "nowhere.txt"], "could not be read"),
        (["--episode", "-1"], "counted from 0"),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(maze: Path, words, sentence, capsys: pytest.CaptureFixture[str]):
    assert main(["play", str(maze), *words]) == 2
    assert sentence in capsys.readouterr().err


def test_a_video_needs_an_encoder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pictures.shutil, "which", lambda name: None)
    monkeypatch.setattr(pictures, "find_spec", lambda name: None)
    with pytest.raises(tutelage.UserError, match="needs ffmpeg, which is not installed"):
        pictures.mp4([np.zeros((4, 4, 3), np.uint8)])


def test_a_video_has_all_frames():
    try:
        program = pictures.encoder()
    except tutelage.UserError:
        pytest.skip("there is no ffmpeg here")
    colours = [np.full((33, 47, 3), shade, np.uint8) for shade in (0, 128, 255)]
    video = pictures.mp4(colours, pace=500)
    decode = [program, "-loglevel", "error", "-f", "mp4", "-i", "pipe:0", "-f", "rawvideo", "-pix_fmt", "gray", "-"]
    seen = np.frombuffer(subprocess.run(decode, input=video, capture_output=True, check=True).stdout, np.uint8)
    shades = seen.reshape(-1, 34, 48).mean((1, 2))  # even sides
    np.testing.assert_allclose(shades, [0, 128, 255, 255, 255], atol=4)


GYMNASIUM = """
import jax, tutelage
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.wrappers import TimeLimit

class CartPole(CartPoleEnv):
    def reset(self, *, seed=None, options=None):
        self.length = float(options["level"])
        return super().reset(seed=seed)

    def render(self):  # as Gymnasium's own, without a window system
        import numpy as np
        picture = np.zeros((40, 60, 3), np.uint8)
        picture[int(20 + 10 * self.state[2]), :, 0] = 255
        return picture if self.render_mode == "rgb_array" else None

environment = tutelage.Gymnasium(
    make=lambda {mode}: TimeLimit(CartPole(render_mode={value}), 30),
    sample=lambda key: 0.1 + jax.random.uniform(key), tests={{"long": 1.5}},
)
"""

JAX = """
import jax, jax.numpy as jnp, tutelage

def step(key, state, action):
    return state + 1, jnp.float32(state)[None], 1.0, state >= 3, False

environment = tutelage.Jax(
    reset=lambda key, level: (level, jnp.float32(level)[None]), step=step, actions=2, max_steps=5,
    sample=lambda key: jax.random.randint(key, (), 0, 2),
    render=lambda state: jnp.full((5, 7, 3), 10 * state, jnp.uint8),
)
"""


@pytest.mark.parametrize("kind", ["gymnasium", "jax", "blind"])
def test_an_environment_of_ones_own_is_drawn_by_its_render(kind: str, tmp_path: Path):
    file = tmp_path / f"{kind}_world.py"
    mode = {"mode": "render_mode=None", "value": "render_mode"} if kind == "gymnasium" else {"mode": "", "value": None}
    file.write_text(JAX if kind == "jax" else GYMNASIUM.format(**mode))
    settings = tutelage.preset(str(file), "dr")
    run = tutelage.train(tutelage.override(settings, SMALL), tmp_path / "run")
    watched = tutelage.play(run, "fresh")
    if kind == "blind":
        with pytest.raises(tutelage.UserError, match="cannot be drawn"):
            playing.save(run, watched, tmp_path / "a.gif")
        return
    frames = playing.frames(run, watched[0].episode)
    assert len(frames) == watched[0].episode.length + 1
    if kind == "jax":
        first = int(watched[0].episode.level)
        assert [int(frame[0, 0, 0]) for frame in frames] == [10 * state for state in range(first, 5)]
    else:
        assert len({frame.tobytes() for frame in frames}) > 1, "the pole moves"
    (written,) = playing.save(run, watched, tmp_path / "a.png")
    assert Image.open(io.BytesIO(written.read_bytes())).format == "PNG"
