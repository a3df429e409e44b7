"""What a notebook shows of every outcome: a sentence, a table, a figure, a frame, a file."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.explanation.brute import Weighted, random_explanations

import graphgauge
from graphgauge import Evaluation, audit, evolution, explanation, forecasting, generation, ranking, recovery, stats
from graphgauge.core.errors import InputError, OptionError, UnknownNameError

RNG = np.random.default_rng(0)
POS, NEG = RNG.normal(1, 1, 90), RNG.normal(0, 1, (90, 20))
GROUPS = {"<b>relation</b>": np.repeat(["x", "y $z$", "<i>"], 30)}
TRUTH = np.triu(RNG.random((6, 6)) < 0.4, 1).astype(int)
RECORDS = [
    {"method": m, "dataset": d, "seed": s, "f1": 0.5 + 0.1 * (m == "a") + 0.01 * RNG.normal()}
    for m in "abc"
    for d in "xy"
    for s in range(7)
]


def ranked(**options: Any) -> Evaluation:
    return ranking.evaluate(POS, NEG, groups=GROUPS, **options)


def compared_items() -> Any:
    first, second = (ranking.evaluate(POS + shift, NEG, ids=np.arange(90)) for shift in (0, 0.4))
    named = [first.named(method="a", dataset="d", seed=0), second.named(method="b", dataset="d", seed=0)]
    return stats.compare(named, metric="mrr", over="items")


EVALUATIONS: dict[str, Callable[[], Any]] = {
    "ranking": ranked,
    "recovery": lambda: recovery.evaluate(TRUTH, TRUTH.T),
    "forecasting": lambda: forecasting.evaluate(NEG[:, :, None], NEG[:, :, None] + 0.1),
    "generation": lambda: generation.evaluate(
        generated=RNG.random((30, 5, 5)) > 0.5, real=RNG.random((40, 5, 5)) > 0.5
    ),
    "explanation": lambda: explanation.evaluate(Weighted(0), random_explanations(0, 3)),
}
OUTCOMES: dict[str, Callable[[], Any]] = {
    "evaluation": ranked,
    "grid": lambda: ranked().by("<b>relation</b>"),
    "aggregate": lambda: stats.aggregate(RECORDS),
    "comparison": lambda: stats.compare(RECORDS, metric="f1"),
    "items": compared_items,
    "findings": lambda: audit.run(ranking.evaluate(POS.round(), NEG.round())).to_grid(),
}


@pytest.fixture(scope="module", params=OUTCOMES)
def outcome(request: pytest.FixtureRequest) -> Any:
    return OUTCOMES[request.param]()


def test_everything_is_shown_as_a_table_a_frame_latex_and_markdown(outcome: Any) -> None:
    html = outcome._repr_html_()
    assert html.startswith("<table>")
    assert html.count("<table>") == html.count("</table>")
    assert "<b>relation" not in html  # names are text, not markup
    assert len(outcome.to_frame())
    assert outcome.to_latex().startswith(r"\begin{tabular}")
    assert outcome.to_markdown().startswith("| ")
    # Neither is a dump of fields.
    for text in (str(outcome), repr(outcome)):
        assert "Interval(" not in text
        assert "array(" not in text
        assert "object at 0x" not in text
    assert len(repr(outcome)) < 200


@pytest.mark.parametrize("name", ["evaluation", "aggregate", "comparison", "items"])
def test_a_figure_is_returned_written_and_drawn_on_axes(name: str, tmp_path: Path) -> None:
    from matplotlib import pyplot

    shown = OUTCOMES[name]()
    figure = shown.plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert not pyplot.get_fignums()  # no global state
    for ending in ("svg", "png", "pdf"):
        assert shown.plot(tmp_path / f"a.{ending}").axes
        assert (tmp_path / f"a.{ending}").stat().st_size > 1000
    whole, (left, right) = pyplot.subplots(1, 2, figsize=(12, 4))
    right.plot([0, 1])
    try:
        assert shown.plot(ax=left) is whole
        panels = [axes for part in (whole, *whole.subfigs) for axes in part.axes if axes is not right]
        assert any(axes.lines or axes.collections or axes.containers for axes in panels)
        assert len(right.lines) == 1
        whole.canvas.draw()
        with pytest.raises(OptionError, match="both path and ax"):
            shown.plot(tmp_path / "b.svg", ax=right)
    finally:
        pyplot.close(whole)
    with pytest.raises(InputError, match=r"ax.*str"):
        shown.plot(ax="axes")
    with pytest.raises(OptionError, match=r"\.gif"):
        shown.plot(tmp_path / "b.gif")
    assert not list(tmp_path.glob("b.*"))


@pytest.mark.parametrize("family", EVALUATIONS)
def test_every_family_draws_in_memory_and_in_the_place_of_axes(family: str) -> None:
    from matplotlib.figure import Figure

    evaluation = EVALUATIONS[family]()
    assert evaluation.plot().axes
    whole = Figure(figsize=(20, 9))
    left, _ = whole.subplots(1, 2)
    assert evaluation.plot(ax=left) is whole
    with pytest.raises(InputError):  # nothing says where its panels would go
        evaluation.plot(ax=Figure().add_axes((0, 0, 1, 1)))


def test_figures_can_be_copied_and_sent() -> None:
    figure = ranked().plot()
    assert pickle.loads(pickle.dumps(figure))._repr_png_()
    assert copy.deepcopy(figure)._repr_png_()


def test_an_evaluation_is_saved_and_loaded(tmp_path: Path) -> None:
    evaluation = ranked()
    path = evaluation.save(tmp_path / "a.json", method="m", dataset="d", seed=3)
    again = Evaluation.load(path)
    assert (again.run.method, again.run.seed) == ("m", 3)
    assert again.to_flat() == evaluation.to_flat()
    into = evaluation.save(tmp_path / "results", method="m", dataset="d", seed=3)
    assert into == tmp_path / "results" / "m" / "ranking" / "metrics_d_3.json"
    assert len(stats.read_runs(tmp_path / "results")) == 1
    for name in ("a.html", "a.csv", "a.png"):
        with pytest.raises(OptionError, match="are JSON"):
            evaluation.save(tmp_path / name)
    assert again.plot().axes


@pytest.mark.parametrize("ending", ["json", "csv", "md", "tex", "txt", "html"])
def test_outcomes_of_many_runs_are_saved(ending: str, tmp_path: Path) -> None:
    for name in ("aggregate", "comparison", "items"):
        path = OUTCOMES[name]().save(tmp_path / f"{name}.{ending}")
        assert path.read_text(encoding="utf-8")
    with pytest.raises(OptionError, match="docx"):
        OUTCOMES["aggregate"]().save(tmp_path / "a.docx")


def test_tab_completion_finds_everything() -> None:
    assert "mrr" in ranked()._ipython_key_completions_()
    for name in dir(graphgauge):
        assert getattr(graphgauge, name) is not None
    assert "report" in dir(graphgauge)
    assert graphgauge.report.write_report


def test_findings_are_a_tuple_that_reads() -> None:
    found = ranking.evaluate(np.zeros(90), np.zeros((90, 20))).findings
    assert isinstance(found, tuple)
    assert len(str(found).splitlines()) == len(found) > 0
    clean = ranking.evaluate(POS, NEG).findings
    assert str(clean) == "nothing found"
    assert clean._repr_html_() == "<p>nothing found</p>"


def test_items_can_be_subscripted_and_shown() -> None:
    items = ranking.evaluate(POS, NEG, ids=[f"<b>{number}" for number in range(90)]).per_item
    assert items["mrr"].mean() == pytest.approx(ranked()["mrr"].value)
    assert len(items["mrr"]) == len(items) == len(items.to_grid())
    assert items.to_grid()["id"][0] == "<b>0"
    assert "<b>" not in items.to_grid()._repr_html_()
    with pytest.raises(UnknownNameError, match="metric"):
        items["mr"]


def test_a_suite_draws_without_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    points = np.array([[0.0, 0.0], [0.1, 0.0], [0.8, 0.0], [-0.8, 0.0]])
    suite = evolution.EvaluationSuite(labels=[0, 0, 1, 1], conditions=["<b>"])
    suite.begin("<b>", points, [(1, 2)])
    suite.step("<b>", points, [(0, 1)], [(1, 2), (0, 1)], cycle=0)
    assert suite.evaluation().plot().axes
    assert not list(tmp_path.iterdir())
    assert suite.evaluation().plot(tmp_path / "a.svg").axes
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]
