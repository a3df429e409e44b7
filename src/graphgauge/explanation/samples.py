"""Samples for the explanation metrics: the answers along each ranking of each event."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.explanation.cohesiveness import cohesiveness_prefixes
from graphgauge.explanation.fields import probabilities
from graphgauge.explanation.inputs import Explanation, Masks
from graphgauge.explanation.masks import (
    MODES,
    SWEEP,
    AccAuc,
    Level,
    Settings,
    checked_options,
    cut_masks,
    is_number,
    packed,
    random_rankings,
    rankings,
    robust_draws,
    robust_masks,
    unit_importance,
    whole_and_empty,
)
from graphgauge.explanation.table import Answered, AnswerTable
from graphgauge.old.core.metric import Estimate

SCORES = ("class", "max", "label")
KL = ("forward", "reverse")
NO_CANDIDATES = "no candidate edges"
# Metrics with options.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "acc_auc": SWEEP,
    "fidelity_best": ("mode",),
    "unfaithfulness": ("kl",),
    "cohesiveness": ("delta_t",),
}


@dataclass(frozen=True)
class Rules:
    """How answers are scored; only the sweep of `acc_auc` changes which masks the model gets."""

    score: str = "class"
    absolute: bool = True
    label_threshold: float = 0.5
    best: str = "drop"
    kl: str = "forward"
    delta_t: float | None = None
    acc_auc: AccAuc = field(default_factory=AccAuc)

    def __post_init__(self) -> None:
        one_of("score", self.score, SCORES)
        if not isinstance(self.absolute, bool | np.bool_):
            raise OptionError(f"absolute must be True or False, not {self.absolute!r:.40}")
        one_of("fidelity_best mode", self.best, MODES)
        one_of("unfaithfulness kl", self.kl, KL)
        if not is_number(self.label_threshold) or not 0 <= self.label_threshold <= 1:
            raise OptionError(f"label_threshold must be between 0 and 1, not {self.label_threshold!r:.40}")
        if self.delta_t is not None and not (is_number(self.delta_t) and 0 < self.delta_t < math.inf):
            raise OptionError(f"delta_t must be a positive number, not {self.delta_t!r:.40}")

    @classmethod
    def of(
        cls,
        options: Mapping[str, Mapping[str, Any]] | None,
        sweep: AccAuc,
        score: str,
        absolute: bool,
        label_threshold: float,
    ) -> Rules:
        """The rules given in a call; options of its sweep override those of `sweep`."""
        given = checked_options(options, _OPTIONS)
        return cls(
            score,
            absolute,
            label_threshold,
            given.get("fidelity_best", {}).get("mode", "drop"),
            given.get("unfaithfulness", {}).get("kl", "forward"),
            given.get("cohesiveness", {}).get("delta_t"),
            replace(sweep, **given.get("acc_auc", {})),
        )


class Path:
    """One ranking of an event's units, with the answers for what it keeps and drops; None is no ranking."""

    def __init__(self, event: Scored, ranking: Ints | None) -> None:
        self._event, self.ranking = event, ranking
        self._rows: dict[tuple[str, int], int] = {}
        self._cohesion: dict[tuple[str, float | None], Floats] = {}
        if ranking is not None:
            for mode, counts in event.counts.items():
                keys = packed(cut_masks(event.row.subgraph, ranking, mode, counts))
                found = zip(counts.tolist(), keys, strict=True)
                self._rows |= {(mode, count): event.rows[key] for count, key in found if key in event.rows}

    def row(self, mode: str, count: int) -> int:
        """Index of the answer for keeping or dropping the first `count` units."""
        if self.ranking is None or count == 0:
            return self._event.empty if mode == "keep" else self._event.whole
        if (mode, count) not in self._rows:
            wanted = cut_masks(self._event.row.subgraph, self.ranking, mode, np.array([count]))
            key = packed(wanted)[0]
            if key not in self._event.rows:
                raise InputError(
                    f"event {self._event.row.id!r:.80}: the model was not asked to {mode} {count} of "
                    f"{self._event.units} edges",
                    where="table",
                    fix="Collect again with this level in levels= or topk=, or these options.",
                )
            self._rows[mode, count] = self._event.rows[key]
        return self._rows[mode, count]

    def robust_rows(self, kind: str, count: int) -> list[int]:
        """Indices of the answers to the samples of robust fidelity."""
        event, settings = self._event, self._event.settings
        if self.ranking is None:
            raise InputError("there is no random part of an empty explanation", where="table")
        masks = robust_masks(event.row.subgraph, self.ranking, kind, count, event.draws, settings.robust)
        keys = packed(masks)
        if not all(key in event.rows for key in keys):
            raise InputError(
                f"event {event.row.id!r:.80}: the model was not asked for robust fidelity",
                where="table",
                fix='Collect again with metrics=["robust_drop", "robust_keep"].',
            )
        return [event.rows[key] for key in keys]

    def selected(self, count: int) -> Masks:
        """The units in an explanation of this size."""
        units = self._event.units
        return np.zeros(units, bool) if self.ranking is None else self.ranking < count

    @cached_property
    def edge_order(self) -> Ints:
        """The candidates, most important first."""
        assert self.ranking is not None
        subgraph = self._event.row.subgraph
        in_order = subgraph.edge_order
        return np.asarray(in_order[np.argsort(self.ranking[subgraph.unit_of[in_order]], kind="stable")])

    def cohesiveness(self, pairs: str, delta_t: float | None) -> Floats:
        """Cohesiveness of the first edge, the first two, …; computed once for all levels."""
        if (pairs, delta_t) not in self._cohesion:
            source, target = self._event.row.subgraph.ends
            times = self._event.row.subgraph.candidate_times
            assert times is not None
            order = self.edge_order
            self._cohesion[pairs, delta_t] = cohesiveness_prefixes(
                source[order], target[order], times[order], delta_t=delta_t, pairs=pairs
            )
        return self._cohesion[pairs, delta_t]


