"""What is known of samples, one entry each, as arrays: bits, vectors, statistics, validity, codes of conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, is_tensor, on_host, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.generation.graphs import rows_of

# The only condition of samples without conditions.
UNCONDITIONAL = "all"
# Up to this size squares and their sums are finite.
LARGEST = 1e140
# Names that a statistic cannot have: those of other axes, and of the columns of tables.
_AXES = {"condition", "channel", "dimension", "recognised_by", "per_grade_centroids"}
_SHOWN = {"n", "real_n", "wasserstein", "scaled", "null_mean", "null_95"}
TAKEN = _AXES | _SHOWN | {f"{side}_{part}" for side in ("real", "generated") for part in ("mean", "std")}
_DROP = "Repair the model, or drop these samples from all columns of their side."
_SHAPE = "The first axis is that of the samples."
_ORDER = "List them in order with labels=, or number them."

# ---- the samples of one side


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of one side and what is known of each: a row per sample in every column.

    `items` are bits (n, *shape), `Graphs` or `Molecules`; they may be absent where columns are known. `conditions` are
    true or requested ones, as names or codes. `valid` says whether a sample is valid, and None counts as not valid.
    `statistics` is `{name: (n,)}` or a data frame: numbers, or text for categories. `latents` (n, d) are encodings,
    `variances` (n, d) those of the encoder's posterior, `reconstructed` what came back of each sample, in bits, and
    `predicted` the conditions that a classifier answers. `in_training` is filled by `Sides`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import generation
    >>> side = generation.Samples(np.eye(4, dtype=bool), conditions=["easy", "easy", "hard", "hard"])
    >>> len(side), side.take([0, 3]).conditions
    (4, ['easy', 'hard'])
    """

    items: Any = None
    conditions: Any = field(default=None, kw_only=True)
    valid: Any = field(default=None, kw_only=True)
    statistics: Any = field(default=None, kw_only=True)
    latents: Any = field(default=None, kw_only=True)
    variances: Any = field(default=None, kw_only=True)
    reconstructed: Any = field(default=None, kw_only=True)
    predicted: Any = field(default=None, kw_only=True)
    in_training: Any = field(default=None, kw_only=True, repr=False)

    def __len__(self) -> int:
        return next((_length(value) for value in self.columns().values()), 0)

    def columns(self) -> dict[str, Any]:
        """The columns that are there, by name; statistics as `statistics.NAME`.

        Returns
        -------
        dict
            One entry per column.
        """
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        statistics = own.pop("statistics")
        own |= {"statistics": statistics} if statistics is not None else {}
        return {name: value for name, value in own.items() if value is not None}

    def take(self, rows: Any) -> Samples:
        """Some of the samples, with all that is known of them.

        Parameters
        ----------
        rows
            A mask, or numbers of samples.

        Returns
        -------
        Samples
            The same columns with fewer rows.
        """
        return Samples(**{name: _taken(value, rows) for name, value in self.columns().items()})

    @property
    def kept(self) -> Mask:
        """Which samples are valid; all if that is not known."""
        return np.ones(len(self), bool) if self.valid is None else self.valid


def _length(value: Any) -> int:
    if hasattr(value, "columns") or isinstance(value, Mapping):
        return next((len(value[name]) for name in getattr(value, "columns", value)), 0)
    return len(value)


def _taken(value: Any, rows: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _taken(column, rows) for name, column in value.items()}
    if isinstance(value, list | tuple):
        return [value[place] for place in np.arange(len(value))[np.asarray(rows)]]
    return rows_of(value, rows)


# ---- samples of bits


def as_bits(value: Any, name: str) -> Mask:
    """Samples (n, *shape) of 0 and 1, in any numeric dtype."""
    array = as_numeric(value, name)
    if array.ndim < 2 and array.size:
        raise InputError(f"expected samples of shape (n, …), found {array.shape}", where=name, fix=_SHAPE)
    if len(array) and not array.size:
        raise InputError(f"samples of shape {array.shape[1:]} have no cells", where=name)
    if array.dtype == bool:
        return array
    refuse_nan(array, name, fix=_DROP)
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        index = tuple(int(place) for place in np.argwhere(wrong)[0])
        raise InputError(
            f"samples are bits, but {np.count_nonzero(wrong)} of {array.size} values are neither 0 nor 1, the first "
            f"({array[index]:g}) at index {index}",
            where=name,
            fix="Threshold probabilities first: samples > 0.5.",
        )
    return np.asarray(array.astype(bool))


def may_be_adjacency(array: AnyArray) -> bool:
    """Whether samples (n, N, N) could be adjacency matrices: all symmetric with a diagonal of 0, and not all empty."""
    if array.ndim != 3 or array.shape[1] != array.shape[2] or array.shape[1] < 2 or not array.any():
        return False
    return not array.diagonal(axis1=1, axis2=2).any() and bool((array == array.transpose(0, 2, 1)).all())


