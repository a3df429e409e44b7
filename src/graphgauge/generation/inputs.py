"""Convert the inputs of a generation evaluation: bits or graphs, codes of conditions, plain floats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import (
    AnyArray,
    Floats,
    as_labels,
    as_numeric,
    is_tensor,
    on_host,
    refuse_nan,
    require_shape,
)
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.generation.graph_reading import LabelNames, as_list, comparable, is_graph_object, may_be_adjacency
from graphgauge.generation.graphs import Graphs, is_graphs

Bits = NDArray[np.bool_]
Codes = NDArray[np.int64]
# Samples of one kind: bits (n, *shape), or graphs.
Samples = Bits | Graphs

# Up to this size squares and their sums are finite.
LARGEST = 1e140
# Names that a statistic cannot have: those of other axes, and of other columns.
TAKEN = {
    "condition",
    "channel",
    "per_grade_centroids",
    "n",
    "real_n",
    "wasserstein",
    "scaled",
    "null_mean",
    "null_95",
    "real_mean",
    "real_std",
    "generated_mean",
    "generated_std",
    "recognised_by",
    "dimension",
}
# The only condition of unconditional samples.
UNCONDITIONAL = "all"


# "padded" are adjacency matrices of graphs whose last nodes are padding if they have no edges.
SAMPLE_KINDS = ("bits", "graphs", "padded")


class SampleReading(NamedTuple):
    """How samples are read: as bits or graphs if both are possible, and which attributes are labels."""

    kind: str | None = None
    labels: LabelNames = LabelNames()

    @classmethod
    def of(
        cls, kind: str | None, nodes: Sequence[str] | str | None, edges: Sequence[str] | str | None
    ) -> SampleReading:
        if kind is not None:
            one_of("samples", kind, SAMPLE_KINDS)
        return cls(kind, LabelNames(_attributes(nodes, "node_labels"), _attributes(edges, "edge_labels")))


ANY_KIND = SampleReading()


def _attributes(names: Sequence[str] | str | None, option: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    found = (names,) if isinstance(names, str) else as_names(names, option)
    return tuple(name for name in found if name)


def as_samples(value: Any, name: str, reading: SampleReading = ANY_KIND) -> Samples:
    """Bits (n, *shape) of 0 and 1 in any numeric dtype, or graphs."""
    if _is_frame(value) or (isinstance(value, Mapping) and "edges" not in value):
        raise InputError(
            "the rows of a table are not samples",
            where=name,
            fix="Pass its columns beside the samples that they describe: real=boards, statistics=table, and likewise "
            "generated_statistics= and train_statistics=.",
        )
    value = as_list(on_host(value, name))
    if reading.kind in ("graphs", "padded"):
        return Graphs.of(value, name, reading.labels, padded=reading.kind == "padded")
    if reading.kind is None and is_graphs(value):
        if _may_be_bits(value):
            raise InputError(
                "may be lists of edges between nodes 0 and 1, or samples of bits",
                where=name,
                fix="Pass bits as one array, or edges as tuples.",
            )
        return Graphs.of(value, name, reading.labels)
    if isinstance(value, Graphs) or (isinstance(value, list | tuple) and any(map(is_graph_object, value))):
        raise InputError('graphs, but samples="bits"', where=name)
    array = as_numeric(value, name)
    if reading.kind is None and may_be_adjacency(array):
        raise InputError(
            f"an array of shape {array.shape} whose samples are symmetric with a diagonal of 0: adjacency matrices of "
            "graphs, or samples of bits",
            where=name,
            fix='Say which: samples="graphs", "padded" (the last nodes without edges are padding) or "bits". '
            "A subject returns generation.Graphs.of(array).",
        )
    return as_bits(array, name)


def _may_be_bits(value: Any) -> bool:
    """Whether a list of graphs could also be an array (n, m, 2) of 0 and 1."""
    if isinstance(value, Graphs) or not all(isinstance(item, list | np.ndarray) for item in value):
        return False
    if any(map(is_graph_object, value)):
        return False
    if len({len(item) for item in value}) > 1:
        return False
    if any(isinstance(edge, tuple) for item in value for edge in item):
        return False
    return bool(np.isin(np.asarray(value), (0, 1)).all()) and len(value[0]) > 0


def as_bits(array: AnyArray, name: str) -> Bits:
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
    bits: Bits = array.astype(bool)
    return bits


def thresholded(value: Any, threshold: float, name: str) -> Bits:
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
    bits: Bits = array > threshold
    return bits


def as_vectors(value: Any, name: str, rows: int) -> Floats:
    """Encodings (n, d): finite numbers, as float64."""
    array = as_numeric(value, name)
    require_shape(array, (rows, None), name, "Give one vector per sample.")
    return _finite(array, name)


def as_statistics(value: Any, name: str, rows: int, compared: bool = False) -> dict[str, Floats]:
    """Named statistics, one finite number per sample. Those that are compared must not become equal by rounding."""
    if _is_frame(value):
        value = {key: value[key] for key in value.columns}
    if not isinstance(value, Mapping):
        raise InputError(f"expected {{name: values}}, found {type(value).__name__}", where=name)
    found = {}
    taken = sorted(TAKEN & {str(key) for key in value})
    if taken:
        raise InputError(f"a statistic cannot be called {' or '.join(taken)}", where=name, fix="Choose another name.")
    _require_different(list(value), name)
    for key, values in value.items():
        where = f"{name}[{key!r}]"
        text = as_categories(values)
        if text is not None:
            require_shape(text, (rows,), where, "Give one category per sample.")
            found[str(key)] = text
            continue
        array = as_numeric(values, where)
        require_shape(array, (rows,), where, "Give one number per sample.")
        if compared:
            _refuse_rounded(array, where)
        found[str(key)] = _finite(array, where)
    return found


def _refuse_rounded(array: AnyArray, where: str) -> None:
    """Refuse whole numbers that a float cannot represent."""
    large = array[np.abs(array.astype(float)) > 2**53].tolist() if array.dtype.kind in "iu" else []
    inexact = [value for value in large if int(float(value)) != value]
    if inexact:
        raise InputError(
            f"{len(inexact)} of {array.size} whole numbers are too large to be compared exactly, the first is "
            f"{inexact[0]}",
            where=where,
            fix="Subtract a constant on all sides, leave them out, or pass text if they are names.",
        )


def as_categories(values: Any, *, declared: bool = False) -> Any:
    """A column of text, or of a data frame's categories, as text; None for numbers that are not `declared` categories.

    Missing entries and empty text are one category.
    """
    if is_tensor(values):
        return None
    declared = declared or str(getattr(values, "dtype", "")) == "category"
    array = np.asarray(on_host(values, "values"))
    if array.dtype.kind == "U" and not declared:
        return array
    items = array.ravel().tolist() if declared or array.dtype.kind in "OST" else ()
    if not declared and not any(isinstance(value, str) for value in items):
        return None
    return np.array(["" if _is_missing(value) else str(comparable(value)) for value in items], str).reshape(array.shape)


def _is_missing(value: Any) -> bool:
    """None, NaN, and pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def as_variances(value: Any, latents: Floats) -> Floats:
    """Variances of the same shape as the latent vectors, greater than 0."""
    found = as_vectors(value, "latent_variances", len(latents))
    if found.shape != latents.shape:
        raise InputError(f"shape {found.shape}, latent vectors have {latents.shape}", where="latent_variances")
    if (found <= 0).any():
        raise InputError(
            f"variances of {found.min():g} and more",
            where="latent_variances",
            fix="Pass exp(log-variance), which is greater than 0.",
        )
    return found


