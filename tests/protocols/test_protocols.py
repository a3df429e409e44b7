"""Protocols: what a name fixes, what it refuses, and that every row fits its family."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from graphgauge import forecasting, prediction, ranking
from graphgauge.cli.app import cli
from graphgauge.core.door import doors
from graphgauge.core.errors import OptionError, UnknownNameError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.registry import find
from graphgauge.protocols import Protocol, protocol, protocols, under_protocols

ROW = Protocol(("bench-a", "bench-b"), "toy", "As it does.", "a script", {"metrics": ["hits@3"], "ties": "low"})


@pytest.fixture
def _rows(monkeypatch):
    rows = (ROW, replace(ROW, names=("other",), family="recovery"))
    monkeypatch.setattr("graphgauge.protocols.protocols", lambda: rows)


@under_protocols("toy")
def evaluate(ranks, *, metrics=None, ties="mean", confidence=0.95, protocol=None):
    """What the toy family computes."""
    return Evaluation("toy", [], options={"metrics": metrics, "ties": ties, "confidence": confidence})


@pytest.mark.usefixtures("_rows")
def test_a_protocol_fixes_its_options_and_leaves_the_others_free():
    assert evaluate([1], protocol="bench-b", confidence=0.9).options == {
        "metrics": ["hits@3"],
        "ties": "low",
        "confidence": 0.9,
        "protocol": "bench-b",
    }
    assert evaluate([1]).options == {"metrics": None, "ties": "mean", "confidence": 0.95}
    assert evaluate.__doc__ == "What the toy family computes."


@pytest.mark.usefixtures("_rows")
def test_what_it_fixes_may_be_repeated_but_not_changed():
    assert evaluate([1], metrics=("hits@3",), ties="low", protocol="bench-a").options["ties"] == "low"
    for value in ("high", "mean"):  # mean is the default, which somebody wrote
        with pytest.raises(OptionError, match=rf"ties is '{value}', and the protocol bench-a has 'low'\. Leave out"):
            evaluate([1], ties=value, protocol="bench-a")


@pytest.mark.usefixtures("_rows")
def test_unknown_names_and_those_of_other_families_are_refused():
    with pytest.raises(UnknownNameError, match=r"unknown protocol 'bench-c'\. Did you mean"):
        evaluate([1], protocol="bench-c")
    with pytest.raises(OptionError, match=r"'other' is a protocol of recovery, not of toy"):
        protocol("toy", "other")


@pytest.mark.parametrize(
    ("protocol", "shape", "words"),
    [
        (
            "ogbl-collab",
            (5, 3),
            "ogbl-collab takes pos_scores (n,) and one pool of negatives for all, neg_scores (m,), and",
        ),
        ("ogbl-citation2", 3, "ogbl-citation2 takes pos_scores (n,) and the negatives of each, neg_scores (n, k), and"),
        (
            "fb15k-237",
            (5, 3),
            "fb15k-237 takes triples: the triples, and a model or embeddings (Queries.from_triples), and",
        ),
    ],
)
def test_data_of_another_form_are_refused_with_those_that_take_them(protocol, shape, words):
    with pytest.raises(OptionError) as refusal:
        ranking.evaluate(np.arange(5.0), np.zeros(shape), protocol=protocol)
    assert str(refusal.value).startswith(words)
    fitting = "'ogbl-ppa', 'ogbl-collab'" if shape == 3 else "'ogbl-citation2', 'tgbl-wiki'"
    assert f"Of this form are {fitting}" in str(refusal.value)


def test_what_a_protocol_needs_is_said_with_its_name():
    with pytest.raises(OptionError, match=r"ogbg-molhiv: roc_auc needs scores\. It takes scores \(n, tasks\)"):
        prediction.evaluate([0, 1, 1], [0, 1, 0], protocol="ogbg-molhiv")
    with pytest.raises(OptionError, match=r"m4: mase needs scaled\. It takes a series per node, and"):
        forecasting.evaluate(np.ones((9, 2)), np.ones((9, 2)), axes=("time", "node"), protocol="m4")


def test_the_command_lists_them():
    listed = CliRunner().invoke(cli, ["metrics", "ranking", "--protocols"])
    assert listed.exit_code == 0
    assert "ogbl-collab" in listed.output


def test_names_are_unique():
    names = [name for row in protocols() for name in row.names]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("row", [pytest.param(row, id=row.names[0]) for row in protocols()])
def test_every_row_fits_its_family(row):
    known = doors(row.family)
    if not known:  # a family that is not rebuilt has no doors: its rows come with them
        assert row.family in ("ranking",)
        return
    for door in row.doors:
        fields = known[door].fields
        assert "protocol" in fields
        assert row.options.keys() <= fields.keys()
    for key in row.options.get("metrics", ()):
        find(key, row.family)