def thresholded(value: Any, threshold: float, name: str) -> Mask:
    """A model's output as bits: probabilities above the threshold become 1, bits are unchanged."""
    array = as_numeric(value, name)
    if array.dtype.kind != "f":
        return as_bits(array, name)
    refuse_nan(array, name, fix="Fix the model.")
    if ((array < 0) | (array > 1)).any():
        raise InputError(
            f"expected probabilities, found values from {array.min():g} to {array.max():g}",
            where=name,
            fix="Return sigmoid(logits), or bits.",
        )
    return np.asarray(array > threshold)


# ---- numbers


def as_vectors(value: Any, name: str, rows: int | None) -> Floats:
    """Encodings (n, d): finite numbers, as float64."""
    array = as_numeric(value, name)
    require_shape(array, (rows, None), name, "Give one vector per sample.")
    return _finite(array, name)


def as_variances(value: Any, name: str, latents: Floats) -> Floats:
    """Variances of the same shape as the latent vectors, greater than 0."""
    variances = as_vectors(value, name, len(latents))
    if variances.shape != latents.shape:
        raise InputError(f"shape {variances.shape}, latent vectors have {latents.shape}", where=name)
    if (variances <= 0).any():
        fix = "Pass exp(log-variance), which is greater than 0."
        raise InputError(f"variances of {variances.min():g} and more", where=name, fix=fix)
    return variances


def as_statistics(value: Any, name: str, rows: int | None) -> dict[str, AnyArray]:
    """Named columns (n,), of a mapping or of a data frame: finite numbers, or text for categories."""
    if hasattr(value, "columns") and not isinstance(value, Mapping):
        value = {key: value[key] for key in value.columns}
    if not isinstance(value, Mapping):
        raise InputError(f"expected {{name: values}}, found {type(value).__name__}", where=name)
    texts = [str(key) for key in value]
    taken = sorted(TAKEN.intersection(texts))
    if taken:
        raise InputError(f"a statistic cannot be called {' or '.join(taken)}", where=name, fix="Choose another name.")
    repeated = next((text for text in texts if texts.count(text) > 1), None)
    if repeated is not None:
        raise InputError(f"two columns are called {repeated!r}", where=name, fix="Choose different names.")
    return {str(key): _statistic(values, f"{name}[{key!r}]", rows) for key, values in value.items()}


def _statistic(values: Any, where: str, rows: int | None) -> AnyArray:
    categories = _categories(values)
    if categories is not None:
        require_shape(categories, (rows,), where, "Give one category per sample.")
        return categories
    array = as_numeric(values, where)
    require_shape(array, (rows,), where, "Give one number per sample.")
    large = array[np.abs(array.astype(float)) > 2**53].tolist() if array.dtype.kind in "iu" else []
    inexact = [value for value in large if int(float(value)) != value]
    if inexact:
        raise InputError(
            f"{len(inexact)} of {array.size} whole numbers are too large to be compared exactly, the first is "
            f"{inexact[0]}",
            where=where,
            fix="Subtract a constant on all sides, leave them out, or pass text if they are names.",
        )
    return _finite(array, where)


def _categories(values: Any) -> AnyArray | None:
    """A column of text, or of a data frame's categories, as text, missing entries as ""; None for numbers."""
    if is_tensor(values):
        return None
    declared = str(getattr(values, "dtype", "")) == "category"
    array = np.asarray(on_host(values, "values"))
    if array.dtype.kind == "U" and not declared:
        return array
    items = array.ravel().tolist() if declared or array.dtype.kind in "OST" else ()
    if not declared and not any(isinstance(value, str) for value in items):
        return None
    return np.array(["" if _is_missing(value) else str(value) for value in items], str).reshape(array.shape)