class Scored:
    """An answered event: its probabilities, and the index of each mask's answer."""

    def __init__(self, row: Answered, settings: Settings, explainer: str) -> None:
        self.row = row
        self.units = row.subgraph.unit_count
        self.counts = settings.counts(self.units)
        self.probabilities = probabilities(row.outputs, settings.model_output) if len(row.outputs) else row.outputs
        self.rows = {key: index for index, key in reversed(list(enumerate(packed(row.masks))))}
        ends = packed(whole_and_empty(row.subgraph))
        if settings.asked and any(key not in self.rows for key in ends):
            raise InputError(f"event {row.id!r:.80} has no mask for the whole or the empty graph", where="table")
        self.whole, self.empty = (self.rows.get(key, -1) for key in ends)
        self.predicted = int(np.argmax(self.probabilities[self.whole])) if settings.asked else -1
        self.explanations = row.of(explainer)
        self.settings = settings

    @cached_property
    def draws(self) -> Floats:
        """The random numbers of robust fidelity."""
        return robust_draws(self.row.subgraph, self.row.id, self.settings)

    @cached_property
    def importances(self) -> list[Floats]:
        """The importance of each explanation's units."""
        return [unit_importance(explanation, self.settings) for explanation in self.explanations]

    @cached_property
    def by_explanation(self) -> list[list[Path]]:
        """The ranking of each explanation, or several if ties are averaged."""
        return [self._ranked(explanation) for explanation in self.explanations]

    @cached_property
    def random(self) -> list[Path]:
        ranked = random_rankings(self.row.subgraph, self.row.id, self.settings)
        return [Path(self, ranking) for ranking in ranked]

    @cached_property
    def nothing(self) -> list[Path]:
        return [Path(self, None)]

    @cached_property
    def truths(self) -> Masks:
        """The units of each accepted explanation, one per row."""
        accepted = self.row.context.truths
        held = np.zeros((len(accepted), self.units), bool)
        for row, edges in zip(held, accepted, strict=True):
            row[self.row.subgraph.unit_of[edges]] = True
        return held

    @property
    def truth(self) -> Masks | None:
        """The units of the right explanation; of several, the first."""
        return self.truths[0] if len(self.truths) else None

    def _ranked(self, explanation: Explanation) -> list[Path]:
        values = unit_importance(explanation, self.settings)
        return [Path(self, ranking) for ranking in rankings(explanation, values, self.settings)]

    @cached_property
    def scores(self) -> dict[str, list[float]]:
        """The scores that fidelity compares: the probability of the class of the whole graph, or the largest."""
        said, label = self.probabilities, self.row.context.label
        found = {"class": said[:, self.predicted].tolist(), "max": said.max(axis=1).tolist()}
        if label is not None and 0 <= label < said.shape[1]:
            found["label"] = said[:, label].tolist()
        return found

    def score(self, name: str) -> list[float]:
        label, classes = self.row.context.label, self.probabilities.shape[1]
        if name not in self.scores and label is not None:
            raise InputError(f"event {self.row.id!r:.80} has the label {label}, but the model has {classes} classes")
        if name not in self.scores:
            raise InputError(f"event {self.row.id!r:.80} has no label", fix='Give it one, or use score="class".')
        return self.scores[name]

    @cached_property
    def same_label(self) -> list[bool]:
        """Whether each answer has the same label as the whole graph."""
        found: list[bool] = (np.argmax(self.probabilities, axis=1) == self.predicted).tolist()
        return found


