"""What the documentation page states is what the library does."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from graphgauge.old.stats import paired_test

PAGE = (Path(__file__).parents[3] / "docs" / "statistics.md").read_text(encoding="utf-8")


def row(start: str) -> list[str]:
    (line,) = (line for line in PAGE.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_attainable_p() -> None:
    pairs = [int(cell) for cell in row("pairs that differ")]
    printed = [float(cell) for cell in row("smallest two-sided p")]
    assert printed == pytest.approx([2 / 2**n for n in pairs], rel=2e-3)


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_seeds_needed(alpha: float) -> None:
    designs = [re.fullmatch(r"(\d+) \((\d+)\)", cell) for cell in row("comparisons (methods")]
    printed = [int(cell) for cell in row(f"seeds needed at α = {alpha}")]
    for design, seeds in zip(designs, printed, strict=True):
        assert design is not None
        comparisons, methods = int(design[1]), int(design[2])
        assert comparisons == math.comb(methods, 2)
        assert comparisons * 2 / 2**seeds <= alpha < comparisons * 2 / 2 ** (seeds - 1)


def test_five_seeds_and_six() -> None:
    scores = {
        name: [float(x) for x in re.search(rf"{name} = \[(.*)\]", PAGE)[1].split(",")] for name in ("first", "second")
    }  # type: ignore[index]
    for n in (5, 6):
        test = paired_test(
            scores["first"][:n],
            scores["second"][:n],
            names=("first", "second"),
            metric="directed_f1",
            better="higher",
        )
        said = test.summary if n == 5 else test.conclusion
        assert " ".join(said.split()) in " ".join(PAGE.split())  # the page breaks long lines