def _is_missing(value: Any) -> bool:
    """None, NaN, and pandas' NA and NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _finite(array: AnyArray, name: str) -> Floats:
    refuse_nan(array, name, fix=_DROP)
    values = np.ascontiguousarray(array, dtype=np.float64) + 0.0  # −0 and 0 are equal
    if np.isinf(values).any():
        index = tuple(int(place) for place in np.argwhere(np.isinf(values))[0])
        raise InputError(f"infinite values, the first at index {index}", where=name)
    if np.abs(values).max(initial=0) > LARGEST:
        raise InputError(f"values of up to {np.abs(values).max():.1g} cannot be squared", where=name, fix="Scale them.")
    return values


# ---- validity


def as_validity(value: Any, name: str, rows: int | None) -> Mask:
    """Whether each sample is valid; None counts as not valid."""
    value = on_host(value, name)
    objects = isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object)
    answers = np.array(value, dtype=object) if objects else as_numeric(value, name)
    require_shape(answers, (rows,), name, "Give one answer per sample.")
    known = [False if answer is None else answer for answer in answers]
    if not all(isinstance(answer, bool | np.bool_ | int | float | np.number) and answer in (0, 1) for answer in known):
        raise InputError("expected True, False or None for each sample", where=name)
    return np.array(known, dtype=bool)


# ---- conditions


def as_names(value: Any, name: str) -> tuple[str, ...]:
    """Names of conditions or channels."""
    if isinstance(value, str) or not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and not value.ndim):
        raise InputError(f"expected a list of names, found {value!r:.40}", where=name)
    return tuple(str(item) for item in value)


class Conditions:
    """The names of all conditions, and how labels of single samples become their codes.

    Without `labels`, conditions are those that occur: numbers in numeric order, and text in that of the alphabet, so it
    cannot be `ordered`. With them numbers are codes, and text is names.
    """

    def __init__(self, given: Mapping[str, Any], labels: Sequence[str] | None, *, ordered: bool) -> None:
        """`given` has the labels of the sides that conditions may occur on, by name of the argument, without None."""
        self.named = labels is not None
        if labels is not None:
            self.names = as_names(labels, "labels")
            if len(set(self.names)) < len(self.names) or not self.names:
                raise InputError("names of conditions must be given and must differ", where="labels")
            return
        if not given:
            self.names = (UNCONDITIONAL,)
            return
        columns = {name: _labels(values, name) for name, values in given.items()}
        if len({column.dtype.kind == "U" for column in columns.values() if len(column)}) > 1:
            raise InputError("conditions are text in one argument and numbers in another", where=" and ".join(columns))
        occurring = np.unique(np.concatenate([column for column in columns.values() if len(column)] or [np.empty(0)]))
        self.names = tuple(str(value) for value in occurring.tolist())
        if ordered and occurring.dtype.kind == "U" and len(self.names) > 1:
            some = ", ".join(self.names[:3]) + (" …" if len(self.names) > 3 else "")
            what = f"conditions are text ({some}), and their order is not given"
            raise OptionError(what, where="ordered", fix=_ORDER)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def by_code(self) -> bool:
        """Whether numbers are codes, and not themselves names of conditions."""
        return self.named or not all(name.lstrip("-").isdigit() for name in self.names)

    def codes(self, values: Any, name: str, rows: int | None, *, strict: bool = True) -> Ints:
        """The code of the condition of each sample; if not `strict`, −1 for one that is none of these."""
        labels = _labels(values, name)
        if rows is not None and len(labels) != rows:
            raise InputError(f"{len(labels)} conditions for {rows} samples", where=name)
        if labels.dtype.kind != "U" and self.named:
            found: Ints = np.where((labels >= 0) & (labels < len(self)), labels, -1).astype(np.int64)
        else:
            place = {label: code for code, label in enumerate(self.names)}
            found = np.array([place.get(str(value), -1) for value in labels.tolist()], np.int64)
        wrong = found < 0
        if wrong.any() and (strict or wrong.all()):
            unknown = ", ".join(dict.fromkeys(repr(value) for value in labels[wrong].tolist()[:8]))
            what = f"unknown conditions {unknown}" if strict else f"no sample has a known condition, but {unknown}"
            raise InputError(what, where=name, fix=f"Known: {', '.join(self.names)}.")
        return found

    def answers(self, values: Any, name: str, rows: int | None) -> Ints:
        """A classifier's predictions as codes: numbers are codes unless conditions are numbers themselves."""
        labels = _labels(values, name) if not _is_float(values) else as_numeric(values, name)
        require_shape(labels, (rows,), name, "Give one answer per sample.")
        if labels.dtype.kind == "U" or not (self.by_code or self.names == (UNCONDITIONAL,)):
            return self.codes(_whole(labels, name), name, rows)
        refuse_nan(labels, name, fix=_DROP)
        if not np.isin(labels, np.arange(len(self))).all():
            raise InputError(f"some answers are not among the codes 0 … {len(self) - 1}", where=name)
        return np.asarray(labels.astype(np.int64))


def _is_float(values: Any) -> bool:
    return getattr(values, "dtype", None) is not None and not is_tensor(values) and np.asarray(values).dtype.kind == "f"


def _whole(labels: AnyArray, name: str) -> AnyArray:
    """Answers that came as floats, as the whole numbers that they are."""
    if labels.dtype.kind != "f":
        return labels
    refuse_nan(labels, name, fix=_DROP)
    return labels.astype(np.int64) if (labels == np.rint(labels)).all() else labels.astype(str)


def _labels(values: Any, name: str) -> AnyArray:
    labels = as_labels(values, name)
    if labels.dtype != np.uint64:
        return labels
    # Together with signed integers they would become floats, and some of them equal.
    if labels.max(initial=0) > np.iinfo(np.int64).max:
        raise InputError(f"{labels.max()} is too large for a condition", where=name, fix="Name conditions with text.")
    return np.asarray(labels.astype(np.int64))
