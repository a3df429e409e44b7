"""What adaptive evaluation saves on a small trained model; `benchmarks/adaptive_cost.py` measures a large one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.old.ranking.small_graph import SmallGraph, small_graph

from graphgauge import ranking
from graphgauge.old.core.result import Evaluation


@pytest.fixture(scope="module")
def graph() -> SmallGraph:
    return small_graph()


@pytest.fixture(scope="module")
def whole(graph: SmallGraph) -> Evaluation:
    return ranking.rank_triples(graph.model, graph.test, known=[graph.train], score="distmult", keep="items").evaluate()


def read(evaluation: Evaluation) -> int:
    return int(evaluation.options["until"]["read"])


def test_a_small_trained_model(graph: SmallGraph, whole: Evaluation) -> None:
    def until(**asked: Any) -> Evaluation:
        return ranking.rank_until(model=graph.model, triples=graph.test, known=[graph.train], score="distmult", **asked)

    value, queries = whole["mrr"].value, 2 * len(graph.test)
    assert 0.1 < value < 0.4
    before = ranking.rank_triples(graph.earlier, graph.test, known=[graph.train], score="distmult", keep="items")
    earlier = before.evaluate()
    assert earlier["mrr"].value < value
    reads: dict[str, list[int]] = {}
    for seed in range(3):
        for name, assist in (("plain", []), ("relation", ["relation", "side"]), ("earlier", ["relation", earlier])):
            found = until(within={"mrr": 0.015}, assist=assist, seed=seed)
            assert value in found["mrr"].interval
            assert abs(found["mrr"].value - value) <= 0.015
            reads.setdefault(name, []).append(read(found))
        gates = [f"mrr >= {value + gap:.4f}" for gap in (-0.1, 0.1)]
        gated = until(gates=gates, seed=seed)
        assert [gated.gate(gate).passed for gate in gates] == [True, False]
        reads.setdefault("gates", []).append(read(gated))
        pair = until(against={"model": graph.earlier}, seed=seed)
        assert pair["mrr_difference"].interpretation.startswith("the first is better")
        reads.setdefault("pair", []).append(read(pair))
    means = {name: float(np.mean(each)) for name, each in reads.items()}
    assert means["plain"] < queries / 2
    assert means["relation"] < 1.05 * means["plain"]
    assert means["earlier"] < 0.85 * means["plain"]
    assert means["gates"] < queries / 15
    assert means["pair"] < queries
    assert until(within={"mrr": 1e-9})["mrr"].value == value
