"""The sample of this family: what one explainer says about some events, and what the model answers along its rankings.

    table ── samples_of ──▶ Sample (the explainer) ── .random, .empty ──▶ the same events in random orders, in none

Rankings of all events are in one list, M of them: one for each explanation of an event, or several where ties are
averaged over. Answers of all events are in one matrix (R, C), and `rows[kind]` are the rows of a ranking's masks in it.
A metric makes one number per ranking; `mean` averages those of an explanation, then of an event, then over events.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.metric import Bounds, Estimate
from graphgauge.core.options import number
from graphgauge.core.types import Floats, Ints
from graphgauge.explanation.events import Event, probabilities
from graphgauge.explanation.inputs import RANDOM
from graphgauge.explanation.masks import (
    DROPPED,
    ROBUST,
    Level,
    Settings,
    cuts,
    random_places,
    rankings,
    unit_importance,
    whole_and_empty,
)
from graphgauge.explanation.table import AnswerTable
from graphgauge.stats.errors import standard_error
from graphgauge.stats.intervals import of_mean

EMPTY = "empty explanation"
SCORES = ("class", "max", "label")
NO_CANDIDATES = "no candidate edges"
# What metrics may need of a sample.
NEEDS = ("edges", "answers", "robust", "truth", "times", "seeds", "elapsed")
# Of these, what random orders have without a model's answers.
FREE = ("truth", "times")
# Orders of the random explainer where no model is asked about them, and the most units that are ranked in all: among
# many events fewer orders give an equally sure mean.
FREE_ORDERS, _MOST_RANKS = 100, 100_000


@dataclass(frozen=True)
class Rules:
    """How answers are scored; none of it changes which masks the model gets.

    With the score `output`, which only a protocol sets, f is the output as it is, or the largest of several.
    """

    score: str = "class"
    label_threshold: float = 0.5
    delta_t: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest size of a change of f."""
        return (-math.inf, math.inf) if self.score == "output" else (0.0, 1.0)

    def __post_init__(self) -> None:
        one_of("score", self.score, (*SCORES, "output"))
        number("label_threshold", self.label_threshold, 0, 1)
        if self.delta_t is not None and not number("delta_t", self.delta_t, 0, inside=True) < math.inf:
            raise OptionError("delta_t must be finite")


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of a table: outputs (R, C) and their probabilities, those for the whole and the empty graph (N,).

    Without a model R is 0.
    """

    outputs: Floats
    probabilities: Floats
    whole: Ints
    empty: Ints

    @cached_property
    def labels(self) -> Ints:
        """(R,) the class of each answer."""
        return np.asarray(self.probabilities.argmax(axis=1))

    @property
    def predicted(self) -> Ints:
        """(N,) the class that each event's whole graph is answered with."""
        return self.labels[self.whole]


