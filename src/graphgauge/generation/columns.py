"""What is known of samples, one entry each, as arrays: bits, vectors, statistics, validity, codes of conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_array, as_labels, as_numeric, is_frame, on_host, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.generation.graphs import rows_of

# The only condition of samples without conditions.
UNCONDITIONAL = "all"
# Up to this size squares and their sums are finite.
_LARGEST = 1e140
_DROP = "Repair the model, or drop these samples from all columns of their side."

# ---- the samples of one side


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of one side and what is known of each: a row per sample in every column.

    `items` are bits (n, *shape), `Graphs` or `Molecules`; they may be absent where columns are known. `conditions` are
    true or requested ones, as names or codes. `valid` says whether a sample is valid, and None counts as not valid.
    `statistics` is `{name: (n,)}` or a data frame: numbers, or text for categories. `latents` (n, d) are encodings,
    `reconstructed` is what came back of each sample, in bits, and `predicted` the conditions that a classifier answers.
    `in_training` is filled by `Sides`.

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
    reconstructed: Any = field(default=None, kw_only=True)
    predicted: Any = field(default=None, kw_only=True)
    in_training: Any = field(default=None, kw_only=True, repr=False)

    def __len__(self) -> int:
        first = next(iter(self.columns().values()), ())
        if is_frame(first) or isinstance(first, Mapping):
            first = next((first[name] for name in getattr(first, "columns", first)), ())
        return len(first)

    def columns(self) -> dict[str, Any]:
        """The columns that are there, by name.

        Returns
        -------
        dict
            One entry per column.
        """
        every = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in every.items() if value is not None}

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
        return Samples(**{name: rows_of(value, rows) for name, value in self.columns().items()})

    @property
    def kept(self) -> Mask:
        """Which samples are valid; all if that is not known."""
        return np.ones(len(self), bool) if self.valid is None else self.valid


# ---- samples of bits


def as_bits(value: Any, name: str) -> Mask:
    """Samples (n, *shape) of 0 and 1, in any numeric dtype."""
    array = as_numeric(value, name)
    if (array.ndim < 2 and array.size) or (len(array) and not array.size):
        fix = "The first axis is that of the samples."
        raise InputError(f"expected samples of shape (n, …), found {array.shape}", where=name, fix=fix)
    refuse_nan(array, name, fix=_DROP)
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        what = f"samples are bits, but {np.count_nonzero(wrong)} of {array.size} values are neither 0 nor 1, such as "
        fix = "Threshold probabilities first: samples > 0.5."
        raise InputError(f"{what}{array[wrong][0]:g}", where=name, fix=fix)
    return array.astype(bool, copy=False)


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
        what = f"expected probabilities, found values from {array.min():g} to {array.max():g}"
        raise InputError(what, where=name, fix="Return sigmoid(logits), or bits.")
    return np.asarray(array > threshold)


# ---- numbers


def as_vectors(value: Any, name: str, rows: int) -> Floats:
    """Encodings (n, d): finite numbers, as float64."""
    array = as_numeric(value, name)
    require_shape(array, (rows, None), name, "Give one vector per sample.")
    return _finite(array, name)


def as_statistics(value: Any, name: str, rows: int) -> dict[str, AnyArray]:
    """Named columns (n,), of a mapping or of a data frame: finite numbers, or text for categories."""
    if is_frame(value) and not isinstance(value, Mapping):
        value = {key: value[key] for key in value.columns}
    if not isinstance(value, Mapping):
        raise InputError(f"expected {{name: values}}, found {type(value).__name__}", where=name)
    statistics = {str(key): _statistic(values, f"{name}[{key!r}]", rows) for key, values in value.items()}
    if len(statistics) < len(value):
        raise InputError("two columns have the same name as text", where=name, fix="Choose different names.")
    return statistics


def _statistic(values: Any, where: str, rows: int) -> AnyArray:
    categories = _categories(values)
    array = _finite(as_numeric(values, where), where) if categories is None else categories
    require_shape(array, (rows,), where, "Give one value per sample.")
    return array


def _categories(values: Any) -> AnyArray | None:
    """A column of text, or of a data frame's categories, as text, missing entries as ""; None for numbers."""
    declared = str(getattr(values, "dtype", "")) == "category"
    array = np.asarray(on_host(values, "values"))
    items = array.ravel().tolist() if declared or array.dtype.kind in "OSTU" else []
    if not declared and array.dtype.kind != "U" and not any(isinstance(value, str) for value in items):
        return None
    return np.array(["" if _is_missing(value) else str(value) for value in items], str).reshape(array.shape)


