"""Outcomes behave like mappings and print like tables of papers; legends say what the marks are."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old.core.grids import Cell, Grid
from graphgauge.old.core.result import Evaluation, Result
from graphgauge.old.stats import Aggregate, aggregate, compare

# c is a with noise, b is clearly worse, on eight seeds.
F1 = {
    "a": [0.91, 0.93, 0.95, 0.90, 0.91, 0.92, 0.94, 0.90],
    "b": [0.64, 0.70, 0.66, 0.58, 0.67, 0.65, 0.60, 0.63],
    "c": [0.909, 0.931, 0.949, 0.901, 0.909, 0.921, 0.939, 0.9],
}
RECORDS = [
    {"method": method, "dataset": "sachs", "seed": seed, "f1": value, "shd": 100 * (1 - value)}
    for method, scores in F1.items()
    for seed, value in enumerate(scores)
]
DIRECTIONS: Any = {"f1": "higher", "shd": "lower"}


@pytest.fixture
def table() -> Aggregate:
    return aggregate(RECORDS, directions=DIRECTIONS)


def test_an_aggregate_is_a_mapping(table: Aggregate) -> None:
    assert isinstance(table, Mapping)
    assert list(table) == list(table.keys()) == [(m, n, "sachs") for m in ("f1", "shd") for n in F1]
    assert len(table) == len(table.values()) == 6
    assert dict(table)["f1", "a", "sachs"] is table["f1", "a"]
    assert all(table[key] is row for key, row in table.items())
    for key in ("f1", ("f1",), ("f1", "a"), ("f1", "a", "sachs")):
        assert key in table
    for key in ("f2", ("f1", "z"), ("f1", "a", "alarm"), ("a",), 3, ("f1", "a", "sachs", "more")):
        assert key not in table
    assert table.get(("f1", "a")) is table["f1", "a"]
    assert table.get("f2") is None
    assert table.get(("f1", "z"), 7) == 7
    with pytest.raises(InputError, match="matches 3 rows"):
        table.get("f1")


def test_a_comparison_is_a_mapping() -> None:
    found = compare(RECORDS, metric="f1", direction="higher")
    assert list(found) == list(found.keys()) == found.methods
    assert found["a"] is next(standing for standing in found.standings if standing.method == "a")
    assert found["a", "b"] is found["b", "a"]
    assert set(found["a", "b"].names) == {"a", "b"}
    assert "a" in found
    assert ("a", "b") in found
    assert "z" not in found
    assert found.get("z") is None
    with pytest.raises(UnknownNameError, match="unknown method 'z'"):
        found["z"]
    against = compare(RECORDS, metric="f1", direction="higher", baseline="b")
    assert ("a", "c") not in against
    with pytest.raises(UnknownNameError, match="unknown pair"):
        against["a", "c"]


def test_frames_have_the_numbers_in_full(table: Aggregate) -> None:
    frame = table.to_frame()
    assert list(frame["method"]) == ["a", "b", "c"] * 2
    assert frame["mean"][0] == pytest.approx(sum(F1["a"]) / 8, abs=1e-15)
    found = compare(RECORDS, metric="f1", direction="higher")
    assert list(found.to_frame()["method"]) == found.methods


@pytest.mark.parametrize("make", ["aggregate", "compare"])
def test_every_outcome_has_every_form(make: str, tmp_path: Path) -> None:
    outcome: Any = {
        "aggregate": lambda: aggregate(RECORDS, directions=DIRECTIONS),
        "compare": lambda: compare(RECORDS, metric="f1", direction="higher"),
    }[make]()
    assert len(outcome.to_frame())
    assert outcome.to_latex().startswith(r"\begin{tabular}")
    assert outcome.to_markdown().startswith("| method")
    assert outcome._repr_html_().startswith("<table>")
    for form in ("table", "csv", "latex", "markdown", "json"):
        assert outcome.render(form)
    outcome.plot(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size
    with pytest.raises(UnknownNameError, match="unknown kind of figure"):
        outcome.plot(tmp_path / "a.svg", "pie")


def test_digits_percent_and_order(table: Aggregate) -> None:
    text = table.to_markdown(digits=1, percent=True, order=["b"], marks="none")
    lines = text.splitlines()
    assert lines[0] == "| method | f1 (%) ↑ | shd ↓ |"
    assert lines[2] == "| b | 64.1 ± 3.8 | 35.9 ± 3.8 |"  # shd is no share and stays as it is
    assert [line[2] for line in lines[2:5]] == ["b", "a", "c"]
    with pytest.raises(UnknownNameError, match="unknown method 'z'"):
        table.to_latex(order=["z"])
    with pytest.raises(OptionError, match="twice"):
        table.to_latex(order=["a", "a"])
    for digits in (-1, 99, 1.5):
        with pytest.raises(OptionError, match="digits"):
            table.to_latex(digits=digits)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="none is given in percent"):
        aggregate(RECORDS, metrics=["shd"]).to_latex(percent=True)


def test_percent_is_a_hundred_times_in_a_comparison() -> None:
    found = compare(RECORDS, metric="f1", direction="higher")
    line = next(line for line in found.to_markdown(digits=3, percent=True).splitlines() if "b" in line.split("|")[1])
    assert line.split("|")[2].strip() == f"64.125 ± {100 * statistics.stdev(F1['b']):.3f}"
    assert found.to_markdown(order=["b"]).splitlines()[2].startswith("| b ")


def test_the_habit_of_papers_marks_the_two_best_means(table: Aggregate) -> None:
    means = {name: sum(scores) for name, scores in F1.items()}
    best, second, _ = sorted(means, key=lambda name: -means[name])
    assert table.ranked("f1", "sachs") == {best: "best", second: "second"}
    assert table.ranked("shd", "sachs") == {best: "best", second: "second"}
    latex = table.to_latex(marks="ranks")
    assert re.search(rf"^{best} & \\textbf", latex, re.MULTILINE)
    assert re.search(rf"^{second} & \\underline", latex, re.MULTILINE)
    assert "% bold: best, underlined: second best." in latex
    assert "says nothing about significance" in latex
    equal = aggregate({"a": {0: 0.5}, "b": {0: 0.5}, "c": {0: 0.4}}, metrics=["mrr"])
    assert equal.ranked("mrr", "") == {"a": "best", "b": "best"}  # nothing is second


def legend_of(text: str) -> str:
    return next((line for line in text.splitlines() if line.startswith(("* ", "+ ", "~ "))), "")


@pytest.mark.parametrize("baseline", [None, "a", "b", "c"])
def test_marks_and_legend_agree(baseline: str | None) -> None:
    """Every sign in the table is in the legend, every sign of the legend is in the table, and both are true."""
    found = compare(RECORDS, metric="f1", direction="higher", baseline=baseline)
    text = found.grid().text()
    signs = {line.split()[0]: line.split()[1] for line in text.splitlines()[2:5]}
    signs = {name: sign if set(sign) <= set("*~+") else "" for name, sign in signs.items()}
    legend = legend_of(text)
    assert {sign for sign in "*~" if sign in legend} == {
        sign for sign in "*~" if any(sign in s for s in signs.values())
    }
    reference = found.best if baseline is None else baseline
    for name, sign in signs.items():
        assert ("*" in sign) == (name == found.best)
        if name != reference:
            assert ("~" in sign) == (not found.told_apart(name, reference))
        else:
            assert "~" not in sign
    if "~" in legend:
        assert f"not significantly different from {'the best' if baseline is None else baseline}" in legend
    other = {"latex": "italic:", "markdown": "*italic*:", "html": "italic:"}
    for form, sign in other.items():
        shown = getattr(found.grid(), form)()
        assert (sign in shown) == ("~" in legend)


NASTY = "a_b|c & 50 % <script>alert(1)</script> $x$ {y} #1 ~ ^ \\input{z} [l](u) `q`\nnext"


class Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_names_cannot_break_any_markup() -> None:
    table = aggregate([{"method": NASTY, "seed": s, "f1": 0.5 + s / 10} for s in range(3)])
    parser = Texts()
    parser.feed(table.to_html())
    assert parser.tags <= {"table", "thead", "tbody", "tr", "th", "td", "b", "i", "u", "p"}
    assert NASTY in "".join(parser.texts)  # as it is, and as text
    row = table.to_latex().splitlines()[4]
    assert row.endswith(r"\\")
    assert re.findall(r"(?<!\\)&", row) == ["&"]  # one cell after the name
    bare = re.sub(r"\\[&%$#_{}]|\\text\w+\{\}|\$[<>]\$|\$\\pm\$", "", row.removesuffix(r"\\"))
    assert not set(bare) & set("%$#_^~\\{}")
    line = table.to_markdown().splitlines()[2]
    assert len(re.findall(r"(?<!\\)\|", line)) == 3
    assert not re.search(r"(?<!\\)[`*_<]|\]\(", line)
    comments = table.to_latex().splitlines()[7:]
    assert all(comment.startswith("% ") for comment in comments)


def test_a_baseline_in_a_legend_is_escaped() -> None:
    grid = Grid(["m"], [[Cell("x", "close")]], reference="*b*")
    assert r"not significantly different from \*b\*." in grid.markdown()
    assert "<b>" not in Grid(["m"], [[Cell("x", "close")]], reference="<b>").html()


def test_two_families_with_different_methods(write_run: Any, results: Path) -> None:
    for seed in range(2):
        write_run("transe", "nations", seed, {"mrr": 0.4 + seed / 10}, family="ranking")
        write_run("inverted", "sachs", seed, {"directed_f1": 0.6 + seed / 10})
    table = aggregate(results)
    assert ("mrr", "transe") in table
    assert ("mrr", "inverted") not in table
    for form in ("table", "latex", "markdown", "csv", "json"):
        assert "inverted" in table.render(form)
    row = next(line for line in table.to_markdown().splitlines() if "transe" in line)
    assert row.split("|")[2:4] in ([" 0.450 ± 0.071 ", "  "], ["  ", " 0.450 ± 0.071 "])


def evaluation(value: float, **run: Any) -> Evaluation:
    return Evaluation("ranking", [Result("mrr", "mrr", value, 9, "query", "higher", (0, 1))], run=run)


def test_evaluations_in_lists_and_dictionaries() -> None:
    assert aggregate([evaluation(0.4), evaluation(0.6)])["mrr"].mean == pytest.approx(0.5)
    table = aggregate({"a": [evaluation(0.4), evaluation(0.6)], "b": evaluation(0.7)}, missing="omit")
    assert table["mrr", "a"].mean == pytest.approx(0.5)
    assert table["mrr", "b"].n == 1
    named = aggregate({"a": [evaluation(0.4, dataset="x", seed=7), evaluation(0.6, dataset="y", seed=7)]})
    assert named["mrr", "a", "y"].mean == 0.6
    found = aggregate([evaluation(0.1 * seed, method="m", dataset="x", seed=seed) for seed in range(1, 4)])
    assert found["mrr", "m", "x"].mean == pytest.approx(0.2)


def test_remarks_cannot_break_any_markup() -> None:
    names = ["a\n\\input{secret}", "<b>[x](y)", "[CLS]", "*|"]
    scores = {name: {seed: 0.5 + seed / 10 + index / 100 for seed in range(6)} for index, name in enumerate(names)}
    outcome = compare(scores, metric="acc", direction="higher", resamples=20)
    latex = outcome.render("latex").splitlines()
    assert not [line for line in latex if line.startswith(("\\input", "[", "*"))]
    assert not [line for line in latex if "|" in line and not line.startswith("%")]
    markdown = outcome.render("markdown")
    assert "<b>" not in markdown.replace("\\<b>", "")
    assert "](y)" not in markdown
