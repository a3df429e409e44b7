"""Tables over runs as they are shown and written, and a comparison in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphgauge.core.disk import write_text
from graphgauge.core.errors import OptionError, one_of, sentence
from graphgauge.core.files import refuse_result
from graphgauge.core.grid import Grid
from graphgauge.core.markup import html_text, latex_text, plain_text
from graphgauge.core.number import percent
from graphgauge.core.result import ARROWS, Interval
from graphgauge.stats.effects import seeds_needed
from graphgauge.stats.errors import FEWEST_STEPS
from graphgauge.stats.ranks import effect_word
from graphgauge.stats.text import decimals, ends, fixed, p_digits, p_text, plus_minus, together

if TYPE_CHECKING:
    from graphgauge.stats.outcome import Comparison, Pair, Standing

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


# ---- sentences


def conclusion(found: Comparison) -> str:
    """One sentence that a paper could quote, with p, effect size and its word."""
    first = found.best if found.baseline is None else found.baseline
    pairs = {name: found[first, name] for name in found.methods if name not in (first, *found.invalid)}
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


def margins(found: Comparison) -> list[str]:
    """What the intervals say about differences of at most the margin, a sentence per pair."""
    margin = found.margin
    return [] if margin is None else [f"{_against_margin(pair, margin, found.better)}." for pair in found.pairs]


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


# ---- tables


def standings_grid(found: Comparison) -> Grid:
    """A row per method, numbers in full."""
    rows = [
        (each.method, each.mean, each.std, *_ends(each.interval), each.n, each.mean_rank) for each in found.standings
    ]
    names = ("method", "mean", "std", "low", "high", "n", "mean_rank")
    return Grid.of_rows(names, rows, marks={(found.methods.index(found.best), "mean"): "best"}, caption=_caption(found))


def pairs_grid(found: Comparison) -> Grid:
    """A row per pair, numbers in full."""
    columns = ("first", "second", "difference", "low", "high", "p", "p_holm", "effect", "test", "verdict")
    rows = [
        (*p.names, p.difference, *_ends(p.interval), p.p_value, p.p_holm, p.effect, p.test, p.verdict)
        for p in found.pairs
    ]
    return Grid.of_rows(columns, rows, caption=_caption(found))


def render(found: Comparison, form: str) -> str:
    """The comparison in one of the forms; `csv` has a line per pair."""
    one_of("format", form, tuple(FORMS.values()))
    if form == "csv":
        return pairs_grid(found).to_csv()
    if form == "json":
        return found.to_json()
    standings, pairs = _tables(found)
    remarks = [*_remarks(found), conclusion(found)]
    if form == "html":
        return standings.to_html() + pairs.to_html() + "".join(f"<p>{html_text(line)}</p>" for line in remarks)
    if form == "latex":
        return standings.to_latex() + pairs.to_latex() + "".join(f"% {latex_text(line)}\n" for line in remarks)
    if form == "markdown":
        return "\n".join([standings.to_markdown(), pairs.to_markdown(), *(f"{line}\n" for line in remarks)])
    rows = [plain_text(line) for line in remarks]
    head = f"{found.metric} {ARROWS['target' if found.target is not None else found.better]}".strip()
    return "\n\n".join([head, standings.to_text(), pairs.to_text(_MOST_PAIRS), "\n".join(rows[:-1]), rows[-1]])


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
    yield from margins(found)
    loud = [note for note in found.notes if note.startswith(("warning", "error"))]
    quiet = [note for note in found.notes if note not in loud][: max(0, _MOST_NOTES - len(loud))]
    yield from (sentence(note) for note in (*loud, *([found.unfair] if found.unfair else []), *quiet))


def _caption(found: Comparison) -> str:
    return f"{found.metric} over {found.design.over}"


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
