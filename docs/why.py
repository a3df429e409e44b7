"""Draws docs/_static/why.svg, the first picture of the README: the same inputs in graphgauge and in other libraries.

`python -m tests.peers.why` (part of `make peers`) runs the other libraries and stores their results and versions in
`why.json`; `why.svg.jinja` is the drawing.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jinja2
import numpy as np

from graphgauge import ranking, recovery
from graphgauge._version import __version__
from graphgauge.core.disk import read_json
from graphgauge.core.errors import InputError

STORED = Path(__file__).with_name("why.json")
PICTURE = Path(__file__).with_name("_static") / "why.svg"
QUERIES, NEGATIVES = 500, 50
# Of the scale from 0 to 1 in a cell of the picture.
WIDTH = 124


@dataclass(frozen=True)
class Case:
    """One input for all evaluators, with a short comment."""

    name: str
    question: Literal["mrr", "shd"]
    truth: Any
    prediction: Any
    remark: str

    @property
    def heading(self) -> list[str]:
        """The name in one or two lines of a narrow column."""
        return [self.name] if len(self.name) < 12 else self.name.rsplit(" ", 1)


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
        if self.by_order:
            return f"{self.low:.2f} to {self.high:.2f}"
        return f"{self.low:.3f}" if self.low != int(self.low) else f"{self.low:g}"

    @property
    def by_order(self) -> bool:
        """Does the value depend on the order of the candidates?"""
        return self.low is not None and self.high is not None and self.high - self.low > 5e-4

    def drawn(self, chance: float | None) -> str:
        """The class of its colour: a value where there is no level of chance is a score for nothing."""
        if self.evaluator.startswith("graphgauge"):
            return "ours"
        if self.low is not None and chance is None:
            return "nothing"
        return "order" if self.by_order else "plain"


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


def picture(rows: list[tuple[Case, list[Answer]]]) -> str:
    """The drawing of the answers, with their text for screen readers."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    options = {"trim_blocks": True, "lstrip_blocks": True, "undefined": jinja2.StrictUndefined}
    return (
        jinja2.Environment(loader=loader, autoescape=True, **options)
        .get_template("why.svg.jinja")
        .render(
            ranks=[row for row in rows if row[0].question == "mrr"],
            distances=[row for row in rows if row[0].question == "shd"],
            names=lambda group: [one.evaluator.rsplit(" ", 1) for one in group[0][1]],
            common=lambda answers: statistics.mode(one.text for one in answers),
            spoken=" ".join(
                f"{case.name}: {', '.join(f'{one.evaluator} {one.text}' for one in answers)}." for case, answers in rows
            ),
            queries=QUERIES,
            negatives=NEGATIVES,
            width=WIDTH,
            px=lambda value: f"{WIDTH * min(value, 1):.1f}",
        )
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(list(compared())), encoding="utf-8")