Value = Callable[[Scored, Path], float]


@dataclass(frozen=True)
class EventSample:
    """Events of one explainer. `paths` selects the rankings: the explainer's, random ones, or none."""

    events: tuple[Scored, ...]
    rules: Rules
    grid: tuple[Level, ...]
    paths: str = "own"

    def __len__(self) -> int:
        return len(self.events)

    @property
    def classes(self) -> int:
        return self.events[0].probabilities.shape[1] if self.events else 2

    def share(self, level: Level) -> float:
        """The mean share k/E of the edges that a level achieves."""
        shares = [level.of(event.units) / event.units for event in self.events if event.units]
        return ordered_mean(shares) if shares else np.nan

    @cached_property
    def at_random(self) -> EventSample:
        return replace(self, paths="random")

    def only(self, places: Sequence[int]) -> EventSample:
        """Some of the events."""
        return replace(self, events=tuple(self.events[place] for place in places))

    def with_sign(self) -> EventSample:
        """The same events, scored by the signed change."""
        return replace(self, rules=replace(self.rules, absolute=False))

    @cached_property
    def empty(self) -> EventSample:
        return replace(self, paths="nothing")

    def values(self, value: Value) -> Floats:
        """One number per event: the mean over its rankings that have one."""
        return np.array([self._event_value(event, value) for event in self.events], float)

    def each(self, value: Value, reason: str, possible: tuple[float, float] | None = None) -> Estimate:
        """The mean over events of a number computed for each ranking."""
        return self.mean(self.values(value), reason, possible)

    def mean(self, values: Floats, reason: str, possible: tuple[float, float] | None = None) -> Estimate:
        defined = ~np.isnan(values)
        if not defined.any():
            return _estimate(np.nan, values, reason if self.events else "no events", possible)
        estimate = _estimate(ordered_mean(values[defined]), values, reason, possible)
        if not defined.all():
            share = f"{np.count_nonzero(~defined)} of {len(values)} events"
            return estimate.warned(f"{share} have no value ({reason}) and are left out of the mean")
        return estimate

    def _event_value(self, event: Scored, value: Value) -> float:
        if event.units == 0:
            return np.nan
        if self.paths == "own":
            # An explanation counts once, also if its ties are averaged over several orders.
            return _known_mean(_known_mean(value(event, path) for path in paths) for paths in event.by_explanation)
        return _known_mean(value(event, path) for path in getattr(event, self.paths))


def _estimate(mean: float, values: Floats, reason: str, possible: tuple[float, float] | None) -> Estimate:
    defined = ~np.isnan(values)
    facts: dict[str, Any] = {"events": values} | ({} if possible is None else {"range": possible})
    count = np.array([np.count_nonzero(defined)])
    return Estimate(np.array([mean]), count, values[defined] - mean, reason=reason, facts=facts)


def _known_mean(values: Iterable[float]) -> float:
    """The mean of the numbers that are not NaN."""
    found = [number for number in values if number == number]
    return ordered_mean(found) if found else np.nan


def ordered_mean(values: Sequence[float] | Floats) -> float:
    """A mean that does not depend on the order of its values, because their sum is exact."""
    return math.fsum(values) / len(values)


def sample_of(table: AnswerTable, explainer: str, rules: Rules) -> EventSample:
    """The events that an explainer explains."""
    rows = [row for row in table if row.of(explainer)]
    scored = tuple(Scored(row, table.settings, explainer) for row in rows)
    return EventSample(scored, rules, table.settings.grid)


def available(sample: EventSample) -> dict[str, EventSample]:
    """The samples that metrics may need: always edges; answers, truth, times and seeds if the events have them."""
    found = {"edges": sample}
    conditions: Mapping[str, Iterable[bool]] = {
        "answers": (bool(event.settings.asked) for event in sample.events) if sample.events else (True,),
        "truth": (event.truth is not None for event in sample.events),
        "times": (event.row.subgraph.candidate_times is not None for event in sample.events),
        "seeds": (len(event.explanations) > 1 for event in sample.events),
        "elapsed": (one.elapsed is not None for event in sample.events for one in event.explanations),
    }
    return found | {name: sample for name, condition in conditions.items() if any(condition)}
