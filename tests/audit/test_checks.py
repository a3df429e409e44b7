"""Every check finds what it is for and is silent otherwise; how often, is told on its page."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from textwrap import fill

import numpy as np
import pytest
from tests.audit.cases import all_cases

from graphgauge.audit import checks, explain

CASES = {case.check: case for case in all_cases()}
PAGES = Path(__file__).parents[2] / "docs" / "audit"
CLEAN, PLANTED = 1000, 200
# The most false alarms in clean inputs.
LIMITS = {"error": 0.01, "warning": 0.05, "note": 0.05}


def rates_of(name):
    """What its page says about how often a check fires."""
    text = " ".join((PAGES / f"{name}.md").read_text(encoding="utf-8").split())
    return text.partition("**Rates.** ")[2]


def test_every_check_has_a_case_and_a_short_page_with_rates():
    names = {item.name for item in checks()}
    assert names == set(CASES)
    assert {path.stem for path in PAGES.glob("*.md")} - {"index"} == names
    for name in names:
        assert rates_of(name), f"{name}: run GRAPHGAUGE_REGENERATE=1 make slow"
        words = (PAGES / f"{name}.md").read_text(encoding="utf-8").partition("**Rates.**")[0].split()
        assert len(words) <= 100, name


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
    """Those that pages state; GRAPHGAUGE_REGENERATE=1 writes them."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        measurements = list(pool.map(measured, CASES))
    loud, stated, found = {}, {}, {}
    for name, alarms, powers in measurements:
        powers = "; ".join(f"{power:.0%} ({strength})" for strength, power in powers.items())
        found[name] = f"Fires on {alarms:.1%} of 1,000 clean inputs; finds {powers}."
        if os.environ.get("GRAPHGAUGE_REGENERATE"):
            page = PAGES / f"{name}.md"
            text = page.read_text(encoding="utf-8").partition("**Rates.**")[0]
            page.write_text(
                f"{text.rstrip()}\n\n{fill(f'**Rates.** {found[name]}', 120, break_on_hyphens=False)}\n",
                encoding="utf-8",
            )
        stated[name] = rates_of(name)
        if alarms > LIMITS[CASES[name].registered.severity]:
            loud[name] = alarms
    assert not loud
    assert stated == found
