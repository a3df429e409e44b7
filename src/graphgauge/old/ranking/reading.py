"""One adaptive run: units drawn in random order, sequences that follow their values, and a file to go on from."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Floats, Ints
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.progress import SILENT, Progress
from graphgauge.old.core.gates import Gate
from graphgauge.old.core.state import Place, load_state, place_name, save_state
from graphgauge.old.ranking.drawn import Source
from graphgauge.old.ranking.items import Items, ListItems
from graphgauge.old.ranking.lists import QueryLists
from graphgauge.old.stats.assist import Assist
from graphgauge.old.stats.sequence import MeanSequence

_KIND = "ranking-until"
# A predictor is fitted after this many units, and again whenever twice as many were read.
_FIRST_FIT = 32
# A look comes where the end is expected, but no later than after this share of the units read so far, and no sooner
# than after that one.
_LONGEST, _SHORTEST = 0.25, 0.02
# Units are read in parts that take about this many seconds, after which progress is shown.
_PART_SECONDS = 2.0
# A run that takes long is saved after this many seconds, so that little is lost if it is killed.
_SAVE_SECONDS = 60.0
# Of a saved run whose scores are computed, at least and at most so many units are compared when it goes on.
_LEAST_AGAIN, _MOST_AGAIN = 64, 256


class Units:
    """What is drawn: single queries, or whole clusters. A unit's value is the weighted mean of its queries."""

    def __init__(self, weights: Floats, cluster: Ints | None) -> None:
        self.query_weights = weights
        self.code = np.arange(len(weights)) if cluster is None else np.unique(cluster, return_inverse=True)[1]
        self.count = int(self.code.max(initial=-1)) + 1
        self.single = cluster is None
        self.sizes = np.bincount(self.code, minlength=self.count)
        self.weights: Floats = np.bincount(self.code, weights, self.count).astype(float)
        self._members = np.argsort(self.code, kind="stable")
        self._begin = np.cumsum(self.sizes) - self.sizes

    def members(self, units: Ints) -> tuple[Ints, Ints]:
        """The queries of these units, and the place of each query's unit among them."""
        size = self.sizes[units]
        owner = np.repeat(np.arange(len(units)), size)
        inside = np.arange(len(owner)) - np.repeat(np.cumsum(size) - size, size)
        return self._members[np.repeat(self._begin[units], size) + inside], owner

    def means(self, queries: Ints, owner: Ints, values: Floats, count: int) -> Floats:
        if self.single:
            return values
        weight = self.query_weights[queries]
        return np.bincount(owner, weight * values, count) / np.bincount(owner, weight, count)

    def of_all(self, values: Floats) -> Floats:
        """The value of every unit, from one value per query."""
        return values if self.single else np.bincount(self.code, self.query_weights * values, self.count) / self.weights


@dataclass
class Statement:
    """Something the run is asked to find out about the mean of a metric, and the sequence that follows it.

    `width` is the half-width to reach and `gate` the requirement to decide; with neither, a paired sequence is followed
    until it is decided. `paired` ones are about the difference of two models.
    """

    name: str
    key: str
    metric: str
    sequence: MeanSequence
    paired: bool = False
    width: float | None = None
    gate: Gate | None = None

    @property
    def settled(self) -> bool:
        if self.width is not None:
            return self.sequence.half_width <= self.width
        return self.sequence.decided is not None

    @property
    def outcome(self) -> str:
        """Of a gate, by what was read so far: passed, failed or undecided."""
        assert self.gate is not None
        side = self.sequence.decided
        if side is None:
            return "undecided"
        return "passed" if (side == "above") == (self.gate.sign in (">", ">=")) else "failed"


