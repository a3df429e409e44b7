"""What the ranking page says about Nations, whose files come with PyKEEN, still comes out of the example."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphgauge import ranking

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"\|[^|]*\| (?P<scorer>\w+) \| (?P<mrr>[\d.]+) \[.*\] \| (?P<adjusted>\S+) \| \S+ \| \S+ \|")


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ranking_nations", ROOT / "examples" / "ranking_nations.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["ranking_nations"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def found(example: ModuleType) -> dict[tuple[str, str], Any]:
    graph = example.Graph.read(example.nations())
    scorers = {kind: example.train(graph, kind) for kind in ("DistMult", "TransE")} | {
        "frequency": example.frequency(graph)
    }
    return {
        (protocol, name): example.evaluate(graph, scored, candidates)
        for protocol, candidates in example.protocols(graph).items()
        for name, scored in scorers.items()
    }


def test_the_page_shows_what_comes_out(found: dict[tuple[str, str], Any]) -> None:
    lines = (ROOT / "docs" / "ranking.md").read_text(encoding="utf-8").splitlines()
    shown = [row for row in map(ROW.match, lines) if row]
    assert len(shown) == len(found)
    # Training sums in another order on another machine; the last digit of the page is not promised.
    for row, ((_, name), evaluation) in zip(shown, found.items(), strict=True):
        assert row["scorer"] == name
        assert evaluation["mrr"].value == pytest.approx(float(row["mrr"]), abs=0.02)
        adjusted = float(row["adjusted"].replace("−", "-"))
        assert evaluation["adjusted_mrr"].value == pytest.approx(adjusted, abs=0.03)


def test_unfiltered_the_best_model_looks_like_chance(found: dict[tuple[str, str], Any]) -> None:
    mrr = found["unfiltered", "DistMult"]["mrr"]
    assert mrr.chance[-1].value in mrr.ci
    assert found["filtered", "DistMult"]["mrr"].ci.low > 0.7


def test_filtered_hits_at_10_are_mostly_given_away(found: dict[tuple[str, str], Any]) -> None:
    hits = found["filtered", "TransE"]["hits@10"]
    assert hits.chance[-1].value == pytest.approx(0.947, abs=0.001)
    assert "289 queries" in hits.warnings[0]


def test_one_impossible_candidate_decides_between_a_model_and_a_count(found: dict[tuple[str, str], Any]) -> None:
    def difference(protocol: str, ties: str) -> Any:
        model, count = (found[protocol, name].per_item for name in ("TransE", "frequency"))
        return ranking.compare(model, count, ties=ties)

    assert difference("filtered", "realistic").ci.high < 0
    without = "filtered, without the given entity"
    assert difference(without, "realistic").ci.low > 0
    assert 0 in difference(without, "expected").ci


def test_transe_answers_with_the_entity_that_was_asked_about(example: ModuleType) -> None:
    graph = example.Graph.read(example.nations())
    assert not any((part[:, 0] == part[:, 2]).any() for part in (graph.train, graph.valid, graph.test))
    given, _, answer = example.questions(graph.test, len(graph.relations))
    allowed = example.protocols(graph)["filtered"]
    allowed[np.arange(len(answer)), answer] = True
    first = np.where(allowed, example.train(graph, "TransE"), -np.inf).argmax(axis=1)
    assert 0.6 < np.mean(first == given) < 0.75
