"""Every check finds what it is for and is silent otherwise; how often, is told on its page."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from tests.audit.cases import all_cases

from graphgauge.audit import checks, explain

CASES = {case.check: case for case in all_cases()}
PAGES = Path(__file__).parents[2] / "docs" / "audit"
CLEAN, PLANTED = 1000, 200
# The most false alarms in clean inputs.
LIMITS = {"error": 0.01, "warning": 0.05, "note": 0.05}


def test_every_check_has_a_case_a_page_and_rates():
    names = {item.name for item in checks()}
    assert names == set(CASES)
    rates = (PAGES / "rates.inc").read_text(encoding="utf-8").splitlines()[2:]
    assert {row.split("`")[1] for row in rates} == names, "run: GRAPHGAUGE_REGENERATE=1 make slow"
    assert {path.stem for path in PAGES.glob("*.md")} - {"index"} == names


@pytest.mark.parametrize("name", CASES)
def test_it_finds_a_strong_fault_and_passes_clean_inputs(name):
    case = CASES[name]
    assert len(case.strengths) == 3
    # Checks that are tests at 5 % miss some of what is there.
    assert case.power(list(case.strengths)[-1], 5) >= 0.6
    assert case.alarms(10, seed=2) <= 0.1


@pytest.mark.parametrize("name", CASES)
def test_it_says_what_it_saw(name):
    case = CASES[name]
    strongest = list(case.strengths.values())[-1]
    finding = case.registered.run(case.planted(np.random.default_rng((1, 0)), strongest))
    assert finding is not None
    assert "{" not in finding.message
    assert finding.remedy
    assert explain(name).startswith(f"# `{name}`\n")
    assert case.registered.summary


def measured(name):
    case = CASES[name]
    return name, case.alarms(CLEAN), {strength: case.power(strength, PLANTED) for strength in case.strengths}


@pytest.mark.slow
def test_rates():
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        rates = list(pool.map(measured, CASES))
    lines = [
        "| check | severity | false alarms in 1,000 clean inputs | found of 200 planted, by strength |",
        "|---|---|---|---|",
    ]
    loud = {}
    for name, alarms, powers in rates:
        severity = CASES[name].registered.severity
        found = "; ".join(f"{power:.0%} ({strength})" for strength, power in powers.items())
        lines.append(f"| [`{name}`]({name}.md) | {severity} | {alarms:.1%} | {found} |")
        if alarms > LIMITS[severity]:
            loud[name] = alarms
    table = PAGES / "rates.inc"
    if os.environ.get("GRAPHGAUGE_REGENERATE"):
        table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert not loud
    assert table.read_text(encoding="utf-8").splitlines() == lines
