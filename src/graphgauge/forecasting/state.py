"""Forecasts in parts: a state that is updated, merged, saved, and evaluated when all parts are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from graphgauge.core.archive import read_archive, write_archive
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.options import confidence_level, whole_number
from graphgauge.core.types import AnyArray
from graphgauge.forecasting.design import Design, parts_of
from graphgauge.forecasting.evaluate import COVERAGE, Request, choose, report, request
from graphgauge.forecasting.labelled import CHANNEL
from graphgauge.forecasting.reading import Extras, Reading, extras_of, read_arrays
from graphgauge.forecasting.sums import Table
from graphgauge.forecasting.totals import Totals
from graphgauge.protocols import protocol as protocol_of

Start = int | Literal["next"] | None


class ForecastState:
    """The sums of any number of batches, shards and machines, from which metrics are computed at the end.

    Parameters
    ----------
    axes, labels, levels, null_value, null_tolerance, nan, weights, history, season, graph, coverage
        As in `evaluate`.
    metrics
        What is summed is enough for these; by default for all but those of joint forecasts.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import forecasting
    >>> y = np.arange(24.0).reshape(4, 2, 3)
    >>> state = forecasting.ForecastState()
    >>> for first in (0, 2):
    ...     part = state.update(y[first : first + 2], y[first : first + 2] + 1, start=first)
    >>> state.evaluate()["mae"].value
    1.0
    """

    def __init__(
        self,
        *,
        axes: Sequence[str] | Mapping[str, Any] | None = None,
        labels: Mapping[str, Sequence[Any]] | None = None,
        levels: Sequence[float] | None = None,
        null_value: float | None = None,
        null_tolerance: float = 0.0,
        nan: str = "raise",
        weights: Any = None,
        history: Any = None,
        season: int = 1,
        graph: Any = None,
        coverage: Sequence[float] | float = COVERAGE,
        metrics: Any = None,
    ) -> None:
        self._reading = Reading(axes, labels, null_value, null_tolerance, nan)
        self._nodes: dict[str, Any] = {"weights": weights, "history": history, "season": season, "graph": graph}
        self._levels, self._coverage, self._metrics = levels, coverage, metrics
        self.reset()

    def reset(self) -> None:
        """Forget what was counted."""
        self._totals: Totals | None = None
        self._asked: Request | None = None
        self._extras = Extras()
        # Half-open ranges of time steps that were counted, in order.
        self._seen: list[tuple[int, int]] = []

    def update(
        self,
        y_true: Any,
        y_pred: Any = None,
        *,
        start: Start,
        std: Any = None,
        quantiles: Any = None,
        samples: Any = None,
        scores: Mapping[str, Any] | None = None,
        mask: Any = None,
    ) -> ForecastState:
        """Count a batch.

        Parameters
        ----------
        y_true, y_pred, std, quantiles, samples, scores, mask
            As in `evaluate`.
        start
            The number of its first time step; `"next"` if batches come in order of time; None if the order is not
            known, and there are to be no intervals.

        Returns
        -------
        ForecastState
            This state.

        Raises
        ------
        InputError
            If a time step was counted before, or the batch does not fit the others.
        """
        levels = self._levels if quantiles is not None else None
        arrays = {"std": std, "quantiles": quantiles, "samples": samples, "mask": mask}
        sample = read_arrays({"y_true": y_true, "y_pred": y_pred, **arrays}, scores, levels, self._reading)
        if CHANNEL in sample.axes:
            raise InputError("has channels", where="y_true", fix="Make a state for each: their units differ.")
        first = self._first_step(start)
        steps = [] if first is None or not sample.shape[0] else [(first, first + sample.shape[0])]
        self._refuse_again(steps)
        extras = self._extras
        if self._asked is None:
            extras = extras_of(sample, **self._nodes)
        asked = request(sample, extras, self._coverage, self._metrics, every=self._metrics is None)
        if self._asked is not None:
            _refuse_different(asdict(self._asked.design), asdict(asked.design))
        totals = replace(Totals.of(sample, asked.design, extras, first=first or 0), whole=None)
        if first is None:
            totals = totals.unordered()
        if self._totals is not None:
            _refuse_different(_facts(self._totals, extras), _facts(totals, extras))
            totals = self._totals.merged(totals)
        # Nothing was changed until here.
        self._totals, self._extras = totals, extras
        self._asked = self._asked or asked
        self._seen = _joined(self._seen, steps)
        return self

    def merge(self, other: ForecastState) -> ForecastState:
        """Add the sums of another state, which is unchanged.

        Parameters
        ----------
        other
            A state of other time steps.

        Returns
        -------
        ForecastState
            This state.

        Raises
        ------
        InputError
            If both have counted a time step, or they do not fit.
        """
        if other._totals is None or other._asked is None:
            return self
        if self._totals is None or self._asked is None:
            self._totals, self._asked, self._extras = other._totals, other._asked, other._extras
            self._seen = list(other._seen)
            return self
        _refuse_different(_facts(self._totals, self._extras), _facts(other._totals, other._extras))
        self._refuse_again(other._seen)
        self._totals = self._totals.merged(other._totals)
        self._seen = _joined(self._seen, other._seen)
        return self

    def evaluate(
        self, *, metrics: Any = None, bins: int = 10, confidence: float = 0.95, protocol: str | None = None
    ) -> Evaluation:
        """The results of everything that was counted.

        Parameters
        ----------
        metrics, bins, confidence, protocol
            As in `evaluate`.

        Returns
        -------
        Evaluation
            As from `evaluate`.

        Raises
        ------
        OptionError
            If a metric needs sums that were not made.
        """
        if self._totals is None or self._asked is None:
            raise OptionError("the state is empty", fix="Call update() first.")
        if protocol is not None:
            fixed = protocol_of("forecasting", protocol).options
            metrics = fixed.get("metrics", metrics)
            for name in fixed.keys() & asdict(self._reading).keys():
                own = getattr(self._reading, name)
                if own != fixed[name]:
                    what = f"{name} of the state is {own!r}, and {protocol} has {fixed[name]!r}"
                    raise OptionError(what, fix=f"Make the state with {name}={fixed[name]!r}.")
        design = self._totals.design
        wanted = self._metrics if metrics is None and self._metrics is not None else metrics
        chosen, named = choose(design, wanted)
        # What this form does not need.
        free = {"gaussian": (), "samples": ("bins",)}.get(design.form, ("bins", "ranks"))
        able = [each for each in chosen if set(parts_of([each[0].name])) <= {*design.parts, *free}]
        lacking = next((each.key_of(**params) for each, params in chosen if (each, params) not in able), None)
        if lacking in named:
            raise OptionError(f"{lacking} was not summed", fix="Name it in metrics= of the state.")
        asked = replace(self._asked, design=design, chosen=able, named=named)
        return report(self._totals, asked, bins=whole_number("bins", bins, 1), confidence=confidence_level(confidence))

    def compute(self) -> dict[str, float]:
        """The values alone."""
        return {key: each.value for key, each in self.evaluate().items()}

    def _first_step(self, start: Any) -> int | None:
        if start == "next":
            return self._seen[-1][1] if self._seen else 0
        return None if start is None else whole_number("start", start)

    def _refuse_again(self, ranges: Sequence[tuple[int, int]]) -> None:
        for first, end in ranges:
            for begin, stop in self._seen:
                if max(first, begin) < min(end, stop):
                    what = f"time steps {max(first, begin)} to {min(end, stop) - 1} were counted before"
                    raise InputError(what, where="start", fix="It is the number of the batch's first time step.")

    # ---- files

    def save(self, path: str | Path) -> None:
        """Write it, for `load` and `graphgauge merge`.

        Parameters
        ----------
        path
            An .npz file.
        """
        if self._totals is None or self._asked is None:
            raise OptionError("the state is empty", fix="Call update() before save().")
        totals, extras = self._totals, self._extras
        facts = {
            "design": asdict(totals.design),
            "ordered": totals.ordered,
            "cells": totals.cells,
            "dropped": totals.dropped,
            "seen": self._seen,
            "axes": self._asked.axes,
            "conventions": dict(self._asked.conventions),
            "reading": {name: getattr(self._reading, name) for name in ("null_value", "null_tolerance", "nan")},
        }
        arrays: dict[str, AnyArray] = {f"labels.{axis}": known for axis, known in totals.labels.items()}
        arrays |= {f"nodes.{name}": known for name, known in vars(extras).items() if known is not None}
        tables: dict[str, Any] = {}
        for name, table in totals.tables.items():
            tables[name], sums = table.packed()
            arrays |= {f"{name}.{part}": values for part, values in sums.items()}
        write_archive(path, "forecasting", {**facts, "tables": tables}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> ForecastState:
        """Read what `save` wrote; nothing is unpickled.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        ForecastState
            Equal to the one that was saved.

        Raises
        ------
        InputError
            If it is no state, or was changed.
        """
        facts, arrays = read_archive(path, "forecasting")
        try:
            design = msgspec.convert(facts["design"], Design)
            axes = tuple(facts["axes"])
            state = cls(
                axes=axes, levels=design.levels or None, coverage=design.coverage or COVERAGE, **facts["reading"]
            )
            parts: dict[str, dict[str, AnyArray]] = {}
            for name, values in arrays.items():
                table, _, part = name.partition(".")
                parts.setdefault(table, {})[part] = values
            tables = {name: Table.unpacked(known, parts[name]) for name, known in facts["tables"].items()}
            if (tables["horizon"].groups, tables["node"].groups) != (design.horizons, design.nodes):
                raise ValueError("sums do not fit the forecast")
            numbers = int(facts["cells"]), int(facts["dropped"]), bool(facts["ordered"])
            state._totals = Totals(design, tables, *numbers, parts.get("labels", {}))
            state._extras = Extras(**parts.get("nodes", {}))
            state._asked = Request(design, [], frozenset(), axes, dict(facts["conventions"]))
            state._seen = [(int(first), int(end)) for first, end in facts["seen"]]
        except (KeyError, TypeError, ValueError, IndexError, msgspec.ValidationError):
            raise InputError("is a damaged state", where=str(path), fix="Write it again.") from None
        return state


def _joined(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Disjoint ranges in order, those that touch as one."""
    ranges: list[tuple[int, int]] = []
    for first, end in sorted([*one, *other]):
        if ranges and ranges[-1][1] == first:
            ranges[-1] = ranges[-1][0], end
        else:
            ranges.append((first, end))
    return ranges


def _refuse_different(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Refuse parts of which facts differ that both have."""
    for name, value in one.items():
        now = other.get(name, value)
        if not (np.array_equal(now, value) or (name == "null_value" and now != now and value != value)):
            what = f"{name} is {now!r:.80}, and was {value!r:.80} before"
            raise InputError(what, where="batch", fix="All parts of an evaluation are alike.")


def _facts(totals: Totals, extras: Extras) -> dict[str, Any]:
    """What all parts of an evaluation have alike."""
    labels = {f"labels of {axis}": totals.labels[axis] for axis in ("horizon", "node") if axis in totals.labels}
    known = {"weights": extras.weights, "history and season": extras.naive, "graph": extras.edges}
    return asdict(totals.design) | known | labels
