"""The canonical sample: truths and forecasts, checked and converted once.

A sample is dense, (time, horizon, node), or it has rows: a number per cell, and its time, horizon and node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, is_cuda, is_tensor
from graphgauge.core.errors import InputError
from graphgauge.core.options import nan_policy
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.forecasting.labelled import AXES, CHANNEL, WIDER, matched
from graphgauge.forecasting.reading import (
    axes_of,
    both,
    canonical,
    labels_given,
    levels_of,
    names_of,
    null_of,
    observed,
    of_one_type,
    one_form,
    point_of,
    score_name,
    truth_values,
    without_nan,
)

# Cells with all their numbers that are handled at once where no compiled loop reads the arrays in place.
_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class Rows:
    """The time, horizon and node of each cell, as positions."""

    step: Ints
    horizon: Ints
    node: Ints


@dataclass(frozen=True, eq=False)
class Sample:
    """Truths with one form of forecast; made by `from_arrays` and `from_table`.

    Arrays are of one float dtype, contiguous, (time, horizon, node), those of quantiles and members with one more axis;
    with `rows` they are (cell). `mean` is None without a point forecast, and `point` says what it is. `mask` is True
    where a cell counts; None if all do. With channels, arrays have an axis of them in front, see `channels`.
    """

    shape: tuple[int, int, int]
    y: Any
    mean: Any = None
    std: Any = None
    quantiles: AnyArray | None = None
    levels: tuple[float, ...] = ()
    members: AnyArray | None = None
    scores: Mapping[str, AnyArray] = field(default_factory=dict)
    mask: Any = None
    rows: Rows | None = None
    point: str = "y_pred"
    axes: tuple[str, ...] = AXES
    labels: Mapping[str, AnyArray] = field(default_factory=dict)
    nan: str = "raise"
    dropped: int = 0
    null_value: float | None = None
    has_mask: bool = False
    # The labels of each dimension that nodes have in the user's arrays.
    places: Mapping[str, AnyArray] = field(default_factory=dict)

    @classmethod
    def from_arrays(
        cls,
        y_true: Any,
        y_pred: Any = None,
        *,
        std: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        samples: Any = None,
        scores: Mapping[str, Any] | None = None,
        mask: Any = None,
        null_value: float | None = None,
        null_tolerance: float = 0.0,
        nan: str = "raise",
        axes: Any = None,
        labels: Mapping[str, Any] | None = None,
    ) -> Sample:
        """Arrays with the axes `axes`, or with labels of their own.

        Parameters
        ----------
        y_true, y_pred, std, quantiles, levels, samples, scores, mask, null_value, null_tolerance, nan, axes, labels
            As in `evaluate`.

        Returns
        -------
        Sample
            For `evaluate`.

        Raises
        ------
        InputError
            If shapes or labels differ.
        """
        forms = {"std": std, "quantiles": quantiles, "samples": samples}
        probabilities = levels_of(levels)
        one_form([name for name, value in forms.items() if value is not None], levels, quantiles)
        losses = {score_name(name): value for name, value in (scores or {}).items()}
        arrays = {"y_true": y_true, "y_pred": y_pred, **forms, "mask": mask}
        arrays |= {f"scores[{name!r}]": value for name, value in losses.items()}
        match = matched(arrays, axes)
        own: dict[str, AnyArray] = {}
        if match is not None:
            arrays, axes, own = dict(match.arrays), match.axes, dict(match.labels)
        host = {name: value for name, value in arrays.items() if value is not None}
        on_device = is_cuda(y_true) and not {"quantiles", "samples"} & set(host) and not losses
        if not on_device:
            host = {name: as_numeric(value, name) for name, value in host.items()}
        names = axes_of(host["y_true"], axes)
        placed = {name: canonical(value, name, names, host["y_true"].shape) for name, value in host.items()}
        size = dict(zip(names, host["y_true"].shape, strict=True))
        own |= labels_given(labels or {}, size)
        sample = cls.checked(
            placed,
            shape=(size.get("time", 1), size.get("horizon", 1), size.get("node", 1)),
            levels=probabilities,
            axes=names,
            labels=own,
            null=null_of(null_value, null_tolerance, y_true),
            nan=nan,
        )
        names_of_nodes = own.get("node", np.arange(sample.shape[2]))
        return replace(sample, places={"node": names_of_nodes} if match is None else match.places)

    @classmethod
    def checked(
        cls,
        arrays: Mapping[str, Any],
        *,
        shape: tuple[int, int, int],
        levels: tuple[float, ...],
        axes: tuple[str, ...],
        labels: Mapping[str, AnyArray],
        null: tuple[float, float] | None,
        nan: str,
        rows: Rows | None = None,
    ) -> Sample:
        """Arrays in canonical order as a sample: masked, converted, with a point forecast if there is one.

        `arrays` by name have the `shape` (time, horizon, node), quantiles their `levels` and dense arrays their `axes`
        and `labels`; `null` is a value that means none, with its tolerance, and ragged tables have `rows`.
        """
        nan_policy(nan)
        if "quantiles" in arrays and arrays["quantiles"].shape[-1] != len(levels):
            what = f"{arrays['quantiles'].shape[-1]} along the last axis, for {len(levels)} levels"
            raise InputError(what, where="quantiles")
        if "samples" in arrays and arrays["samples"].shape[-1] < 2:
            raise InputError("a single member", where="samples", fix="The last axis has the members, at least two.")
        mask = None if "mask" not in arrays else truth_values(arrays["mask"])
        if null is not None:
            # In the dtype of the truth, before any conversion.
            mask = both(mask, observed(arrays["y_true"], *null))
        numbers = of_one_type({name: value for name, value in arrays.items() if name != "mask"})
        dropped = 0
        if nan == "omit":
            there = without_nan(numbers)
            dropped = int((~there).sum() if mask is None else (mask & ~there).sum())
            mask = both(mask, there) if dropped else mask
        mean, point = point_of(numbers, levels)
        if mean is None and not {"std", "quantiles", "samples"} & set(numbers) and len(numbers) == 1:
            raise InputError(
                "not given", where="y_pred", fix="It may be left out with samples=, quantiles= or scores=."
            )
        if mean is None and "std" in numbers:
            raise InputError("not given, but std is", where="y_pred", fix="A Gaussian has a mean and a std.")
        return cls(
            shape,
            numbers["y_true"],
            mean,
            numbers.get("std"),
            numbers.get("quantiles"),
            levels,
            numbers.get("samples"),
            {name[8:-2]: value for name, value in numbers.items() if name.startswith("scores[")},
            mask,
            rows,
            point,
            axes,
            labels,
            nan,
            dropped,
            None if null is None else null[0],
            "mask" in arrays,
        )

    # ---- what it is

    @property
    def form(self) -> str:
        if self.std is not None:
            return "gaussian"
        return "quantiles" if self.quantiles is not None else "samples" if self.members is not None else "point"

    @property
    def cells(self) -> int:
        return int(np.prod(self.shape)) if self.rows is None else len(self.y)

    @property
    def on_device(self) -> bool:
        return is_tensor(self.y)

    def arrays(self) -> Iterator[tuple[str, Any]]:
        """The arrays by the names of their arguments."""
        named = ("y_true", self.y), ("y_pred", self.mean if self.point == "y_pred" else None), ("std", self.std)
        scores = ((f"scores[{name!r}]", values) for name, values in self.scores.items())
        for name, array in (*named, ("quantiles", self.quantiles), ("samples", self.members), *scores):
            if array is not None:
                yield name, array

    # ---- parts

    def _of(self, part: Any, **changes: Any) -> Sample:
        """The same arrays, each with `part` of its cells."""

        def taken(array: Any) -> Any:
            return None if array is None else part(array)

        return replace(
            self,
            y=taken(self.y),
            mean=taken(self.mean),
            std=taken(self.std),
            quantiles=taken(self.quantiles),
            members=taken(self.members),
            scores={name: taken(values) for name, values in self.scores.items()},
            mask=taken(self.mask),
            **changes,
        )

    def channels(self) -> dict[str, Sample]:
        """The channels by name; empty without an axis of them."""
        if CHANNEL not in self.axes:
            return {}
        if not len(self.y):
            raise InputError("has no channels", where="y_true")
        names = names_of(self.labels.get(CHANNEL), CHANNEL, len(self.y)).tolist()
        axes = tuple(axis for axis in self.axes if axis != CHANNEL)
        return {str(name): self._of(itemgetter(place), axes=axes) for place, name in enumerate(names)}

    def steps(self, chosen: slice) -> Sample:
        """Some time steps of a dense sample."""
        part = self._of(lambda array: array[chosen])
        return replace(part, shape=(len(part.y), *self.shape[1:]))

    def on_host(self) -> Sample:
        """The same as NumPy arrays."""
        return self._of(lambda array: as_numeric(array, "y_true")) if self.on_device else self

    def counted(self) -> Iterator[Sample]:
        """The cells that count, as rows, some time steps at a time."""
        if self.rows is not None:
            rows = self.rows
            if self.mask is not None:
                places = np.flatnonzero(self.mask)
                rows = Rows(rows.step[places], rows.horizon[places], rows.node[places])
                yield self._of(lambda array: array[places], rows=rows)
            else:
                yield self
            return
        _, horizons, nodes = self.shape
        width = sum(array.shape[-1] if name in WIDER else 1 for name, array in self.arrays())
        together = max(1, _AT_ONCE // max(1, horizons * nodes * width))
        for first in range(0, max(self.shape[0], 1), together):
            yield self.steps(slice(first, first + together)).on_host()._as_rows(first)

    def _as_rows(self, first: int) -> Sample:
        _, horizons, nodes = self.shape
        size = int(np.prod(self.shape))
        places = np.arange(size) if self.mask is None else np.flatnonzero(self.mask)
        step, rest = np.divmod(places, max(horizons * nodes, 1))
        horizon, node = np.divmod(rest, max(nodes, 1))

        def flat(array: AnyArray) -> AnyArray:
            values = array.reshape(size, *array.shape[3:])
            return values if self.mask is None else values[places]

        return self._of(flat, rows=Rows(step + first, horizon, node))

    def refuse_bad_values(self) -> None:
        """Raise an error that names the first cell that cannot be counted."""
        host = self.on_host()
        for (name, what, fix), bad in host._faults():
            count = int(np.count_nonzero(bad))
            if count:
                first = [int(at) for at in np.unravel_index(int(np.argmax(bad)), bad.shape)]
                what = f"{count} of {bad.size} values are {what}, the first at {host._cell(first)}"
                raise InputError(what, where=name, fix=fix)
        raise InputError("squares beyond the range of float64", where="y_pred", fix="Rescale the data.")

    def _faults(self) -> Iterator[tuple[tuple[str, str, str], Mask]]:
        """What may be wrong, where and how to fix it; and the numbers of which it is true."""
        counted = np.ones(self.y.shape, np.bool_) if self.mask is None else self.mask

        def among(bad: Mask) -> Mask:
            return bad & (counted if bad.ndim == counted.ndim else counted[..., np.newaxis])

        for name, array in self.arrays():
            yield (name, "NaN", 'Mask them, or pass nan="omit" to drop and count them.'), among(np.isnan(array))
        for name, array in self.arrays():
            yield (name, "infinite", "Mask these cells."), among(np.isinf(array))
        if self.std is not None:
            yield ("std", "not above 0", "Standard deviations are positive."), among(~(self.std > 0))

    def _cell(self, index: Sequence[int]) -> str:
        """A cell in the user's words: its labels, or its index in the user's array."""
        places = dict(zip(AXES, index, strict=False))
        if self.rows is not None:
            places = {axis: int(getattr(self.rows, "step" if axis == "time" else axis)[index[0]]) for axis in AXES}
        if not self.labels:
            at = [*(places[axis] for axis in self.axes), *index[3:]]
            return f"index {at[0] if len(at) == 1 else tuple(at)}"
        known = {axis: names_of(self.labels.get(axis), axis, places[axis] + 1) for axis in self.axes}
        return ", ".join(f"{axis} {known[axis][places[axis]]}" for axis in self.axes)
