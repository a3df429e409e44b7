"""The coverages on the page are what their script simulates."""

from __future__ import annotations

import pytest
from benchmarks import coverage


@pytest.mark.parametrize("name", ["share .05", "seeds near the ceiling", "independent runs, normal"])
def test_rows_are_those_of_the_script(name):
    (design,) = (each for each in coverage.DESIGNS if each.name == name)
    found = [coverage.Row(*numbers) for _, *numbers in coverage.rows(coverage.SEED, coverage.DRAWS, name)]
    assert coverage.line_of(design, found) in coverage.OUTPUT.read_text(encoding="utf-8").splitlines()


def test_the_list_is_complete_and_every_low_row_has_its_reason():
    lines = coverage.OUTPUT.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(coverage.DESIGNS) >= 30
    low = []
    for line in lines:
        name, _, shares = line.rpartition(": ")
        covered, _, why = shares.partition(" (")
        assert ("**" in covered) == bool(why)
        cells = [cell.split() for cell in covered.split("; ")]
        if any("**" in share and int(units.replace(",", "")) >= 30 for units, share in cells):
            low.append(name)
    assert len(low) <= 6
