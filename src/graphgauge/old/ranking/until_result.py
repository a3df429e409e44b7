"""A finished adaptive run as an evaluation: values, intervals, what became of gates, and how much was read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.gates import Gate
from graphgauge.old.core.metric import find
from graphgauge.old.core.result import Interval, Result
from graphgauge.old.ranking.drawn import EntityQueries, FlatQueries
from graphgauge.old.ranking.evaluate import evaluate_state
from graphgauge.old.ranking.items import Items
from graphgauge.old.ranking.reading import Reading, Statement, joined, placed
from graphgauge.old.ranking.state import RankingState
from graphgauge.old.ranking.until_request import DIFFERENCE, Asked, Labels
from graphgauge.old.stats.intervals import FEWEST_DF, t_quantile

SEQUENCE, THIS_SET = "confidence sequence", "this test set, at every look"


@dataclass
class Finished:
    """A finished run as an evaluation."""

    reading: Reading
    labels: Labels
    asked: Asked
    average: str
    confidence: float
    stopped: str
    keep: str | None

    def evaluation(self) -> Evaluation:
        reading = self.reading
        base = self._counted(0, self.asked.metrics)
        results = [
            self._difference(each, base) if each.paired else self._result(each, base)
            for each in _one_of_each_key(reading.statements)
        ]
        outcomes = self._gates({each.key: each for each in results})
        return Evaluation(
            "ranking",
            results,
            conventions=base.conventions,
            options={**base.options, "confidence": self.confidence, "until": self._facts(outcomes, results)},
            breakdowns=base.breakdowns if reading.complete else None,
            materials={k: v for k, v in base.materials.items() if k != "results"},
            notes=(
                self._note(),
                *self._gate_notes(outcomes, results),
                *base.notes,
                *self._left_out(),
                *self._no_chance(),
            ),
            per_item=None if self.keep is None else base.per_item,
            figure=self._draw,
        )

    def _draw(self, evaluation: Evaluation, path: str | Path) -> None:
        from graphgauge.old.ranking.figure import draw_trail

        draw_trail(evaluation, path)

    def _counted(self, side: int, metrics: Sequence[str]) -> Evaluation:
        """The evaluation of the queries that were read."""
        reading = self.reading
        items = joined(reading.parts[side])
        order = np.argsort(items.ids, kind="stable")
        rows = items.ids[order].astype(np.int64)
        labels = self.labels.rows(rows, reading.complete)
        state = RankingState(keep=self.keep)
        if isinstance(items, Items):
            state.update_counts(items.greater[order], items.equal[order], items.candidates[order], **labels)
        else:
            ids = labels.pop("ids")
            columns: dict[str, Any] = dict(items.lists.arranged(order).columns())
            state.update_lists(**columns, queries=ids, **labels)
        return evaluate_state(state, metrics=list(metrics), ties=reading.ties, confidence=self.confidence)

    def _result(self, statement: Statement, base: Evaluation) -> Result:
        sequence, counted = statement.sequence, base[statement.key]
        # On its own, a mean over groups is no companion of another value.
        params = {"average" if name == "macro" else name: value for name, value in counted.params.items()}
        counted = replace(counted, params=params)
        if self.reading.complete:
            value = counted.value
            exact = Interval(value, value, sequence.confidence, "everything was read", "this test set")
            return replace(counted, interval=exact, no_interval=None, new_queries=counted.interval)
        interval = self._interval(statement)
        return replace(
            counted,
            chance=self._levels.get(statement.key, ()),
            value=self._value(statement, interval),
            interval=interval,
            no_interval=None,
            reason=None,
            new_queries=self._new_queries(statement),
        )

    @cached_property
    def _levels(self) -> dict[str, Any]:
        """The chance levels of all queries, not of those that were drawn; none if candidates are not known."""
        try:
            candidates = getattr(self.reading.source, "candidates", lambda: None)()
        except InputError:  # about a query that was not read
            candidates = None
        if candidates is None:
            return {}
        labels = self.labels.rows(np.arange(self.labels.queries), True)
        nothing = np.zeros(len(candidates), np.int64)
        state = RankingState().update_counts(nothing, nothing, candidates, **{**labels, "ids": None})
        every = evaluate_state(state, metrics=list(self.asked.metrics), ties=self.reading.ties)
        return {key: result.chance for key, result in every.items()}

    def _value(self, statement: Statement, interval: Interval) -> float:
        """The middle of an interval that is as narrow as was asked for, so that the value is known up to its width."""
        low, high = interval
        if statement.width is not None and statement.settled:
            return (low + high) / 2
        return min(max(statement.sequence.estimate, low), high)

    def _interval(self, statement: Statement) -> Interval:
        low, high = statement.sequence.interval
        return Interval(low, high, statement.sequence.confidence, SEQUENCE, THIS_SET)

    def _new_queries(self, statement: Statement) -> Interval | None:
        """Half of the error for what was not read of this test set, half for the test set being a sample."""
        sequence, units = statement.sequence, self.reading.units
        level = 1 - (1 - sequence.confidence) / 2
        low, high = sequence.at(level)
        error, freedom = self._sampling_error(statement)
        if not math.isfinite(error) or freedom < FEWEST_DF:
            return None
        reach = t_quantile(freedom, level).item() * error
        over = "new queries" if units.single else "new clusters of queries"
        lowest, highest = sequence.bounds
        return Interval(
            max(low - reach, lowest), min(high + reach, highest), sequence.confidence, f"{SEQUENCE} and sampling", over
        )

    def _sampling_error(self, statement: Statement) -> tuple[float, float]:
        """The standard error of the mean over the whole test set as a sample of units, and its degrees of freedom.

        Units are drawn in proportion to their weights, without replacement, so what a unit stands for shrinks with the
        weight that is still unread (Des Raj 1956). With everything read, it is the usual error of a weighted mean.
        """
        reading, units = self.reading, self.reading.units
        if reading.done < 2:
            return math.nan, 1.0
        drawn = reading.order[: reading.done]
        queries, owner = units.members(drawn)
        sides = [np.concatenate(reading.values[statement.metric])]
        if statement.paired:
            kept = joined(reading.parts[1])
            place = placed(kept.ids, queries)
            sides.append(np.asarray(kept.values(statement.metric, ties=reading.ties)[place], float))
        values = [units.means(queries, owner, each, len(drawn)) for each in sides]
        x = values[0] - values[1] if statement.paired else values[0]
        total, weight = float(units.weights.sum()), units.weights[drawn]
        # The mean is estimated by units that weigh much themselves.
        squares = (x - statement.sequence.estimate) ** 2 / np.maximum(1 - weight / total, 0.5)
        left = np.maximum(total - np.concatenate([[0.0], np.cumsum(weight)[:-1]]), np.finfo(float).tiny)
        terms = weight**2 * squares
        stands_for = np.concatenate([[0.0], np.cumsum(terms)[:-1]]) + weight * squares * left
        spread = float(np.average(stands_for, weights=(left.min() / left) ** 2))
        # Satterthwaite: a variance that a few heavy units dominate has hardly more degrees of freedom than they are.
        share = units.weights / units.weights.max()
        freedom = float(np.sum(share**2)) ** 2 / float(np.sum(share**4))
        return math.sqrt(spread) / total, min(freedom, float(reading.done)) - 1

    def _difference(self, statement: Statement, base: Evaluation) -> Result:
        sequence, metric = statement.sequence, find(statement.metric, "ranking")[0]
        params = {**find(statement.metric, "ranking")[1], "difference": "first − second"}
        side: str | None = sequence.decided
        if self.reading.complete:
            name = statement.key.removesuffix(DIFFERENCE)
            value = base[name].value - self._counted(1, [statement.metric])[name].value
            interval = Interval(value, value, sequence.confidence, "everything was read", "this test set")
            side = None if value == 0 else "above" if value > 0 else "below"
        else:
            interval = self._interval(statement)
            if side is None and sequence.gate == 0 and 0 not in interval:
                # The test that errs no more often than it says has not decided; neither does the interval.
                interval = replace(interval, low=min(interval.low, 0.0), high=max(interval.high, 0.0))
            value = self._value(statement, interval)
        ends = {"above": "the first is better", "below": "the second is better"}
        found = ends.get(side or "", "not decided which is better")
        if side is not None and 0 in interval and value != 0:
            found += ", by a test that is sharper than the interval"
        return Result(
            statement.key,
            metric.name,
            value,
            self.reading.read,
            "query",
            "higher",
            (-1.0, 1.0),
            params,
            interval=interval,
            conventions={"ties": self.reading.ties},
            new_queries=self._new_queries(statement),
            interpretation=None if sequence.gate else found,
        )

    def _note(self) -> str:
        reading = self.reading
        total = int(reading.units.sizes.sum())
        queries = f"{reading.read:,} of {total:,} queries read ({reading.read / total:.1%})"
        share = f"{reading.scores / max(reading.whole_cost, 1):.1%} of the scores of a full ranking"
        short = [
            f"{each.key} is known to ± {each.sequence.half_width:.2g}, not ± {each.width:g}"
            for each in reading.statements
            if each.width is not None and not each.settled and not reading.complete
        ]
        return f"{queries}, {reading.scores:,} scores, {share}: {'; '.join([self.stopped, *short])}"

    def _gates(self, results: Mapping[str, Result]) -> dict[str, dict[str, str]]:
        """What became of each gate; with everything read, it holds for the value that is printed or it does not."""
        found = {}
        for each in self.reading.statements:
            if each.gate is None:
                continue
            outcome = each.outcome
            if self.reading.complete:
                outcome = "passed" if each.gate.holds(results[each.key].value) else "failed"
            elif outcome == "undecided":
                outcome = _by_interval(each.gate, results[each.key].interval)
            found[each.gate.text] = {"outcome": outcome}
            if outcome == "undecided":
                low, high = each.sequence.interval
                share = f"{self.reading.read:,} of {int(self.reading.units.sizes.sum()):,} queries"
                found[each.gate.text]["reason"] = (
                    f"{each.key} is between {low:.4g} and {high:.4g} after {share}; {self.stopped}"
                )
        return found

    def _gate_notes(self, outcomes: Mapping[str, Mapping[str, str]], results: Sequence[Result]) -> list[str]:
        intervals = {each.key: each.interval for each in results}
        notes = []
        for each in self.reading.statements:
            if each.gate is not None:
                interval, outcome = intervals[each.key], outcomes[each.gate.text]["outcome"]
                inside = interval is not None and float(each.gate.limit) in interval and not self.reading.complete
                sharper = ", by a test that is sharper than the interval" if inside and outcome != "undecided" else ""
                notes.append(f"gate {each.gate.text}: {outcome}{sharper}")
        return notes

    def _no_chance(self) -> list[str]:
        if self.reading.complete or self._levels or all(each.paired for each in self.reading.statements):
            return []
        return ["no chance level: it takes the candidates of the queries that were not read, too"]

    def _left_out(self) -> list[str]:
        source = self.reading.source
        missing = source.given - source.queries if isinstance(source, FlatQueries | EntityQueries) else 0
        return [f"{missing:,} queries left out: they have no positive"] if missing else []

    def _facts(self, outcomes: Mapping[str, Mapping[str, str]], results: Sequence[Result]) -> dict[str, Any]:
        reading = self.reading
        facts: dict[str, Any] = {
            "read": reading.read,
            "of": int(reading.units.sizes.sum()),
            "scores": reading.scores,
            "scores_of": reading.whole_cost,
            "complete": reading.complete,
            "stopped": self.stopped,
            "seed": reading.seed,
            "average": self.average,
            "within": dict(self.asked.within),
        }
        if reading.earlier:
            facts["resumed"] = list(reading.earlier)
        facts["gates"] = outcomes
        sides = {each.key: each.sequence.decided for each in reading.statements if each.paired and each.gate is None}
        if reading.complete:
            values = {each.key: each.value for each in results}
            sides = {key: None if values[key] == 0 else "above" if values[key] > 0 else "below" for key in sides}
        facts["decided"] = {key: side for key, side in sides.items() if side is not None}
        facts["trail"] = [[read, low, high] for read, low, high in reading.shown_trail]
        return facts


def _by_interval(gate: Gate, interval: Interval | None) -> str:
    """What the interval of a run says of a gate that was added to it."""
    agreed = None if interval is None else gate.agreed(*interval)
    return "undecided" if agreed is None else "passed" if agreed else "failed"


def _one_of_each_key(statements: Sequence[Statement]) -> list[Statement]:
    """For each key the sequence that says most of it: that of a width, else the one that has followed longest."""
    found: dict[str, Statement] = {}
    for each in statements:
        known = found.setdefault(each.key, each)
        if known.width is None and known.sequence.slope < each.sequence.slope:
            found[each.key] = each
    return list(found.values())
