"""The page in a browser: it opens in silence, asks nobody, sorts, filters, and can be read by everyone."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from tests.report.chrome import Chrome


@pytest.fixture
def opened(browser: Chrome, study: Path) -> Chrome:
    browser.scheme("light")
    browser.viewport(1280, 900)
    browser.open(study / "report.html")
    return browser


def texts(browser: Chrome, selector: str) -> list[str]:
    return browser.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent.trim())", selector)


def seen(browser: Chrome, selector: str) -> list[str]:
    script = (
        "return [...document.querySelectorAll(arguments[0])].filter((e) => e.offsetParent).map((e) => e.textContent)"
    )
    return browser.run(script, selector)


def test_it_opens_in_silence_and_asks_nobody(browser: Chrome, study: Path):
    browser.messages(), browser.requests()
    browser.viewport(1280, 900)
    browser.open(study / "report.html")
    assert browser.messages() == []
    assert browser.requests() == [(study / "report.html").as_uri()]
    assert browser.run("return fetch('https://example.org').then(() => 'went out', () => 'refused')") == "refused"
    browser.messages()  # the refusal


def test_headings_sort(opened: Chrome):
    for order in ("descending", "ascending"):
        opened.click(".runs thead th:nth-child(4) button")
        values = [float(text) for text in texts(opened, ".runs:nth-of-type(1) tbody tr > :nth-child(4)")[:6]]
        assert values == sorted(values, reverse=order == "descending")
        assert opened.run("return document.querySelectorAll('.runs thead th')[3].ariaSort") == order
    for names in (["good", "poor"], ["poor", "good"]):
        opened.click(".runs thead th:nth-child(1) button")
        assert list(dict.fromkeys(texts(opened, ".runs:nth-of-type(1) tbody tr > :nth-child(1)")[:6])) == names


def test_filters_hide_rows_and_columns(opened: Chrome):
    opened.type("#filter", "POOR 2")
    assert seen(opened, ".runs tbody tr > :nth-child(1)") == ["poor"]
    assert texts(opened, "#count") == ["1 of 10 runs"]
    opened.run("filter.value = ''; filter.dispatchEvent(new Event('input'))")
    opened.type("#columns", "hits")
    heads = seen(opened, ".runs thead th")
    assert [head for head in heads if "mrr" in head] == []
    assert sum("hits" in head for head in heads) >= 2


def press(browser: Chrome, key: str, code: int, text: str = "") -> None:
    event = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
    browser.devtools("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
    browser.devtools("Input.dispatchKeyEvent", type="keyUp", **event)


def test_all_of_it_works_with_the_keyboard(opened: Chrome):
    opened.run("document.querySelector('.runs thead th:nth-child(4) button').focus()")
    press(opened, "Enter", 13, "\r")
    assert opened.run("return document.querySelectorAll('.runs thead th')[3].ariaSort") == "descending"
    press(opened, " ", 32, " ")
    assert opened.run("return document.querySelectorAll('.runs thead th')[3].ariaSort") == "ascending"
    opened.run("document.querySelector('nav a').focus()")
    reached, script = set(), "const e = document.activeElement; return e.id || e.ariaLabel || e.tagName"
    for _ in range(40):
        press(opened, "Tab", 9)
        reached.add(opened.run(script))
    assert {"filter", "columns", "SUMMARY", "A", "BUTTON", "Who leads, a table"} <= reached


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 400), ("dark", 400)])
def test_axe_finds_nothing(opened: Chrome, scheme: str, width: int):
    """Names, roles, structure, and the contrast of every text."""
    opened.scheme(scheme)
    opened.viewport(width, 900)
    axe = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
    opened.run(f"{axe}; window.axe = axe")
    opened.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    found = opened.run("return axe.run(document, {resultTypes: ['violations']})")
    assert [(each["impact"], each["id"], each["nodes"][0]["html"][:90]) for each in found["violations"]] == []
    assert len(found["passes"]) >= 20  # it has run
    assert "color-contrast" in [each["id"] for each in found["passes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_in_figures_have_the_colour_of_the_page(opened: Chrome, scheme: str):
    opened.scheme(scheme)
    fills = opened.run("return [...document.querySelectorAll('.drawing text')].map((e) => getComputedStyle(e).fill)")
    assert fills
    assert set(fills) == {opened.run("return getComputedStyle(document.body).color")}
    assert not [each for each in texts(opened, ".drawing text") if "$" in each]


def test_on_a_phone_every_number_of_the_first_table_says_what_it_is(opened: Chrome):
    opened.viewport(400, 900)
    heads = texts(opened, ".lead thead th")[1:]
    told = "return [...document.querySelectorAll('.lead tbody tr:first-child td')].map((e) => e.dataset.head)"
    assert opened.run(told) == heads
    shown = opened.run("return getComputedStyle(document.querySelector('.lead td'), '::before').content")
    assert shown not in ("none", "normal")
    table = "document.querySelector('.lead')"
    assert opened.run(f"return {table}.scrollWidth <= {table}.clientWidth")


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_screen(opened: Chrome, width: int):
    opened.viewport(width, 900)
    assert opened.run("return document.documentElement.scrollWidth") == width


def test_the_first_table_is_seen_whole_on_a_wide_screen(opened: Chrome):
    assert opened.run("const box = document.querySelector('.lead'); return box.scrollWidth - box.clientWidth") == 0


def test_printed_it_is_complete(opened: Chrome, tmp_path: Path):
    opened.type("#filter", "nothing at all")
    opened.pdf(tmp_path / "page.pdf")
    content = (tmp_path / "page.pdf").read_bytes()
    assert len(re.findall(rb"/Type\s*/Page\b", content)) >= 2


def test_a_thousand_runs_of_twenty_metrics_filter_at_once(browser: Chrome, large: Path):
    """The slowest of several keystrokes, until the page is laid out again."""
    browser.viewport(1280, 900)
    browser.open(large)
    script = """
    const field = document.getElementById("filter"), times = [];
    for (const text of ["m", "me", "method-1", "method-1 2", "method", ""]) {
      const begin = performance.now();
      field.value = text;
      field.dispatchEvent(new Event("input"));
      document.body.getBoundingClientRect();
      times.push(performance.now() - begin);
    }
    return times;
    """
    times = browser.run(script)
    assert max(times) < 200, times
    assert texts(browser, "#count")[0].startswith("1,000 of 1,000 runs")