@dataclass(frozen=True, eq=False)
class Sample:
    """N events with M rankings.

    `ranks` has for each event the ranks of its units (rankings, units). `owner` is the explanation of each ranking, and
    `explained` the event of each explanation, whose units have the importance `values`. `group` is the part of a
    breakdown that each event belongs to.
    """

    events: tuple[Event, ...]
    settings: Settings
    rules: Rules
    ranks: tuple[Ints, ...]
    owner: Ints
    explained: Ints
    values: tuple[Floats, ...]
    rows: Mapping[str, Ints]
    answers: Answers
    shared: dict[Any, Any]
    who: str = "explainer"
    group: Ints | None = None
    groups: int = 1

    def __len__(self) -> int:
        return len(self.events)

    # ---- facts of events

    @cached_property
    def units(self) -> Ints:
        """(N,) how many units each event has."""
        return np.array([event.subgraph.unit_count for event in self.events], np.int64)

    @cached_property
    def label(self) -> Ints:
        """(N,) the label of each event, −1 if it has none."""
        return np.array([-1 if each.context.label is None else each.context.label for each in self.events], np.int64)

    @cached_property
    def event(self) -> Ints:
        """(M,) the event of each ranking."""
        return self.explained[self.owner]

    @cached_property
    def counts(self) -> Ints:
        """(N, L) units at each level."""
        return self.settings.counts("keep", self.units)

    @property
    def grid(self) -> tuple[Level, ...]:
        """The levels."""
        return self.settings.grid

    def count(self, level: Level) -> Ints:
        """(N,) units at a level."""
        return level.count(self.units)

    def memo(self, name: Any, make: Callable[[Sample], Any]) -> Any:
        """What is made once for several metrics of this sample."""
        if name not in self._made:
            self._made[name] = make(self)
        return self._made[name]

    @cached_property
    def _made(self) -> dict[Any, Any]:
        return {}

    # ---- scores

    def level(self, level: Level) -> int:
        """The place of a level among those that were collected."""
        if level in self.grid:
            return self.grid.index(level)
        what = f"the model was not asked about the level {level}, but about {', '.join(self.grid)}"
        raise InputError(what, where="table", fix=f"Collect again with sparsity_levels=[{level}] or topk=.")

    def masked(self, kind: str) -> Ints:
        """(M, L) the rows of the answers to a kind of masks."""
        if kind not in self.rows:
            fix = "Collect again for this metric: metrics=[…]."
            raise InputError(f"the model was not asked about masks of the kind {kind}", where="table", fix=fix)
        rows = self.rows[kind]
        if (rows < 0).any():
            absent = self.events[self.event[np.argmax((rows < 0).reshape(len(rows), -1).any(axis=1))]].id
            fix = "Collect again, with these levels."
            raise InputError(f"event {absent!r:.80} lacks answers of the kind {kind}", where="table", fix=fix)
        return rows

    @cached_property
    def chosen(self) -> Ints:
        """(N,) the class whose probability is f, for the scores `class` and `label`."""
        if self.rules.score != "label":
            return self.answers.predicted
        classes = self.answers.probabilities.shape[1]
        wrong = np.flatnonzero((self.label < 0) | (self.label >= classes))
        if wrong.size:
            event = self.events[wrong[0]]
            if event.context.label is None:
                raise InputError(f"event {event.id!r:.80} has no label", fix='Give it one, or use score="class".')
            what = f"event {event.id!r:.80} has the label {event.context.label}, but the model has {classes} classes"
            raise InputError(what)
        return self.label

    def f(self, rows: Ints, event: Ints) -> Floats:
        """The score of answers in these rows, (n, …) for events (n,)."""
        if self.rules.score == "output":
            return np.asarray(self.answers.outputs.max(axis=1)[rows])
        if self.rules.score == "max":
            return np.asarray(self.answers.probabilities.max(axis=1)[rows])
        chosen = self.chosen[event].reshape(-1, *[1] * (rows.ndim - 1))
        return np.asarray(self.answers.probabilities[rows, chosen])

    def whole(self) -> Floats:
        """(M,) f(G), of the event of each ranking."""
        return self.f(self.answers.whole, np.arange(len(self)))[self.event]

    def change(self, kind: str) -> Floats:
        """(M, L) f(G) − f(masked graph)."""
        rows = self.masked(kind)
        return self.whole().reshape(-1, *[1] * (rows.ndim - 1)) - self.f(rows, self.event)

    @cached_property
    def drops(self) -> Floats:
        """(M, L) f(G) − f(G without the top units)."""
        return self.change("drop")

    @cached_property
    def keeps(self) -> Floats:
        """(M, L) f(G) − f(top units only)."""
        return self.change("keep")

    def same(self, kind: str) -> Floats:
        """(M, L) 1 where a masked graph has the label of the whole graph, else 0."""
        labels = self.answers.labels[self.masked(kind)]
        predicted = self.answers.predicted[self.event].reshape(-1, *[1] * (labels.ndim - 1))
        return np.asarray(labels == predicted, np.float64)

    # ---- means

    def per_event(self, values: Floats) -> Floats:
        """(N,) the mean of an event's explanations, each the mean of its rankings; NaN is left out."""
        return _means(_means(values, self.owner, len(self.explained)), self.explained, len(self))

    def mean(self, values: Floats, reason: str = NO_CANDIDATES, ends: tuple[float, float] = (-1.0, 1.0)) -> Estimate:
        """The mean over events of a number for each ranking, which is between these ends."""
        return self.of_events(self.per_event(values), reason, ends)

    def of_events(self, values: Floats, reason: str, ends: tuple[float, float] = (-1.0, 1.0)) -> Estimate:
        """The mean over events, per group, of a number for each event that has units, which is between these ends."""
        values = np.where(self.units > 0, values, np.nan)
        known = ~np.isnan(values)
        group = np.zeros(len(self), np.int64) if self.group is None else self.group
        n = np.bincount(group[known], minlength=self.groups)
        # Exact sums: the mean does not depend on the order of the events.
        parts = [values[known & (group == each)] for each in range(self.groups)]
        value = np.array([math.fsum(part) / len(part) if len(part) else np.nan for part in parts])
        absent = f"{np.count_nonzero(~known)} of {len(values)} events have no value ({reason})"
        return Estimate(
            value,
            n.astype(np.int64),
            np.where(known, values - value[group], np.nan),
            reason=reason if len(self) else "no events",
            warnings=(absent,) if known.any() and not known.all() else (),
            facts={"events": values, "ends": ends},
        )

    # ---- the same events otherwise

    @cached_property
    def random(self) -> Sample:
        """The random explainer: random orders of the units, the same for every explainer of an event."""
        return self._in_orders(self.settings.random, asked=True)

    @cached_property
    def shuffled(self) -> Sample:
        """More random orders than those that the model was asked about, for metrics that need no answers."""
        most = max(self.settings.random, _MOST_RANKS // max(int(self.units.sum()), 1))
        return self._in_orders(min(FREE_ORDERS, most) if self.settings.random else 0, asked=False)

    def _in_orders(self, orders: int, *, asked: bool) -> Sample:
        """The events in random orders; explainers of the same events share them."""
        key = orders, asked, self.rules, tuple(event.id for event in self.events)
        if key not in self.shared:
            seed = self.settings.seed
            drawn = [random_places(each.subgraph, each.id, seed, "random", orders) for each in self.events]
            rows = _rows(self.events, drawn, self.settings) if asked and orders else {}
            self.shared[key] = replace(self._ranked(drawn, RANDOM, rows), group=None, groups=1)
        shared: Sample = self.shared[key]
        return shared

    def _ranked(self, ranks: Sequence[Ints], who: str, rows: Mapping[str, Ints]) -> Sample:
        """The same events with other rankings (orders, units), of one explanation each."""
        owner = np.repeat(np.arange(len(self)), [len(each) for each in ranks])
        explained = np.arange(len(self))
        return replace(self, ranks=tuple(ranks), owner=owner, explained=explained, rows=rows, values=(), who=who)

    @cached_property
    def empty(self) -> Sample:
        """The empty explanation: nothing is kept or dropped, at every level."""
        nothing = {kind: self.answers.whole if kind in DROPPED else self.answers.empty for kind in self.rows}
        rows = {kind: np.repeat(each[:, np.newaxis], self.rows[kind].shape[1], 1) for kind, each in nothing.items()}
        return self._ranked([np.full((1, n), n) for n in self.units.tolist()], EMPTY, rows)

    def grouped(self, group: Ints, groups: int) -> Sample:
        """The same events, with the part of a breakdown that each belongs to."""
        return replace(self, group=group, groups=groups)


def _means(values: Floats, owner: Ints, size: int) -> Floats:
    """The mean of each owner's finite values; NaN without one."""
    known = np.isfinite(values)
    number = np.bincount(owner[known], minlength=size)
    total = np.bincount(owner[known], values[known], size)
    return np.asarray(np.divide(total, number, out=np.full(size, np.nan), where=number > 0))


def error_over_events(sample: Sample, estimate: Estimate) -> tuple[Floats, Floats]:
    """The standard error of a mean over events, and its degrees of freedom."""
    assert estimate.influence is not None
    known = ~np.isnan(estimate.influence)
    group = None if sample.group is None else sample.group[known]
    return standard_error(estimate.influence[known], group=group, groups=sample.groups)


def over_events(sample: Sample, estimate: Estimate, confidence: float) -> Bounds:
    """Student's t over events; if all values are at an end of the scale, the bound for that many events."""
    error, df = error_over_events(sample, estimate)
    ends = estimate.facts.get("ends")
    return of_mean(estimate.value, error, df, confidence, over="events", possible=ends, units=estimate.n)


# ---- from a table


def sample_of(table: AnswerTable, explainer: str | None, rules: Rules) -> Sample:
    """The events that an explainer explains; or all of them, without rankings, or in random orders."""
    if explainer == RANDOM:
        return sample_of(table, None, rules).random
    settings = table.settings
    events = tuple(event for event in table if explainer is None or event.by(explainer))
    said = [[] if explainer is None else event.by(explainer) for event in events]
    values = tuple(unit_importance(each, settings.by) for own in said for each in own)
    importances = iter(values)
    ranked = [[rankings(each, next(importances), settings) for each in own] for own in said]
    none = [np.zeros((0, event.subgraph.unit_count), np.int64) for event in events]
    ranks = tuple(np.concatenate([empty, *own]) for empty, own in zip(none, ranked, strict=True))
    orders = [len(each) for own in ranked for each in own]
    return Sample(
        events,
        settings,
        rules,
        ranks,
        np.repeat(np.arange(len(orders)), orders),
        np.repeat(np.arange(len(events)), [len(own) for own in said]),
        values,
        _rows(events, ranks, settings),
        _answers(events, settings),
        table.shared,
        explainer or "",
    )


def _answers(events: Sequence[Event], settings: Settings) -> Answers:
    """The answers of all events in one matrix."""
    none = np.zeros(0, np.int64)
    if not events or not settings.asked:
        return Answers(np.zeros((0, 2)), np.zeros((0, 2)), none, none)
    outputs = np.concatenate([event.outputs for event in events])
    ends = np.array([event.rows(whole_and_empty(event.subgraph)) for event in events])
    if (ends < 0).any():
        absent = events[int(np.argmax((ends < 0).any(axis=1)))].id
        raise InputError(f"event {absent!r:.80} has no mask for the whole or the empty graph", where="table")
    return Answers(outputs, probabilities(outputs, settings.model_output), *(_starts(events)[:, np.newaxis] + ends).T)


def _starts(events: Sequence[Event]) -> Ints:
    """The row of the first answer of each event."""
    sizes = np.array([len(event.masks) for event in events], np.int64)
    return np.cumsum(sizes) - sizes


def _rows(events: Sequence[Event], ranks: Sequence[Ints], settings: Settings) -> dict[str, Ints]:
    """For each kind of masks, the rows of the answers to those of each ranking."""
    samples = [settings.robust_samples]
    parts = {
        kind: [np.zeros((0, settings.counts(kind, 1).size, *samples[: kind in ROBUST]), np.int64)]
        for kind in settings.asked
    }
    for start, event, own in zip(_starts(events).tolist(), events, ranks, strict=True):
        for kind, masks in cuts(event.subgraph, own, settings, event.id).items():
            rows = event.rows(masks)
            parts[kind].append(np.where(rows < 0, -1, start + rows))
    return {kind: np.concatenate(rows) for kind, rows in parts.items()}


def samples_by_need(sample: Sample) -> dict[str, Any]:
    """The sample under each name of what metrics may need, if the events have it."""
    asked, events = {*sample.settings.asked}, sample.events
    conditions = {
        "edges": True,
        "answers": bool(asked - {*ROBUST}),
        "robust": bool(asked & {*ROBUST}),
        "truth": any(event.context.truth is not None for event in events),
        "times": any(event.subgraph.candidate_times is not None for event in events),
        "seeds": len(sample.explained) > len(events),
        "elapsed": any(each.elapsed is not None for event in events for each in event.by(sample.who)),
    }
    there = [name for name, holds in conditions.items() if holds]
    return {name: sample.shuffled if sample.who == RANDOM and name in FREE else sample for name in there}
