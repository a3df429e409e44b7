"""Evaluations as text: nothing stands there that says nothing."""

from __future__ import annotations

import csv
import html
import io

import numpy as np

from graphgauge import ranking
from graphgauge.cli.common import as_csv
from graphgauge.core.console import evaluation_text
from graphgauge.core.result import Evaluation, Result, Table
from graphgauge.core.schema import read_result, write_result
from graphgauge.report.html import write_report


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


def test_an_interval_that_promises_too_much_is_marked_wherever_it_is_shown(tmp_path):
    """With why: in the text, in a notebook, in the file and back, in the frame and in the CSV."""
    rng = np.random.default_rng(3)
    evaluation = ranking.evaluate(rng.normal(size=60), rng.normal(size=(60, 1000)), metrics=["mrr", "hits@10"])
    interval = evaluation["mrr"].interval
    assert interval.approximate
    assert not evaluation["hits@10"].interval.approximate
    for text in (str(evaluation), evaluation._repr_html_()):
        assert text.count("≈") == 2  # beside the interval, and before the reason
    assert interval.caveat in " ".join(str(evaluation).split())
    assert html.escape(interval.caveat) in evaluation._repr_html_()
    read = read_result(write_result(evaluation, tmp_path / "r.json"))
    assert read["mrr"].interval == interval
    assert read["hits@10"].interval == evaluation["hits@10"].interval
    assert evaluation.to_frame()["approximate"].tolist() == [True, False]
    rows = list(csv.DictReader(io.StringIO(as_csv(evaluation))))
    assert [row["approximate"] for row in rows] == [interval.caveat, ""]
    page = write_report(tmp_path, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "≈ [" in page
    assert interval.caveat in html.unescape(page)
