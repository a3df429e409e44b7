"""`graphgauge zoo moonboard` as a user meets it."""

import json
import pickle
import subprocess
import sys

import pytest
from click.testing import CliRunner

from graphgauge.cli.family import family_command
from graphgauge.cli.zoo.moonboard import command
from graphgauge.core.errors import InputError, MissingExtraError, UnknownNameError
from graphgauge.zoo.moonboard.problems import read_problems, write_problems
from graphgauge.zoo.moonboard.synthetic import synthetic

evaluate = family_command("generation")

FAST = ("--problems", 400, "--epochs", 1, "--grades", "6A,6B,6C", "--cpu")


def run(command, *arguments):
    return CliRunner().invoke(command, list(map(str, arguments)))


def moonboard(*arguments):
    return run(command, *arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    for name, more in (("train", ("--latent", 4, "--epochs", 8, "--batch-size", 16)), ("train-classifier", ())):
        done = moonboard(name, "-o", place / f"{name}.pth", *FAST, *more)
        assert done.exit_code == 0, done.output
    return place


def test_training_says_what_came_out(folder, tmp_path):
    done = moonboard("train", "-o", tmp_path / "vae.pth", *FAST, "--quiet")
    assert done.stdout.startswith("reconstruction ")
    assert "validation_iou" in done.stdout
    assert done.stderr == ""
    told = moonboard("train-classifier", "-o", tmp_path / "c.pth", *FAST)
    assert "validation_exact" in told.stdout
    assert "held out, 3 grades" in told.stderr
    assert f"wrote {tmp_path / 'c.pth'}" in told.stderr


def test_generated_problems_are_shown_written_and_drawn(folder, tmp_path):
    given = ("--checkpoint", folder / "train.pth", "--grade", "6b", "--num-samples", 7, "--threshold", 0.1, "--cpu")
    done = moonboard("generate", *given, "--output", tmp_path / "p.json", "--figure", tmp_path / "board.svg")
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == 7
    found = read_problems(tmp_path / "p.json")
    assert found.names.tolist() == ["6B"] * 7
    first = json.loads((tmp_path / "p.json").read_text())["data"][0]
    assert set(first) == {"grade", "moves", "validation"}
    picture = (tmp_path / "board.svg").read_text()
    for text in ("6B #1", "6B #7", "start", "middle", "end", ">18<", ">K<"):
        assert text in picture, text
    again = moonboard("generate", *given)
    assert again.stdout == done.stdout
    assert moonboard("generate", *given, "--seed", 1).stdout != done.stdout


def test_a_grade_that_the_checkpoint_does_not_know(folder):
    outcome = moonboard("generate", "--checkpoint", folder / "train.pth", "--grade", "8A", "--cpu")
    assert isinstance(outcome.exception, UnknownNameError)
    assert "Did you mean '6A'?" in str(outcome.exception)


def test_a_classifier_is_no_generator(folder):
    outcome = moonboard("generate", "--checkpoint", folder / "train-classifier.pth", "--grade", "6A")
    assert isinstance(outcome.exception, InputError)
    assert "moonboard train" in str(outcome.exception)


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "--epochs", "0"),
        ("train", "--beta", "-1"),
        ("train", "--validation", "1"),
        ("train", "--latent", "5000"),
        ("train-classifier", "--seed", "-1"),
        ("generate", "--grade", "6A"),
        ("generate", "--checkpoint", "x", "--grade", "6A", "--num-samples", "0"),
        ("generate", "--checkpoint", "x", "--grade", "6A", "--temperature", "-1"),
    ],
)
def test_usage(arguments):
    assert moonboard(*arguments).exit_code == 2


def test_grades_without_problems(tmp_path):
    outcome = moonboard("train", "--grades", "8C+", "--problems", 5, "-o", tmp_path / "vae.pth")
    assert isinstance(outcome.exception, InputError)
    assert "too few problems of the grades 8C+ (0)" in str(outcome.exception)
    assert not list(tmp_path.iterdir())


def test_a_training_that_diverges_writes_nothing(tmp_path):
    cases = {"beta": ("inf", "no longer finite"), "learning-rate": ("nan", "not a positive number")}
    for option, (value, says) in cases.items():
        outcome = moonboard("train", *FAST, f"--{option}", value, "-o", tmp_path / "vae.pth")
        assert isinstance(outcome.exception, InputError)
        assert says in str(outcome.exception)
    assert not list(tmp_path.iterdir())


def test_help_does_not_need_torch(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "train-classifier" in moonboard("--help").stdout
    assert isinstance(moonboard("train").exception, MissingExtraError)


def test_from_one_shell(folder, tmp_path):
    """A checkpoint and its classifier through `graphgauge generation`, all five sections."""
    made = synthetic(200, seed=5)
    write_problems(tmp_path / "problems.json", made.grids, made.names)
    given = ("--checkpoint", folder / "train.pth", "--classifier-checkpoint", folder / "train-classifier.pth", "--cpu")
    fast = ("--num-samples", 12, "--resamples", 20, "--permutations", 19)
    done = run(evaluate, *given, *fast, "-o", tmp_path / "result.json", "--data", tmp_path / "problems.json")
    assert done.exit_code == 0, done.output
    content = json.loads((tmp_path / "result.json").read_text())
    assert {entry["section"] for entry in content["results"]} >= {
        "reconstruction",
        "diversity",
        "statistical",
        "latent_space",
        "conditioning",
    }
    assert "6C" in done.stdout


class Bomb:
    def __reduce__(self):
        return exec, ("open('ran', 'w')",)


def test_code_in_a_file_is_not_run_and_the_exit_code_is_3(tmp_path):
    (tmp_path / "bomb.pth").write_bytes(pickle.dumps(Bomb()))
    arguments = ["zoo", "moonboard", "generate", "--grade", "6A", "--checkpoint", "bomb.pth"]
    done = subprocess.run(
        [sys.executable, "-m", "graphgauge", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert "bomb.pth" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["bomb.pth"]
