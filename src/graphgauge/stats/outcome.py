"""The outcome of a comparison: standings, pairs with their tests, the design, and one sentence to conclude."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from graphgauge.core.disk import write_text
from graphgauge.core.errors import OptionError, UnknownNameError, one_of
from graphgauge.core.files import refuse_result
from graphgauge.core.grid import Grid
from graphgauge.core.markup import html_text, latex_text, plain_text
from graphgauge.core.number import Number, percent
from graphgauge.core.result import ARROWS, Interval
from graphgauge.core.sealed import encode, read
from graphgauge.stats.design import Design
from graphgauge.stats.effects import seeds_needed, units_needed
from graphgauge.stats.many import Friedman, cliques
from graphgauge.stats.ranks import effect_word
from graphgauge.stats.text import decimals, ends, fixed, listing, p_digits, p_text, plus_minus, sentence, together

Verdict = Literal["first", "second", "none", "cannot", "invalid"]
# Notes that a terminal shows beside the warnings and errors, all of which it shows.
_MOST_NOTES = 3
# Pairs that a terminal shows; files have all.
_MOST_PAIRS = 15
FORMS = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".html": "html", ".txt": "table"}


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

    `effect` is the rank-biserial correlation, Cliff's delta of independent runs, or of printed means the difference
    over their pooled standard deviation; it is positive if the first is better. `p_holm` is corrected for all pairs and
    metrics, and `lowest_p` is the smallest p of the design. `wide` is the interval of tests against a margin, at level
    1 − 2α. The verdict is `first` or `second` (that one is better), `none`, `cannot` (the design could not have
    rejected) or `invalid` (an error makes the numbers of one incomparable).
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


class Comparison(Struct, frozen=True, kw_only=True, eq=False, dict=True):
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

    # ---- what it says

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
        needed: dict[tuple[str, str], int | None] = {}
        for pair in self.pairs:
            halves = 1 if self.design.paired else 2
            strata = self.design.number if self.design.datasets == "these" else 1
            std = pair.error * math.sqrt(self.design.count * strata / halves)
            options: dict[str, Any] = {"paired": self.design.paired, "power": power, "comparisons": tests}
            sure = self.confidence
            needed[pair.names] = units_needed(effect, std, confidence=sure, **options) if std > 0 else None
        return needed

    def same_order_as(self, other: Comparison) -> bool | None:
        """Whether methods have the same order: False if a pair is significantly reversed, None if that is undecided."""
        common = [name for name in self.methods if name in other.methods]
        if common == [name for name in other.methods if name in common]:
            return True
        ahead = {(p.names if p.verdict == "first" else p.names[::-1]) for p in self.pairs if p.significant}
        behind = {(p.names[::-1] if p.verdict == "first" else p.names) for p in other.pairs if p.significant}
        return False if ahead & behind else None

    @property
    def conclusion(self) -> str:
        """One sentence that a paper could quote."""
        first = self.best if self.baseline is None else self.baseline
        rivals = [name for name in self.methods if name not in (first, *self.invalid)]
        pairs = {name: self[first, name] for name in rivals}
        if not pairs:
            return f"No method can be compared: {'; '.join(self.invalid.values())}."
        if not self.can_reject:
            return self._too_few
        apart = [name for name, pair in pairs.items() if pair.significant]
        if self.baseline is None and not apart:
            closest = min(pairs.values(), key=lambda pair: pair.p_holm)
            return (
                f"{first} has the best mean {self.metric}, and is not distinguished from any other method; "
                f"the smallest p is {p_digits(closest.p_holm)} ({self._how(closest)})."
            )
        if self.baseline is not None and len(pairs) > 1:
            return self._against(first, pairs)
        # The nearest method that differs: what is said of it holds of the others that do.
        pair = max((pairs[name] for name in apart), key=lambda p: p.p_holm) if apart else next(iter(pairs.values()))
        return self._sentence(pair, rivals, apart)

    def _against(self, baseline: str, pairs: dict[str, Pair]) -> str:
        """How several methods stand to a baseline."""
        groups: dict[str, list[str]] = {"better": [], "worse": [], "not distinguished from it": []}
        for name, pair in pairs.items():
            word = (
                "better" if pair.winner == name else "worse" if pair.winner == baseline else "not distinguished from it"
            )
            groups[word].append(name)
        parts = []
        for word, names in groups.items():
            if names:
                ps, sizes = [pairs[name].p_holm for name in names], [abs(pairs[name].effect) for name in names]
                p = p_text(min(ps)) if word.startswith("not") else p_text(max(ps))
                size = f"effect size {fixed(min(sizes), 2)} ({self._word(min(sizes))})"
                said = (
                    p
                    if len(names) == 1
                    else f"smallest {p}"
                    if word.startswith("not")
                    else f"all p ≤ {p_digits(max(ps))}"
                )
                least = "" if word.startswith("not") else f", {'at least ' * (len(names) > 1)}{size}"
                parts.append(f"{together(names)} {'is' if len(names) == 1 else 'are'} {word} ({said}{least})")
        how = self._how(next(iter(pairs.values())))
        return f"Against {baseline} by {self.metric} over {self.design.over}, {'; '.join(parts)}, by {how}."

    def _sentence(self, pair: Pair, rivals: list[str], apart: list[str]) -> str:
        ahead, behind = pair.names if pair.verdict != "second" else pair.names[::-1]
        values = [self._value(self[name]) for name in (ahead, behind)]
        size = f"effect size {fixed(abs(pair.effect), 2)} ({self._word(pair.effect)})"
        verb = "is better than" if pair.significant else "is not distinguished from"
        low, high = pair.interval or (math.nan, math.nan)
        gap = f"a difference of {fixed(pair.difference, decimals((high - low) / 4, pair.difference))}"
        gap += "" if math.isnan(low) else f" ({percent(self.confidence)} interval {ends(pair.interval)})"
        others = [name for name in apart if name not in pair.names]
        rest = [name for name in rivals if name not in (*apart, *pair.names)]
        more = f"; it is also better than {together(others)}" if others else ""
        more += f"; it is not distinguished from {together(rest)}" if rest else ""
        return (
            f"{ahead} {verb} {behind} by {self.metric}, {values[0]} against {values[1]} over {self.design.over}: "
            f"{gap}, {p_text(pair.p_holm)} ({self._how(pair)}), {size}{more}."
        )

    def _word(self, effect: float) -> str:
        return effect_word(effect, of_means=self.design.printed)

    def _how(self, pair: Pair) -> str:
        tests = len(self.pairs) * self.metrics_compared
        return pair.test + (f", Holm over {tests} tests" if tests > 1 else "")

    @property
    def _too_few(self) -> str:
        tests = len(self.pairs) * self.metrics_compared
        lowest = min(pair.lowest_p for pair in self.pairs)
        what = f"With {self.design.over} no difference can be significant: p is at least {min(1.0, lowest * tests):.3g}"
        holm = f" after Holm's correction over {tests} tests" if tests > 1 else ""
        takes = f"; it takes {seeds_needed(tests, self.confidence)}" if self.design.paired else ""
        return f"{what}{holm}{takes}."

    @property
    def margins(self) -> list[str]:
        """What the intervals say about differences of at most the margin, a sentence per pair."""
        return (
            []
            if self.margin is None
            else [f"{_against_margin(pair, self.margin, self.better)}." for pair in self.pairs]
        )

    # ---- tables

    def to_grid(self, kind: Literal["pairs", "standings"] = "pairs") -> Grid:
        """Numbers in full: a row per pair, or per method."""
        one_of("table", kind, ("pairs", "standings"))
        caption = f"{self.metric} over {self.design.over}"
        if kind == "standings":
            rows = [(s.method, s.mean, s.std, *_ends(s.interval), s.n, s.mean_rank) for s in self.standings]
            names = ("method", "mean", "std", "low", "high", "n", "mean_rank")
            marks = {(self.methods.index(self.best), "mean"): "best"}
            return Grid.of_rows(names, rows, marks=marks, caption=caption)
        columns = ("first", "second", "difference", "low", "high", "p", "p_holm", "effect", "test", "verdict")
        lines = [
            (*p.names, p.difference, *_ends(p.interval), p.p_value, p.p_holm, p.effect, p.test, p.verdict)
            for p in self.pairs
        ]
        return Grid.of_rows(columns, lines, caption=caption)

    def _tables(self) -> tuple[Grid, Grid]:
        """Standings and pairs as they are shown."""
        level = f"{percent(self.confidence)} interval"
        standings: dict[str, list[Any]] = {
            "method": self.methods,
            "mean ± std" if self.design.unit in ("seed", "run") else "mean": [
                self._value(each) for each in self.standings
            ],
            level: [ends(each.interval) for each in self.standings],
        }
        if not math.isnan(self.standings[0].mean_rank):
            standings["rank"] = [fixed(each.mean_rank, 2) for each in self.standings]
        corrected = len(self.pairs) * self.metrics_compared > 1
        pairs: dict[str, list[Any]] = {
            "difference": [" − ".join(pair.names) for pair in self.pairs],
            "mean": [fixed(pair.difference, _digits_of(pair)) for pair in self.pairs],
            level: [ends(pair.interval, _digits_of(pair)) for pair in self.pairs],
            "p (Holm)" if corrected else "p": [p_digits(pair.p_holm) for pair in self.pairs],
            "effect": [f"{fixed(pair.effect, 2)} {self._word(pair.effect)}" for pair in self.pairs],
        }
        if self.can_reject:
            pairs["better"] = [pair.winner for pair in self.pairs]
        return Grid.of(**standings), Grid.of(**pairs)

    def _value(self, standing: Standing) -> str:
        if self.design.unit in ("seed", "run"):
            return plus_minus(standing.mean, standing.std, self._digits(standing))
        return fixed(standing.mean, self._digits(standing))

    def _digits(self, standing: Standing) -> int:
        low, high = standing.interval or (math.nan, math.nan)
        spread = standing.std if self.design.unit in ("seed", "run") else (high - low) / 4
        return decimals(spread, standing.mean)

    def _remarks(self) -> Iterator[str]:
        yield self.design.sentence
        if self.friedman is not None:
            yield f"{self.friedman}; critical difference {self.critical_difference:.3g} (Nemenyi)."
        yield from self.margins
        loud = [note for note in self.notes if note.startswith(("warning", "error"))]
        quiet = [note for note in self.notes if note not in loud][: max(0, _MOST_NOTES - len(loud))]
        yield from (sentence(note) for note in (*loud, *([self.unfair] if self.unfair else []), *quiet))

    def render(self, form: str = "table") -> str:
        """The comparison as `table`, `markdown`, `latex`, `html`, `csv` (a line per pair) or `json`."""
        one_of("format", form, tuple(FORMS.values()))
        if form == "csv":
            return self.to_grid().to_csv()
        if form == "json":
            return self.to_json()
        standings, pairs = self._tables()
        remarks = [*self._remarks(), self.conclusion]
        if form == "html":
            return standings.to_html() + pairs.to_html() + "".join(f"<p>{html_text(line)}</p>" for line in remarks)
        if form == "latex":
            return standings.to_latex() + pairs.to_latex() + "".join(f"% {latex_text(line)}\n" for line in remarks)
        if form == "markdown":
            return "\n".join([standings.to_markdown(), pairs.to_markdown(), *(f"{line}\n" for line in remarks)])
        rows = [plain_text(line) for line in remarks]
        head = f"{self.metric} {ARROWS['target' if self.target is not None else self.better]}".strip()
        return "\n\n".join([head, standings.to_text(), pairs.to_text(_MOST_PAIRS), "\n".join(rows[:-1]), rows[-1]])

    def to_json(self) -> str:
        """The text of its file."""
        return encode(ComparisonFile(comparison=self))

    def to_frame(self) -> Any:
        """A row per pair, as a data frame of pandas."""
        return self.to_grid().to_frame()

    def to_latex(self) -> str:
        """Both tables for booktabs, the sentences as comments."""
        return self.render("latex")

    def to_markdown(self) -> str:
        """Both tables and the sentences in Markdown."""
        return self.render("markdown")

    def save(self, path: str | Path) -> Path:
        """Write a .json, .csv, .md, .tex, .html or .txt file, as its ending says."""
        return save_as(path, self.render)

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

    def __str__(self) -> str:
        return self.render("table")

    def __repr__(self) -> str:
        return f"<Comparison by {self.metric} over {self.design.over}: {listing(self.methods, 6)}>"

    def _repr_html_(self) -> str:
        return self.render("html")


class ComparisonFile(Struct, kw_only=True):
    """The content of a file with a comparison."""

    schema: Literal["graphgauge/comparison/3"] = "graphgauge/comparison/3"
    root: str = ""
    comparison: Comparison
    receipt: dict[str, Any] = {}


def save_as(path: str | Path, render: Callable[[str], str]) -> Path:
    """Write a table in the form that the ending of the file says."""
    target = Path(path)
    form = FORMS.get(target.suffix.lower()) if target.suffix else "table"
    if form is None:
        fix = f"Use {', '.join(FORMS)}; plot() draws figures."
        raise OptionError(f"{target.name!r:.60} has no known ending", fix=fix)
    refuse_result(target)
    write_text(target, render(form))
    return target


def verdict_of(difference: float, p_holm: float, lowest: float, better: str, alpha: float) -> Verdict:
    """The verdict on a pair; `lowest` is the smallest p of the design after Holm's first step."""
    if lowest > alpha:
        return "cannot"
    if p_holm > alpha or difference == 0:
        return "none"
    return "first" if (difference > 0) == (better == "higher") else "second"


def _against_margin(pair: Pair, margin: float, better: str) -> str:
    """Whether both are equivalent up to the margin, or one not worse by more than it."""
    (first, second), wide = pair.names, pair.wide
    if wide is None:
        return f"{first} and {second}: without an interval nothing can be said about a margin of {margin:g}"
    low, high = wide if better == "higher" else (-wide.high, -wide.low)
    if -margin < low and high < margin:
        return f"{first} and {second} are equivalent up to {margin:g} ({ends(wide)})"
    if low > -margin:
        return f"{first} is not worse than {second} by more than {margin:g} ({ends(wide)})"
    if high < margin:
        return f"{second} is not worse than {first} by more than {margin:g} ({ends(wide)})"
    return f"{first} and {second}: a difference of more than {margin:g} is not excluded ({ends(wide)})"


def _ends(interval: Interval | None) -> tuple[float, float]:
    return (math.nan, math.nan) if interval is None else (interval.low, interval.high)


def _digits_of(pair: Pair) -> int:
    low, high = _ends(pair.interval)
    return decimals((high - low) / 4, pair.difference)
