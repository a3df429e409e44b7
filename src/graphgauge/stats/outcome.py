"""The outcome of a comparison: standings, pairs with their tests, and the design."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from graphgauge.core.errors import UnknownNameError, one_of
from graphgauge.core.grid import Grid
from graphgauge.core.number import Number
from graphgauge.core.result import Interval
from graphgauge.core.sealed import encode, read
from graphgauge.stats import view
from graphgauge.stats.design import Design
from graphgauge.stats.many import Friedman, cliques
from graphgauge.stats.text import OTHER_DATA

Verdict = Literal["first", "second", "none", "cannot", "invalid"]


class Standing(Struct, frozen=True, kw_only=True):
    """A method's mean with its interval over the units of the design, and its mean rank; NaN where ranks have none."""

    method: str
    mean: Number
    std: Number
    n: int
    interval: Interval | None = None
    mean_rank: Number = math.nan


class Pair(Struct, frozen=True, kw_only=True):
    """Two methods: the difference first − second, its interval, and the test of it.

    `effect` is the rank-biserial correlation of all pairs of scores, Cliff's delta of independent runs, or of printed
    means the difference over their pooled standard deviation; it is positive if the first is better. `p_holm` is
    corrected for all pairs and metrics, and `lowest_p` is the smallest p of the design. `wide` is the interval of tests
    against a margin, at level 1 − 2α. The verdict is `first` or `second` (that one is better), `none`, `cannot` (the
    design could not have rejected) or `invalid` (an error makes the numbers of one incomparable).
    """

    names: tuple[str, str]
    difference: Number
    interval: Interval | None
    p_value: Number
    p_holm: Number
    effect: Number
    test: str
    lowest_p: Number
    error: Number
    df: Number
    verdict: Verdict
    wide: Interval | None = None

    @property
    def significant(self) -> bool:
        """Whether one is better."""
        return self.verdict in ("first", "second")

    @property
    def winner(self) -> str:
        """The better method; `–` if they are not distinguished, `error` if they are not comparable."""
        return {"first": self.names[0], "second": self.names[1], "invalid": "error"}.get(self.verdict, "–")


