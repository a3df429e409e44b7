"""The outcome of a comparison: standings, pairs with their tests, the design, and what they say in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from graphgauge.core.disk import write_text
from graphgauge.core.errors import OptionError, UnknownNameError, one_of, sentence
from graphgauge.core.files import refuse_result
from graphgauge.core.grid import Grid
from graphgauge.core.markup import html_text, latex_text, plain_text
from graphgauge.core.number import Number, percent
from graphgauge.core.result import ARROWS, Interval
from graphgauge.core.sealed import encode, read
from graphgauge.stats.design import Design
from graphgauge.stats.effects import seeds_needed
from graphgauge.stats.errors import FEWEST_STEPS
from graphgauge.stats.many import Friedman, cliques
from graphgauge.stats.ranks import effect_word
from graphgauge.stats.text import OTHER_DATA, decimals, ends, fixed, p_digits, p_text, plus_minus, together

Verdict = Literal["first", "second", "none", "cannot", "invalid"]
FORMS = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".html": "html", ".txt": "table"}
# Notes that a terminal shows beside the warnings and errors, all of which it shows; and pairs, of which files have all.
_MOST_NOTES, _MOST_PAIRS = 3, 15


class Shown:
    """A table that `render` makes a text of, in one of `FORMS`; the `style` of an aggregate is that of `to_grid`."""

    def render(self, form: str = "table", **style: Any) -> str:
        raise NotImplementedError

    def to_latex(self, **style: Any) -> str:
        """For booktabs, with this `style`; the notes are comments."""
        return self.render("latex", **style)

    def to_markdown(self, **style: Any) -> str:
        """In Markdown, with this `style`."""
        return self.render("markdown", **style)

    def save(self, path: str | Path, **style: Any) -> Path:
        """Write a .json, .csv, .md, .tex, .html or .txt file, as the ending of `path` says, with this `style`."""
        target = Path(path)
        form = FORMS.get(target.suffix.lower()) if target.suffix else "table"
        if form is None:
            fix = f"Use {', '.join(FORMS)}; plot() draws figures."
            raise OptionError(f"{target.name!r:.60} has no known ending", fix=fix)
        refuse_result(target)
        write_text(target, self.render(form, **({} if form in ("csv", "json") else style)))
        return target

    def __str__(self) -> str:
        return self.render()

    def _repr_html_(self) -> str:
        return self.render("html")


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
    design could not have rejected) or `invalid` (not comparable: one has an error, or the metric is not fair to it).
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
        """The better method; `–` if they are not distinguished, or `not comparable`."""
        return {"first": self.names[0], "second": self.names[1], "invalid": "not comparable"}.get(self.verdict, "–")


class Comparison(Shown, Struct, frozen=True, kw_only=True, eq=False, dict=True):
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
        """The method with the best mean, of those that can be ranked."""
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
        return " ".join([_conclusion(self), *said])

    @property
    def margins(self) -> list[str]:
        """What the intervals say about differences of at most the margin, a sentence per pair."""
        return [] if self.margin is None else [f"{_against_margin(p, self.margin, self.better)}." for p in self]

    def to_grid(self, kind: Literal["pairs", "standings"] = "pairs") -> Grid:
        """Numbers in full: a row per pair, or per method."""
        one_of("table", kind, ("pairs", "standings"))
        caption = f"{self.metric} over {self.design.over}"
        if kind == "pairs":
            columns = ("first", "second", "difference", "low", "high", "p", "p_holm", "effect", "test", "verdict")
            rows = [
                (*p.names, p.difference, *_ends(p.interval), p.p_value, p.p_holm, p.effect, p.test, p.verdict)
                for p in self.pairs
            ]
            return Grid.of_rows(columns, rows, caption=caption)
        names = ("method", "mean", "std", "low", "high", "n", "mean_rank")
        means = [(s.method, s.mean, s.std, *_ends(s.interval), s.n, s.mean_rank) for s in self.standings]
        marks = {(self.methods.index(self.best), "mean"): "best"}
        return Grid.of_rows(names, means, marks=marks, caption=caption)

    def render(self, form: str = "table") -> str:  # type: ignore[override]
        """The comparison as `table`, `markdown`, `latex`, `html`, `csv` (a line per pair) or `json`."""
        one_of("format", form, tuple(FORMS.values()))
        if form == "csv":
            return self.to_grid().to_csv()
        if form == "json":
            return self.to_json()
        standings, pairs = _tables(self)
        remarks = [*_remarks(self), _conclusion(self)]
        if form == "html":
            return standings.to_html() + pairs.to_html() + "".join(f"<p>{html_text(line)}</p>" for line in remarks)
        if form == "latex":
            return standings.to_latex() + pairs.to_latex() + "".join(f"% {latex_text(line)}\n" for line in remarks)
        if form == "markdown":
            return "\n".join([standings.to_markdown(), pairs.to_markdown(), *(f"{line}\n" for line in remarks)])
        *notes, last = [plain_text(line) for line in remarks]
        head = f"{self.metric} {ARROWS['target' if self.target is not None else self.better]}".strip()
        return "\n\n".join([head, standings.to_text(), pairs.to_text(_MOST_PAIRS), "\n".join(notes), last])

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


# ---- in words


def _conclusion(found: Comparison) -> str:
    """One sentence that a paper could quote, with p, effect size and its word."""
    first = found.best if found.baseline is None else found.baseline
    rivals = {name: found[first, name] for name in found.methods if name != first}
    pairs = {name: pair for name, pair in rivals.items() if pair.verdict != "invalid"}
    if not pairs:
        return f"No method can be compared: {'; '.join(f'{name} ({why})' for name, why in found.invalid.items())}."
    is_same = all(found[name].mean == found[first].mean for name in pairs)
    if not found.can_reject and not (is_same and found.design.count >= _fewest(found)):
        return _too_few(found)
    apart = {name: pair for name, pair in pairs.items() if pair.significant}
    if found.baseline is None and not apart:
        closest = min(pairs.values(), key=lambda pair: pair.p_holm)
        if is_same:
            p = f"{p_text(closest.p_holm)}, {_how(found, closest)}"
            return f"{together([first, *pairs])} have the same mean {found.metric} over {found.design.over} ({p})."
        return (
            f"{first} has the best mean {found.metric}, and is not distinguished from any other method; "
            f"the smallest p is {p_digits(closest.p_holm)} ({_how(found, closest)})."
        )
    if found.baseline is not None and len(pairs) > 1:
        return _against_baseline(found, pairs)
    # The nearest method that differs: what is said of it holds of the others that do.
    pair = max(apart.values(), key=lambda each: each.p_holm) if apart else next(iter(pairs.values()))
    others = [name for name in apart if name not in pair.names]
    rest = [name for name in pairs if name not in (*apart, *pair.names)]
    more = f"; it is also better than {together(others)}" if others else ""
    more += f"; it is not distinguished from {together(rest)}" if rest else ""
    return f"{_of_pair(found, pair)}{more}."


def _of_pair(found: Comparison, pair: Pair) -> str:
    ahead, behind = pair.names if pair.verdict != "second" else pair.names[::-1]
    values = [_value(found, found[name]) for name in (ahead, behind)]
    verb = "is better than" if pair.significant else "is not distinguished from"
    gap = f"a difference of {fixed(pair.difference, _digits_of(pair))}"
    gap += "" if pair.interval is None else f" ({percent(found.confidence)} interval {ends(pair.interval)})"
    return (
        f"{ahead} {verb} {behind} by {found.metric}, {values[0]} against {values[1]} over {found.design.over}: "
        f"{gap}, {p_text(pair.p_holm)} ({_how(found, pair)}){_size(found, abs(pair.effect))}"
    )


def _against_baseline(found: Comparison, pairs: Mapping[str, Pair]) -> str:
    """How several methods stand to a baseline."""
    groups: dict[str, list[str]] = {"better": [], "worse": [], "not distinguished from it": []}
    for name, pair in pairs.items():
        word = "better" if pair.winner == name else "worse" if pair.significant else "not distinguished from it"
        groups[word].append(name)
    parts = []
    for word, names in groups.items():
        if names:
            ps, size = [pairs[name].p_holm for name in names], min(abs(pairs[name].effect) for name in names)
            several, same = len(names) > 1, word.startswith("not")
            if same:
                said = f"{'smallest ' * several}{p_text(min(ps))}"
            else:
                p = f"all p ≤ {p_digits(max(ps))}" if several else p_text(max(ps))
                said = f"{p}{_size(found, size, 'at least ' * several)}"
            parts.append(f"{together(names)} {'are' if several else 'is'} {word} ({said})")
    how = _how(found, next(iter(pairs.values())))
    return f"Against {found.baseline} by {found.metric} over {found.design.over}, {'; '.join(parts)}, by {how}."


def _too_few(found: Comparison) -> str:
    tests, lowest, design = _tests(found), min(pair.lowest_p for pair in found.pairs), found.design
    subject, fewest = f"With {design.over} no", _fewest(found)
    if design.paired and 0 < lowest <= 1 and (design.clusters or design.units[0]) >= fewest:
        # Enough units, of which few differ: the signs of n differences have a p of at least 2^(1−n).
        differ, every = 1 - round(math.log2(lowest)), f"{design.clusters} clusters" if design.clusters else design.over
        subject = f"{f'Only {differ}' if differ > 1 else 'Fewer than 2'} of {every} differ, and no"
    holm = f" after Holm's correction over {tests} tests" if tests > 1 else ""
    takes = f"; it takes {fewest}" if design.paired else ""
    return f"{subject} difference can be significant: p is at least {min(1.0, lowest * tests):.3g}{holm}{takes}."


def _fewest(found: Comparison) -> int:
    """The fewest paired units that could show a difference."""
    return FEWEST_STEPS if found.design.unit == "time step" else seeds_needed(_tests(found), found.confidence)


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


def _tests(found: Comparison) -> int:
    return len(found.pairs) * found.metrics_compared


def _how(found: Comparison, pair: Pair) -> str:
    return pair.test + (f", Holm over {_tests(found)} tests" if _tests(found) > 1 else "")


def _size(found: Comparison, effect: float, least: str = "") -> str:
    """The effect size as the end of a sentence; nothing where there is none, as of discrepancies of two samples."""
    if math.isnan(effect):
        return ""
    number, word = _effect(found, effect)
    return f", {least}effect size {number} ({word})"


def _effect(found: Comparison, effect: float) -> tuple[str, str]:
    return fixed(effect, 2), effect_word(effect, of_means=found.design.printed)


def _tables(found: Comparison) -> tuple[Grid, Grid]:
    """Standings and pairs as they are shown."""
    level, is_of_runs = f"{percent(found.confidence)} interval", found.design.unit in ("seed", "run")
    standings: dict[str, list[Any]] = {
        "method": found.methods,
        "mean ± std" if is_of_runs else "mean": [_value(found, each) for each in found.standings],
        level: [ends(each.interval) for each in found.standings],
    }
    if not math.isnan(found.standings[0].mean_rank):
        standings["rank"] = [fixed(each.mean_rank, 2) for each in found.standings]
    pairs: dict[str, list[Any]] = {
        "difference": [" − ".join(pair.names) for pair in found.pairs],
        "mean": [fixed(pair.difference, _digits_of(pair)) for pair in found.pairs],
        level: [ends(pair.interval, _digits_of(pair)) for pair in found.pairs],
        "p (Holm)" if _tests(found) > 1 else "p": [p_digits(pair.p_holm) for pair in found.pairs],
        "effect": ["–" if math.isnan(pair.effect) else " ".join(_effect(found, pair.effect)) for pair in found.pairs],
    }
    if found.can_reject:
        pairs["better"] = [pair.winner for pair in found.pairs]
    return Grid.of(**standings), Grid.of(**pairs)


def _remarks(found: Comparison) -> Iterator[str]:
    yield found.design.sentence
    if found.friedman is not None:
        yield f"{found.friedman}; critical difference {found.critical_difference:.3g} (Nemenyi)."
    yield from found.margins
    loud = [note for note in found.notes if note.startswith(("warning", "error"))]
    quiet = [note for note in found.notes if note not in loud][: max(0, _MOST_NOTES - len(loud))]
    yield from (sentence(note) for note in (*loud, *([found.unfair] if found.unfair else []), *quiet))


def _value(found: Comparison, standing: Standing) -> str:
    """The mean of runs with their standard deviation; of items as precisely as its interval."""
    if found.design.unit in ("seed", "run"):
        return plus_minus(standing.mean, standing.std, decimals(standing.std, standing.mean))
    low, high = _ends(standing.interval)
    return fixed(standing.mean, decimals((high - low) / 4, standing.mean))


def _ends(interval: Interval | None) -> tuple[float, float]:
    return (math.nan, math.nan) if interval is None else (interval.low, interval.high)


def _digits_of(pair: Pair) -> int:
    low, high = _ends(pair.interval)
    return decimals((high - low) / 4, pair.difference)
