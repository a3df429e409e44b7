"""Evaluations as text: nothing stands there that says nothing."""

from __future__ import annotations

import numpy as np

from graphgauge import ranking
from graphgauge.old.core.console import evaluation_text
from graphgauge.old.core.result import Evaluation, Result, Table


def first_words(evaluation: Evaluation) -> list[str]:
    return [line.split()[0] for line in evaluation_text(evaluation).splitlines() if line.strip()]


def test_a_breakdown_without_averages_has_no_row_for_them():
    result = Result("tgc", "tgc", 0.5, 2, "cycle", "none", (0.0, 1.0))
    table = Table("cycle", {"cycle": np.array([0, 1]), "n": np.array([1, 1]), "tgc": np.array([0.4, 0.6])})
    words = first_words(Evaluation("evolution", [result], breakdowns={"cycle": table}))
    assert words[words.index("by") :] == ["by", "cycle", "─" * len("cycle   n      tgc"), "0", "1"]


def test_the_average_over_groups_stands_below_them():
    draw = np.random.default_rng(0)
    groups = {"relation": np.arange(40) % 2}
    evaluation = ranking.evaluate(draw.normal(1, 1, 40), draw.normal(0, 1, (40, 5)), groups=groups)
    (line,) = [line for line in evaluation_text(evaluation).splitlines() if line.split()[:1] == ["macro"]]
    assert f"{evaluation['mrr_macro_relation'].value:.4f}" in line
