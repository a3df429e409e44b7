"""The page in a browser: it opens in silence, asks nobody, sorts, filters, and can be read by everyone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from graphgauge.report.html import write_report
from tests.report.chrome import Chrome
from tests.report.hostile import write_hostile
from tests.report.sample import write_ranking

pytestmark = pytest.mark.xdist_group("browser")  # one browser, not one a worker

# What an accessibility checker would say, in the order of the page.
AUDIT = """
const faults = [];
const seen = (e) => { const s = getComputedStyle(e); return e.getClientRects().length && s.visibility !== "hidden"; };
const name = (e) => (e.getAttribute("aria-label") || e.textContent || "").trim()
  || [...(e.labels || [])].map((label) => label.textContent.trim()).join(" ");
for (const e of document.querySelectorAll("a[href], button, input, select, summary, [role=region]"))
  if (!name(e)) faults.push(`no name: ${e.outerHTML.slice(0, 80)}`);
const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) faults.push(`id twice: ${id}`);
for (const e of document.querySelectorAll("[aria-labelledby], [aria-controls]"))
  for (const id of (e.getAttribute("aria-labelledby") || e.getAttribute("aria-controls")).split(" "))
    if (!document.getElementById(id)) faults.push(`nothing called ${id}`);
for (const table of document.querySelectorAll("table")) {
  if (!table.caption?.textContent.trim()) faults.push(`no caption: ${table.id}`);
  if ([...table.querySelectorAll("th")].some((th) => !th.scope)) faults.push(`no scope: ${table.id}`);
}
for (const svg of document.querySelectorAll("svg"))
  if (!svg.closest("[aria-label]")) faults.push("a picture without a name");
let level = 0;
for (const h of document.querySelectorAll("h1, h2, h3, h4, h5")) {
  if (+h.tagName[1] > level + 1) faults.push(`level skipped before ${h.textContent.slice(0, 40)}`);
  level = +h.tagName[1];
}
if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
for (const landmark of ["header", "nav", "main", "footer"])
  if (document.querySelectorAll(landmark).length !== 1) faults.push(`not one ${landmark}`);
