"""The page in a browser: it opens in silence, asks nobody, sorts, filters, and can be read by everyone."""

from __future__ import annotations

import re
import time
from importlib.resources import files
from pathlib import Path

import pytest
from tests.report.chrome import Chrome
from tests.report.hostile import write_hostile

from graphgauge.report.html import write_report

# What axe-core does not decide: the contrast of every text, those of charts included, and the structure of this page.
AUDIT = (Path(__file__).parent / "audit.js").read_text(encoding="utf-8")


@pytest.fixture
def opened(browser: Chrome, report: Path) -> Chrome:
    browser.viewport(1280, 900)
    browser.open(report)
    return browser


def texts(browser: Chrome, selector: str) -> list[str]:
    return browser.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent.trim())", selector)


def column(browser: Chrome, table: str, number: int) -> list[str]:
    return texts(browser, f"#{table} tbody tr:not([hidden]) > :nth-child({number})")


def choose(browser: Chrome, selector: str, index: int) -> None:
    script = "const pick = document.querySelector(arguments[0]); pick.selectedIndex = arguments[1];"
    browser.run(f"{script} pick.dispatchEvent(new Event('change'))", selector, index)


def test_it_opens_in_silence_and_asks_nobody(browser: Chrome, report: Path):
    browser.messages(), browser.requests()
    browser.viewport(1280, 900)
    browser.open(report)
    browser.drawn()
    assert browser.messages() == []
    assert browser.requests() == [report.as_uri()]
    assert browser.run("return document.querySelectorAll('.plot svg').length") == 13
    fetched = browser.run("return fetch('https://example.org').then(() => 'went out', () => 'refused')")
    assert fetched == "refused"
    browser.messages()  # the refusal


def test_headings_sort(opened: Chrome):
    mean = texts(opened, "#headline thead th").index("Mean") + 1
    for order in ("descending", "ascending"):  # of numbers, the large first
        opened.click(f"#headline thead th:nth-child({mean}) button")
        values = [float(text.split()[-1].lstrip("★≈:")) for text in column(opened, "headline", mean)]
        assert values == sorted(values, reverse=order == "descending")
        sort = opened.run("return [...document.querySelectorAll('#headline thead th')].map((head) => head.ariaSort)")
        assert sort.pop(mean - 1) == order
        assert set(sort) == {"none"}


def test_chance_stays_at_the_foot(opened: Chrome):
    for _ in range(2):
        opened.click("#family-1-table-1 thead th:nth-child(1) button")
    assert column(opened, "family-1-table-1", 1) == ["transe", "rotate", "distmult", "degree", "chance"]


def test_filters_hide_rows_and_columns(opened: Chrome):
    opened.type("#overview [data-filter=rows]", "ROTATE")
    assert column(opened, "headline", 2) == ["rotate", "rotate"]
    assert texts(opened, "#overview .tools [role=status]")[0].startswith("2 of 11 rows")
    opened.type("[data-filter=columns]", "hits")
    heads = texts(opened, "#family-1-table-1 thead th:not([hidden])")
    assert heads[0] == "Method"
    assert len(heads) > 3
    assert all("hits" in head for head in heads[1:])


def test_runs_are_chosen_and_paged(opened: Chrome):
    status = "#browser [role=status]"
    total = int(texts(opened, status)[0].split()[2])
    opened.click("#browser button.more")
    assert texts(opened, status) == [f"100 of {total} values shown"]
    choose(opened, "[data-pick=metric]", 1)
    assert texts(opened, status) == ["50 of 64 values shown"]


def test_charts_choose_a_metric_and_show_their_data(opened: Chrome):
    opened.drawn()
    before = texts(opened, "#family-1-values .role-axis-label text")
    choose(opened, "#family-1-values-tools select", 1)
    time.sleep(0.3)
    assert texts(opened, "#family-1-values .role-axis-label text") != before
    opened.click("details[data-rows-of=family-1-values] summary")
    time.sleep(0.2)
    assert len(texts(opened, "details[data-rows-of=family-1-values] tbody tr")) > 50