def _is_frame(value: Any) -> bool:
    """Whether this is a data frame."""
    return hasattr(value, "columns") and hasattr(value, "iloc")


def _require_different(keys: Sequence[Any], name: str) -> None:
    """Refuse names that are equal as text, of which one would be lost."""
    texts = [str(key) for key in keys]
    repeated = [text for text in texts if texts.count(text) > 1]
    if repeated:
        raise InputError(f"two columns are called {repeated[0]!r}", where=name, fix="Choose different names.")


def as_answers(value: Any, name: str, rows: int | None, conditions: int) -> Codes:
    """A classifier's predictions: the code of a condition for each of `rows` samples, or of any number."""
    array = as_numeric(value, name)
    require_shape(array, (rows,), name, "Give one answer per sample.")
    refuse_nan(array, name, fix=_DROP)
    if not np.isin(array, np.arange(conditions)).all():
        raise InputError(f"some answers are not among the codes 0 … {conditions - 1}", where=name)
    codes: Codes = array.astype(np.int64)
    return codes


def as_conditions(value: Any, name: str, rows: int | None, names: tuple[str, ...], *, by_code: bool) -> Codes:
    """The code of the condition that each answer names: by number or text, as conditions are named."""
    given = np.asarray(on_host(value, name))
    if given.dtype.kind in "UO" and all(isinstance(item, str) for item in given.ravel().tolist()):
        require_shape(given, (rows,), name, "Give one answer per sample.")
        return _codes(given.astype(str), names, name)
    if by_code or UNCONDITIONAL in names:
        return as_answers(value, name, rows, len(names))
    array = as_numeric(value, name)
    require_shape(array, (rows,), name, "Give one answer per sample.")
    refuse_nan(array, name, fix=_DROP)
    texts = np.array([str(comparable(item)) for item in array.tolist()], str)
    return _codes(texts, names, name)


def as_validity(value: Any, name: str, rows: int) -> Bits:
    """Whether each sample is valid; None counts as not valid."""
    value = on_host(value, name)
    objects = isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object)
    answers = np.array(value, dtype=object) if objects else as_numeric(value, name)
    require_shape(answers, (rows,), name, "Give one answer per sample.")
    known = [False if answer is None else answer for answer in answers]
    if not all(isinstance(answer, bool | np.bool_ | int | float | np.number) and answer in (0, 1) for answer in known):
        raise InputError("expected True, False or None for each sample", where=name)
    return np.array(known, dtype=bool)


