"""Outcomes of gates for machines: JUnit XML, a summary in Markdown, and annotations of GitHub Actions."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from graphgauge.core.gate import GateOutcome
from graphgauge.core.markup import clean, markdown_text
from graphgauge.core.number import plural

_LONGEST = 2000


def on_github() -> bool:
    """Whether this is a step of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def titled(outcome: GateOutcome) -> str:
    """The gate, and what it was checked on."""
    return clean(outcome.gate if outcome.of is None else f"{outcome.gate} ({outcome.of})", _LONGEST)


def words(outcome: GateOutcome) -> str:
    """What decided, on one line."""
    return clean(outcome.words, _LONGEST)


def conclusion(outcomes: Sequence[GateOutcome]) -> str:
    """All outcomes in a sentence."""
    missed = sum(not outcome.passed for outcome in outcomes)
    total = plural(len(outcomes), "gate")
    if missed:
        return f"{missed:,} of {total} did not pass."
    return "The gate holds." if len(outcomes) == 1 else f"All {total} hold." if outcomes else "There are no gates."


def junit(outcomes: Sequence[GateOutcome]) -> str:
    """A test suite with a test for every gate, as CI servers read it."""
    failures = str(sum(not outcome.passed for outcome in outcomes))
    counts = {"tests": str(len(outcomes)), "failures": failures, "errors": "0", "skipped": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": "graphgauge", **counts})
    for outcome in outcomes:
        case = ET.SubElement(suite, "testcase", classname="graphgauge.gate", name=titled(outcome), time="0")
        if not outcome.passed:
            said = words(outcome)
            ET.SubElement(case, "failure", message=said, type=outcome.verdict).text = said
    ET.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def summary(outcomes: Sequence[GateOutcome], title: str) -> str:
    """A summary for a pull request, what failed first."""
    ranked = sorted(outcomes, key=lambda outcome: outcome.passed)
    rows = [f"| {_sign(each)} | {markdown_text(titled(each))} | {markdown_text(words(each))} |" for each in ranked]
    head = [f"### {markdown_text(title)}: {conclusion(outcomes)}", ""]
    return "\n".join([*head, *(["| | gate | |", "|---|---|---|"] if rows else []), *rows]) + "\n"


def annotated(outcomes: Sequence[GateOutcome]) -> list[str]:
    """Workflow commands, which show at the pull request: every gate that did not pass, and one line for the others."""
    lines = []
    for outcome in outcomes:
        if not outcome.passed:
            title = _property(f"gate {outcome.verdict}: {titled(outcome)}")
            lines.append(f"::error title={title}::{_data(words(outcome))}")
    passed = sum(outcome.passed for outcome in outcomes)
    return [*lines, *([f"::notice title=graphgauge::{passed:,} of {len(outcomes):,} gates passed"] if passed else [])]


def _sign(outcome: GateOutcome) -> str:
    return {"passed": "✅", "failed": "❌", "undecided": "❔"}[outcome.verdict] + " " + outcome.verdict


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
