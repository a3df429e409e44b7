"""The mergeable state of a forecasting evaluation: sums by time block, horizon and node, and two histograms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.arrays import Floats, as_labels, as_numeric
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import metric_names, thread_count
from graphgauge.forecasting.inputs import (
    Batch,
    checked_null,
    checked_tolerance,
    checked_weights,
    naive_scale,
    null_text,
    observed,
)
from graphgauge.forecasting.joint import Pairs, graph_pairs, graph_text
from graphgauge.forecasting.labels import history_of, named
from graphgauge.forecasting.measures import UNWEIGHTED, Layout, counted_for
from graphgauge.forecasting.options import (
    AXES,
    CHANNEL,
    COVERAGE,
    checked_axes,
    checked_start,
    interval_levels,
)
from graphgauge.forecasting.slabs import SlabSums
from graphgauge.forecasting.steps import Steps
from graphgauge.old.core.metric import asked
from graphgauge.old.core.state import CountedShards, Place

if TYPE_CHECKING:
    from graphgauge.old.core.evaluation import Evaluation


# Fixes for parts that were read differently.
_SAME = {
    "null_value": "Give every part the same null_value.",
    "null_tolerance": "Give every part the same null_tolerance.",
    "masked": "Give every part a mask=, all True if nothing is missing.",
    "weights": "Give every part the same node weights.",
}


class ForecastState(SlabSums):
    """Sums over any number of batches, shards and machines; metrics are computed from them at the end.

    `coverage` are the levels of the central intervals, `nodes` the names of the nodes, and `ahead` the steps ahead of
    the horizons if they are not 1, 2, 3 …. `naive` is the history of each node (time, node), from which the in-sample
    error of the (seasonal) naive forecast is computed with lag `season`; or these errors, one per node. `mase` divides
    by them. `metrics` restricts what is counted to what these metrics need; chance levels that need more are then
    missing. `weights` are node weights, such as the cosine of the latitude. `null_value` marks unobserved cells, up to
    `null_tolerance`, in batches and in the history. Intervals need the order in time: if there is more than one batch,
    pass the index of the first time step to `update` as `start`. A step that is counted twice is then an error.
    """

    kind = "forecasting"

    def __init__(
        self,
        *,
        axes: Iterable[str] = AXES,
        coverage: Sequence[float] | float = COVERAGE,
        nodes: Sequence[Any] | None = None,
        ahead: Sequence[int] | None = None,
        season: int | None = None,
        naive: Any = None,
        null_value: float | None = None,
        null_tolerance: float = 0.0,
        graph: Any = None,
        weights: Any = None,
        metrics: Sequence[str] | str | None = None,
        shard: str | None = None,
    ) -> None:
        metrics = metric_names(metrics)
        self.axes = checked_axes(axes)
        self.coverage = interval_levels(coverage, metrics)
        self.nodes, self.ahead = _labels(nodes, "nodes"), _labels(ahead, "ahead")
        for name, what, labels in (("ahead", "horizon", self.ahead), ("nodes", "node", self.nodes)):
            if labels is not None and len(set(labels)) < len(labels):
                raise InputError(f"a {what} is named twice", where=name, fix=f"Name each {what} once.")
        self.null_value = checked_null(null_value)
        self.null_tolerance = checked_tolerance(null_tolerance, null_value)
        self._history, self.scale = None, None
        if naive is not None:
            known, history = history_of(naive)
            self.nodes, history = named(self.nodes, known, history, "naive")
            self.scale = naive_scale(history, season, null_value, self.null_tolerance)
            self._history = as_numeric(history, "naive")
        self.weights: Floats | None = None
        if weights is not None:
            known, given = history_of(weights, "weights")
            self.nodes, given = named(self.nodes, known, given, "weights")
            self.weights = checked_weights(given)
        if season is not None and naive is None:
            raise OptionError("season= needs naive=", fix="Pass the history for the seasonal naive error.")
        self.counted = counted_for(None if metrics is None else [item.metric for item in asked("forecasting", metrics)])
        self._first_shard = shard
        self.graph = graph
        self.reset()

    def reset(self) -> None:
        """Discard everything that was counted."""
        self.layout: Layout | None = None
        self.dropped = self.cells = 0
        self.ordered, self.placed, self.omits = True, True, False
        self.seen = Steps()
        self.point = "y_pred"
        self.channels: list[Any] | None = None
        self.places: list[Any] | None = None
        # Whether batches came with node names of their own, and without.
        self.labelled = self.unlabelled = False
        self.shards = CountedShards()
        self._own_shard: str | None = None

    # -------------------------------------------------------------------- in

    def update(
        self,
        y_true: Any,
        y_pred: Any = None,
        *,
        std: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        samples: Any = None,
        mask: Any = None,
        null_value: float | None = None,
        null_tolerance: float | None = None,
        start: int | None = None,
        nan: str = "raise",
        threads: int | None = None,
    ) -> ForecastState:
        """Add one batch; `start` is the index of its first time step.

        Parameters
        ----------
        y_true, y_pred, std, quantiles, levels, samples, mask, null_value, null_tolerance, nan, threads
            As in `graphgauge.forecasting.evaluate`, for the time steps of this batch.
        start
            Index of the first time step; by default the one after the last batch.

        Returns
        -------
        ForecastState
            This state.

        Raises
        ------
        InputError
            If the batch is invalid, or does not fit to earlier ones. Nothing is counted then.

        Examples
        --------
        >>> import numpy as np
        >>> from graphgauge import forecasting
        >>> state, y = forecasting.ForecastState(), np.zeros((4, 2, 3))
        >>> for error in (0.5, 1.5):
        ...     _ = state.update(y, y + error)
        >>> state.n, state.evaluate()["mae"].value
        (48, 1.0)
        """
        batch = Batch.of(
            y_true,
            y_pred,
            std=std,
            quantiles=quantiles,
            levels=levels,
            samples=samples,
            mask=mask,
            null_value=self.null_value if null_value is None else null_value,
            null_tolerance=self.null_tolerance if null_tolerance is None else null_tolerance,
            axes=self.axes,
            nan=nan,
            nodes=self.nodes if self.channels is None else self.places,
            ahead=self.ahead,
            known=self._known_channels,
        )
        self.update_batch(batch, start=start, threads=threads)
        return self

    def update_batch(self, batch: Batch, *, start: int | None = None, threads: int | None = None) -> None:
        """Add a batch that was already read; nothing is counted if it is invalid.

        Parameters
        ----------
        batch
            The cells, as `Batch.of` reads them.
        start
            The step in time at which the batch begins; by default after the last one.
        threads
            At most this many threads; by default all cores.

        Raises
        ------
        InputError
            If the batch does not go with those before.
        """
        first, threads = checked_start(start), thread_count(threads)
        steps, horizons, nodes = batch.shape
        self._require_labels(batch)
        self._repeat_by_channel(batch.channels, nodes)
        layout = Layout(
            batch.form,
            horizons,
            nodes,
            self.coverage,
            batch.levels,
            0 if batch.members is None else batch.members.shape[-1],
            self.scale is not None,
            self._parts,
            null_text(batch.null_value),
            batch.null_tolerance,
            batch.mask is not None,
            self._graph_text(batch),
            self._weights_text,
            self._root_scaled,
        )
        fresh = self._fresh(layout)
        self._require_layout(fresh)
        if self.layout is not None and self.channels != batch.channels:
            raise InputError("the channels differ from those of earlier batches", where="y_true")
        fresh.channels, fresh.places = batch.channels, batch.places
        if steps and "node" in self.axes:
            fresh.labelled, fresh.unlabelled = "node" in batch.labels, "node" not in batch.labels
        self._require_history(batch.null_value, batch.null_tolerance)
        fresh.placed, fresh.omits, fresh.point = start is not None, batch.nan == "omit", batch.point
        if batch.nodes is not None:
            fresh.nodes = batch.nodes
        if batch.ahead is not None:
            fresh.ahead = batch.ahead
        if start is not None and steps:
            fresh.seen = Steps([(first, first + steps)])
        self._require_apart(fresh)
        fresh._count(batch, first, threads)
        self._mark()
        self._absorb(fresh)

    def _fresh(self, layout: Layout) -> ForecastState:
        """An empty state with the same options, allocated for the layout."""
        other = object.__new__(ForecastState)
        for name in (
            "axes",
            "coverage",
            "nodes",
            "ahead",
            "scale",
            "counted",
            "null_value",
            "null_tolerance",
            "graph",
            "weights",
        ):
            setattr(other, name, getattr(self, name))
        other._history = None
        other._first_shard = None
        other.reset()
        other.lay_out(layout)
        return other

    def lay_out(self, layout: Layout) -> None:
        """Allocate the sums of this layout.

        Parameters
        ----------
        layout
            The number of horizons and nodes, the form of the forecasts, and what is counted.

        Raises
        ------
        InputError
            If names, weights or scales are of another number of nodes or horizons.
        """
        self._require_groups(layout)
        self._allocate(layout)

    def _require_groups(self, layout: Layout) -> None:
        """Reject names, weights and naive errors of other numbers of nodes or horizons."""
        groups = (
            ("nodes", self.nodes, layout.nodes),
            ("naive", self.scale, layout.nodes),
            ("weights", self.weights, layout.nodes),
        )
        for name, known, count in (*groups, ("ahead", self.ahead, layout.horizons)):
            if known is not None and np.shape(known)[-1] != count:
                fix = f"Give one for each {'horizon' if name == 'ahead' else 'node'}."
                raise InputError(f"{np.shape(known)[-1]} where {count} are expected", where=name, fix=fix)

    @property
    def _known_channels(self) -> dict[str, Sequence[Any]]:
        """The channels of earlier batches, if they have labels."""
        if self.channels is None or self.channels == list(range(len(self.channels))):
            return {}
        return {CHANNEL: self.channels}

    def _require_labels(self, batch: Batch) -> None:
        """Reject labels that are not those of earlier batches, in their order."""
        if self.layout is None:
            return
        for name, mine, theirs in (("node", self.nodes, batch.nodes), ("horizon", self.ahead, batch.ahead)):
            if mine is not None and theirs is not None and mine != theirs:
                raise InputError(f"its labels along {name} differ from those of earlier batches", where="y_true")

    def _repeat_by_channel(self, channels: list[Any] | None, nodes: int) -> None:
        """Weights and names are those of the places, which each channel has."""
        if channels is None:
            return
        count = len(channels)
        if self.weights is not None and len(self.weights) * count == nodes:
            self.weights = np.tile(self.weights, count)
        if self.nodes is not None and len(self.nodes) * count == nodes:
            self.nodes = [f"{channel} {node}" for channel in channels for node in self.nodes]

    @property
    def _parts(self) -> tuple[str, ...]:
        """What is counted; calibration and joint scores have no node weights."""
        return self.counted if self.weights is None else tuple(part for part in self.counted if part not in UNWEIGHTED)

    @property
    def _root_scaled(self) -> bool:
        return self.scale is not None and self.scale.ndim == 2

    @property
    def _weights_text(self) -> str | None:
        return None if self.weights is None else sha256(self.weights.tobytes()).hexdigest()[:16]

    def _graph_text(self, batch: Batch) -> str | None:
        """The pairs of the graph, found when the number of nodes is known, as text; each channel has the same graph."""
        if self.graph is not None and not isinstance(self.graph, Pairs):
            nodes, channels = batch.shape[2], len(batch.channels or [None])
            names = batch.nodes if self.nodes is None else self.nodes
            if channels > 1 and np.shape(self.graph) != (nodes, nodes):
                size = nodes // channels
                pairs = graph_pairs(self.graph, size, batch.places)
                pairs = np.concatenate([pairs + size * channel for channel in range(channels)])
            else:
                pairs = graph_pairs(self.graph, nodes, names)
            self.graph = Pairs(pairs)
        return None if self.graph is None else graph_text(self.graph.pairs)

    def _mark(self) -> None:
        if self._own_shard is None:
            self._own_shard = self._first_shard or self.shards.own()
            self.shards.add(self._own_shard)

    # ----------------------------------------------------------------- merge

    def merge(self, other: ForecastState) -> ForecastState:
        """Add another state's sums to this one.

        Parameters
        ----------
        other
            A state of other time steps, which is left as it is.

        Returns
        -------
        ForecastState
            This state.

        Raises
        ------
        InputError
            If time steps were counted in both, or they were counted with other options.

        Examples
        --------
        >>> import numpy as np
        >>> from graphgauge import forecasting
        >>> y = np.zeros((4, 2, 3))
        >>> state = forecasting.ForecastState().update(y, y + 0.5)
        >>> other = forecasting.ForecastState().update(y, y - 0.5, start=4)
        >>> state.merge(other).n
        48
        """
        if not isinstance(other, ForecastState):
            raise TypeError(f"cannot merge {type(other).__name__} into a ForecastState")
        alike = all(getattr(self, name) == getattr(other, name) for name in ("axes", "coverage", "counted"))
        names = [(getattr(self, name), getattr(other, name)) for name in ("nodes", "ahead")]
        alike = alike and all(one == two or one is None or two is None for one, two in names)
        scales = [np.empty(0) if state.scale is None else state.scale for state in (self, other)]
        if not alike or not np.array_equal(scales[0], scales[1]):
            raise InputError(
                "the states differ in axes, coverage, nodes, horizons or naive", fix="Build both the same way."
            )
        self._require_layout(other)
        shards = CountedShards([*self.shards.names])
        shards.absorb(other.shards)
        self._require_apart(other)
        self.shards = shards
        self._absorb(other)
        return self

    def as_one_part(self) -> None:
        """What was merged is one part from now on, under the name of this state."""
        self.shards, self._own_shard = CountedShards(), None
        self._mark()

    def forget_place(self) -> None:
        """Drop the position in time, for a state whose steps count from its own beginning."""
        self.placed, self.seen = False, Steps()

    def _require_layout(self, other: ForecastState) -> None:
        if self.layout is None or other.layout is None or self.layout == other.layout:
            return
        mine, theirs = asdict(self.layout), asdict(other.layout)
        # What is counted depends on whether there are weights.
        name = next(name for name in ("weights", *mine) if mine[name] != theirs[name])
        fix = _SAME.get(name, "All batches must have the same form and shape.")
        raise InputError(f"{name} {theirs[name]!r} differs from {mine[name]!r}", fix=fix)

    def _require_apart(self, other: ForecastState) -> None:
        """Reject steps that both have counted."""
        self.seen.refuse_shared(other.seen, "Count each step once; start= is the index of a batch's first step.")

    def _require_history(self, null_value: float | None, tolerance: float) -> None:
        """Reject a null value that was not masked in the history."""
        known = null_text(self.null_value), self.null_tolerance
        if self._history is None or (null_text(null_value), tolerance) == known:
            return
        if null_value is not None and not observed(self._history, null_value, tolerance).all():
            raise InputError(
                f"the history contains the null value {null_value:g}",
                where="naive",
                fix="Build the state with ForecastState(null_value=…).",
            )

    def _absorb(self, other: ForecastState) -> None:
        if other.layout is None:
            return
        self._require_layout(other)
        first = self.layout is None
        if first:
            self._require_groups(other.layout)
            self._adopt(other)
        elif other.cells:
            # Batches without a position in time may have come in any order.
            placed = (self.placed and other.placed) or not self.cells
            self.ordered = self.ordered and other.ordered and placed
            self.placed = other.placed if not self.cells else self.placed and other.placed
            self.point = other.point if self.point == other.point or not self.cells else "as given"
        if not first:
            self._add_sums(other)
        self.channels = self.channels if self.channels is not None else other.channels
        self.places = self.places if self.places is not None else other.places
        self.labelled, self.unlabelled = self.labelled or other.labelled, self.unlabelled or other.unlabelled
        self.nodes = self.nodes if self.nodes is not None else other.nodes
        self.ahead = self.ahead if self.ahead is not None else other.ahead
        self.graph = self.graph if self.graph is not None else other.graph
        self.seen = self.seen.union(other.seen)
        self.omits = self.omits or other.omits
        self.cells += other.cells
        self.dropped += other.dropped

    # ------------------------------------------------------------------- out

    @property
    def n(self) -> int:
        """Cells counted so far."""
        return 0 if self.layout is None else int(self.by_horizon.counts[..., 0].sum())

    def evaluate(self, **options: Any) -> Evaluation:
        """Compute the metrics over all counted cells; options as in `graphgauge.forecasting.evaluate`.

        Parameters
        ----------
        options
            `by`, `horizons`, `bins`, `metrics` and `confidence`.

        Returns
        -------
        Evaluation
            As from `graphgauge.forecasting.evaluate` of all batches together.

        Raises
        ------
        OptionError
            If nothing was counted, or an argument has no such value.

        Examples
        --------
        >>> import numpy as np
        >>> from graphgauge import forecasting
        >>> y = np.zeros((4, 2, 3))
        >>> state = forecasting.ForecastState().update(y, y + 0.5)
        >>> state.evaluate()["mae"].value
        0.5
        """
        from graphgauge.forecasting.evaluate import evaluate_state

        return evaluate_state(self, **options)

    compute = evaluate

    def save(self, place: Place) -> None:
        """Write the state as `.npz`, to a file (atomically) or to a stream.

        Parameters
        ----------
        place
            A path, or a stream that is open for bytes.

        Returns
        -------
        None
            The file is complete when the method returns.

        Raises
        ------
        UnwritableError
            If the file cannot be written.

        Examples
        --------
        >>> import numpy as np
        >>> from graphgauge import forecasting
        >>> y = np.zeros((4, 2, 3))
        >>> state = forecasting.ForecastState().update(y, y + 0.5)
        >>> state.save("state.npz")
        >>> forecasting.ForecastState.load("state.npz").n
        24
        """
        from graphgauge.forecasting.saved import save

        save(self, place)

    @classmethod
    def load(cls, place: Place) -> ForecastState:
        """Load a saved state.

        Parameters
        ----------
        place
            A path, or a stream that is open for bytes.

        Returns
        -------
        ForecastState
            With the same sums.

        Raises
        ------
        InputError
            If the file is damaged, or the state of another family.

        Examples
        --------
        >>> import numpy as np
        >>> from graphgauge import forecasting
        >>> y = np.zeros((4, 2, 3))
        >>> state = forecasting.ForecastState().update(y, y + 0.5)
        >>> state.save("state.npz")
        >>> forecasting.ForecastState.load("state.npz").evaluate()["mae"].value
        0.5
        """
        from graphgauge.forecasting.saved import load

        return load(place)


def _labels(labels: Sequence[Any] | None, name: str) -> list[Any] | None:
    return None if labels is None else as_labels(labels, name).tolist()