class Comparison(view.Shown, Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """Methods compared on one metric: all pairs, or each with the baseline.

    Standings are sorted by the mean, the best first, and so are the names of a pair. `comparison["ours"]` is a
    standing, `comparison["ours", "theirs"]` a pair.

    Examples
    --------
    >>> from graphgauge import stats
    >>> scores = {"ours": {0: .91, 1: .93, 2: .95, 3: .90, 4: .91, 5: .94},
    ...           "theirs": {0: .64, 1: .70, 2: .66, 3: .58, 4: .67, 5: .71}}
    >>> found = stats.compare(scores, metric="accuracy")
    >>> found["ours", "theirs"].p_value, found.best
    (0.03125, 'ours')
    """

    metric: str
    better: Literal["higher", "lower"]
    confidence: float
    design: Design
    standings: tuple[Standing, ...]
    pairs: tuple[Pair, ...]
    baseline: str | None = None
    target: float | None = None
    margin: float | None = None
    metrics_compared: int = 1
    friedman: Friedman | None = None
    critical_difference: Number = math.nan
    conventions: dict[str, str] = {}
    invalid: dict[str, str] = {}
    unfair: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def methods(self) -> list[str]:
        """The methods, the best mean first."""
        return [each.method for each in self.standings]

    @property
    def best(self) -> str:
        """The method with the best mean, of those without an error."""
        return next((name for name in self.methods if name not in self.invalid), self.methods[0])

    @property
    def can_reject(self) -> bool:
        """Whether any pair could have passed Holm's first step in this design."""
        return any(pair.verdict != "cannot" for pair in self.pairs)

    @cached_property
    def cliques(self) -> list[list[str]]:
        """Maximal groups of methods without a significant difference; with a baseline only those of pairs."""
        place = {name: i for i, name in enumerate(self.methods)}
        apart = np.zeros((len(place), len(place)), bool)
        for pair in self.pairs:
            i, j = (place[name] for name in pair.names)
            apart[i, j] = apart[j, i] = pair.significant
        return [group for group in cliques(self.methods, apart) if len(group) > 1]

    def __getitem__(self, key: str | tuple[str, str]) -> Any:
        names = (key,) if isinstance(key, str) else tuple(key)
        for name in names:
            one_of("method", name, self.methods)
        if len(names) == 1:
            return next(each for each in self.standings if each.method == names[0])
        pair = next((each for each in self.pairs if set(each.names) == set(names)), None)
        if pair is None:
            raise UnknownNameError("pair", " vs ".join(names), [" vs ".join(each.names) for each in self.pairs])
        return pair

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def needed(self, effect: float, *, power: float = 0.8) -> dict[tuple[str, str], int | None]:
        """How many units (per method and dataset) each pair takes to find a difference of `effect` with this `power`.

        At the measured spread, by a t test corrected for all pairs; None without a spread, or beyond a million.
        """
        tests = len(self.pairs) * self.metrics_compared
        return {
            pair.names: self.design.units_for(effect, pair.error, power, self.confidence, tests) for pair in self.pairs
        }

    # ---- what it says, and how it is shown

    @property
    def conclusion(self) -> str:
        """One sentence that a paper could quote, and another if the methods were measured on different cells."""
        said = [f"But {note}." for note in self.notes if note.startswith(OTHER_DATA)]
        return " ".join([view.conclusion(self), *said])

    @property
    def margins(self) -> list[str]:
        """What the intervals say about differences of at most the margin, a sentence per pair."""
        return view.margins(self)

    def to_grid(self, kind: Literal["pairs", "standings"] = "pairs") -> Grid:
        """Numbers in full: a row per pair, or per method."""
        one_of("table", kind, ("pairs", "standings"))
        return view.pairs_grid(self) if kind == "pairs" else view.standings_grid(self)

    def render(self, form: str = "table") -> str:  # type: ignore[override]
        """The comparison as `table`, `markdown`, `latex`, `html`, `csv` (a line per pair) or `json`."""
        return view.render(self, form)

    def to_frame(self) -> Any:
        """A row per pair, as a data frame of pandas."""
        return self.to_grid().to_frame()

    def to_json(self) -> str:
        """The text of its file."""
        return encode(ComparisonFile(comparison=self))

    @staticmethod
    def load(path: str | Path) -> Comparison:
        """Read what `save` wrote as .json."""
        return read(path, ComparisonFile).comparison

    def plot(
        self,
        path: str | Path | None = None,
        *,
        kind: Literal["ranks", "differences"] | None = None,
        ax: Any = None,
    ) -> Any:
        """Draw mean ranks and groups that do not differ, or differences, as `kind` says.

        A .svg, .png or .pdf file is written to `path`, too; or the figure takes the place of the axes `ax`.
        """
        from graphgauge.stats.figures import comparison_figure

        return comparison_figure(self, kind, path, ax)

    def __repr__(self) -> str:
        return f"<Comparison by {self.metric} over {self.design.over}: {', '.join(self.methods)}>"


class ComparisonFile(Struct, kw_only=True):
    """The content of a file with a comparison."""

    schema: Literal["graphgauge/comparison/3"] = "graphgauge/comparison/3"
    root: str = ""
    comparison: Comparison
    receipt: dict[str, Any] = {}


def verdict_of(difference: float, p_holm: float, lowest: float, better: str, alpha: float) -> Verdict:
    """The verdict on a pair; `lowest` is the smallest p of the design after Holm's first step."""
    if lowest > alpha:
        return "cannot"
    if p_holm > alpha or difference == 0:
        return "none"
    return "first" if (difference > 0) == (better == "higher") else "second"
