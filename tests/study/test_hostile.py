"""Names that would leave their folder, run in a terminal or break a file do none of that."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import pytest
from tests.command import graphgauge as command
from tests.study.conftest import results_of

from graphgauge.study import read_study, run, verify
from graphgauge.study.text import cleaned, shown
from graphgauge.study.toml import value

NAMES = [
    "<script>alert(1)</script>",
    "../../x",
    "/etc/passwd",
    "..",
    ".",
    "",
    "a\nb\r\x1b[31mred\x1b[2J",
    "=1+1",
    "naïve 日本語 🙂 \u202eabc",
    "con\x00trol",
    "$(touch owned) `touch owned`; touch owned",
    "--output=owned.json",
    "x" * 1000,
    "comparisons ",
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A study of methods, datasets and groups by these names, run to its end."""
    folder = tmp_path_factory.mktemp("outer") / "inner" / "study"
    folder.mkdir(parents=True)
    draw = np.random.default_rng(0)
    np.save(folder / "pos.npy", draw.normal(1, 1, 30))
    np.save(folder / "neg.npy", draw.normal(0, 1, (30, 5)))
    names = [name for name in NAMES if "\x00" not in name]
    labels = [re.sub(r"[\r\n]", " ", names[query % 9]) for query in range(30)]
    (folder / "labels.txt").write_text("\n".join(labels), encoding="utf-8")
    # A table each: names such as these cannot be filled into the name of a file.
    tables = "".join(
        f"""\
[[evaluate]]
family = "ranking"
dataset = {value(dataset)}
method = {value(method)}
pos_scores = "pos.npy"
neg_scores = "neg.npy"
groups = {{ {value(NAMES[6].replace("=", ""))} = "labels.txt" }}
"""
        for dataset in (NAMES[1], NAMES[6])
        for method in names
    )
    text = f"""\
schema = 1
name = {value(NAMES[6])}
{tables}[[compare]]
metric = "mrr"
missing = "omit"
[[gate]]
require = "mrr > 0"
"""
    (folder / "study.toml").write_text(text, encoding="utf-8")
    before = everything(folder.parents[1])
    done = command("run", "study.toml", cwd=folder)
    return folder, names, before, done


def everything(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_nothing_is_written_outside_the_results(hostile):
    folder, names, before, done = hostile
    assert done.returncode in (0, 4), done.stderr[:2000]
    added = everything(folder.parents[1]) - before
    assert all(path.startswith("inner/study/results") for path in added)
    files = list((folder / "results").rglob("metrics_*.json"))
    assert len(files) == 2 * len(names)
    assert {json.loads(path.read_text(encoding="utf-8"))["run"]["method"] for path in files} == set(names)
    assert all(len(part.encode()) < 256 for path in added for part in path.split("/"))


def test_the_terminal_gets_no_commands_and_no_endless_lines(hostile):
    _, _, _, done = hostile
    for stream in (done.stdout, done.stderr):
        assert "\x1b" not in stream
        assert "\r" not in stream
        assert max(map(len, stream.split("\n"))) < 1200
        assert len(stream) < 1_000_000


def test_results_with_such_names_are_verified(hostile):
    folder, names, _, _ = hostile
    verdicts = verify(folder / "results")
    assert [verdict.status for verdict in verdicts] == ["equal"] * 2 * len(names)


def test_a_nul_is_refused_by_toml_or_written_away(tmp_path):
    (tmp_path / "study.toml").write_text('schema = 1\nname = "a\0b"\n')
    with pytest.raises(ValueError, match="line 2"):
        read_study(tmp_path / "study.toml")


def test_a_file_name_that_is_not_utf8(tmp_path):
    draw = np.random.default_rng(0)
    for name, array in ((b"pos", draw.normal(1, 1, 30)), (b"neg", draw.normal(0, 1, (30, 5)))):
        np.save(tmp_path / "x.npy", array)
        os.rename(os.fsencode(tmp_path / "x.npy"), os.fsencode(tmp_path) + b"/" + name + b"-\xff\xfe.npy")  # noqa: PTH104
    text = 'schema = 1\n[[evaluate]]\nfamily = "ranking"\nmethod = "m"\ndataset = "d"\n'
    (tmp_path / "study.toml").write_text(text + 'pos_scores = "pos-*.npy"\nneg_scores = "neg-*.npy"\n')
    outcome = run(tmp_path / "study.toml")
    assert [done.status for done in outcome.done] == ["ok"], outcome.done
    assert run(tmp_path / "study.toml").done == ()
    assert [verdict.status for verdict in verify(tmp_path / "results")] == ["equal"]
    assert len(results_of(tmp_path)) == 2


@pytest.mark.parametrize("key", ["method", "dataset"])
def test_an_endless_name_is_refused_at_its_line(tmp_path, key):
    names = {"method": "m", "dataset": "d"} | {key: "x" * 400_000}
    lines = [f"{name} = {value(text)}" for name, text in names.items()]
    (tmp_path / "study.toml").write_text("\n".join(["schema = 1", "[[evaluate]]", 'family = "ranking"', *lines]))
    done = command("run", "study.toml", cwd=tmp_path)
    assert done.returncode == 3
    assert f"line {4 + list(names).index(key)}: " in done.stderr
    assert "a name has 400,000 characters" in done.stderr
    assert len(done.stderr) < 500


def test_endless_texts_elsewhere_do_no_harm(tmp_path):
    """In a value that names a file, and in the name of the study."""
    text = f'schema = 1\nname = "{"n" * 400_000}"\n[[evaluate]]\nfamily = "ranking"\nmethod = "m"\ndataset = "d"\n'
    (tmp_path / "study.toml").write_text(text + f'pos_scores = "{"p" * 400_000}"\nneg_scores = "n.npy"\n')
    done = command("run", "study.toml", cwd=tmp_path)
    assert done.returncode == 4
    assert "Traceback" not in done.stderr
    assert max(map(len, done.stderr.split("\n"))) < 1200


def test_a_name_with_a_pattern_does_not_find_the_files_of_another(tmp_path):
    text = 'schema = 1\n[[evaluate]]\nfamily = "ranking"\nmethod = "conv[1]"\ndataset = "d"\n'
    (tmp_path / "study.toml").write_text(text + 'pos_scores = "{method}.npy"\n')
    with pytest.raises(ValueError, match="patterns in a path"):
        read_study(tmp_path / "study.toml")


def test_shown_names_are_short_single_lines():
    for name in NAMES:
        assert len(shown(name)) < 200
        assert shown(name).isprintable()
    assert shown("x" * 100) != shown("x" * 101)
    assert cleaned("a\nb\tc\x1b[1m").split("\n") == ["a", "b\\tc\\x1b[1m"]
