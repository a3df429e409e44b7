"""The canonical sample: truths and forecasts, checked and converted once.

A sample is dense, (time, horizon, node), or it has rows: a number per cell, and its time, horizon and node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from graphgauge.core.arrays import as_numeric, is_tensor
from graphgauge.core.errors import InputError
from graphgauge.core.threads import in_threads, threads_for
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.forecasting.labelled import AXES, CHANNEL, WIDER, names_of

# Cells with all their numbers that are handled at once where no compiled loop reads the arrays in place.
_AT_ONCE = 1 << 20
Done = TypeVar("Done")


@dataclass(frozen=True, eq=False)
class Rows:
    """The time, horizon and node of each cell, as positions."""

    step: Ints
    horizon: Ints
    node: Ints

    def at(self, places: Any) -> Rows:
        return Rows(self.step[places], self.horizon[places], self.node[places])


@dataclass(frozen=True, eq=False)
class Sample:
    """Truths with one form of forecast.

    `arrays`, by the names of their arguments, are of one float dtype, contiguous, (time, horizon, node), those of
    quantiles and members with one more axis; with `rows` they are (cell). `y_pred` is there if there is a point
    forecast, and `point` says what it is. `scores` are the names of the user's losses. `mask` is True where a cell
    counts; None if all do. With channels, arrays have an axis of them in front, see `channels`.
    """

    shape: tuple[int, int, int]
    arrays: Mapping[str, Any]
    mask: Any = None
    rows: Rows | None = None
    levels: tuple[float, ...] = ()
    scores: tuple[str, ...] = ()
    point: str = "y_pred"
    axes: tuple[str, ...] = AXES
    labels: Mapping[str, AnyArray] = field(default_factory=dict)
    # The null value of truths, and its tolerance.
    null: tuple[float, float] | None = None
    dropped: int = 0
    # How it was read, for people.
    conventions: Mapping[str, str] = field(default_factory=dict)
    # The labels of each dimension that nodes have in the user's arrays.
    places: Mapping[str, AnyArray] = field(default_factory=dict)

    # ---- what it is

    @property
    def y(self) -> Any:
        return self.arrays["y_true"]

    @property
    def mean(self) -> Any:
        return self.arrays.get("y_pred")

    @property
    def std(self) -> Any:
        return self.arrays.get("std")

    @property
    def members(self) -> AnyArray | None:
        return self.arrays.get("samples")

    @property
    def form(self) -> str:
        named = {"std": "gaussian", "quantiles": "quantiles", "samples": "samples"}
        return next((form for name, form in named.items() if name in self.arrays), "point")

    @property
    def cells(self) -> int:
        return int(np.prod(self.shape)) if self.rows is None else len(self.y)

    @property
    def on_device(self) -> bool:
        return is_tensor(self.y)

    # ---- parts

    def _of(self, part: Any, **changes: Any) -> Sample:
        """The same arrays, each with `part` of its cells."""
        mask = None if self.mask is None else part(self.mask)
        return replace(self, arrays={name: part(array) for name, array in self.arrays.items()}, mask=mask, **changes)

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
        """Some time steps of a dense sample, some rows of another."""
        if self.rows is not None:
            return self._of(itemgetter(chosen), rows=self.rows.at(chosen))
        return self._of(itemgetter(chosen), shape=(len(self.y[chosen]), *self.shape[1:]))

    def on_host(self) -> Sample:
        """The same as NumPy arrays."""
        return self._of(lambda array: as_numeric(array, "y_true")) if self.on_device else self

    def each_part(self, work: Callable[[Sample], Done]) -> list[Done]:
        """`work` on the cells that count, as rows: some time steps or rows at a time, on several threads."""
        width = sum(array.shape[-1] if name in WIDER else 1 for name, array in self.arrays.items())
        of_step = width if self.rows is not None else width * self.shape[1] * self.shape[2]
        together = max(1, _AT_ONCE // max(1, of_step))

        def of_steps(first: int) -> Done:
            return work(self.steps(slice(first, first + together)).on_host()._as_rows(first))

        return in_threads(of_steps, range(0, max(len(self.y), 1), together), threads_for(self.cells * width))

    def _as_rows(self, first: int) -> Sample:
        cells, rows, part = self.cells, self.rows, self
        if rows is None:
            step, horizon, node = np.indices(self.shape).reshape(3, cells)
            rows = Rows(step + first, horizon, node)
            part = self._of(lambda array: array.reshape(cells, *array.shape[3:]))
        if part.mask is None:
            return replace(part, rows=rows)
        places = np.flatnonzero(part.mask)
        return part._of(itemgetter(places), rows=rows.at(places))

    # ---- refusals

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
        given = {name: array for name, array in self.arrays.items() if name != "y_pred" or self.point == "y_pred"}

        def among(bad: Mask) -> Mask:
            return bad & (counted if bad.ndim == counted.ndim else counted[..., np.newaxis])

        for name, array in given.items():
            yield (name, "NaN", 'Mask them, or pass nan="omit" to drop and count them.'), among(np.isnan(array))
        for name, array in given.items():
            yield (name, "infinite", "Mask these cells."), among(np.isinf(array))
        if self.std is not None:
            yield ("std", "not above 0", "Standard deviations are positive."), among(~(self.std > 0))

    def _cell(self, index: Sequence[int]) -> str:
        """A cell in the user's words: its labels, or its index in the user's array."""
        places = dict(zip(AXES, index, strict=False))
        if self.rows is not None:
            rows = self.rows.step, self.rows.horizon, self.rows.node
            places = {axis: int(of_axis[index[0]]) for axis, of_axis in zip(AXES, rows, strict=True)}
        if not self.labels:
            at = [*(places[axis] for axis in self.axes), *index[3:]]
            return f"index {at[0] if len(at) == 1 else tuple(at)}"
        known = {axis: names_of(self.labels.get(axis), axis, places[axis] + 1) for axis in self.axes}
        return ", ".join(f"{axis} {known[axis][places[axis]]}" for axis in self.axes)


def loss_of(name: str) -> str:
    """The array of a loss of the user, as errors name it."""
    return f"scores[{name!r}]"
