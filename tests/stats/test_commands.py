"""The commands aggregate, compare and gate."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

from graphgauge import Evaluation, Result
from graphgauge.cli.app import cli
from graphgauge.cli.results import aggregate, compare, gate


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    levels = {"ours": 0.9, "theirs": 0.8, "third": 0.7}
    rows = [f"{m},{s},{level + 0.001 * s},{1 - level}" for m, level in levels.items() for s in range(8)]
    (tmp_path / "runs.csv").write_text("\n".join(["method,seed,acc,gap", *rows]))
    return tmp_path


def run(*words):
    return CliRunner().invoke(cli, list(words))


@pytest.mark.parametrize("command", [aggregate, compare, gate])
def test_options_are_few(command):
    own = {each.name for each in command.params if isinstance(each, click.Option)} - {"debug"}
    assert len(own) <= 16


def test_a_comparison_ends_with_its_sentence(table):
    done = run("compare", "runs.csv", "--metric", "acc")
    assert done.exit_code == 0, done.output
    assert done.stdout.rstrip().splitlines()[-1].startswith("ours is better than theirs by acc")
    against = run("compare", "runs.csv", "--metric", "acc", "--baseline", "third")
    assert "Against third by acc over 8 seeds, ours and theirs are better" in against.stdout


@pytest.mark.parametrize(
    ("ending", "start"), [("csv", "first,second"), ("md", "| method"), ("tex", r"\begin{tabular}"), ("json", "{")]
)
def test_outputs_have_the_form_of_their_ending(table, ending, start):
    done = run("compare", "runs.csv", "--metric", "acc", "-o", f"out.{ending}", "--figure", "out.svg")
    assert done.exit_code == 0, done.output
    assert (table / f"out.{ending}").read_text().startswith(start)
    assert "wrote out.svg" in done.stderr


def test_every_family_has_a_table_of_its_own(table):
    """Two of them may have a metric of the same name."""
    for name in ("prediction", "recovery", "ranking"):
        auc = Result(key="roc_auc", metric="roc_auc", value=0.75, n=9, unit="item", direction="higher", bounds=(0, 1))
        for method in (f"by {name}", "other"):
            Evaluation(name, [auc]).save("results", method=method, dataset=name, seed=0)
    done = run("aggregate", "results", "--all")
    assert done.exit_code == 0, done.output
    parts = [part for name in ("ranking", "recovery", "prediction") for part in (f"\n{name}\n", f"by {name}")]
    assert [done.stdout.count(part) for part in parts] == [1] * len(parts)
    assert sorted(parts, key=done.stdout.index) == parts
    for refused in (["-o", "t.csv"], ["--format", "json"]):
        said = run("aggregate", "results", *refused)
        assert said.exit_code != 0
        assert "--only family=ranking" in str(said.exception)
    written = run("aggregate", "results", "--only", "family=recovery", "-o", "t.csv", "--all")
    assert written.exit_code == 0, written.output


def test_methods_and_metrics_are_chosen(table):
    done = run("aggregate", "runs.csv", "--only", "method=ours", "--only", "method=third", "--metric", "acc")
    assert "theirs" not in done.stdout
    assert "gap" not in done.stdout
    printed = run("aggregate", "runs.csv", "--format", "json")
    assert len(json.loads(printed.stdout)) == 6
    few = run("aggregate", "runs.csv", "--metric", "acc", "--digits", "1", "--percent", "--order", "third")
    assert few.stdout.index("third") < few.stdout.index("ours")
    assert "90.4 ± 0.2 *" in few.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("compare", "runs.csv", "--metric", "gap"), "Pass --direction higher or --direction lower"),
        (("compare", "runs.csv", "--metric", "acc", "--baseline", "mlp"), "unknown method 'mlp'"),
        (("compare", "runs.csv"), "metric is missing"),
        (("compare", "runs.csv", "--only", "ours"), "is not ROLE=NAME"),
        (("aggregate", "runs.csv", "--direction", "gap"), "--direction: 'gap' is not NAME=VALUE"),
        (("aggregate", "runs.csv", "--columns", "method=model"), "no column 'model' for method"),
        (("aggregate", "runs.csv", "--metric", "acc", "--all"), "exclude each other"),
        (("aggregate", "runs.csv", "-o", "runs.csv"), "is also an input"),
        (("gate", "runs.csv", "--against", "runs.csv", "--metric", "acc", "--margin", "0.1"), "3 methods"),
    ],
)
def test_refusals_name_options(table, words, said):
    done = run(*words)
    assert done.exit_code != 0
    assert said in f"{done.output} {done.exception}"
