"""Doors: what a declaration accepts and refuses, in which words, and what a request opens."""

from __future__ import annotations

import json
import sys
from typing import Literal

import numpy as np
import pytest
from tests.contracts import hardest
from tests.contracts.toy_doors import RANKS

from graphgauge.core.door import Door, Input, Option, door_of, in_words, reworded
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.core.evaluation import Run
from graphgauge.core.items import Items
from graphgauge.io.request import Request, evaluate_files


@pytest.fixture(autouse=True)
def _in_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def toy_request(door="", **fields):
    return Request(family="toy", door=door, fields=fields)


def flag(name):
    return "--" + name.replace("_", "-")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"ranks": "a.npy", "k": "1,5"}, {"ranks": "a.npy", "k": (1, 5)}),
        ({"ranks": ["a.npy", "b.npy"], "k": 2}, {"ranks": ("a.npy", "b.npy"), "k": (2,)}),
        ({"ranks": "a.npy", "groups": ["side=s.txt"]}, {"groups": {"side": "s.txt"}}),
        ({"ranks": "a.npy", "metrics": "hits@3,hits@1"}, {"metrics": ("hits@3", "hits@1")}),
        ({"ranks": "a.npy", "metrics": "all"}, {"metrics": "all"}),
        ({"ranks": "a.npy", "cap": np.int64(4)}, {"cap": 4}),
        ({"ranks": "a.npy", "cap": "4"}, {"cap": 4}),
    ],
)
def test_values_of_commands_files_and_python_are_read_alike(values, expected):
    assert RANKS.read(values).items() >= expected.items()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "--ranks is missing. For example: graphgauge toy --ranks ranks.npy."),
        ({"ranks": "a", "k": 0}, "--k must be a whole number of at least 1, not 0."),
        ({"ranks": "a", "k": "x"}, "--k must be a whole number of at least 1, not 'x'."),
        ({"ranks": "a", "groups": ["side"]}, "--groups: 'side' is not NAME=VALUE."),
        ({"ranks": "a", "groups": ["a=b", "a=c"]}, "--groups: 'a' is there more than once."),
        ({"ranks": "a", "rank": 1}, "unknown input or option 'rank'. Did you mean 'ranks'?"),
        ({"ranks": 3}, "--ranks: 3 is no name of a file."),
        ({"ranks": ""}, "--ranks: '' is no name of a file."),
    ],
)
def test_refusals_name_the_field_as_the_command_does(values, words):
    with pytest.raises(OptionError) as refusal:
        RANKS.read(values)
    assert str(reworded(refusal.value, RANKS.fields, flag)).startswith(words)


def test_choices_and_bounds_are_refused_with_what_there_is():
    with pytest.raises(OptionError, match=r"unknown convention 'x'\. Known: graphgauge, gran, spectre\."):
        hardest.GENERATION.read({"real": "a", "generated": "b", "convention": "x"})
    with pytest.raises(OptionError, match="threshold must be between 0 and 1, not 2"):
        hardest.GENERATION.read({"real": "a", "generated": "b", "threshold": 2})
    with pytest.raises(OptionError, match="within must be a number above 0, not 0"):
        hardest.UNTIL.read({"pos_scores": "a", "neg_scores": "b", "within": 0})
    with pytest.raises(OptionError, match=r"negatives must be a whole number of at least 1, or all, not 'some'"):
        hardest.EVOLUTION.read({"log": "a", "negatives": "some"})
    assert hardest.EVOLUTION.read({"log": "a", "negatives": "all"})["negatives"] == "all"


def test_words_change_names_of_arguments_and_nothing_else():
    door = Door(
        "", "", "", inputs=(Input("pos_scores", ""),), options=(Option("k", int, 1, ""), Option("nan", str, "", ""))
    )
    assert in_words(door.fields, 'pos_scores[3] is NaN. Pass nan="omit" or k=3, not pos_scores_of or k.', flag) == (
        "--pos-scores[3] is NaN. Pass --nan omit or --k 3, not pos_scores_of or k."
    )
    assert in_words(door.fields, "k must be 1", flag) == "--k must be 1"
    lists = 'Name it, nan=["omit", …], or nan=["omit"], k=[].'
    assert in_words(door.fields, lists, flag) == "Name it, --nan omit,…, or --nan omit, --k."
    assert in_words(door.fields, 'Name it: k={"seed": "rep", "n": N}.', flag) == "Name it: --k seed=rep,n=N."
    assert in_words(door.fields, "see data/pos_scores.npy", flag) == "see data/pos_scores.npy"


def test_schema_has_types_bounds_and_help():
    schema = RANKS.schema
    fields = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    assert fields["required"] == ["ranks"]
    assert fields["additionalProperties"] is False
    cutoffs = {"type": "array", "items": {"type": "integer", "minimum": 1}, "default": [1, 3]}
    assert json.loads(json.dumps(fields["properties"]["k"])) == {"description": "Cut-offs.", **cutoffs}


def test_a_request_evaluates_with_a_receipt():
    np.save("ranks.npy", [1, 2, 2, 5, 9])
    evaluation = evaluate_files("toy", ranks="ranks.npy", k="3")
    assert evaluation["hits@3"].value == 0.6
    assert evaluation.receipt["request"] == {"family": "toy", "door": "", "fields": {"ranks": "ranks.npy", "k": [3]}}
    entry = evaluation.receipt["inputs"][0]
    assert (entry["name"], entry["path"], entry["shape"], len(entry["hash"])) == ("ranks", "ranks.npy", [5], 64)