if (!document.documentElement.lang || !document.title) faults.push("no language or no title");
const rgb = (text) => { const v = (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number); return v.length < 4 ? [...v, 1] : v; };
const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const ground = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 0.5) return c; } return [255, 255, 255, 1]; };
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const low = new Set();
for (let node; (node = walker.nextNode());) {
  const e = node.parentElement;
  if (!node.data.trim() || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(e.tagName) || !seen(e)) continue;
  const style = getComputedStyle(e);
  const [a, b] = [light(rgb(e.closest("svg") ? style.fill : style.color)), light(ground(e))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) low.add(`contrast ${ratio.toFixed(2)}: ${e.tagName}.${e.className.baseVal ?? e.className} "${node.data.trim().slice(0, 30)}"`);
}
return [...faults, ...low];
"""


@pytest.fixture
def opened(browser: Chrome, report: Path) -> Chrome:
    browser.viewport(1280, 900)
    browser.open(report)
    return browser


def column(browser: Chrome, table: str, index: int) -> list[str]:
    script = "return [...document.querySelectorAll(`#${arguments[0]} tbody tr:not([hidden])`)].map((row) => row.children[arguments[1]].textContent.trim())"
    return browser.run(script, table, index)


def test_it_opens_in_silence_and_asks_nobody(browser: Chrome, report: Path):
    browser.messages(), browser.requests()
    browser.viewport(1280, 900)
    browser.open(report)
    browser.drawn()
    assert browser.messages() == []
    assert browser.requests() == [report.as_uri()]
    assert browser.run("return document.querySelectorAll('.plot svg').length") == 7
    fetched = browser.run("return fetch('https://example.org').then(() => 'went out', () => 'refused')")
    assert fetched == "refused"
    browser.messages()  # the refusal


def test_headings_sort(opened: Chrome):
    heads = opened.run(
        "return [...document.querySelectorAll('#headline thead th')].map((head) => head.textContent.trim())"
    )
    mean = heads.index("Mean")
    opened.click(f"#headline thead th:nth-child({mean + 1}) button")
    values = [float(text.split()[-1].lstrip("★≈:")) for text in column(opened, "headline", mean)]
    assert values == sorted(values, reverse=True)
    opened.click(f"#headline thead th:nth-child({mean + 1}) button")
    values = [float(text.split()[-1].lstrip("★≈:")) for text in column(opened, "headline", mean)]
    assert values == sorted(values)
    sort = opened.run("return [...document.querySelectorAll('#headline thead th')].map((head) => head.ariaSort)")
    assert sort[mean] == "ascending"
    assert set(sort) == {"ascending", "none"}


def test_chance_stays_at_the_foot(opened: Chrome):
    opened.click("#family-1-table-1 thead th:nth-child(1) button")
    opened.click("#family-1-table-1 thead th:nth-child(1) button")
    assert column(opened, "family-1-table-1", 0) == ["transe", "rotate", "distmult", "degree", "chance"]


def test_filters_hide_rows_and_columns(opened: Chrome):
    opened.type("#overview [data-filter=rows]", "ROTATE")
    assert column(opened, "headline", 1) == ["rotate", "rotate"]
    assert opened.run("return document.querySelector('#overview .tools [role=status]').textContent").startswith(
        "2 of 11 rows"
    )
    opened.type("[data-filter=columns]", "hits")
    shown = "return [...document.querySelectorAll('#family-1-table-1 thead th:not([hidden])')].map((th) => th.textContent.trim())"
    heads = opened.run(shown)
    assert heads[0] == "Method"
    assert len(heads) > 3
    assert all("hits" in head for head in heads[1:])


def test_runs_are_chosen_and_paged(opened: Chrome):
    status = "return document.querySelector('#browser [role=status]').textContent"
    total = int(opened.run(status).split()[2])
    opened.click("#browser button.more")
    assert opened.run(status) == f"100 of {total} values shown"
    opened.run(
        "const pick = document.querySelector('[data-pick=metric]'); pick.value = 'mrr'; pick.dispatchEvent(new Event('change'))"
    )
    assert opened.run(status) == "50 of 64 values shown"


def test_charts_choose_a_metric_and_show_their_data(opened: Chrome):
    opened.drawn()
    labels = "return [...document.querySelectorAll('#family-1-values .role-axis-label text')].map((t) => t.textContent)"
    before = opened.run(labels)
    opened.run(
        "const s = document.querySelector('#family-1-values-tools select'); s.selectedIndex = 1; s.dispatchEvent(new Event('change'))"
    )
    time.sleep(0.3)
    assert opened.run(labels) != before
    opened.click("details[data-rows-of=family-1-values] summary")
    time.sleep(0.2)
    assert opened.run("return document.querySelectorAll('details[data-rows-of=family-1-values] tbody tr').length") > 50


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


def test_the_keyboard_reaches_what_the_mouse_does(opened: Chrome):
    opened.devtools("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert opened.run("return document.activeElement.textContent") == "Skip to the results"
    reach = "return [...document.querySelectorAll('a[href], button, input, select, summary, .scroll')].filter((e) => e.tabIndex < 0).length"
    assert opened.run(reach) == 0
    assert (
        opened.run(
            "const b = document.querySelector('#headline button'); b.focus({focusVisible: true}); return getComputedStyle(b).outlineStyle"
        )
        == "solid"
    )


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


def test_a_large_page_stays_usable(browser: Chrome, tmp_path: Path):
    methods = {f"method {number}": 0.1 * number for number in range(10)}
    write_ranking(
        tmp_path / "r", methods=methods, datasets=[f"data {number}" for number in range(5)], seeds=4, queries=20
    )
    page = write_report(tmp_path / "r", tmp_path / "r.html")
    start = time.perf_counter()
    browser.open(page)
    browser.drawn()
    assert time.perf_counter() - start < 20
    begin = browser.run(
        "const t = performance.now(); document.querySelector('#headline th button').click(); return performance.now() - t"
    )
    assert begin < 500