class Reading:
    """Reads units in random order until every statement is settled."""

    def __init__(
        self,
        source: Source,
        statements: Sequence[Statement],
        units: Units,
        *,
        seed: int,
        other: Source | None = None,
        ties: str = "realistic",
        assist: Mapping[str, Assist] | None = None,
        max_queries: int | None = None,
        place: Place | None = None,
        progress: Progress = SILENT,
    ) -> None:
        self._place = place
        self.source, self.other, self.units = source, other, units
        self.statements, self.ties, self.seed = list(statements), ties, seed
        self.metrics = list(dict.fromkeys(each.metric for each in statements))
        self._assist = dict(assist or {})
        self._progress = progress
        # The order does not depend on the predictors in a way that they could know.
        self._seeds = [seed, *(each.digest for each in self._assist.values())]
        self.done = self.read = 0  # units, and queries
        self.look = 0  # the units that are read before the next look
        self.order = self._shuffled()
        self.max_queries = max_queries
        self.parts: tuple[list[Items | ListItems], list[Items | ListItems]] = ([], [])
        self.values: dict[str, list[Floats]] = {metric: [] for metric in self.metrics}
        self.scores = 0
        self.trail: list[tuple[int, float, float]] = []
        self._fits: dict[str, _Fit] = {}
        self._fitted = 0
        self.earlier: list[str] = []  # what the runs before this one asked for, if it was something else
        self._sound = True  # not in the middle of adding up what was read

    # ------------------------------------------------------------------ order

    def _shuffled(self) -> Ints:
        """Every unit once, the heavier ones sooner."""
        rng = np.random.default_rng(self._seeds if self._assist else self.seed)
        return MeanSequence(self.units.weights).order(rng)

    def _next_look(self) -> int:
        """How many units are read before the next look; it depends on what was read, not on where a run was stopped."""
        expected = self._needed() / max(self.read, 1) * self.done
        step = min(max(expected - self.done, _SHORTEST * self.done), _LONGEST * self.done)
        return min(self.done + max(self.source.step, math.ceil(step)), len(self.order))

    def _allowed(self) -> int:
        """How many units can be read without more queries than `max_queries`."""
        if self.max_queries is None:
            return len(self.order)
        allowed = int(np.searchsorted(np.cumsum(self.units.sizes[self.order]), self.max_queries, side="right"))
        if allowed < 1:
            raise OptionError(
                f"max_queries is {self.max_queries}, fewer than the queries that are drawn together",
                fix=f"Allow at least {int(self.units.sizes.max(initial=1))}, the largest cluster.",
            )
        return allowed

    # ------------------------------------------------------------------ reading

    @property
    def complete(self) -> bool:
        return self.done == len(self.order)

    @property
    def settled(self) -> bool:
        return all(each.settled for each in self.statements)

    @property
    def _point(self) -> tuple[int, float, float]:
        return self.read, *self.statements[0].sequence.interval

    @property
    def shown_trail(self) -> list[tuple[int, float, float]]:
        """The interval at each look, and at the end, if the run ended between two looks."""
        return self.trail if self.looks or not self.done else [*self.trail, self._point]

    @property
    def looks(self) -> bool:
        """Whether as much was read as for a look."""
        return 0 < self.done == self.look

    def run(self) -> str:
        """Read until everything is settled or may not go on; returns why it stopped."""
        try:
            return self._run()
        except BaseException:
            if self.done and self._sound:
                self._save()
            raise

    @property
    def asked(self) -> str:
        """What is asked for, in words."""
        parts = [each.name if each.width is None else f"{each.name} ± {each.width:g}" for each in self.statements]
        return f"{', '.join(parts)} at {self.statements[0].sequence.confidence:g}"

    def _save(self) -> None:
        if self._place is not None:
            self.save(self._place)

    def _run(self) -> str:
        most, part = self._allowed(), self.source.step
        saved = time.monotonic()
        # A run that was stopped between two looks reads on to the next one, as if it had not been.
        while not (self.complete or self.done >= most or (self.looks and self.settled)):
            if self.look <= self.done:
                self.look = self._next_look()
            stop = min(self.look, most)
            while self.done < stop:
                started, before = time.monotonic(), self.done
                self._read(min(stop, self.done + part))
                each = (time.monotonic() - started) / (self.done - before)
                part = max(self.source.step, int(_PART_SECONDS / max(each, 1e-9)))
                self._tell()
                # A stream is written once, at the end.
                if isinstance(self._place, str | Path) and time.monotonic() - saved > _SAVE_SECONDS:
                    self._save()
                    saved = time.monotonic()
            if self.looks:
                self.trail.append(self._point)
        self._save()
        if self.complete:
            return "everything was read"
        if self.settled and self.done:
            return "everything asked for is known"
        if self.max_queries is not None and self.read > self.max_queries:
            return f"{self.read:,} queries were read before, and no more than {self.max_queries:,} may be"
        return f"no more than {self.max_queries:,} queries may be read"

    @property
    def whole_cost(self) -> int:
        """The scores that reading everything takes, from those read so far."""
        return round(self.scores / max(self.read, 1) * int(self.units.sizes.sum()))

    def _read(self, stop: int) -> None:
        units = self.order[self.done : stop]
        queries, owner = self.units.members(units)
        found: dict[str, list[Floats]] = {metric: [] for metric in self.metrics}
        counted: list[Items | ListItems] = []
        for source in (self.source, self.other):
            if source is not None:
                counted.append(source.count(queries))
                place = placed(counted[-1].ids, queries)
                for metric in self.metrics:
                    found[metric].append(np.asarray(counted[-1].values(metric, ties=self.ties)[place], float))
        means = {
            metric: [self.units.means(queries, owner, each, len(units)) for each in pair]
            for metric, pair in found.items()
        }
        self._sound = False
        for parts, items in zip(self.parts, counted, strict=False):
            parts.append(items)
        self.scores += sum(int(_candidates(items).sum()) for items in counted)
        for metric in self.metrics:
            self.values[metric].append(found[metric][0])
        for start, end in self._between_fits(stop):
            self._fit(start)
            part = slice(start - self.done, end - self.done)
            for statement in self.statements:
                self._follow(statement, units[part], [each[part] for each in means[statement.metric]], start)
        self.done, self.read = stop, self.read + len(queries)
        self._sound = True

    def _follow(self, statement: Statement, units: Ints, values: Sequence[Floats], start: int) -> None:
        sequence, weights = statement.sequence, self.units.weights[units]
        if statement.paired:
            sequence.update(values[0] - values[1], weights=weights)
            return
        fit = self._fits.get(statement.metric)
        if fit is None:
            sequence.update(values[0], weights=weights)
        else:
            mean = fit.unread[start : start + len(units)]
            sequence.update(values[0], weights=weights, predicted=fit.units[units], mean_predicted=mean)

    def _between_fits(self, stop: int) -> Iterator[tuple[int, int]]:
        """The units from `done` to `stop`, cut where predictors are fitted anew."""
        start, fit = self.done, _FIRST_FIT
        while self._assist and fit < stop:
            if fit > start:
                yield start, fit
                start = fit
            fit *= 2
        yield start, stop

    def _fit(self, start: int) -> None:
        """Fit the predictors on what was read up to the last place for it before `start`; nothing later is seen."""
        if not self._assist or start < _FIRST_FIT:
            return
        last = _FIRST_FIT << ((start // _FIRST_FIT).bit_length() - 1)
        if last == self._fitted:
            return
        queries, _ = self.units.members(self.order[:last])
        for metric, assist in self._assist.items():
            values = np.concatenate(self.values[metric])[: len(queries)]
            self._fits[metric] = _Fit.of(self.units, assist.fit(queries, values), self.order)
        self._fitted = last

    def _tell(self) -> None:
        widths = [f"{each.key} ± {each.sequence.half_width:.2g}" for each in self.statements if each.width is not None]
        open_gates = sum(not each.settled for each in self.statements if each.width is None)
        detail = ", ".join([*widths, *([f"{open_gates} undecided"] if open_gates else [])])
        self._progress.stage("reading queries", self.read, max(self.expected(), self.read), detail)

    def expected(self) -> int:
        """How many queries will have been read at the end, as far as widths tell."""
        most = self._needed()
        return most if self.max_queries is None else min(most, self.max_queries)

    def _needed(self) -> int:
        """The same, if as many may be read as it takes."""
        total, read = int(self.units.sizes.sum()), max(self.read, 1)
        needed = [read]
        for each in self.statements:
            if each.width is None:
                # The logarithm of the capital grows about evenly.
                needed += [] if each.settled else [math.ceil(min(read / max(each.sequence.evidence, 1e-9), total))]
            elif each.sequence.half_width > each.width:
                # The error falls with the root of 1 / read − 1 / all.
                ratio = (each.width / each.sequence.half_width) ** 2
                needed.append(math.ceil(1 / (1 / total + (1 / read - 1 / total) * ratio)))
        return min(max(needed), total)

    # ------------------------------------------------------------------ file

    def save(self, place: Place) -> None:
        """Write the order, the sums and all counts, so that a later run goes on from here."""
        arrays: dict[str, AnyArray] = {"trail": np.array(self.trail, float).reshape(-1, 3)}
        arrays |= {f"values:{metric}": _joined(values) for metric, values in self.values.items()}
        for side, parts in zip("ab", self.parts, strict=True):
            if parts:
                arrays |= {f"{side}:{name}": values for name, values in joined(parts).columns().items()}
        facts = {
            "run": self._facts(),
            "asked": [*self.earlier, self.asked],
            "done": self.done,
            "look": self.look,
            "scores": self.scores,
            "sequences": {each.name: each.sequence.state() for each in self.statements},
        }
        save_state(place, _KIND, {**facts, "digest": _digest(facts, arrays)}, arrays)

    def _facts(self) -> dict[str, Any]:
        digest = hashlib.sha256(np.ascontiguousarray(self.order, np.int64).tobytes())
        digest.update(np.ascontiguousarray(self.units.weights, float).tobytes())
        return {
            "queries": int(self.units.sizes.sum()),
            "order": digest.hexdigest()[:24],
            "seed": self.seed,
            "ties": self.ties,
            "metrics": self.metrics,
            "paired": self.other is not None,
            "model": _print_of(self.source),
            "other": _print_of(self.other),
        }

    def resume(self, place: Place) -> None:
        """Go on from a saved run on the same queries: aims may be narrower, gates may be new."""
        where = place_name(place)
        _, facts, arrays = load_state(place, _KIND)
        if facts.pop("digest", None) != _digest(facts, arrays):
            raise InputError("a saved adaptive run that was changed", where=where, fix="Begin anew with another file.")
        try:
            differing = [name for name, value in self._facts().items() if facts["run"][name] != value]
            if differing:
                raise InputError(
                    f"the saved run differs in {', '.join(differing)}",
                    where=where,
                    fix="Give the same queries and options, or begin anew with another file.",
                )
            self.done, self.look, self.scores = (int(facts[name]) for name in ("done", "look", "scores"))
            self.read = int(self.units.sizes[self.order[: self.done]].sum())
            self.trail = [(int(read), float(low), float(high)) for read, low, high in arrays["trail"].tolist()]
            self.earlier = [str(each) for each in facts["asked"]]
            self.values = {metric: [arrays[f"values:{metric}"]] for metric in self.metrics}
            for side, parts in zip("ab", self.parts, strict=True):
                columns = {name[2:]: values for name, values in arrays.items() if name.startswith(f"{side}:")}
                if columns:
                    kind = ListItems if "relevant" in columns else Items
                    parts[:] = [kind.from_columns(columns)]
            self._go_on(facts["sequences"], where)
            if self.earlier[-1] == self.asked and self.done <= self._allowed():
                self.earlier.pop()
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("not a saved adaptive run", where=where) from None
        self._require_same_scores(where)

    def _go_on(self, saved: Mapping[str, Any], where: str) -> None:
        for each in self.statements:
            if each.name in saved:
                each.sequence.resume(saved[each.name])
                continue
            alike = [
                other
                for other in self.statements
                if other.name in saved and (other.metric, other.paired) == (each.metric, each.paired)
            ]
            if each.gate is None or not alike:
                raise InputError(
                    f"{each.name} was not followed by the saved run", where=where, fix="Begin anew with another file."
                )
            each.sequence.begin_after(alike[0].sequence.resume(saved[alike[0].name]))

    def _require_same_scores(self, where: str) -> None:
        """Read units again: other counts belong to another run.

        Stored scores are all read again. Where scores are computed, a tenth of the units are, but not more than
        `_MOST_AGAIN`.
        """
        if not self.done:
            return
        count = min(max(self.done // 10, _LEAST_AGAIN), _MOST_AGAIN)
        if getattr(self.source, "stored", False):
            count = self.done
        again = np.unique(np.linspace(0, self.done - 1, count).astype(np.int64))
        queries, _ = self.units.members(self.order[again])
        same = True
        for parts, source in zip(self.parts, (self.source, self.other), strict=True):
            if source is not None:
                items, kept = source.count(queries), joined(parts)
                same &= _alike(items, placed(items.ids, queries), kept, placed(kept.ids, queries))
        if not same:
            raise InputError("the saved run has read other scores", where=where, fix="Begin anew with another file.")


@dataclass(frozen=True)
class _Fit:
    """Predictions for all units, and their weighted mean over the units unread before each of the order."""

    units: Floats
    unread: Floats

    @classmethod
    def of(cls, units: Units, predicted: Floats, order: Ints) -> _Fit:
        each = units.of_all(predicted)
        weight = units.weights[order][::-1]
        unread = (np.cumsum(weight * each[order][::-1]) / np.cumsum(weight))[::-1]
        return cls(each, np.clip(unread, 0.0, 1.0))


def joined(parts: Sequence[Items | ListItems]) -> Items | ListItems:
    """All counts, in the order in which they were read."""
    if parts and isinstance(parts[0], ListItems):
        lists = [part for part in parts if isinstance(part, ListItems)]
        return replace(
            lists[0],
            ids=np.concatenate([part.ids for part in lists]),
            lists=QueryLists.join([part.lists for part in lists]),
        )
    return Items.join([part for part in parts if isinstance(part, Items)])


def _alike(one: Items | ListItems, first: Ints, other: Items | ListItems, second: Ints) -> bool:
    """Whether these queries have the same counts in both."""
    if isinstance(one, Items) and isinstance(other, Items):
        return all(
            np.array_equal(getattr(one, name)[first], getattr(other, name)[second])
            for name in ("greater", "equal", "candidates")
        )
    if isinstance(one, ListItems) and isinstance(other, ListItems):
        parts = [lists.arranged(places).columns() for lists, places in ((one.lists, first), (other.lists, second))]
        return all(np.array_equal(parts[0][name], parts[1][name]) for name in parts[0])
    return False


def _print_of(source: Source | None) -> str | None:
    """What stands for the inputs of a model, where they are known without scoring."""
    return getattr(source, "fingerprint", None)


def _digest(facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> str:
    known = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(arrays):
        known.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        known.update(np.ascontiguousarray(arrays[name]).tobytes())
    return known.hexdigest()[:24]


def _candidates(items: Items | ListItems) -> Ints:
    return items.candidates if isinstance(items, Items) else items.lists.candidates


def _joined(parts: Sequence[Floats]) -> Floats:
    return np.concatenate([np.empty(0), *parts])


def placed(ids: AnyArray, wanted: Ints) -> Ints:
    """Where the wanted ids are."""
    order = np.argsort(ids, kind="stable")
    place = np.searchsorted(ids, wanted, sorter=order)
    if len(wanted) and (len(ids) == 0 or (place >= len(ids)).any() or (ids[order[place]] != wanted).any()):
        raise OptionError("a query that was drawn has no value", fix="Every query needs a right answer.")
    return np.asarray(order[place])
