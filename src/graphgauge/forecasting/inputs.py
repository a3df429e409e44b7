"""A batch of forecasts with its axes in any order, read in slabs of time steps as (time, horizon, node)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Mask, as_numeric, is_tensor, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import nan_policy, whole_number
from graphgauge.forecasting.grids import arranged
from graphgauge.forecasting.labels import Names, axes_of, history_of, matched, named, refuse_objects, shown
from graphgauge.forecasting.on_device import device_of, tensor_of
from graphgauge.forecasting.options import AXES, CHANNEL, checked_axes, checked_levels
from graphgauge.kernels.dtypes import exact

# Numbers processed at once: enough to be worth a call, few enough to fit the cache.
SLAB = 1 << 20
# Steps that are processed at once even if they are wide, because the sums by node of each slab are added up.
_WIDE_STEPS, _WIDE = 32, 24
# Arrays that need no conversion are processed in as many times as much, and in at least so many pieces.
_IN_PLACE, _PIECES = 16, 4


@dataclass(frozen=True)
class Slab:
    """Some time steps of a batch as arrays of one float dtype; `mask` marks the cells that count, None means all."""

    y: AnyArray
    mean: AnyArray
    std: AnyArray | None
    quantiles: AnyArray | None
    members: AnyArray | None
    mask: Mask | None
    dropped: int

    def copy(self) -> Slab:
        """The same in memory of its own."""
        std, quantiles, members = (None if a is None else a.copy() for a in (self.std, self.quantiles, self.members))
        mask = None if self.mask is None else self.mask.copy()
        return Slab(self.y.copy(), self.mean.copy(), std, quantiles, members, mask, self.dropped)

    def rearranged(self, parts: Sequence[tuple[slice, int]]) -> Slab:
        """Some steps of one horizon each, one after the other, as steps of a single horizon."""

        def taken(array: Any) -> Any:
            return None if array is None else np.concatenate([array[steps, ahead] for steps, ahead in parts])[:, None]

        return Slab(
            taken(self.y),
            taken(self.mean),
            taken(self.std),
            taken(self.quantiles),
            taken(self.members),
            taken(self.mask),
            0,
        )

    @property
    def counted(self) -> Mask:
        return np.ones(self.y.shape, bool) if self.mask is None else self.mask


@dataclass(frozen=True)
class Batch:
    """Truth and forecast of one shape, checked; `mean` is None if it is derived from quantiles or members."""

    axes: tuple[str, ...]
    y: AnyArray
    mean: AnyArray | None
    std: AnyArray | None = None
    quantiles: AnyArray | None = None
    levels: tuple[float, ...] = ()
    members: AnyArray | None = None
    mask: Mask | None = None
    null_value: float | None = None
    null_tolerance: float = 0.0
    nan: str = "raise"
    # The null value as the truth stores it.
    stored_null: float | None = None
    nodes: list[Any] | None = None
    ahead: list[Any] | None = None
    # The labels of the channels, if the nodes are those of several channels, one channel after the other, and the names
    # of the nodes of each.
    channels: list[Any] | None = None
    places: list[Any] | None = None
    # The labels along the axes as they were given, before steps were sorted.
    labels: Mapping[str, Names] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        y_true: Any,
        y_pred: Any = None,
        *,
        std: Any = None,
        quantiles: Any = None,
        levels: Any = None,
        samples: Any = None,
        mask: Any = None,
        null_value: float | None = None,
        null_tolerance: float = 0.0,
        axes: Iterable[str] = AXES,
        nan: str = "raise",
        nodes: Sequence[Any] | None = None,
        ahead: Sequence[Any] | None = None,
        known: Mapping[str, Names | Sequence[Any]] | None = None,
    ) -> Batch:
        """Check and align the arrays; `nodes`, `ahead` and `known` are labels that labelled arrays must match."""
        nan_policy(nan)
        said = [
            name for name, given in (("std", std), ("quantiles", quantiles), ("samples", samples)) if given is not None
        ]
        if len(said) > 1:
            raise InputError(f"{' and '.join(said)} are given", fix="Pass only one of them.")
        if (levels is None) != (quantiles is None):
            raise OptionError("quantiles= and levels= must be given together", fix="Give both or neither.")
        given = {
            "y_true": y_true,
            "y_pred": y_pred,
            "std": std,
            "quantiles": quantiles,
            "samples": samples,
            "mask": mask,
        }
        refuse_objects(given)
        checked_null(null_value)
        checked_tolerance(null_tolerance, null_value)
        given = arranged(given, axes)
        names = checked_axes(axes_of(given["y_true"], axes))
        found = matched(given, names, {"node": nodes, "horizon": ahead, **(known or {})})
        original = given["y_true"]
        y_true, y_pred, std, quantiles, samples, mask = (found.arrays[name] for name in given)
        device = None
        if quantiles is None and samples is None:
            device = device_of(y_true, (y_pred, std))
        y = _on(device, y_true, "y_true")
        if y.ndim == 1 and names == AXES:
            names = ("time",)  # a single series has only a time axis
        if y.ndim != len(names):
            raise InputError(
                f"expected the axes {', '.join(names)}, found {y.ndim} dimensions",
                where="y_true",
                fix='Name them, for example axes=("time", "node").',
            )
        probabilities = () if levels is None else checked_levels(levels)
        if levels is not None and not probabilities:
            raise OptionError("levels= is empty", fix="Give one probability for each quantile.")
        quantiles = in_order(quantiles, found.levels, probabilities)
        labelled = dict(zip(names, map(shown, found.names), strict=False))
        batch = cls(
            names,
            y,
            _same_shape(y_pred, "y_pred", y.shape, device),
            _same_shape(std, "std", y.shape, device),
            _same_shape(quantiles, "quantiles", (*y.shape, len(probabilities)), device),
            probabilities,
            _same_shape(samples, "samples", (*y.shape, None), device),
            _mask(mask, y.shape, device),
            null_value,
            float(null_tolerance),
            nan,
            stored_null(null_value, original),
            labelled.get("node") or (None if nodes is None or CHANNEL not in names else list(nodes)),
            labelled.get("horizon"),
            labels={
                axis: label
                for axis, label in zip(names, found.unsorted, strict=False)
                if label is not None and not label.counted
            },
        )
        batch._require_point()
        return batch if CHANNEL not in names else batch._without_channel(labelled.get(CHANNEL))

    def _without_channel(self, labels: list[Any] | None) -> Batch:
        """The same with the channels as part of the nodes."""
        size = self.y.shape[self.axes.index(CHANNEL)]
        channels = list(range(size)) if labels is None else labels
        if len(set(map(str, channels))) < len(channels):
            raise InputError("two channels have the same label", where="y_true")
        others = [name for name in self.axes if name not in (CHANNEL, "node")]
        last = [CHANNEL, "node"] if "node" in self.axes else [CHANNEL]
        order = [self.axes.index(name) for name in (*others, *last)]

        def folded(array: Any) -> Any:
            if array is None:
                return None
            last_axes = range(len(self.axes), array.ndim)
            moved = (array.permute if self.on_device else array.transpose)(*order, *last_axes)
            kept = len(others)
            together = prod(moved.shape[kept : kept + len(last)])  # not -1: an array may have no cell
            return moved.reshape(*moved.shape[:kept], together, *moved.shape[kept + len(last) :])

        names = channels
        if "node" in self.axes:
            places = range(self.y.shape[self.axes.index("node")]) if self.nodes is None else self.nodes
            names = [f"{channel} {node}" for channel in channels for node in places]
        y, mean, std, quantiles, members, mask = map(
            folded, (self.y, self.mean, self.std, self.quantiles, self.members, self.mask)
        )
        return replace(
            self,
            axes=(*others, "node"),
            y=y,
            mean=mean,
            std=std,
            quantiles=quantiles,
            members=members,
            mask=mask,
            nodes=names,
            channels=channels,
            places=self.nodes,
        )

    def _require_point(self) -> None:
        if self.members is not None and self.members.shape[-1] < 2:
            raise InputError(
                f"{self.members.shape[-1]} members",
                where="samples",
                fix="The last axis is that of the members, of which there must be at least two.",
            )
        if self.mean is not None or self.members is not None:
            return
        if self.quantiles is None:
            raise InputError("not given", where="y_pred", fix="It may be left out only with samples= or quantiles=.")
        if 0.5 not in self.levels:
            raise InputError("not given, and there is no quantile 0.5 to use instead", where="y_pred")

    @property
    def form(self) -> str:
        if self.std is not None:
            return "gaussian"
        return "quantiles" if self.quantiles is not None else "point" if self.members is None else "samples"

    @property
    def point(self) -> str:
        """The point forecast that errors are computed from."""
        return "y_pred" if self.mean is not None else "the median" if self.members is None else "the members' mean"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Steps, horizons and nodes."""
        sizes = dict(zip(self.axes, self.y.shape, strict=True))
        steps, horizons, nodes = (sizes.get(name, 1) for name in AXES)
        return steps, horizons, nodes

    @property
    def width(self) -> int:
        """How many numbers a cell has."""
        extra = sum(int(a.shape[-1]) for a in (self.quantiles, self.members) if a is not None)
        return 2 + (self.std is not None) + extra

    def _rows(self, array: AnyArray, rows: slice) -> AnyArray:
        """Some steps of an array, with all axes, in order."""
        extra = array.ndim - len(self.axes)
        order = [self.axes.index(name) for name in AXES if name in self.axes]
        ordered = array.transpose(*order, *range(len(self.axes), array.ndim))[rows]
        lengths = dict(zip((name for name in AXES if name in self.axes), ordered.shape, strict=False))
        return ordered.reshape(*(lengths.get(name, 1) for name in AXES), *ordered.shape[ordered.ndim - extra :])

    @property
    def on_device(self) -> bool:
        """Whether the arrays are tensors on a CUDA device: a point or Gaussian forecast."""
        return is_tensor(self.y)

    def on_host(self, rows: slice = slice(None)) -> Batch:
        """The same, or some time steps of it, as NumPy arrays."""
        if not self.on_device:
            return self
        part = tuple(rows if name == "time" else slice(None) for name in self.axes)

        def copied(array: Any, name: str) -> Any:
            return None if array is None else as_numeric(array[part], name)

        return replace(
            self,
            y=copied(self.y, "y_true"),
            mean=copied(self.mean, "y_pred"),
            std=copied(self.std, "std"),
            mask=copied(self.mask, "mask"),
        )

    def slab(self, rows: slice) -> Slab:
        """Some time steps, converted and masked."""
        if self.on_device:
            return self.on_host(rows).slab(slice(None))
        given = {name: array for name, array in self._arrays() if array is not None}
        small = all(array.dtype in (np.float32, np.float16) for array in given.values())
        dtype = np.dtype(np.float32 if small else np.float64)
        parts = {name: _converted(self._rows(array, rows), dtype, name) for name, array in given.items()}
        mask, dropped = self._counted(parts, rows)
        return Slab(
            parts["y_true"],
            self._point(parts),
            parts.get("std"),
            parts.get("quantiles"),
            parts.get("samples"),
            mask,
            dropped,
        )

    @property
    def in_place(self) -> bool:
        """Whether slabs are views of the arrays, apart from a mask."""
        given = [array for _, array in self._arrays() if array is not None]
        floats = all(array.dtype == given[0].dtype and array.flags.c_contiguous for array in given)
        order = [name for name in AXES if name in self.axes]
        return (
            floats and given[0].dtype in (np.float32, np.float64) and list(self.axes) == order and self.nan == "raise"
        )

    def _arrays(self) -> Iterator[tuple[str, AnyArray | None]]:
        yield from (("y_true", self.y), ("y_pred", self.mean), ("std", self.std))
        yield from (("quantiles", self.quantiles), ("samples", self.members))

    def _point(self, parts: dict[str, AnyArray]) -> AnyArray:
        if "y_pred" in parts:
            return parts["y_pred"]
        if "quantiles" in parts:
            return np.ascontiguousarray(parts["quantiles"][..., self.levels.index(0.5)])
        with np.errstate(invalid="ignore", over="ignore"):
            # Sorted, so that the order of the members does not affect the last bit.
            return np.asarray(np.sort(parts["samples"], axis=-1).mean(axis=-1, dtype=np.float64))

    def _counted(self, parts: dict[str, AnyArray], rows: slice) -> tuple[Mask | None, int]:
        mask = None if self.mask is None else np.ascontiguousarray(self._rows(self.mask, rows))
        if self.stored_null is not None:
            # In the dtype of the truth, before any conversion.
            there = observed(self._rows(self.y, rows), self.stored_null, self.null_tolerance)
            mask = there if mask is None else mask & there
        if self.nan == "raise":
            return mask, 0
        there = np.ones(parts["y_true"].shape, bool)
        for part in parts.values():
            there &= ~(np.isnan(part).any(axis=-1) if part.ndim > 3 else np.isnan(part))
        if mask is None:
            return (None, 0) if there.all() else (there, int(np.count_nonzero(~there)))
        return mask & there, int(np.count_nonzero(mask & ~there))

    def slabs(self, start: int, shift: int, in_place: bool = False) -> Iterator[tuple[slice, int]]:
        """Ranges of steps with their number of time blocks: several whole blocks, or a part of one.

        Blocks are 2**shift steps long, and the batch begins at step `start`. Slabs that are read `in_place` are longer.
        """
        steps, horizons, nodes = self.shape
        length = 1 << shift
        size = max(1, horizons * nodes * self.width)
        room = max(1, SLAB // size, min(_WIDE_STEPS, _WIDE * SLAB // size))
        if in_place:
            # A few for each of the usual numbers of processors, because each costs a call and sums to add.
            room = max(room, _IN_PLACE * SLAB // size)
            pieces = min(_PIECES, max(1, steps * size // SLAB))
            room = min(room, -(-steps // (pieces * length)) * length)
        step = 0
        while step < steps:
            to_edge = length - (start + step) % length
            whole = (min(room, steps - step) // length) if to_edge == length else 0
            size = whole * length or min(room, to_edge, steps - step)
            yield slice(step, step + size), max(whole, 1)
            step += size

    # ------------------------------------------------------------- refusals

    def refuse_bad_values(self) -> None:
        """Raise an error that names the first invalid value among the cells that count."""
        for (name, what, fix), bad in self.on_host()._faults():
            count = int(np.count_nonzero(bad))
            if count:
                first = tuple(int(index) for index in np.unravel_index(int(np.argmax(bad)), bad.shape))
                raise InputError(
                    f"{count} of {bad.size} values are {what}, the first at index "
                    f"{first[0] if len(first) == 1 else first}",
                    where=name,
                    fix=fix,
                )
        what = "errors" if self.std is None else "errors or standard deviations"
        raise InputError(f"{what} too large, or too far apart, for sums of squares in float64", fix="Rescale the data.")

    def _faults(self) -> Iterator[tuple[tuple[str, str, str], Mask]]:
        """What may be wrong: where, what and how to fix it; and the values of which it is true."""
        counted = np.ones(self.y.shape, bool) if self.mask is None else self.mask.copy()
        if self.stored_null is not None:
            counted &= observed(self.y, self.stored_null, self.null_tolerance)

        def among(bad: Mask) -> Mask:
            return bad & (counted if bad.ndim == counted.ndim else counted[..., np.newaxis])

        given = [(name, array) for name, array in self._arrays() if array is not None]
        for name, array in given:
            missing = np.isnan(array)
            if self.nan == "omit":
                counted &= ~(missing.any(axis=-1) if missing.ndim > counted.ndim else missing)
                continue
            yield (name, "NaN", 'Mask them, or pass nan="omit" to drop and count them.'), among(missing)
        for name, array in given:
            yield (name, "infinite", "Mask these cells."), among(np.isinf(array))
        if self.std is not None:
            yield ("std", "not above 0", "Standard deviations must be positive."), among(~(self.std > 0))


def checked_null(null_value: Any) -> Any:
    if null_value is not None and (isinstance(null_value, bool) or not isinstance(null_value, Real)):
        raise OptionError(f"null_value must be a number, not {null_value!r:.60}")
    return null_value


def checked_tolerance(tolerance: Any, null_value: float | None) -> float:
    """How far from the null value a truth may be to be masked."""
    if isinstance(tolerance, bool) or not isinstance(tolerance, Real) or not 0 <= float(tolerance) < np.inf:
        raise OptionError(f"null_tolerance must be a number of at least 0, not {tolerance!r:.60}")
    if tolerance and null_value is None:
        raise OptionError("null_tolerance needs null_value", fix="Pass both, or leave it out.")
    return float(tolerance)


def checked_weights(weights: Any) -> NDArray[np.float64]:
    """One weight per node, as floats whose mean is 1."""
    if isinstance(weights, str):
        raise OptionError(
            f"weights must be one number per node, not {weights!r:.60}",
            fix="Compute them, such as weights=np.cos(np.deg2rad(latitude)).",
        )
    given = as_numeric(weights, "weights").astype(np.float64)
    require_shape(given, (None,), "weights", "Pass one weight per node.")
    if not np.isfinite(given).all() or (given < 0).any() or not (given > 0).any():
        raise InputError("must be finite, at least 0, and not all 0", where="weights")
    return np.asarray(given / given.mean())


def weights_of(weights: Any, batch: Batch) -> NDArray[np.float64]:
    """The weights of the nodes of a batch; those of the places count for each channel."""
    known, values = history_of(weights, "weights")
    channels = 1 if batch.channels is None else len(batch.channels)
    if channels > 1 and np.shape(values)[-1:] == (batch.shape[2] // channels,):
        values = named(batch.places, known, values, "weights")[1]
        return np.tile(checked_weights(values), channels)
    scale = checked_weights(named(batch.nodes, known, values, "weights")[1])
    require_shape(scale, (batch.shape[2],), "weights", "Pass one weight per node.")
    return scale


def null_text(null_value: float | None) -> str | None:
    """A null value as text for comparisons: 0, 0.0 and -0.0 are equal, and so are all NaNs."""
    return None if null_value is None else f"{float(null_value) + 0.0!r}"


def observed(y: AnyArray, null_value: float, tolerance: float = 0.0) -> Mask:
    """True where the truth is farther than `tolerance` from the null value, compared in the dtype of the truth."""
    if np.isnan(null_value):
        return ~np.isnan(y) if y.dtype.kind == "f" else np.ones(y.shape, bool)
    if tolerance:
        with np.errstate(over="ignore", invalid="ignore"):
            distance = np.abs(y - y.dtype.type(null_value) if y.dtype.kind == "f" else y.astype(float) - null_value)
        # Written so that a NaN is not masked.
        return ~(distance <= tolerance)
    if y.dtype.kind == "f":
        with np.errstate(over="ignore"):
            stored = y.dtype.type(null_value)
        # A number that the dtype cannot represent matches no value.
        return y != stored if np.isfinite(stored) or np.isinf(null_value) else np.ones(y.shape, bool)
    whole = float(null_value).is_integer()
    return y != int(null_value) if whole else np.ones(y.shape, bool)


def stored_null(null_value: float | None, y_true: Any) -> float | None:
    """The null value as rounded by the dtype of the truth, if NumPy lacks that dtype."""
    if null_value is None or not is_tensor(y_true) or str(y_true.dtype) != "torch.bfloat16":
        return null_value
    return float(y_true.new_tensor(float(null_value)).float())


def naive_scale(
    naive: Any, season: int | None = None, null_value: float | None = None, null_tolerance: float = 0.0
) -> NDArray[np.float64]:
    """The in-sample MAE of the (seasonal) naive forecast for each node, from a history (time, node) or as given.

    From a history, also the mean squared error, in a second row. Pairs that contain the null value are left out.
    """
    lag = 1 if season is None else season
    whole_number("season", lag, 1)
    given = as_numeric(naive, "naive")
    history = given.astype(np.float64)
    there = np.ones(history.shape, bool)
    if history.ndim == 2 and null_value is not None:
        there = observed(given, null_value, null_tolerance)
    if not np.isfinite(history[there]).all():
        raise InputError("has values that are NaN or infinite", where="naive", fix="Give a history without gaps.")
    if history.ndim == 1:
        if season is not None:
            raise OptionError("season= needs a history (time, node)", fix="For one series pass naive[:, None].")
        if (history < 0).any():
            raise InputError("errors below 0", where="naive", fix="Pass one mean absolute error per node.")
        return history
    require_shape(history, (None, None), "naive", "Pass the history of each node, (time, node), or one error per node.")
    if len(history) <= lag:
        raise InputError(f"{len(history)} steps for a season of {lag}", where="naive", fix="Give a longer history.")
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(history[lag:] - history[:-lag])
        both = np.stack([errors, errors * errors])
    if there.all():
        return np.asarray(both.mean(axis=1))
    pairs = there[lag:] & there[:-lag]
    return np.asarray(np.where(pairs, both, 0.0).sum(axis=1) / np.maximum(pairs.sum(axis=0), 1))


def in_order(quantiles: Any, named: list[Any] | None, levels: tuple[float, ...]) -> Any:
    """Quantiles in the order of their levels, if they are labelled with levels."""
    if named is None or named == list(range(len(named))) or len(named) != len(levels):
        return quantiles  # positions, or another shape, which is refused later
    own = _labelled_levels(named)
    places = [next((at for at, level in enumerate(own) if abs(level - wanted) < 1e-9), None) for wanted in levels]
    if None in places:
        names, wanted_names = (", ".join(f"{level:g}" for level in some) for some in (own, levels))
        raise InputError(
            f"labelled {', '.join(map(str, named)) if not own else names:.120}, but levels= are {wanted_names:.120}",
            where="quantiles",
            fix="Label them with their levels, such as 0.1, and pass the same levels.",
        )
    return np.take(quantiles, [place for place in places if place is not None], axis=-1)


def _labelled_levels(named: list[Any]) -> list[float]:
    """The probabilities that are the labels; nothing if they are none."""
    try:
        numbers = [float(name) for name in named]
    except ValueError:
        return []
    return numbers if all(0 < number < 1 for number in numbers) else []


def _converted(array: AnyArray, dtype: np.dtype[Any], name: str) -> AnyArray:
    try:
        return exact(array, dtype)
    except InputError as error:
        raise InputError(error.what, where=name, fix="Convert it to floats first.") from None


def _on(device: Any, array: Any, name: str) -> Any:
    """The array on a device, or on the host if that is None."""
    return as_numeric(array, name) if device is None else tensor_of(array, name, device)


def _same_shape(value: Any, name: str, shape: Sequence[int | None], device: Any) -> AnyArray | None:
    if value is None:
        return None
    array: AnyArray = _on(device, value, name)
    last = {"quantiles": "One for each level, along the last axis.", "samples": "The member axis is the last one."}
    require_shape(array, tuple(shape), name, last.get(name, "It must have the shape of y_true; nothing is broadcast."))
    return array


def _mask(mask: Any, shape: tuple[int, ...], device: Any) -> Mask | None:
    if mask is None:
        return None
    array = _on(device, mask, "mask")
    if str(array.dtype) not in ("bool", "torch.bool"):
        if not bool(((array == 0) | (array == 1)).all()):
            raise InputError("has values other than 0 and 1", where="mask", fix="True where a cell was observed.")
        array = array != 0
    require_shape(array, tuple(shape), "mask", "It must have the shape of y_true; nothing is broadcast.")
    return array  # type: ignore[no-any-return]