def as_names(value: Any, name: str) -> tuple[str, ...]:
    """Names of conditions or channels."""
    if not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and not value.ndim):
        raise InputError(f"expected a list of names, found {value!r:.40}", where=name)
    return tuple(str(item) for item in value)


def read_conditions(
    given: Mapping[str, tuple[Any, int]], labels: Sequence[str] | None, *, ordered: bool = False
) -> tuple[tuple[str, ...], dict[str, Codes]]:
    """The names of all conditions, and for each argument one code per sample.

    `given` maps an argument to its labels (or None) and to its number of samples. Without `labels`, the conditions are
    those that occur: numbers in numeric order, and text without an order, so it cannot be `ordered`.
    """
    named = {name: _labels(values, name) for name, (values, _) in given.items() if values is not None}
    for name, (values, rows) in given.items():
        if values is None and (named or labels is not None) and rows:
            raise InputError("conditions are missing", where=name, fix="Give one per sample, as for the others.")
        if values is not None and len(named[name]) != rows:
            raise InputError(f"{len(named[name])} conditions for {rows} samples", where=name)
    if not named and labels is None:
        return (UNCONDITIONAL,), {name: np.zeros(rows, np.int64) for name, (_, rows) in given.items()}
    if labels is None:
        kinds = {values.dtype.kind == "U" for values in named.values() if len(values)}
        if len(kinds) > 1:
            raise InputError("conditions are text in one argument and numbers in another", where=" and ".join(named))
        occurring: AnyArray = np.unique(np.concatenate(list(named.values())))
        names = tuple(str(value) for value in occurring.tolist())
        if ordered and occurring.dtype.kind == "U" and len(names) > 1:
            raise OptionError(
                f"conditions are text ({', '.join(names[:3])}{' …' if len(names) > 3 else ''}), and their order is not "
                "given",
                where="ordered",
                fix=_ORDER,
            )
        return names, {name: np.searchsorted(occurring, values).astype(np.int64) for name, values in named.items()}
    names = as_names(labels, "labels")
    if len(set(names)) < len(names) or not names:
        raise InputError("names of conditions must be given and must differ", where="labels")
    codes = {name: _codes(values, names, name) for name, values in named.items()}
    return names, {name: codes.get(name, np.empty(0, np.int64)) for name in given}


def as_known_codes(values: Any, rows: int, names: tuple[str, ...], by_code: bool) -> Codes:
    """The code of each training sample's condition, and −1 for conditions that neither side has.

    Numbers are codes if the conditions are named, and names otherwise.
    """
    found = _labels(values, "train_conditions")
    if len(found) != rows:
        raise InputError(f"{len(found)} conditions for {rows} samples", where="train_conditions")
    if found.dtype.kind != "U" and by_code:
        given: Codes = found.astype(np.int64)
        codes = np.where((given >= 0) & (given < len(names)), given, -1)
    else:
        place = {label: code for code, label in enumerate(names)}
        codes = np.array([place.get(str(value), -1) for value in found.tolist()], np.int64)
    if rows and (codes < 0).all():
        some = ", ".join(map(str, np.unique(found)[:5].tolist()))
        raise InputError(
            f"no training sample has a condition of the real or generated ones: {some}",
            where="train_conditions",
            fix=f"Conditions: {', '.join(names[:8])}.",
        )
    return codes


def _labels(values: Any, name: str) -> AnyArray:
    labels = as_labels(values, name)
    if labels.dtype != np.uint64:
        return labels
    # Together with signed integers they would become floats, and some of them equal.
    if labels.max(initial=0) > np.iinfo(np.int64).max:
        raise InputError(f"{labels.max()} is too large for a condition", where=name, fix="Name conditions with text.")
    return labels.astype(np.int64)


def _codes(values: AnyArray, names: tuple[str, ...], name: str) -> Codes:
    if values.dtype.kind != "U":
        codes: Codes = values.astype(np.int64)
        wrong = (codes < 0) | (codes >= len(names))
    else:
        place = {label: code for code, label in enumerate(names)}
        codes = np.array([place.get(str(value), -1) for value in values.tolist()], np.int64)
        wrong = codes < 0
    if wrong.any():
        unknown = ", ".join(dict.fromkeys(repr(value) for value in values[wrong].tolist()[:8]))
        raise InputError(f"unknown conditions {unknown}", where=name, fix=f"Known: {', '.join(names)}.")
    return codes


def _finite(array: AnyArray, name: str) -> Floats:
    refuse_nan(array, name, fix=_DROP)
    values = np.ascontiguousarray(array, dtype=np.float64) + 0.0  # −0 and 0 are equal
    if np.isinf(values).any():
        index = tuple(int(place) for place in np.argwhere(np.isinf(values))[0])
        raise InputError(f"infinite values, the first at index {index}", where=name)
    if np.abs(values).max(initial=0) > LARGEST:
        raise InputError(f"values of up to {np.abs(values).max():.1g} cannot be squared", where=name, fix="Scale them.")
    return values


_DROP = "Repair the model, or drop these samples from all arguments of their side: x = x[keep]."
_ORDER = "List them in order with labels= (a study has `labels`, a subject `conditions`), or number them."
_SHAPE = "The first axis is that of the samples."
