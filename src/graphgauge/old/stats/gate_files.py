"""Outcomes of gates for people and machines: Markdown, JUnit XML, annotations of GitHub, and a figure."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphgauge.core.scrub import clean
from graphgauge.old.core.figures import CHANCE, COLOURS, canvas
from graphgauge.old.core.gates import GateOutcome
from graphgauge.old.core.grids import escape_markdown
from graphgauge.old.stats.regression import Regression

_SUITE = "graphgauge gate"
# Long enough for a sentence, and for every list that messages have.
_LONGEST = 2000


@dataclass(frozen=True)
class Outcome:
    """A gate, whether it passed, and why in one sentence; `regression` is set for gates against a baseline."""

    name: str
    passed: bool
    words: str
    regression: Regression | None = None
    fixed: GateOutcome | None = None

    @classmethod
    def of(cls, outcome: Regression | GateOutcome, *, undecided: str = "fail") -> Outcome:
        if isinstance(outcome, GateOutcome):
            return cls(clean(outcome.gate), outcome.passed, clean(outcome.words), fixed=outcome)
        passed = outcome.passed or (outcome.worse == "undecided" and undecided == "pass")
        words = " ".join(filter(None, (f"{outcome.verdict}: {outcome.evidence}.", outcome.advice, *outcome.notes)))
        return cls(clean(outcome.title), passed, clean(words, _LONGEST), outcome)

    @property
    def word(self) -> str:
        undecided = self.regression is not None and self.regression.worse == "undecided"
        return "undecided" if undecided else "passed" if self.passed else "failed"

    def to_dict(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"gate": self.name, "passed": self.passed, "outcome": self.word, "words": self.words}
        if self.regression is not None:
            return {**facts, "kind": "against a baseline", **self.regression.to_dict(), "passed": self.passed}
        assert self.fixed is not None
        return {**facts, "kind": "requirement", **self.fixed.to_dict()}

    def __str__(self) -> str:
        return f"gate {'passed' if self.passed else 'failed'}: {self.name}: {self.words}"


def junit(outcomes: Sequence[Outcome]) -> str:
    """A test suite with one test case per gate, as CI servers read it."""
    failures = sum(not outcome.passed for outcome in outcomes)
    suites = ET.Element("testsuites")
    suite = ET.SubElement(
        suites, "testsuite", name=_SUITE, tests=str(len(outcomes)), failures=str(failures), errors="0", skipped="0"
    )
    for outcome in outcomes:
        case = ET.SubElement(suite, "testcase", classname="graphgauge.gate", name=outcome.name, time="0")
        if not outcome.passed:
            failure = ET.SubElement(case, "failure", message=outcome.words, type=outcome.word)
            failure.text = outcome.words
        ET.SubElement(case, "system-out").text = str(outcome)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def annotation_lines(outcomes: Sequence[Outcome], file: str | None = None) -> list[str]:
    """Workflow commands of GitHub Actions; they show at the pull request."""
    place = "" if file is None else f"file={_property(file)},"
    lines = []
    for outcome in outcomes:
        kind = "notice" if outcome.passed and outcome.word == "passed" else "warning" if outcome.passed else "error"
        title = _property(f"gate {outcome.word}: {outcome.name}")
        lines.append(f"::{kind} {place}title={title}::{_data(outcome.words)}")
    return lines


def markdown(outcomes: Sequence[Outcome], new: str, against: str | None) -> str:
    """A summary for a pull request."""
    failed = [outcome for outcome in outcomes if not outcome.passed]
    head = "all gates passed" if not failed else f"{len(failed)} of {len(outcomes)} gates failed"
    compared = "" if against is None else f" against `{_code(against)}`"
    lines = [f"### graphgauge: {head}", "", f"`{_code(new)}`{compared}", ""]
    tests = [outcome for outcome in outcomes if outcome.regression is not None]
    if tests:
        lines += ["| metric | new | baseline | change | interval | margin | verdict |", "|---|--:|--:|--:|--:|--:|---|"]
        lines += [_markdown_row(outcome) for outcome in tests]
        lines.append("")
    others = [outcome for outcome in outcomes if outcome.regression is None]
    if others:
        lines += ["| gate | found | verdict |", "|---|---|---|"]
        lines += [f"| {_cell(o.name)} | {_cell(o.words)} | {_mark(o)} |" for o in others]
        lines.append("")
    lines += [f"- {_cell(outcome.words)}" for outcome in outcomes if outcome.word != "passed"]
    return "\n".join(lines).rstrip() + "\n"


def draw(outcomes: Sequence[Outcome], path: str | Path) -> None:
    """The change of each metric with its interval, the margin, and no change; one row per metric."""
    found = [outcome for outcome in outcomes if outcome.regression is not None]
    with canvas(path, width=7, height=0.5 + 0.95 * max(1, len(found))) as whole:
        rows = whole.subplots(max(1, len(found)), 1, squeeze=False)[:, 0]
        for axes, outcome in zip(rows, found, strict=False):
            _draw_row(axes, outcome)


def _draw_row(axes: Any, outcome: Outcome) -> None:
    test = outcome.regression
    assert test is not None
    sign = -1 if test.better == "higher" else 1
    limit = sign * test.margin
    change = test.new - test.baseline
    low, high = test.difference_interval or (change, change)
    colour = {"excluded": COLOURS[2], "shown": COLOURS[1], "undecided": COLOURS[5]}[test.worse]
    axes.axvline(0, color=CHANCE, lw=0.8)
    axes.axvline(limit, color=COLOURS[1], lw=1.2, ls="--")
    axes.plot([low, high], [0, 0], color=colour, lw=3, solid_capstyle="butt")
    axes.plot([change], [0], "o", color=colour)
    reach = max(abs(low), abs(high), abs(limit)) * 1.15 or 1.0
    axes.set_xlim(-reach, reach)
    axes.set_yticks([])
    axes.grid(False)
    # A dollar sign would begin a formula.
    text = (
        f"{test.metric}: worse by more than {test.margin:g} is {test.worse} (change {change:+.4g}, dashed: the margin)"
    )
    axes.set_title(clean(text, 120).replace("$", r"\$"), fontsize=9, loc="left")


def _markdown_row(outcome: Outcome) -> str:
    test = outcome.regression
    assert test is not None
    low, high = test.difference_interval or (float("nan"), float("nan"))
    interval = "–" if low != low else f"[{low:+.4g}, {high:+.4g}]"
    change = test.new - test.baseline
    cells = [
        _cell(test.metric),
        f"{test.new:.4g}",
        f"{test.baseline:.4g}",
        f"{change:+.4g}",
        interval,
        f"{test.margin:g}",
    ]
    return f"| {' | '.join([*cells, _mark(outcome)])} |"


def _mark(outcome: Outcome) -> str:
    sign = "✅" if outcome.passed else "❌"
    worse = outcome.regression.worse if outcome.regression is not None else ""
    words = {"excluded": "not worse", "shown": "worse", "undecided": "undecided"}
    return f"{sign} {words.get(worse, outcome.word)}"


def _cell(text: str) -> str:
    return escape_markdown(clean(text, _LONGEST))


def _code(text: str) -> str:
    return clean(text).replace("`", "'")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
