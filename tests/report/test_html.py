"""The page as a file: what it says, what it holds, and what data cannot make of it."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.report.hostile import write_hostile
from tests.report.sample import write, write_ranking

from graphgauge.cli.report import command
from graphgauge.core.errors import InputError
from graphgauge.core.scrub import LIMIT, clean
from graphgauge.old.core.pages import script_json
from graphgauge.old.core.result import Chance, Evaluation, Interval, Result, Table
from graphgauge.report.html import write_report


def text_of(page: Path) -> str:
    """What a reader sees, without scripts and styles."""
    text = re.sub(r"(?s)<(script|style).*?</\1>", " ", page.read_text(encoding="utf-8"))
    return " ".join(re.sub(r"<[^>]+>", " ", text).replace("&#39;", "'").replace("&gt;", ">").split())


def data_of(page: Path) -> dict[str, Any]:
    """What its scripts find in it."""
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"))[1])


def column_of(columns: dict[str, Any], name: str) -> list[Any]:
    """A column of rows, whose repeated texts are indices into a list."""
    column = columns[name]
    return column if isinstance(column, list) else [column["levels"][code] for code in column["codes"]]


class Elements(HTMLParser):
    """Every start tag with its attributes."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs) -> None:
        self.found.append((tag, dict(attrs)))


def result(key: str = "mrr", value: float = 0.5, **facts) -> Result:
    given = {"metric": key, "n": 100, "unit": "query", "direction": "higher", "bounds": (0.0, 1.0), **facts}
    return Result(key=key, value=value, **given)


def write_runs(root: Path, scores: dict[str, list[float]], **facts) -> Path:
    for method, values in scores.items():
        for seed, value in enumerate(values):
            write(Evaluation("ranking", [result(value=value, **facts)]), root, method, "toy", seed)
    return root


# ------------------------------------------------------------------- what it says


def test_the_verdict_names_who_is_told_apart_and_who_is_not(report: Path):
    text = text_of(report)
    assert "In ranking, rotate has the best mrr on both datasets and differs significantly from all others" in text
    best = "notears has the best mean directed_f1 on erdos-renyi over 5 seeds"
    assert f"{best}, too few for a significant difference" in text
    assert "1 of 2 gates failed." in text


def test_close_methods_are_not_called_better(tmp_path: Path):
    even = [0.50, 0.52, 0.48, 0.51, 0.49, 0.53, 0.47, 0.50]
    odd = [0.51, 0.50, 0.49, 0.50, 0.50, 0.52, 0.49, 0.48]
    page = write_report(write_runs(tmp_path / "r", {"a": even, "b": odd}), tmp_path / "r.html")
    assert "a has the best mean mrr on toy over 8 seeds, but does not differ significantly from b." in text_of(page)


def test_one_method_is_only_reported(tmp_path: Path):
    facts = {"interval": Interval(0.4, 0.6, 0.95, "t", "queries"), "chance": (Chance("random", 0.1),)}
    page = write_report(write_runs(tmp_path / "r", {"a": [0.5]}, **facts), tmp_path / "r.html")
    text = text_of(page)
    assert "a reaches mrr 0.50 [0.40, 0.60] on toy, where chance gives 0.1000; it was compared with no other" in text
    assert "every method ran once on each dataset" in text
    assert "there is one dataset, toy" in text


def test_what_failed_is_missing_or_differs_is_said(tmp_path: Path):
    root = write_runs(tmp_path / "r", {"a": [0.5, 0.6, 0.7], "b": [0.4, 0.5]})
    mixed = Evaluation("ranking", [result("hits@1", conventions={"ties": "optimistic"})])
    write(mixed, root, "a", "other", 0)
    write(Evaluation("ranking", [result("hits@1", conventions={"ties": "expected"})]), root, "b", "other", 0)
    (root / "half.json").write_text('{"schema": "graphgauge/result/2", "ru')
    skipped = Evaluation("ranking", [result()], skipped={"ndcg@5": "no ranks given"})
    write(skipped, root, "a", "third", 0)
    text = text_of(write_report(root, tmp_path / "r.html"))
    assert "b on toy seed 2 (no run)" in text
    assert "2 of 3 runs" in text
    assert "hits@1 cannot be summarised: ties is optimistic in 1 run" in text
    assert "1 file could not be read" in text
    assert "Not measured in ranking, in 1 of 8 results: ndcg@5. The reason: no ranks given." in text


def test_gates_findings_and_provenance_stand_on_the_first_screen(report: Path):
    text = text_of(report)
    for words in (
        "mrr.low >= 0.3",
        "rotate on nations, 8 runs",
        "tied-scores",
        "79 results",
        "79 inputs hashed",
        "newest result 2025-03-08",
        "Comparisons that the study asked for",
        "ties realistic",
    ):
        assert words in text, words


