"""One adaptive run: queries drawn in random order, sequences that follow their values, and a file to go on from.

The file has the counts of what was read, in the order read, and the schedule of what was asked for when. Going on is
replaying: the counts go through the same code under the same schedule, so nothing is scored again, no sum is stored,
and what was read keeps the aims and gates under which it was read.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.archive import read_archive, write_archive
from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.gate import Gate
from graphgauge.core.progress import SILENT, Progress
from graphgauge.core.random import Random
from graphgauge.ranking.counts import Counts, Labels, arrays_of
from graphgauge.ranking.evaluate import per_item
from graphgauge.ranking.queries import Queries
from graphgauge.ranking.sequence import Assist, Bets, Bound, Walk, reading_order

# The half-width that an interval is tightest at where no width was asked for.
AIM = 0.03
# Looks come after this many queries, and then whenever this share more was read.
_FIRST_LOOK, _MORE = 64, 0.02
# A predictor is fitted after this many queries, and again whenever twice as many were read.
_FIRST_FIT = 32
# A run that takes long is saved after this many seconds, so that little is lost if it is killed.
_SAVE_SECONDS = 60.0
# Queries of a saved run that are counted again when it goes on.
_AGAIN = 64
_KIND = "ranking-until"


@dataclass(frozen=True)
class Asked:
    """What is asked for from a number of queries on: half-widths by key, and requirements to decide."""

    units: int
    within: dict[str, float]
    gates: list[str]


class Followed:
    """One mean: of a metric, or of its difference between two models, with what was asked about it."""

    def __init__(self, key: str, metric: str, paired: bool, weights: Floats, alpha: float) -> None:
        self.key, self.metric, self.paired, self.alpha = key, metric, paired, alpha
        self.walk = Walk(weights, paired)
        self.bound = Bound(self.walk, alpha)
        self.bets: dict[Gate, Bets] = {}
        self.aim, self.width = AIM, math.nan

    def ask(self, asked: Asked) -> None:
        """From here on follow these; a gate that is new bets from here on, because its limit may depend on the data.

        Such a gate is decided by its bets or by the interval, each with half of the errors that are allowed.
        """
        self.width = asked.within.get(self.key, math.nan)
        self.aim = asked.within.get(self.key, AIM)
        late = asked.units > 0
        before, self.bets = self.bets, {}
        for gate in [gate for gate in map(Gate.parse, asked.gates) if gate.key == self.key]:
            share = (2 if late else 1) * (2 if gate.sign == "!=" else 1)
            self.bets[gate] = before.get(gate) or Bets(self.walk, float(gate.limit), self.alpha / share, late)

    def follow(self, x: Floats, weights: Floats, fit: tuple[Floats, Floats] | None) -> None:
        steps = self.walk.step(x, weights, fit)
        self.bound.follow(steps, self.aim)
        for bets in self.bets.values():
            bets.follow(steps)

    def side(self, gate: Gate) -> str | None:
        """On which side of a gate's limit the mean is, if that is known."""
        bets = self.bets[gate]
        low, high = self.bound.interval
        if bets.side is None and bets.late and not low <= bets.limit <= high:
            return "above" if low > bets.limit else "below"
        return bets.side

    @property
    def too_wide(self) -> bool:
        """Whether the interval is wider than was asked for."""
        return self.bound.half_width > self.width  # not a number if no width was asked for

    @property
    def undecided(self) -> list[Gate]:
        return [gate for gate in self.bets if self.side(gate) is None]