def press(browser: Chrome, key: str, code: int, text: str = "") -> None:
    """As a keyboard would, in the element that has the focus."""
    event = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
    browser.devtools("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
    browser.devtools("Input.dispatchKeyEvent", type="keyUp", **event)
    time.sleep(0.1)


def focus(browser: Chrome, selector: str) -> None:
    browser.run("document.querySelector(arguments[0]).focus()", selector)


def test_all_of_it_works_with_the_keyboard(opened: Chrome):
    opened.drawn()
    rank = texts(opened, "#headline thead th").index("Rank") + 1
    focus(opened, f"#headline thead th:nth-child({rank}) button")
    press(opened, "Enter", 13, "\r")
    assert column(opened, "headline", rank)[0].startswith("4")  # the last rank, of numbers the large first
    press(opened, " ", 32, " ")
    assert column(opened, "headline", rank)[0].startswith("1")
    focus(opened, "[data-rows-of=forest-1] summary")
    press(opened, "Enter", 13, "\r")
    assert len(texts(opened, "[data-rows-of=forest-1] tbody tr")) == 8
    focus(opened, "#family-1-values-tools select")
    before = texts(opened, "#family-1-values .role-axis-label text")
    press(opened, "ArrowDown", 40)
    assert texts(opened, "#family-1-values .role-axis-label text") != before
    focus(opened, "#overview [data-filter=rows]")
    for letter in "kin":
        press(opened, letter, ord(letter.upper()), letter)
    assert set(column(opened, "headline", 1)) == {"kinships"}
    focus(opened, "#family-1 details.comparison summary")
    opened.run("document.activeElement.parentElement.open = false")
    press(opened, "Enter", 13, "\r")
    assert opened.run("return document.activeElement.parentElement.open")


def test_one_gets_down_to_single_items(opened: Chrome):
    """From the leader to its worst queries, with their ranks, and to the edges that it gets wrong."""
    heads = texts(opened, "#family-1-worst-1 thead th")
    assert heads[:2] == ["Query", "rotate"]
    values = [float(text.split()[0]) for text in column(opened, "family-1-worst-1", 2)]
    assert len(values) == 20
    assert values == sorted(values)
    assert all("of 51" in text for text in column(opened, "family-1-worst-1", 2))
    opened.click("#family-1-worst-1 thead th:nth-child(3) button")
    other = [float(text.split()[0]) for text in column(opened, "family-1-worst-1", 3)]
    assert other == sorted(other, reverse=True)
    edges = dict(zip(column(opened, "family-2-worst-1", 1), column(opened, "family-2-worst-1", 2), strict=True))
    assert edges
    assert set(edges.values()) <= {"missing", "extra", "reversed"}
    drawn = texts(opened, "#family-2 .picture figcaption")
    wrong = sum(int(count) for count, kind in re.findall(r"(\d+) (missing|extra|reversed)", drawn[0]))
    assert len(edges) == min(wrong, 20)


def test_downloads_hold_the_data(opened: Chrome):
    opened.run("window.saved = []; URL.createObjectURL = (blob) => { window.saved.push(blob); return '#'; }")
    for index in range(5):
        opened.run("document.querySelectorAll('[data-download]')[arguments[0]].click()", index)
    means, runs, whole, latex, _ = opened.run("return Promise.all(window.saved.map((blob) => blob.text()))")
    assert means.startswith("family,dataset,method,metric,value,low,high")
    assert runs.count("\n") == opened.run("return window.graphgauge.runs.length") + 1
    assert whole.startswith("[")
    assert r"\begin{tabular}" in latex


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_everyone_can_read_it(opened: Chrome, scheme: str, width: int):
    opened.scheme(scheme)
    opened.viewport(width, 900)
    opened.drawn()
    try:
        assert opened.run(AUDIT) == []
        assert opened.run("return document.documentElement.scrollWidth") <= width
    finally:
        opened.scheme("light")


@pytest.mark.parametrize(("scheme", "width"), [("dark", 1280), ("light", 390)])
def test_axe_finds_nothing(opened: Chrome, scheme: str, width: int):
    opened.scheme(scheme)
    opened.viewport(width, 900)
    opened.drawn()
    try:
        axe = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
        opened.run(f"{axe}; window.axe = axe")
        rules = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": False}}}
        found = opened.run("return axe.run(document, arguments[0])", rules)
        assert [(each["impact"], each["id"], each["nodes"][0]["html"][:90]) for each in found["violations"]] == []
        assert len(found["passes"]) >= 20  # it has run
    finally:
        opened.scheme("light")


def test_the_first_table_can_be_seen_whole(opened: Chrome):
    assert opened.run(
        "const box = document.querySelector('#headline').closest('.scroll');"
        "return [box.scrollWidth - box.clientWidth, box.scrollHeight - box.clientHeight]"
    ) == [0, 0]


def test_no_word_is_broken_on_a_phone(opened: Chrome):
    """Values stand in one line, and so do headings of one word."""
    opened.viewport(390, 900)
    opened.drawn()
    opened.run("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    time.sleep(0.2)
    broken = opened.run("""
        const range = document.createRange();
        const lines = (e) => { range.selectNodeContents(e); return range.getClientRects().length; };
        const texts = [...document.querySelectorAll("td.numeric .value.short, #browser .value.short, thead button")];
        return texts.filter((e) => !e.textContent.includes(" ") && lines(e) > 1 + e.querySelectorAll("wbr").length)
          .map((e) => e.textContent);
    """)
    assert broken == []


def test_what_is_told_of_a_mark_has_few_digits(opened: Chrome):
    opened.drawn()
    opened.run("document.querySelector('#family-1-values').scrollIntoView({block: 'center'})")
    time.sleep(0.3)
    x, y = opened.run(
        "const marks = [...document.querySelectorAll('#family-1-values .mark-symbol path')];"
        "const box = marks.pop().getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]"
    )
    opened.devtools("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    time.sleep(0.3)
    told = opened.run("return [...document.querySelectorAll('#vg-tooltip-element .value')].map((e) => e.textContent)")
    numbers = [text for text in told if text.replace(".", "").isdecimal()]
    assert len(numbers) >= 4
    assert max(map(len, numbers)) <= 8


def test_on_paper_nothing_is_cut(opened: Chrome):
    opened.devtools("Emulation.setEmulatedMedia", media="print")
    opened.viewport(680, 900)  # what A4 leaves between the margins
    try:
        opened.run("dispatchEvent(new Event('beforeprint'))")
        wide = "return [...document.querySelectorAll('table')].filter((e) => e.scrollWidth > 680).map((e) => e.id)"
        assert opened.run(wide) == []
    finally:
        opened.devtools("Emulation.setEmulatedMedia", media="")


def test_the_keyboard_reaches_what_the_mouse_does(opened: Chrome):
    opened.devtools("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert opened.run("return document.activeElement.textContent") == "Skip to the results"
    for selector in ("a[href]", "button", "input", "select", "summary", ".scroll"):
        least = opened.run(
            "return Math.min(...[...document.querySelectorAll(arguments[0])].map((e) => e.tabIndex))", selector
        )
        assert least == 0, selector
    opened.run("document.querySelector('#headline button').focus({focusVisible: true})")
    assert opened.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_it_prints(opened: Chrome, tmp_path: Path):
    opened.drawn()
    opened.pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").stat().st_size > 20_000


def test_hostile_results_do_no_harm(browser: Chrome, tmp_path: Path):
    page = write_report(write_hostile(tmp_path / "r"), tmp_path / "r.html")
    browser.messages(), browser.requests()
    browser.open(page)
    browser.drawn()
    assert browser.messages() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("return window.harmed ?? null") is None
    assert browser.run("return document.querySelectorAll('script').length") == 3
    for line in browser.run("return window.graphgauge.csv(window.graphgauge.runs)").splitlines():
        for cell in line.split(","):
            assert not cell.strip('" ').startswith(("=", "+", "@")), cell[:80]
    assert (
        browser.run("return window.graphgauge.csv([{a: '-1+2', b: -1.5, c: '=1', d: '-2'}])")
        == "a,b,c,d\n'-1+2,-1.5,'=1,-2\n"
    )


def test_a_large_page_stays_usable(browser: Chrome, large: tuple[Path, float]):
    page, _ = large
    start = time.perf_counter()
    browser.open(page)
    browser.drawn()
    assert time.perf_counter() - start < 30
    click = "const begin = performance.now(); document.querySelector('#headline th button').click();"
    assert browser.run(f"{click} return performance.now() - begin") < 500  # milliseconds
    pick = "const begin = performance.now(); document.querySelector('[data-pick]').dispatchEvent(new Event('change'));"
    assert browser.run(f"{pick} return performance.now() - begin") < 500