def _is_missing(value: Any) -> bool:
    """None, NaN, and pandas' NA and NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _finite(array: AnyArray, name: str) -> Floats:
    refuse_nan(array, name, fix=_DROP)
    values = np.ascontiguousarray(array, dtype=np.float64) + 0.0  # −0 and 0 are equal
    wild = np.argwhere(np.abs(values) > _LARGEST)
    if len(wild):
        what = f"infinite values, or such that cannot be squared, the first at index {tuple(wild[0].tolist())}"
        raise InputError(what, where=name, fix="Scale them.")
    return values


# ---- validity

# Answers in text files.
_ANSWERS: dict[Any, bool] = {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}


def as_validity(value: Any, name: str, rows: int) -> Mask:
    """Whether each sample is valid; None counts as not valid."""
    answers = as_array(value, name)
    require_shape(answers, (rows,), name, "Give one answer per sample.")
    known = [False if answer is None else _ANSWERS.get(answer, answer) for answer in answers.tolist()]
    if not all(isinstance(answer, bool | int | float) and answer in (0, 1) for answer in known):
        raise InputError("expected True, False or None for each sample", where=name)
    return np.array(known, dtype=bool)


# ---- conditions


def as_names(value: Any, name: str) -> tuple[str, ...]:
    """Names of conditions or channels."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"expected a list of names, found {value!r:.40}", where=name)
    return tuple(map(str, value))


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
        columns = {name: _labels(values, name) for name, values in given.items()}
        filled = [column for column in columns.values() if len(column)]
        is_text = {column.dtype.kind == "U" for column in filled}
        if len(is_text) > 1:
            raise InputError("conditions are text in one argument and numbers in another", where=" and ".join(columns))
        occurring = np.unique(np.concatenate(filled)).tolist() if filled else []
        self.names = tuple(map(str, occurring)) if given else (UNCONDITIONAL,)
        if ordered and True in is_text and len(self.names) > 1:
            some = ", ".join(self.names[:3]) + (" …" if len(self.names) > 3 else "")
            what = f"conditions are text ({some}), and their order is not given"
            raise OptionError(what, where="ordered", fix="List them in order with labels=, or number them.")

    def __len__(self) -> int:
        return len(self.names)

    def codes(self, values: Any, name: str, rows: int | None, *, strict: bool = True) -> Ints:
        """The code of the condition of each sample; if not `strict`, −1 for one that is none of these."""
        return self._codes(_labels(values, name, rows), name, by_code=self.named, strict=strict)

    def answers(self, values: Any, name: str, rows: int | None) -> Ints:
        """A classifier's predictions as codes: numbers are codes unless conditions are numbers themselves."""
        by_code = self.named or not all(name.lstrip("-").isdigit() for name in self.names)
        return self._codes(_labels(values, name, rows), name, by_code=by_code)

    def _codes(self, labels: AnyArray, name: str, *, by_code: bool, strict: bool = True) -> Ints:
        numbers = by_code and labels.dtype.kind != "U"
        place = {key: code for code, key in enumerate(range(len(self)) if numbers else self.names)}
        codes = np.array([place.get(each if numbers else str(each), -1) for each in labels.tolist()], np.int64)
        unknown = list(dict.fromkeys(labels[codes < 0].tolist()))
        if unknown and (strict or (codes < 0).all()):
            text = ", ".join(map(repr, unknown[:8]))
            what = f"unknown conditions {text}" if strict else f"no sample has a known condition, but {text}"
            known = f"{', '.join(self.names)}{f', or codes 0 … {len(self) - 1}' if by_code else ''}"
            raise InputError(what, where=name, fix=f"Known: {known}.")
        return codes


def _labels(values: Any, name: str, rows: int | None = None) -> AnyArray:
    """Text or whole numbers, which may come as floats, one per sample."""
    array = as_array(values, name) if hasattr(values, "dtype") else as_labels(values, name)
    whole = array.dtype.kind == "u" or (array.dtype.kind == "f" and bool((array == np.rint(array)).all()))
    labels = as_labels(array.astype(np.int64) if whole else array, name)
    if rows is not None and len(labels) != rows:
        raise InputError(f"{len(labels)} conditions for {rows} samples", where=name)
    return labels
