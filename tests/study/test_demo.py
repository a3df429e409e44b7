"""The built-in study: every family that has a command is in it, and what it says comes from its results."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest
from tests.command import graphgauge as command

from graphgauge.demo import SEEDS, demos
from graphgauge.explanation import read_table
from graphgauge.old.core.family import BUILT_IN as FAMILIES

# One process runs the demo, and the tests of what it made.
pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return folder, command("demo", "--output", "here", cwd=folder, fresh=True)


def test_every_family_has_a_part():
    assert set(demos()) == set(FAMILIES)


def test_it_ends_with_the_page_and_three_sentences(demo):
    folder, done = demo
    assert done.returncode == 0, done.stderr
    *_, page, empty, first, second, third = done.stdout.rstrip("\n").split("\n")
    assert page == "Page: here/report.html"
    assert (folder / "here" / "report.html").stat().st_size <= 2_500_000
    assert empty == ""
    for family, part in demos().items():
        assert re.search(rf"in {family} \({part.metric} 0\.\d+, chance 0\.\d+\)", first)
        assert re.search(rf"\d of 3 in {family} \({len(SEEDS)} seeds\)", second)
    assert re.match(r"\d+ of 126 results have the finding ", third)
    assert list(folder.iterdir()) == [folder / "here"]


def test_the_sentences_are_the_results(demo):
    folder, done = demo
    for number, part in enumerate(demos().values(), 1):
        comparison = json.loads((folder / f"here/results/comparisons/{number}-{part.metric}.json").read_text())
        mean = next(row["mean"] for row in comparison["methods"] if row["method"] == comparison["best"])
        assert f"{comparison['best']} in {part.family} ({part.metric} {mean:.3f}" in done.stdout


def test_results_of_every_method_are_recomputed(demo):
    folder, _ = demo
    # The same depth, so that receipts find their inputs.
    shutil.copytree(
        folder / "here/results", folder / "here/first", ignore=shutil.ignore_patterns("*_[1-9]*.*", "study*")
    )
    assert len([*(folder / "here/first").rglob("metrics_*_0.json")]) == 3 * len(demos())
    done = command("verify", "here/first", "--quiet", cwd=folder, fresh=True)
    shutil.rmtree(folder / "here/first")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.slow
def test_the_results_of_every_family_are_recomputed(demo):
    folder, _ = demo
    done = command("verify", "here/results", "--quiet", cwd=folder, fresh=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_again_takes_all_from_before_and_another_study_is_left_alone(demo):
    folder, done = demo
    again = command("demo", "--output", "here", cwd=folder)
    assert again.stdout == done.stdout
    (folder / "other").mkdir()
    (folder / "other/study.toml").write_text("schema = 1\n")
    refused = command("demo", "--output", "other", cwd=folder)
    assert refused.returncode == 3
    assert "another study" in refused.stderr
    assert (folder / "other/study.toml").read_text() == "schema = 1\n"
    (folder / "other/study.toml").unlink()
    (folder / "other").rmdir()


def test_without_the_extra_it_says_which_one(monkeypatch, tmp_path):
    from graphgauge.cli.demo import _page

    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr("graphgauge.report.html.write_report", refuse)
    assert "graphgauge[report]" in _page(tmp_path, tmp_path / "report.html")


def test_no_part_needs_torch(tmp_path):
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path; from graphgauge.demo.study import write_study\n"
        f"write_study(Path({str(tmp_path)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    part = demos()["explanation"]
    for seed in SEEDS:
        table = read_table(tmp_path / part.inputs["table"].format(seed=seed))
        assert table.explainers == list(part.methods)


def refuse(*arguments):
    from graphgauge.core.extras import need

    need("jinja2", "the HTML report")
