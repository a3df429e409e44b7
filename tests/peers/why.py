"""Runs the cases of `docs/why.py` in the libraries themselves.

`python -m tests.peers.why`, in the environment of `make peers`, writes `docs/why.json`, which `docs/why.py` draws.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from tests.peers import test_ranking_peers as ranking_peers
from tests.peers import test_recovery_peers as recovery_peers
from tests.peers.agreement import versions

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from why import STORED, Answer, Case, cases, stored  # noqa: F401

Peer = tuple[str, str, Callable[[Any, Any], Any]]


def at_every_place(ask: Callable[[Any, Any, int], float]) -> Callable[[Any, Any], tuple[float, float]]:
    """The lowest and the highest answer, with the positives at each place among their negatives."""
    return lambda pos, neg: ranking_peers.extremes(ask(pos, neg, place) for place in range(np.shape(neg)[1] + 1))


def pyg(pos: Any, neg: Any, place: int) -> float:
    scores = ranking_peers.beside(pos, neg, place)
    return ranking_peers.pyg_lists(scores, _labels(scores, place), "MRR", scores.shape[1])


def torchmetrics(pos: Any, neg: Any, place: int) -> float:
    scores = ranking_peers.beside(pos, neg, place)
    queries = np.repeat(np.arange(len(scores)), scores.shape[1])
    return ranking_peers.torchmetrics_flat(scores.ravel(), _labels(scores, place).ravel(), queries, "MRR", None)


def gadjid(truth: Any, graph: Any) -> Any:
    """In a separate process, because it panics on graphs that are not acyclic."""
    found = recovery_peers.in_a_process("gadjid.shd(t, g)[1]", truth, graph)
    return float(found) if found.isdigit() else found


def _labels(scores: Any, place: int) -> Any:
    labels = np.zeros(scores.shape, int)
    labels[:, place] = 1
    return labels


# The name that is shown, the package whose version is shown next to it, and how it is called.
PEERS: dict[str, list[Peer]] = {
    "mrr": [
        ("OGB", "ogb", ranking_peers.ogb),
        ("TGB", "py-tgb", ranking_peers.tgb),
        ("PyKEEN", "pykeen", ranking_peers.pykeen),
        ("PyG", "torch_geometric", at_every_place(pyg)),
        ("torchmetrics", "torchmetrics", at_every_place(torchmetrics)),
        ("scikit-learn", "scikit-learn", ranking_peers.sklearn),
    ],
    "shd": [
        ("causal-learn", "causal-learn", recovery_peers.causal_learn_shd),
        ("gadjid", "gadjid", gadjid),
        ("gcastle", "gcastle", recovery_peers.gcastle_shd),
        ("cdt", "cdt", recovery_peers.cdt_shd),
        ("pgmpy", "pgmpy", recovery_peers.pgmpy_shd),
    ],
}


def asked(case: Case) -> list[Answer]:
    return [
        _answer(f"{name} {versions([package]).rpartition(' ')[2]}", ask, case)
        for name, package, ask in PEERS[case.question]
    ]


def _answer(name: str, ask: Callable[[Any, Any], Any], case: Case) -> Answer:
    try:
        found = ask(case.truth, case.prediction)
    except Exception as error:  # the exception is shown as the result
        return Answer(name, None, None, type(error).__name__)
    if isinstance(found, str):
        return Answer(name, None, None, found)
    low, high = found if isinstance(found, tuple) else (found, found)
    return Answer(name, round(float(low), 6), round(float(high), 6))


def main() -> None:
    answers = {
        case.name: [
            {key: value for key, value in asdict(one).items() if key in ("evaluator", "low", "high", "words")}
            for one in asked(case)
        ]
        for case in cases()
    }
    STORED.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