def test_a_request_is_relative_to_its_folder_and_names_its_run(tmp_path):
    (tmp_path / "data").mkdir()
    np.save("data/ranks.npy", [1, 2, 2, 5, 9])
    request = Request(family="toy", fields={"ranks": "ranks.npy"}, run=Run(method="a", seed=3))
    evaluation = request.evaluate(tmp_path / "data")
    assert (evaluation.run.method, evaluation.run.seed, evaluation["hits@3"].value) == ("a", 3, 0.6)
    assert evaluation.receipt["inputs"][0]["path"] == "ranks.npy"


def test_files_that_match_a_pattern_are_parts_in_numeric_order():
    for part, ranks in {2: [5, 9], 10: [1], 1: [1, 2, 2]}.items():
        np.save(f"ranks-{part}.npy", ranks)
    request = toy_request(ranks="ranks-*.npy", cap=9)
    assert [part.fields["ranks"] for part in request.parts()] == ["ranks-1.npy", "ranks-2.npy", "ranks-10.npy"]
    whole = request.evaluate()
    np.save("whole.npy", [1, 2, 2, 5, 9, 1])
    assert whole["hits@3"].value == toy_request(ranks="whole.npy").evaluate()["hits@3"].value
    assert [entry["path"] for entry in whole.receipt["inputs"]] == ["ranks-1.npy", "ranks-2.npy", "ranks-10.npy"]


def test_what_has_an_entry_per_item_is_cut_where_the_parts_are():
    for part, ranks in enumerate(([1, 2, 2], [5, 9])):
        np.save(f"ranks-{part}.npy", ranks)
    np.save("side.npy", ["a", "a", "b", "b", "b"])
    request = toy_request(ranks="ranks-*.npy", groups={"side": "side.npy"})
    assert request.items() == 5
    assert sorted(request.state().parts) == [0, 3]
    np.save("side.npy", ["a", "a", "b", "b"])
    with pytest.raises(InputError, match="groups: has 4 entries for 5 items"):
        request.state()


def test_errors_of_the_function_are_in_the_words_of_the_door():
    np.save("ranks.npy", [1])
    with pytest.raises(InputError) as refusal:
        toy_request(ranks="ranks.npy").evaluate()
    assert (
        str(reworded(refusal.value, RANKS.fields, flag))
        == "--ranks: one rank is too few. Pass --k 1 and --metrics all."
    )


def test_three_sides_and_their_columns_fit(tmp_path):
    (tmp_path / "real.txt").write_text("a b")
    np.save("valid.npy", [True, False])
    request = toy_request("0", real="real.txt", generated="real.txt", columns={"generated.valid": "valid.npy"})
    made = request.call()
    assert made["real"] == {"items": ["a", "b"]}
    assert made["columns"]["generated.valid"].tolist() == [True, False]
    assert made["draws"] == 999


def test_an_adaptive_run_fits(tmp_path):
    np.save("pos.npy", [0.5, 0.25])
    np.savez("neg.npz", values=[0.1, 0.2, 0.3], offsets=[0, 1, 3])
    Items("query", np.arange(2), {"mrr": np.ones(2)}).save("items.npz")
    request = toy_request("until1", pos_scores="pos.npy", neg_scores="neg.npz", assist="items.npz", gates=["mrr > .3"])
    made = request.call()
    assert made["neg_scores"][1].tolist() == [0, 1, 3]
    assert (made["assist"]["mrr"].tolist(), made["gates"], made["keep"]) == ([1, 1], ("mrr > .3",), None)


def test_code_runs_with_consent_only(tmp_path):
    (tmp_path / "asked_model.py").write_text("def load(path):\n    return path.name\n")
    (tmp_path / "best.pt").write_text("weights")
    request = toy_request("model2", subject="asked_model:load", checkpoint="best.pt")
    assert request.code() == ("asked_model:load",)
    with pytest.raises(OptionError, match="is code, which is not run unasked"):
        request.call()
    assert "asked_model" not in sys.modules
    assert request.call(trust_code=True)["model"] == "best.pt"


def test_a_folder_or_a_table_of_events_fits(tmp_path):
    (tmp_path / "cycles").mkdir()
    (tmp_path / "cycles/one").write_text("")
    (tmp_path / "events").write_text("a b")
    assert toy_request("3", log="cycles").call()["log"] == ["one"]
    assert toy_request("3", log="events").call()["log"] == ["a", "b"]


def test_an_unknown_door_is_refused_with_those_there_are():
    with pytest.raises(UnknownNameError, match="Did you mean 'until1'"):
        door_of("toy", "untl1")


def test_old_families_are_reached_through_their_function():
    np.save("true.npy", np.eye(3, k=1))
    evaluation = evaluate_files("recovery", true="true.npy", pred="true.npy")
    assert type(evaluation).__module__ == "graphgauge.core.evaluation"
    assert evaluation["directed_f1"].value == 1
    assert {entry["name"] for entry in evaluation.receipt["inputs"]} == {"true", "pred"}
    evaluation.save("result.json")
    with pytest.raises(UnknownNameError, match="unknown input or option 'prd'"):
        evaluate_files("recovery", true="true.npy", prd="true.npy")


def test_literal_types_are_choices():
    assert Option("x", Literal["a", "b"] | None, None, "").choices == ("a", "b")
