"""The commands of doors: help in sections, an example without arguments, files before words, and merging of states."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.contracts.toy_doors import RANKS

from graphgauge.cli.app import cli
from graphgauge.cli.door import DoorCommand
from graphgauge.core.door import door_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.io.request import Request, evaluate_files


@pytest.fixture(autouse=True)
def _ranks(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    np.save("ranks.npy", [1, 2, 2, 5, 9])


def run(*words, door=RANKS):
    return CliRunner().invoke(DoorCommand("toy", door), words)


def words_of(result):
    return " ".join((result.output + result.stderr + str(result.exception or "")).split())


def test_a_gate_on_another_metric_is_computed_with_the_default_ones_at_once(monkeypatch):
    calls = []
    evaluate = Request.evaluate
    monkeypatch.setattr(Request, "evaluate", lambda *given, **more: calls.append(1) or evaluate(*given, **more))
    np.save("pos.npy", [3.0, 1.0])
    np.save("neg.npy", [[2.0, 0.0], [2.0, 0.0]])
    words = ["--pos-scores", "pos.npy", "--neg-scores", "neg.npy", "--format", "json"]
    result = CliRunner().invoke(DoorCommand("ranking", door_of("ranking")), [*words, "--gate", "median_rank <= 2"])
    keys = [each["key"] for each in json.loads(result.stdout)["results"]]
    assert (result.exit_code, len(calls)) == (0, 1), words_of(result)
    assert keys == ["mrr", "hits@1", "hits@3", "hits@10", "adjusted_mrr", "median_rank"]


def test_help_has_sections_with_what_the_door_has():
    text = run("--help").output
    heads = [line.rstrip(":") for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert heads == ["Inputs", "Options", "Metrics", "Run", "Output", "Other doors"]
    assert "--ranks FILE" in text
    assert "[required]" in text
    assert "Cut-offs.  [1,3]" in text
    assert "--confidence" not in text
    assert "--dask" in text
    assert "--figure" not in text
    assert "graphgauge toy --ranks ranks.npy" in text


def test_without_arguments_a_door_shows_examples_and_does_nothing():
    result = run()
    assert result.exit_code == 2
    assert "graphgauge toy --ranks ranks.npy" in result.stderr
    assert "graphgauge ranking until --pos-scores" in result.stderr


def test_a_command_prints_the_results_and_keeps_them():
    result = run("--ranks", "ranks.npy", "--k", "3", "--method", "ours", "-o", "result.json", "--flat", "flat.json")
    assert result.exit_code == 0, words_of(result)
    assert "hits@3" in result.stdout
    assert "0.6000" in result.stdout
    kept = Evaluation.load("result.json")
    assert kept.run.method == "ours"
    assert kept["hits@3"].value == 0.6
    assert kept.per_item is None
    assert kept.receipt["request"]["fields"] == {"ranks": ["ranks.npy"], "k": [3]}
    assert json.loads(Path("flat.json").read_text())["hits@3"] == 0.6


def test_items_are_kept_on_request():
    run("--ranks", "ranks.npy", "-o", "result.json", "--keep-items")
    assert len(Evaluation.load("result.json").per_item) == 5


@pytest.mark.parametrize(("form", "words"), [("csv", "hits@3,0.6"), ("latex", r"\toprule"), ("json", '"hits@3"')])
def test_other_formats(form, words):
    assert words in run("--ranks", "ranks.npy", "--format", form).stdout


def test_gates_decide_the_exit_code():
    assert run("--ranks", "ranks.npy", "--gate", "hits@3 > .5").exit_code == 0
    failed = run("--ranks", "ranks.npy", "--gate", "hits@3 > .7")
    assert failed.exit_code == 1
    assert "gate failed: hits@3 > .7 (it is 0.6 against 0.7)" in failed.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ranks", "ranks.npy", "--k", "0"], "--k must be a whole number of at least 1, not 0"),
        (["--k", "2"], "--ranks is missing. For example: graphgauge toy --ranks ranks.npy."),
        (["--ranks", "absent.npy"], "absent.npy: no such file"),
        (["--ranks", "ranks.npy", "--metrics", "all", "--all"], "--metrics and --all are both given"),
        (["--ranks", "ranks.npy", "-o", "ranks.npy"], "ranks.npy is also an input"),
        (["--ranks", "ranks.npy", "-o", "x.svg"], "--output writes a result file, which is JSON"),
        (["--ranks", "ranks.npy", "--gate", "hits"], "gate 'hits' cannot be read"),
    ],
)
def test_refusals(words, said):
    result = run(*words)
    assert result.exit_code != 0
    assert said in words_of(result)


def test_an_option_that_is_a_list_is_repeated_or_has_commas():
    several = run("--ranks", "ranks.npy", "--k", "1", "--k", "3")
    assert several.exit_code == 0
    assert several.stdout == run("--ranks", "ranks.npy", "--k", "1,3").stdout


def test_flags_options_of_many_kinds_and_files_that_are_written():
    np.save("pos.npy", [0.5])
    command = DoorCommand("toy", door_of("toy", "until1"))
    given = command.make_context(
        "until", ["--pos-scores", "pos.npy", "--neg-scores", "pos.npy", "--gate", "mrr > .3", "--keep", "pos.npy"]
    ).params
    request = command._request(given)
    assert request.fields["gates"] == ("mrr > .3",)
    refused = CliRunner().invoke(command, ["--pos-scores", "pos.npy", "--neg-scores", "pos.npy", "--keep", "pos.npy"])
    assert "pos.npy is also an input" in words_of(refused)


def test_states_of_parts_merge_to_the_whole():
    for part, ranks in enumerate(([1, 2, 2], [5, 9])):
        np.save(f"part-{part}.npy", ranks)
    whole = evaluate_files("toy", ranks="part-*.npy")
    written = run("--ranks", "part-*.npy", "--state", "state.npz")
    assert written.exit_code == 0, words_of(written)
    merged = CliRunner().invoke(cli, ["merge", "state.npz", "--k", "3", "--format", "csv"])
    assert merged.exit_code == 0, words_of(merged)
    assert f"hits@3,{whole['hits@3'].value}" in merged.stdout
    refused = CliRunner().invoke(cli, ["merge", "state.npz", "state.npz"])
    assert "counted twice" in words_of(refused)


def test_dask_gives_the_same_results():
    pytest.importorskip("distributed")
    for part, ranks in enumerate(([1, 2, 2], [5, 9], [1])):
        np.save(f"part-{part}.npy", ranks)
    from distributed import Client, LocalCluster

    from graphgauge.engines import dask

    request = Request(family="toy", fields={"ranks": "part-*.npy"}).checked()
    with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster, Client(cluster) as client:
        state = dask.state_of(request, client)
    assert request.evaluate(state=state)["hits@3"].value == request.evaluate()["hits@3"].value
    assert sorted(state.parts) == [0, 3, 5]


def test_arrays_of_dask_are_counted_part_by_part():
    da = pytest.importorskip("dask.array")
    from graphgauge.engines import dask

    ranks = np.array([1, 2, 2, 5, 9])
    evaluation = dask.evaluate("toy", da.from_array(ranks, chunks=2), k=(3,), cap=9)
    assert evaluation["hits@3"].value == 0.6
    assert sorted(dask.state("toy", da.from_array(ranks, chunks=2)).parts) == [0, 2, 4]