def test_what_is_wrong_with_all_results_together_is_found(tmp_path: Path):
    facts = {"interval": Interval(0.4, 0.6, 0.95, "t", "queries"), "chance": (Chance("random", 0.5),)}
    root = write_runs(tmp_path / "r", {"a": [0.5, 0.51], "b": [0.5, 0.49]}, **facts)
    text = text_of(write_report(root, tmp_path / "r.html"))
    assert "few-seeds ranking on toy: 2 methods are compared on 2 seeds" in text
    assert "not-above-chance ranking on toy: mrr of a is 0.5050" in text
    assert "likewise b in ranking on toy" in text
    assert "4 results together" in text
    (root / "study.json").write_text(
        json.dumps({"study": "Mine", "gates": [], "comparisons": [], "ignore": {"few-seeds": "a first look"}})
    )
    text = text_of(write_report(root, tmp_path / "r.html"))
    assert "few-seeds" not in text
    assert "not-above-chance" in text


def test_a_metric_that_the_study_compares_leads(tmp_path: Path):
    root = tmp_path / "r"
    write_ranking(root, datasets=["toy"], seeds=2, queries=30)
    (root / "comparisons").mkdir()
    (root / "comparisons" / "1.json").write_text(json.dumps({"metric": "amri", "tests": [], "alpha": 0.05}))
    asked = {
        "study": "Mine",
        "gates": [],
        "comparisons": [{"title": "t", "file": "../comparisons/1.json", "error": None}],
    }
    (root / "study.json").write_text(json.dumps(asked))
    text = text_of(write_report(root, tmp_path / "r.html"))
    assert "Mine" in text
    assert "has the best mean amri on toy" in text


def test_a_study_file_that_is_something_else_is_said_to_be(tmp_path: Path):
    root = write_runs(tmp_path / "r", {"a": [0.5], "b": [0.4]})
    (root / "study.json").write_text('{"study": 3, "gates": 4}')
    assert "not the outcome of a study" in text_of(write_report(root, tmp_path / "r.html"))


def test_a_family_that_is_not_built_in_is_reported_and_not_imported(tmp_path: Path):
    for seed in range(2):
        write(Evaluation("antigravity", [result("beauty", 0.1 * seed)]), tmp_path / "r", "a", "toy", seed)
    import sys

    assert "antigravity" in text_of(write_report(tmp_path / "r", tmp_path / "r.html"))
    assert "antigravity" not in sys.modules


def test_families_stand_in_the_order_of_the_library(tmp_path: Path):
    for family in ("unheard of", "recovery", "ranking"):
        write(Evaluation(family, [result("directed_f1")]), tmp_path / "r", f"{family[::-1]}", "toy", 0)
    page = write_report(tmp_path / "r", tmp_path / "r.html")
    headings = re.findall(r'<h2 id="family-\d-title">(.*?)</h2>', page.read_text(encoding="utf-8"))
    assert headings == ["ranking", "recovery", "unheard of"]


def test_groups_are_shown_by_the_leading_metric_under_whatever_name_they_have_it(tmp_path: Path):
    columns = {
        "condition": np.array(["x", "y"]),
        "n": np.array([9, 9]),
        "validity_rate": np.array([1.0, 1.0]),
        "mean_distance": np.array([0.25, 0.75]),
        "mean_distance.n": np.array([3, 4]),
    }
    for seed in range(2):
        results = [result("overall_mean_distance"), result("validity_rate")]
        evaluation = Evaluation("generation", results, breakdowns={"condition": Table("condition", columns)})
        write(evaluation, tmp_path / "r", "a", "toy", seed)
    page = write_report(tmp_path / "r", tmp_path / "r.html")
    (chart,) = [chart for chart in data_of(page)["charts"] if "groups" in chart["id"]]
    assert "Leading metrics by condition" in text_of(page)
    metric, group, n, value = (column_of(chart["rows"], name)[:2] for name in ("metric", "group", "n", "value"))
    assert (metric, group, n, value) == (["mean_distance"] * 2, ["y", "y"], [4, 4], [0.75, 0.75])


def test_warnings_that_are_not_shown_are_counted(tmp_path: Path):
    notes = (*(f"remark {name}" for name in "abcdefghijklmnopqrstuvw"), "share 1.5 %", "share 20 %", "share 3 %")
    write(Evaluation("ranking", [result()], notes=notes), tmp_path / "r", "a", "toy", 0)
    text = text_of(write_report(tmp_path / "r", tmp_path / "r.html"))
    assert "remark t … and 4 more, in the result files" in text
    write(Evaluation("ranking", [result()], notes=notes[-3:]), tmp_path / "few", "a", "toy", 0)
    text = text_of(write_report(tmp_path / "few", tmp_path / "r.html"))
    assert "share 1.5 % (and 2 more with other numbers)" in text


# ------------------------------------------------------------------- what it holds


