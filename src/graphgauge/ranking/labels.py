"""What is known about queries beside their scores: ids, groups, clusters, weights; one entry of each per query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Floats, Ints, as_labels, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError

# Columns that the table of a breakdown has itself.
_COLUMNS = {"": "would have no name", "n": "counts the queries of each group"}
_GROUP = "group."


@dataclass(frozen=True, eq=False)
class Labels:
    """`ids` name the queries, by which evaluations are paired; `groups` are the axes that results are broken down by.

    Queries of one `cluster` (head and tail of a triple) err together. `weights` are how much each query counts.
    """

    ids: AnyArray | None = None
    groups: Mapping[str, AnyArray] = field(default_factory=dict)
    cluster: Ints | None = None
    weights: Floats | None = None

    @classmethod
    def given(
        cls,
        n: int,
        *,
        ids: Any = None,
        groups: Mapping[str, Any] | None = None,
        cluster: Any = None,
        weights: Any = None,
        one_each: Callable[[str, Any], Any] | None = None,
    ) -> Labels:
        """What a user passes, converted and checked for `n` queries.

        `one_each(name, values)` brings values that may be given in another form to one per query.
        """
        values = {f"group.{name}": labels for name, labels in _named(groups).items()}
        values |= {"ids": ids, "cluster": cluster, "weights": weights}
        columns = {}
        for name, value in values.items():
            if value is not None:
                where = _where(name)
                own = value if one_each is None else one_each(where, value)
                columns[name] = _KINDS.get(name, as_labels)(own, where)
                require_shape(columns[name], (n,), where, "Give one per query.")
        labels = cls.of(columns)
        labels.require_unique()
        return labels

    @classmethod
    def of(cls, columns: Mapping[str, AnyArray]) -> Labels:
        """Those of `columns()`, which have been checked."""
        groups = {name.removeprefix(_GROUP): values for name, values in columns.items() if name.startswith(_GROUP)}
        return cls(groups=groups, **{name: columns.get(name) for name in _KINDS})

    def columns(self) -> dict[str, AnyArray]:
        """Every array by its name, as in archives."""
        columns = {f"{_GROUP}{name}": values for name, values in self.groups.items()}
        return columns | {name: values for name in _KINDS if (values := getattr(self, name)) is not None}

    def take(self, rows: Any) -> Labels:
        """Those of some queries: a slice, a mask or numbers."""
        return Labels.of({name: values[rows] for name, values in self.columns().items()})

    @staticmethod
    def join(parts: Sequence[Labels]) -> Labels:
        """Those of several parts, one after the other; all have the same labels of the same kinds."""
        columns = [part.columns() for part in parts]
        first = columns[0]
        if len(parts) == 1 or not any(columns):
            return parts[0]
        for own in columns[1:]:
            if own.keys() != first.keys():
                named = " and ".join(", ".join(map(_where, each)) or "none" for each in (own, first))
                raise InputError(f"parts differ in their labels: {named}", fix="Give every part the same.")
            for name, values in own.items():
                if (values.dtype.kind == "U") != (first[name].dtype.kind == "U"):
                    what = "text labels in one part and integers in another"
                    raise InputError(what, where=_where(name), fix="Use one kind.")
        return Labels.of({name: np.concatenate([own[name] for own in columns]) for name in first})

    def require_unique(self) -> None:
        """Refuse an id that comes again: it would count as two queries."""
        if self.ids is None:
            return
        ordered = np.sort(self.ids)
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        if again.size:
            raise InputError(f"{ordered[again[0]]} occurs twice", where="ids", fix="Give every query its own id.")

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray], n: int) -> Labels:
        """Those among the arrays of a file, checked."""
        given = cls.of(arrays)
        return cls.given(n, ids=given.ids, groups=given.groups, cluster=given.cluster, weights=given.weights)


def _where(name: str) -> str:
    """A column as messages name it."""
    return f"groups[{name.removeprefix(_GROUP)!r}]" if name.startswith(_GROUP) else name


def _named(groups: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if groups is None:
        return {}
    if not isinstance(groups, Mapping) or not all(isinstance(name, str) for name in groups):
        raise InputError("expected labels under a name", where="groups", fix='For example {"relation": labels}.')
    for name in groups:
        if name in _COLUMNS:
            raise OptionError(f"a group cannot be named {name!r}", fix=f"That column {_COLUMNS[name]}.")
    return groups


def _clusters(cluster: Any, where: str) -> Ints:
    """Numbers of the clusters; names are numbered in their order."""
    array = as_labels(cluster, where)
    if array.dtype.kind == "U":
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    return array.astype(np.int64, copy=False)


def _weights(weights: Any, where: str) -> Floats:
    array = as_numeric(weights, where).astype(np.float64)
    refuse_nan(array, where, fix="Leave these queries out.")
    if not (np.isfinite(array) & (array > 0)).all():
        fix = "Leave queries out that do not count."
        raise InputError("weights must be finite and above 0", where=where, fix=fix)
    return array


_KINDS: dict[str, Callable[[Any, str], AnyArray]] = {"ids": as_labels, "cluster": _clusters, "weights": _weights}
