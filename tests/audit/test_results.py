"""`audit PATH`: what checks find in stored results, each once, and the exit code."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.command import graphgauge as command
from tests.report.conftest import evaluation

from graphgauge import Finding, audit
from graphgauge.core.errors import InputError, OptionError


@pytest.fixture
def results(tmp_path):
    """Two methods with three seeds each, which is too few."""
    draw = np.random.default_rng(0)
    for method in ("a", "b"):
        for seed in range(3):
            evaluation(draw, method, seed).save(tmp_path / "results")
    return tmp_path / "results"


def test_findings_of_many_results(results):
    assert [each.check for each in audit.run(results)] == ["few-seeds"]
    assert audit.run(results, ignore=["few-seeds"])[0].ignored
    assert not audit.run(results, only=["unpaired-seeds"])
    with pytest.raises(OptionError, match="Did you mean 'few-seeds'"):
        audit.run(results, only=["few-seed"])


def test_a_finding_of_several_runs_stands_once():
    found = Finding(check="x", severity="warning", message="m", remedy="r")
    draw = np.random.default_rng(0)
    runs = [evaluation(draw, "a", seed) for seed in range(3)]
    for each in runs:
        each._findings = (found,)
    (once,) = [each for each in audit.run(runs) if each.check == "x"]
    assert once.where == "3 runs of ranking; the first, a on made up, seed 0"


def test_the_command(results):
    done = command("audit", "results", cwd=results.parent)
    assert done.returncode == 0
    assert done.stdout.startswith("warning [few-seeds] ranking on made up: 2 methods are compared on 3 seeds")
    assert done.stdout.endswith("1 warning: `graphgauge audit --explain CHECK` says more.\n")
    assert command("audit", "results", "--fail-on", "warning", cwd=results.parent).returncode == 1
    assert command("audit", "results", "--ignore", "few-seeds", cwd=results.parent).stdout == "Nothing found.\n"
    rows = json.loads(command("audit", "results", "--format", "json", cwd=results.parent).stdout)
    assert [row["check"] for row in rows] == ["few-seeds"]
    assert command("audit", "--explain", "few-seeds").stdout.startswith("# `few-seeds`\n")


def test_what_cannot_be_audited(results, tmp_path):
    (results / "a.json").write_text("{}")
    assert audit.run(results)
    with pytest.raises(InputError, match="no such file"):
        audit.run(tmp_path / "gone")
    damaged = sorted(results.rglob("metrics_*.json"))[0]
    damaged.write_text(damaged.read_text()[:-40])
    found = audit.run(results, only=["unreadable-result"])
    assert [each.evidence["files"] for each in found] == [1]
    assert damaged.name in found[0].message
    with pytest.raises(InputError, match="not a JSON file"):
        audit.run(damaged)
    done = command("audit", "results", cwd=results.parent)
    assert (done.returncode, done.stdout.count("few-seeds"), done.stdout.count("unreadable-result")) == (1, 1, 1)
    assert command("audit", cwd=tmp_path).returncode == 2