def test_nothing_in_it_points_elsewhere(report: Path):
    for tag, attributes in Elements(report).found:
        for name in ("src", "href", "action", "data", "poster", "srcset", "background"):
            address = attributes.get(name) or ""
            assert address.startswith(("#", "data:,")) or not address, (tag, name, address)
    assert "default-src 'none'" in report.read_text(encoding="utf-8")


def test_the_same_results_give_the_same_bytes(results: Path, report: Path, tmp_path: Path):
    assert write_report(results, tmp_path / "again.html").read_bytes() == report.read_bytes()


def test_runs_stand_beside_the_last_of_their_chance_levels(tmp_path: Path):
    """Which is the one that the tables show, too."""
    levels = (Chance("constant scorer", 0.1), Chance("random scorer", 0.2))
    write_runs(tmp_path / "r", {"a": [0.5, 0.6]}, chance=levels)
    page = write_report(tmp_path / "r", tmp_path / "page.html")
    assert data_of(page)["runs"]["chance"] == [0.2, 0.2]


@pytest.mark.parametrize(("methods", "drawn"), [("ab", False), ("abc", True)])
def test_ranks_are_drawn_from_three_methods_on(methods: str, drawn: bool, tmp_path: Path):
    scores = {name: [0.1 * place + 0.01 * seed for seed in range(8)] for place, name in enumerate(methods, 1)}
    page = write_report(write_runs(tmp_path / "r", scores), tmp_path / "page.html")
    assert ("mean rank, 1 is best" in page.read_text(encoding="utf-8")) == drawn


def test_the_demo_sized_page_stays_below_two_megabytes(report: Path):
    assert report.stat().st_size < 2_000_000


def test_charts_are_valid_vega_lite(report: Path):
    altair = pytest.importorskip("altair")
    charts = data_of(report)["charts"]
    assert len(charts) == 13
    for chart in charts:
        altair.Chart.from_dict({**chart["spec"], "data": {"name": "rows"}}).to_dict()


def test_a_thousand_results_with_twenty_metrics_take_seconds(large: tuple[Path, float]):
    page, seconds = large
    assert seconds < 30
    assert page.stat().st_size < 5_000_000


def test_the_command_writes_the_page_and_says_where(results: Path, tmp_path: Path):
    done = CliRunner().invoke(command, [str(results), "-o", str(tmp_path / "page.html"), "--title", "A & B"])
    assert done.exit_code == 0, done.output
    assert done.output.strip() == str(tmp_path / "page.html")
    assert "<title>A &amp; B</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_no_results_is_an_error(tmp_path: Path):
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(InputError, match="no result files"):
        write_report(tmp_path, tmp_path / "r.html")
    with pytest.raises(InputError, match="no such file"):
        write_report(tmp_path / "absent.json", tmp_path / "r.html")


@pytest.mark.parametrize("source", [None, 5, [5], [None]])
def test_what_is_no_path_is_refused(tmp_path: Path, source):
    with pytest.raises(InputError, match="source: expected the path of a folder or a file"):
        write_report(source, tmp_path / "r.html")


def test_a_title_may_be_a_number(results: Path, tmp_path: Path):
    page = write_report(results, tmp_path / "r.html", title=2025)
    assert "<title>2025</title>" in page.read_text(encoding="utf-8")


# ------------------------------------------------------------------- what data cannot do


def test_hostile_results_make_no_elements_and_no_scripts(tmp_path: Path):
    page = write_report(write_hostile(tmp_path / "r"), tmp_path / "r.html")
    elements = Elements(page).found
    assert len([tag for tag, _ in elements if tag == "script"]) == 3
    assert not [tag for tag, _ in elements if tag in ("img", "iframe", "object", "embed", "base", "form")]
    assert not [name for _, attributes in elements for name in attributes if name.startswith("on")]
    text = page.read_text(encoding="utf-8")
    assert "49" not in text_of(page).split()  # the template in a name was not run
    assert not re.search("[\u202e\u2028\x00\x1b]", text)
    assert page.stat().st_size < 2_000_000
    assert "1 file could not be read" in text_of(page)


def test_names_that_are_cut_stay_apart():
    long = [clean("a" * 1000 + end) for end in "xy"]
    assert len(set(long)) == 2
    assert max(map(len, long)) < LIMIT + 20
    assert clean("a\u202eb") != clean("a\u202db")
    assert clean("two\nlines") == "two lines"
    assert clean("日本語 العربية") == "日本語 العربية"
    assert clean("\ud800").encode()


def test_json_in_a_script_cannot_end_it():
    hostile = {"</script>": "<!-- \u2028 & ]]>"}
    text = script_json(hostile)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == hostile


def test_a_file_name_that_is_not_text_is_read(tmp_path: Path):
    root = write_runs(tmp_path / "r", {"a": [0.5, 0.6]})
    source = next(root.rglob("metrics_toy_0.json"))
    shutil.move(source, bytes(root) + b"/\xff\xfe.json")
    assert "2 results" in text_of(write_report(root, tmp_path / "r.html"))