class Reading:
    """Reads queries in random order until everything asked for is known.

    `rows` are the queries of each of `sides` that have a value, and `weights` how much each counts.
    """

    def __init__(
        self,
        sides: Sequence[Queries],
        rows: Ints,
        weights: Floats,
        followed: Sequence[Followed],
        assists: Mapping[str, Assist],
        *,
        ties: str,
        seed: int,
    ) -> None:
        self.sides, self.rows, self.weights, self.followed, self.ties = sides, rows, weights, followed, ties
        self.seed, self._assists = seed, assists
        # The order does not depend on the predictors in a way that they could know.
        seeds = [seed, *(each.digest for each in assists.values())] if assists else seed
        self.order = reading_order(weights, Random(seeds))
        self.metrics = tuple(dict.fromkeys(each.metric for each in followed))
        self.schedule: list[Asked] = []
        self.read = 0
        self.trail: list[tuple[int, float, float]] = []
        self._counted: list[list[Counts]] = [[] for _ in sides]
        self._values: dict[str, list[Floats]] = {metric: [] for metric in self.metrics}
        # Predictions for all queries, and their weighted mean over those unread before each of the order.
        self._fits: dict[str, tuple[Floats, Floats]] = {}
        total = len(self.order)
        grid = np.ceil(_FIRST_LOOK * (1 + _MORE) ** np.arange(int(math.log(max(total, 2), 1 + _MORE)) + 1))
        self._looks = np.unique(np.append(np.minimum(grid, total), total)).astype(np.int64)

    @property
    def complete(self) -> bool:
        return self.read == len(self.order)

    @property
    def settled(self) -> bool:
        return not any(each.too_wide or each.undecided for each in self.followed)

    def counts(self, side: int) -> Counts:
        """The counts of what was read, in the order read, of one model."""
        return Counts.join(self._counted[side])

    def run(self, most: int | None, save: Path | None, progress: Progress = SILENT) -> str:
        """Read until everything is known or may not go on; returns why it stopped."""
        limit = len(self.order) if most is None else min(most, len(self.order))
        saved = time.monotonic()
        try:
            while self.read < limit and not (self.read in self._looks and self.settled):
                stop = min(int(self._looks[np.searchsorted(self._looks, self.read, side="right")]), limit)
                rows = self.rows[self.order[self.read : stop]]
                self._add(stop, [side.count(rows) for side in self.sides])
                progress.stage("reading queries", self.read, len(self.rows), self._state())
                if save is not None and time.monotonic() - saved > _SAVE_SECONDS:
                    self.save(save)
                    saved = time.monotonic()
        finally:
            if save is not None and self.read:
                self.save(save)
        if self.complete:
            return "everything was read"
        if self.settled and self.read in self._looks:
            return "everything asked for is known"
        return f"no more than {most:,} queries may be read"

    def _state(self) -> str:
        wide = [each for each in self.followed if not math.isnan(each.width)]
        parts = [f"{each.key} ± {each.bound.half_width:.2g}" for each in wide]
        undecided = sum(len(each.undecided) for each in self.followed)
        return ", ".join([*parts, *([f"{undecided} undecided"] if undecided else [])])

    def _add(self, stop: int, counted: Sequence[Counts]) -> None:
        """Follow the queries up to `stop`, which have these counts."""
        queries = self.order[self.read : stop]
        values = {metric: [self._value(counts, metric, len(queries)) for counts in counted] for metric in self.metrics}
        for metric, sides in values.items():
            self._values[metric].append(sides[0])
        for start, end in self._cuts(stop):
            self._prepare(start)
            own, part = self.order[start:end], slice(start - self.read, end - self.read)
            for each in self.followed:
                x = [side[part] for side in values[each.metric]]
                fit = None if each.paired else self._fits.get(each.metric)
                known = None if fit is None else (fit[0][own], fit[1][start:end])
                each.follow(x[0] - x[1] if each.paired else x[0], self.weights[own], known)
        for kept, counts in zip(self._counted, counted, strict=True):
            kept.append(replace(counts, labels=Labels()))
        self.read = stop
        if stop in self._looks:
            self.trail.append((self.read, *self.followed[0].bound.interval))

    def _value(self, counts: Counts, metric: str, queries: int) -> Floats:
        if len(counts.candidates) != queries:
            raise OptionError("a query that was drawn has no value", fix="Every query needs a score and an answer.")
        items = per_item(replace(counts, labels=Labels()), self.ties, [metric])
        if items is None:
            return np.empty(0)
        if metric in {*items.weights}:
            fix = "Use mrr or hits@k, or with several right answers recall@k or ndcg@k."
            raise OptionError(f"{metric} is not a mean over queries, which count differently in it", fix=fix)
        return items[metric]

    def _cuts(self, stop: int) -> Iterator[tuple[int, int]]:
        """What is read next, up to `stop`, cut where predictors are fitted anew and where something new is asked."""
        fits = _FIRST_FIT << np.arange(40) if self._assists else np.empty(0, np.int64)
        cuts = np.unique(np.concatenate([fits, [asked.units for asked in self.schedule], [self.read, stop]]))
        cuts = cuts[(cuts >= self.read) & (cuts <= stop)].astype(np.int64)
        yield from zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)

    def _prepare(self, start: int) -> None:
        """What changes before a query: what is asked for, and predictors, fitted on what was read before it."""
        for asked in self.schedule:
            if asked.units == start:
                for each in self.followed:
                    each.ask(asked)
        if start < _FIRST_FIT or start & (start - 1):
            return
        weight = np.cumsum(self.weights[self.order][::-1])
        for metric, assist in self._assists.items():
            values = np.concatenate(self._values[metric])[:start]
            predicted = assist.fit(self.order[:start], values)
            unread = np.cumsum((self.weights * predicted)[self.order][::-1]) / weight
            self._fits[metric] = predicted, np.clip(unread[::-1], 0.0, 1.0)

    # ---- file

    def save(self, path: Path) -> None:
        """Write the counts of what was read, and the schedule."""
        sides = enumerate(self.counts(side).to_arrays() for side in range(len(self.sides)))
        arrays = {f"{side}.{name}": values for side, columns in sides for name, values in columns.items()}
        facts = {"run": self._facts(), "units": self.read, "schedule": [asdict(each) for each in self.schedule]}
        write_archive(path, _KIND, facts, arrays)

    def _facts(self) -> dict[str, Any]:
        """What a run that goes on must have in common."""
        digest = hashlib.sha256(np.ascontiguousarray(self.order).tobytes())
        digest.update(np.ascontiguousarray(self.weights).tobytes())
        return {
            "queries": len(self.rows),
            "order": digest.hexdigest()[:24],
            "seed": self.seed,
            "ties": self.ties,
            "models": len(self.sides),
            "confidence": 1 - self.followed[0].alpha,
        }

    def replay(self, path: Path) -> None:
        """Go through what a saved run has read, under its schedule."""
        facts, arrays = read_archive(path, _KIND)
        differing = [name for name, value in self._facts().items() if facts["run"].get(name) != value]
        if differing:
            what = f"the saved run differs in {', '.join(differing)}"
            raise InputError(what, where=str(path), fix="Give the same queries and options, or begin anew.")
        self.schedule = [Asked(**each) for each in facts["schedule"]]
        parts = [Counts.from_arrays(arrays_of(arrays, side)) for side in range(len(self.sides))]
        self._require_same_scores(parts, int(facts["units"]), path)
        for stop in [*self._looks[self._looks < facts["units"]].tolist(), int(facts["units"])]:
            self._add(stop, [part.take(slice(self.read, stop)) for part in parts])

    def ask(self, within: Mapping[str, float], gates: Sequence[str]) -> None:
        """Ask for these from here on."""
        asked = Asked(self.read, dict(within), list(gates))
        if not self.schedule or replace(self.schedule[-1], units=self.read) != asked:
            self.schedule = [*(each for each in self.schedule if each.units < self.read), asked]
        for each in self.followed:
            each.ask(self.schedule[-1])

    def _require_same_scores(self, parts: Sequence[Counts], read: int, path: Path) -> None:
        """Count some queries again: other counts belong to another run."""
        queries = self.order[:read]
        if any(len(part.candidates) != len(queries) for part in parts):
            raise InputError("not the counts of its queries", where=str(path), fix="Begin anew with another file.")
        again = np.unique(np.linspace(0, max(len(queries) - 1, 0), _AGAIN).astype(np.int64))
        for side, part in zip(self.sides, parts, strict=True):
            one, other = side.count(self.rows[queries[again]]), part.take(again)
            names = ("query", "above", "length", "positives", "candidates", "relevant")
            if not all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names):
                what = "the saved run has read other scores"
                raise InputError(what, where=str(path), fix="Begin anew with another file.")
