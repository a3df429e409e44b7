"""The same inputs for several evaluators, with the results of graphgauge and of other libraries, for why_picture.py.

`python -m tests.peers.why` (part of `make peers`) runs the other libraries and stores their results and versions in
`why.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from graphgauge import ranking, recovery
from graphgauge._version import __version__
from graphgauge.core.disk import read_json
from graphgauge.core.errors import InputError

STORED = Path(__file__).with_name("why.json")
QUERIES, NEGATIVES = 500, 50


@dataclass(frozen=True)
class Case:
    """One input for all evaluators, with a short comment."""

    name: str
    question: Literal["mrr", "shd"]
    truth: Any
    prediction: Any
    remark: str


@dataclass(frozen=True)
class Answer:
    """The result of an evaluator: a value, a range that depends on the order of candidates, or text."""

    evaluator: str
    low: float | None
    high: float | None
    words: str = ""
    interval: tuple[float, float] | None = None
    chance: float | None = None

    @property
    def text(self) -> str:
        if self.low is None or self.high is None:
            return self.words
        if self.high - self.low > 5e-4:
            return f"{self.low:.2f} to {self.high:.2f}"
        return _digits(self.low)


def _digits(value: float) -> str:
    return f"{value:.3f}" if value != int(value) else f"{value:g}"


def cases() -> list[Case]:
    """Four inputs for the mean reciprocal rank, two for the structural Hamming distance."""
    draw = np.random.default_rng(0)
    pos, neg = draw.normal(1, 1, QUERIES), draw.normal(0, 1, (QUERIES, NEGATIVES))
    chain = np.diag(np.ones(3), 1)
    reversed_edge, both_ways = chain.copy(), chain.copy()
    reversed_edge[0, 1], reversed_edge[1, 0] = 0, 1
    both_ways[1, 0] = 1
    return [
        Case("a sound model", "mrr", pos, neg, "Almost all agree."),
        Case("truncated scores", "mrr", _truncated(pos), _truncated(neg), "Who wins ties?"),
        Case("a constant", "mrr", np.ones(QUERIES), np.ones((QUERIES, NEGATIVES)), "It knows nothing."),
        Case("NaN", "mrr", np.full(QUERIES, np.nan), np.full((QUERIES, NEGATIVES), np.nan), "Nothing to rank."),
        Case("one edge reversed", "shd", chain, reversed_edge, "One mistake: 1 or 2?"),
        Case("one edge both ways", "shd", chain, both_ways, "One edge too many."),
    ]


def _truncated(scores: Any) -> Any:
    return np.floor(2 * scores) / 2


def answer(case: Case) -> Answer:
    """The result of graphgauge, with its interval and chance level."""
    name = f"graphgauge {__version__}"
    try:
        if case.question == "mrr":
            result = ranking.evaluate(case.truth, case.prediction, metrics=["mrr"])["mrr"]
        else:
            result = recovery.evaluate(case.truth, case.prediction, metrics=["directed_shd"])["directed_shd"]
    except InputError:
        return Answer(name, None, None, "refused")
    interval = (result.interval.low, result.interval.high) if result.interval else None
    levels = result.references if hasattr(result, "references") else result.chance
    chance = levels[-1].value if levels else None
    return Answer(name, result.value, result.value, interval=interval, chance=chance)


def stored() -> dict[str, list[Answer]]:
    """The results of the other libraries by name of the case."""
    content = read_json(STORED)
    return {name: [Answer(**entry) for entry in answers] for name, answers in content.items()}


def compared() -> Iterator[tuple[Case, list[Answer]]]:
    """Every case with the results of all evaluators, graphgauge last."""
    others = stored()
    for case in cases():
        yield case, [*others[case.name], answer(case)]
