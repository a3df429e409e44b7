"""What goes wrong ends with a sentence and a code of its own, and never with the code of a gate."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from tests.command import graphgauge

from graphgauge.cli import app
from graphgauge.core.disk import atomic_path, write_text
from graphgauge.core.errors import InputError

DISK = [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO]


def ended(monkeypatch, capsys, fault, *options):
    """The exit code and stderr of a command that raises `fault`."""

    def fail(**kwargs):
        raise fault

    monkeypatch.setattr(app.cli, "invoke", lambda ctx: fail())
    monkeypatch.setattr(sys, "argv", ["graphgauge", "metrics", *options])
    with pytest.raises(SystemExit) as stop:
        app.main()
    return stop.value.code, capsys.readouterr().err


OURS = [ValueError("of ours\nand more"), KeyError("x"), RecursionError(), AssertionError(), OSError("odd")]


@pytest.mark.parametrize("fault", [*OURS, SystemExit(0), SystemExit(1)])
def test_an_internal_fault_has_a_code_of_its_own(monkeypatch, capsys, fault):
    code, text = ended(monkeypatch, capsys, fault)
    assert code == 70
    assert text.startswith("Error: internal fault: ")
    assert text.count("\n") == 1
    assert "--debug shows the traceback" in text
    code, text = ended(monkeypatch, capsys, fault, "--debug")
    assert code == 70
    assert "Traceback" in text


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "x/y.json"), 3, "x/y.json: Permission denied."),
        (OSError(errno.ENOSPC, "No space left on device"), 3, "No space left on device."),
        (MemoryError("Unable to allocate 3 TiB"), 3, "not enough memory (Unable to allocate 3 TiB)."),
        (MemoryError(), 3, "not enough memory."),
        (InputError("is empty", where="a.npy"), 3, "a.npy: is empty."),
        (click.Abort(), 130, ""),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_what_the_world_does_is_no_internal_fault(monkeypatch, capsys, fault, code, said):
    found, text = ended(monkeypatch, capsys, fault)
    assert found == code
    assert said in text
    assert "Traceback" not in text


def test_debug_keeps_the_exit_code(tmp_path):
    done = graphgauge("ranking", "--pos-scores", "none.npy", "--neg-scores", "none.npy", "--debug", cwd=tmp_path)
    assert done.returncode == 3
    assert "Traceback" in done.stderr


@pytest.mark.parametrize("number", DISK)
@pytest.mark.parametrize("moment", ["touch", "write_bytes", "replace"])
def test_a_disk_that_fails_at_any_moment(monkeypatch, tmp_path, number, moment):
    def fail(path, *arguments, **options):
        raise OSError(number, "the disk says no", str(path))

    monkeypatch.setattr(Path, moment, fail)
    with pytest.raises(InputError, match=r"x\.json: cannot be written \(the disk says no\)"):
        write_text(tmp_path / "x.json", "text")
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


def test_another_files_error_is_not_that_of_the_target(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "x.json"):
        (tmp_path / "other").read_text()
    with pytest.raises(ConnectionError), atomic_path(tmp_path / "x.json"):
        raise ConnectionResetError(errno.ECONNRESET, "gone")
    with pytest.raises(InputError, match=r"x\.json: cannot be written"), atomic_path(tmp_path / "x.json") as path:
        raise PermissionError(errno.EACCES, "no", str(path))


def test_a_device_is_written_and_not_replaced(tmp_path):
    before = Path("/dev/null").stat()
    write_text("/dev/null", "x")
    assert Path("/dev/null").stat().st_rdev == before.st_rdev
    with pytest.raises(InputError, match=r"/dev/full: cannot be written \(No space left on device\)"):
        write_text("/dev/full", "x")
    assert Path("/dev/full").is_char_device()


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    (folder / "results").mkdir()
    rng = np.random.default_rng(1)
    for name in ("a", "b"):
        np.save(folder / "pos.npy", rng.normal(1, 1, 30))
        np.save(folder / "neg.npy", rng.normal(0, 1, (30, 5)))
        named = (
            "--method",
            name,
            "--dataset",
            "toy",
            "--run-seed",
            "0",
            "--state",
            f"{name}.npz",
            "-o",
            f"results/{name}.json",
        )
        done = graphgauge("ranking", "--pos-scores", "pos.npy", "--neg-scores", "neg.npy", *named, cwd=folder)
        assert done.returncode == 0, done.stderr
    (folder / "study.toml").write_text(
        'schema = 1\nresults = "pos.npy/below"\n[[evaluate]]\nfamily = "ranking"\ndataset = "toy"\nmethod = "a"\n'
        'pos_scores = "pos.npy"\nneg_scores = "neg.npy"\n'
    )
    return folder


@pytest.mark.parametrize("place", ["/dev/full", "pos.npy/below.svg", "/proc/nowhere/x.svg"])
@pytest.mark.parametrize(
    "command",
    [
        ("aggregate", "results", "-o"),
        ("aggregate", "results", "--metric", "mrr", "--figure"),
        ("compare", "results", "--metric", "mrr", "-o"),
        ("report", "results", "-o"),
        ("merge", "a.npz", "-o"),
        ("merge", "a.npz", "--save"),
        ("merge", "a.npz", "--figure"),
        ("merge", "a.npz", "--flat"),
        ("init", "--force", "-o"),
    ],
)
def test_a_place_that_cannot_be_written(results, command, place):
    ending = ".html" if command[0] == "report" else ".svg"
    place = place.replace(".svg", ending)
    if ("--figure" in command or command[0] == "report") and place == "/dev/full":
        link = results / f"full{ending}"
        if not link.is_symlink():
            link.symlink_to(place)
        place = link.name
    if command[0] == "merge" and command[-1] == "-o":
        place = place.replace(".svg", ".json")  # result files with another ending are refused
    if command[0] in ("aggregate", "compare") and command[-1] == "-o":
        place = place.replace(".svg", ".txt")
    done = graphgauge(*command, place, cwd=results)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert "cannot be written (" in done.stderr
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("command", [("run", "study.toml"), ("demo", "--output", "pos.npy/below")])
def test_a_folder_that_cannot_be_made(results, command):
    done = graphgauge(*command, cwd=results)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert "below" in done.stderr
    assert "cannot be written (" in done.stderr
