"""Files first, then words: whatever becomes of stdout, no file is lost and the exit code stays what it is."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from tests.command import graphgauge

from graphgauge.cli.command import files_then_words
from graphgauge.core.errors import InputError

COMMAND = f"{sys.executable} -m graphgauge"
RANKING = "ranking --pos-scores pos.npy --neg-scores neg.npy"
# Ways in which nobody reads: the reader has left, never was there, or there is no room for what it says.
UNHEARD = {
    "a pipe that is closed": "| true",
    "both streams in a pipe that is closed": "2>&1 | true",
    "stdout closed": ">&-",
    "both streams closed": ">&- 2>&-",
    "stdout and stdin closed": ">&- <&-",
    "stderr full": ">/dev/null 2>/dev/full",
}
ENCODINGS = ["ascii", "cp1252", "latin-1", "cp437", "ascii:strict", "utf-8:strict"]


def shell(line, folder):
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        cwd=folder,
        capture_output=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    np.save(folder / "pos.npy", rng.normal(1, 1, 40))
    np.save(folder / "neg.npy", rng.normal(0, 1, (40, 8)))
    for method in ("one", "other"):
        for seed in range(3):
            named = f"--method {method} --dataset toy --run-seed {seed} --quiet --format json"
            done = graphgauge(*f"{RANKING} {named}".split(), cwd=folder)
            assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("unheard", UNHEARD)
def test_nobody_hears_and_everything_is_written(files, tmp_path, unheard):
    written = {
        "-o": "o.json",
        "--flat": "flat.json",
        "--figure": "f.svg",
        "--state": "s.npz",
    }
    options = "--keep-items " + " ".join(f"{flag} {tmp_path / name}" for flag, name in written.items())
    for gate, expected in (("mrr >= 0", 0), ("mrr >= 1.5", 1)):
        done = shell(f"{COMMAND} {RANKING} {options} --gate '{gate}' {UNHEARD[unheard]}", files)
        assert done.returncode == expected, done.stderr
        assert b"Traceback" not in done.stderr
        assert b"Exception ignored" not in done.stderr
        assert {path.name for path in tmp_path.iterdir()} == {*written.values(), "o.items.npz"}
        for path in tmp_path.iterdir():
            path.unlink()


@pytest.mark.parametrize("unheard", ["a pipe that is closed", "stdout closed"])
@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("aggregate results -o {0}/t.csv --figure {0}/t.svg", ["t.csv", "t.svg"]),
        ("compare results --metric mrr -o {0}/t.md --figure {0}/t.svg", ["t.md", "t.svg"]),
        ("report results -o {0}/page.html", ["page.html"]),
        ("init ranking -o {0}/study.toml", ["study.toml"]),
    ],
)
def test_every_command_writes_first(files, tmp_path, command, written, unheard):
    done = shell(f"{COMMAND} {command.format(tmp_path)} {UNHEARD[unheard]}", files)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == written


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "command", ["aggregate results", "compare results --metric mrr", RANKING, "metrics mrr", "audit results"]
)
def test_an_encoding_without_the_characters(files, tmp_path, command, encoding):
    target = tmp_path / "t.json"
    output = [] if command.startswith(("metrics", "audit")) else ["-o", target]
    # Python itself sets up the streams at least once for every encoding.
    fresh = command == "aggregate results"
    done = graphgauge(*command.split(), *output, cwd=files, fresh=fresh, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert not output or json.loads(target.read_text())
    text = done.stdout  # decoded as that encoding and nothing else
    assert text.strip()
    if command == "aggregate results":
        assert (
            "±" if "cp1252" in encoding or "latin" in encoding or "utf" in encoding else "+/-"
        ) in text or "cp437" in encoding
        assert ("mrr ↑" if "utf" in encoding else "mrr ^") in text


def test_a_name_that_no_encoding_has(files, tmp_path):
    named = f"--method $'b\\xff' --dataset toy -o {tmp_path}/o.json"
    done = shell(f"{COMMAND} {RANKING} {named} && {COMMAND} aggregate {tmp_path}/o.json --metric mrr", files)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


def test_a_full_stdout_is_said_and_keeps_the_gates_code(files):
    done = shell(f"{COMMAND} {RANKING} >/dev/full", files)
    assert done.returncode == 3
    assert done.stderr.decode() == "Error: stdout cannot be written (No space left on device).\n"
    assert shell(f"{COMMAND} {RANKING} --gate 'mrr >= 1.5' >/dev/full", files).returncode == 1


def test_one_file_that_fails_takes_nothing_with_it(files, tmp_path):
    options = f"--flat /dev/full -o {tmp_path}/o.json --figure {files}/pos.npy/below.svg"
    done = shell(f"{COMMAND} {RANKING} {options}", files)
    assert done.returncode == 3
    assert b"mrr" in done.stdout
    assert (tmp_path / "o.json").exists()
    assert b"/dev/full: cannot be written (No space left on device)." in done.stderr
    assert b"below.svg: cannot be written (" in done.stderr


def test_words_follow_files_even_where_a_file_fails():
    order = []

    def fail():
        order.append("failing")
        raise InputError("cannot be written")

    with pytest.raises(InputError):
        files_then_words([fail, lambda: order.append("file")], lambda: order.append("words"))
    assert order == ["failing", "file", "words"]
