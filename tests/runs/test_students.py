"""Students without their runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tutelage
from tutelage.cli import main
from tutelage.errors import UserError
from tutelage.player import read
from tutelage.runs import students


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[tutelage.Run, Path]:
    """A run of two iterations, and its student as a file."""
    folder = tmp_path_factory.mktemp("student")
    settings = tutelage.override(
        tutelage.preset("matrix", "dr"), {"train.steps": "2k", "train.levels": "8", "train.evaluate_every": "0"}
    )
    run = tutelage.train(settings, folder / "run")
    assert main(["export", str(folder / "run"), "--out", str(folder / "tiny.safetensors")]) == 0
    return run, folder / "tiny.safetensors"


def test_a_student_from_a_file_plays_as_in_its_run(trained: tuple[tutelage.Run, Path]) -> None:
    run, file = trained
    student = tutelage.read_student(file)
    assert repr(student) == "<Student tiny: matrix, dr>"
    assert (
        student.evaluate(episodes=20).tasks[0].returns.tolist() == run.evaluate(episodes=20).tasks[0].returns.tolist()
    )


def test_the_command_takes_a_file_and_keeps_nothing(
    trained: tuple[tutelage.Run, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run, file = trained
    before = (run.directory.path / "evaluations.jsonl").read_bytes()
    assert main(["eval", str(file), "--episodes", "5"]) == 0
    assert "columns, 5 episodes each" in capsys.readouterr().out
    assert (run.directory.path / "evaluations.jsonl").read_bytes() == before
    assert main(["eval", str(file), "--student", "1"]) == 2
    assert "--student is for runs" in capsys.readouterr().err


def test_what_is_no_student_is_refused(trained: tuple[tutelage.Run, Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no pretrained student called 'nobody'"):
        tutelage.pretrained("nobody")
    with pytest.raises(UserError, match="could not be read"):
        tutelage.read_student(tmp_path / "none.safetensors")
    for data in (b"", b"12345678", b"\x02\0\0\0\0\0\0\0{}", trained[1].read_bytes()[:-100]):
        (tmp_path / "bad.safetensors").write_bytes(data)
        with pytest.raises(UserError, match="is not a student that `tutelage export` wrote"):
            tutelage.read_student(tmp_path / "bad.safetensors")


def test_a_student_whose_weights_do_not_fit_its_settings_is_refused(
    trained: tuple[tutelage.Run, Path], tmp_path: Path
) -> None:
    data = trained[1].read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    header["__metadata__"]["config"] = header["__metadata__"]["config"].replace("width = 8", "width = 9")
    text = json.dumps(header).encode()
    (tmp_path / "other.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data[end:])
    with pytest.raises(UserError, match=r"The tensor .* has the shape .* and not"):
        tutelage.read_student(tmp_path / "other.safetensors")


@pytest.mark.parametrize("name", students.names())
def test_pretrained_students_are_small_and_whole(name: str) -> None:
    file = Path(students.__file__).parents[1] / "pretrained" / f"{name}.safetensors"
    assert file.stat().st_size < 500_000
    environment, method = (
        json.loads(read(file)[1]["tutelage"])["environment"],
        tutelage.pretrained(name).settings.method,
    )
    assert name.startswith(f"{environment}-{method}-")


def test_the_student_of_mazes_that_comes_with_tutelage_solves_them() -> None:
    """Most of these mazes are solved by every episode of it, as docs/fast.md has it."""
    result = tutelage.pretrained("maze-accel-fast").evaluate("Labyrinth2", episodes=10)
    assert result.solved_rate == 1
