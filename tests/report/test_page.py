"""The page's text: the answer first, a row for every family and dataset, everything escaped, nothing cut."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.command import graphgauge as command
from tests.report.conftest import evaluation

from graphgauge.core.errors import InputError, OptionError
from graphgauge.report import write_report
from graphgauge.report.leaders import leaders
from graphgauge.report.material import gathered
from graphgauge.stats.outcome import Comparison


class Texts(HTMLParser):
    """Tables as rows of texts, by caption; and every element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.elements: list[str] = []
        self._rows: list[list[str]] = []
        self._caption, self._in = "", ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self._in = tag
        if tag == "table":
            self._rows, self._caption = [], ""
        if tag == "tr":
            self._rows.append([])
        if tag in ("td", "th"):
            self._rows[-1].append("")

    def handle_data(self, data):
        if self._in == "caption":
            self._caption += data
        if self._in in ("td", "th") and self._rows and self._rows[-1]:
            self._rows[-1][-1] += data

    def handle_endtag(self, tag):
        if tag == "table":
            self.tables[self._caption] = self._rows
        self._in = ""


def page_of(results: Path, path: Path) -> str:
    return write_report(results, path).read_text(encoding="utf-8")


def test_the_answer_is_first_and_every_family_has_a_row(study):
    page = (study / "report.html").read_text(encoding="utf-8")
    answer = re.search(r'<p class="answer">(.*?)</p>', page)[1]
    assert answer == ("One method is significantly ahead of the next in 0 of 2 comparisons; 3 gates of 6 did not pass.")
    assert page.index(answer) < page.index("<table>")
    rows = Texts(page).tables["Who leads, by family and dataset"]
    assert [row[:4] for row in rows[1:]] == [["ranking", "toy", "good", "poor"], ["recovery", "small", "near", "far"]]


def test_leaders_are_those_of_the_comparison(study):
    (ranking, _) = leaders(gathered([study / "results"]).runs, ["mrr"])
    (path,) = (study / "results/comparisons").iterdir()
    compared = Comparison.load(path)
    (pair,) = compared.pairs
    assert ranking.best == compared.best == "good"
    assert ranking.difference == pytest.approx(pair.difference, abs=1e-12)
    assert [ranking.low, ranking.high] == pytest.approx([*pair.interval], abs=1e-12)


def test_gates_that_did_not_pass_come_first_and_are_counted(study):
    page = (study / "report.html").read_text(encoding="utf-8")
    rows = Texts(page).tables["Gates, those that did not pass first"][1:]
    assert [row[1] for row in rows] == ["failed"] * 3 + ["passed"] * 3
    assert "3 of 6 gates did not pass." in page


def test_findings_stand_once_per_check(study):
    rows = Texts((study / "report.html").read_text(encoding="utf-8")).tables["Findings, once per check"][1:]
    checks = [row[0] for row in rows]
    assert len(checks) == len(set(checks)) > 0


def test_every_run_is_there(study):
    tables = Texts((study / "report.html").read_text(encoding="utf-8")).tables
    assert len(tables["All runs of ranking"]) == 7
    assert len(tables["All runs of recovery"]) == 5


def test_pictures_have_text_as_text_and_nothing_asks_the_network(study):
    page = (study / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg ") >= 2
    drawing = page[page.index("<svg ") : page.index("</svg>")]
    assert ">good<" in drawing
    assert "<image" not in drawing
    assert not re.search(r'(?:src|href)="(?!#)', page)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


NAMES = ["<script>alert(1)</script>", "$x^2$ & <b>", "a\nb\x1b[31m", "=1+1", "\u202eabc 日本語", "x" * 300]


def test_nothing_in_results_is_markup(tmp_path):
    draw = np.random.default_rng(0)
    for name in NAMES:
        for seed in range(2):
            evaluation(draw, name, seed).save(tmp_path / "results", tags={"<i>": "</script>"})
    page = page_of(tmp_path / "results", tmp_path / "page.html")
    assert Texts(page).elements.count("script") == 1
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert not re.search("[\u202a-\u202e]", page)


def test_what_failed_or_is_damaged_is_named(results, tmp_path):
    one, other = sorted((results / "poor/ranking").glob("*.json"))[:2]
    one.write_text(one.read_text().replace('"n": 60', '"n": 61', 1))
    other.write_text("{")
    page = page_of(results, tmp_path / "page.html")
    rows = Texts(page).tables["Files without results"][1:]
    assert [row[0] for row in rows] == [f"poor/ranking/metrics_toy_{seed}.json" for seed in (0, 1)]
    assert "2 files failed or cannot be read" in page


def test_one_method_and_no_seed(tmp_path):
    evaluation(np.random.default_rng(0), "ours", 0).save(tmp_path / "a.json")
    page = page_of(tmp_path / "a.json", tmp_path / "page.html")
    assert "1 result, and no two methods to compare." in page


def test_what_is_no_page_or_no_results_is_refused(results, tmp_path):
    with pytest.raises(OptionError, match=r"Give it the ending \.html"):
        write_report(results, tmp_path / "page.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="contains no results"):
        write_report(tmp_path / "empty", tmp_path / "page.html")
    with pytest.raises(InputError, match="no such file or folder"):
        write_report(tmp_path / "gone", tmp_path / "page.html")


def test_the_same_results_give_the_same_page(results, tmp_path):
    assert page_of(results, tmp_path / "a.html") == page_of(results, tmp_path / "b.html")


def test_the_command(results, tmp_path):
    done = command("report", results, "-o", "page.html", "--title", "Mine", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "page.html\n")
    assert "<title>Mine</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")
