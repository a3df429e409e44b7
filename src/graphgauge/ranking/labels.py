"""What is known about queries beside their scores: ids, groups, clusters, weights; one entry of each per query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Floats, Ints, as_labels, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError

# Columns that the table of a breakdown has itself.
_COLUMNS = {"": "would have no name", "n": "counts the queries of each group"}
_ONE_EACH = "Give one per query."


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
        bring = one_each or (lambda name, values: values)
        labels = cls(
            None if ids is None else as_labels(bring("ids", ids), "ids"),
            {
                name: as_labels(bring(f"groups[{name!r}]", values), f"groups[{name!r}]")
                for name, values in _named(groups).items()
            },
            None if cluster is None else _clusters(bring("cluster", cluster)),
            None if weights is None else _weights(bring("weights", weights)),
        )
        for name, values in labels.columns().items():
            require_shape(values, (n,), name, _ONE_EACH)
        if labels.ids is not None:
            labels.require_unique()
        return labels

    def columns(self) -> dict[str, AnyArray]:
        """Every array by its name."""
        groups = {f"groups[{name!r}]": values for name, values in self.groups.items()}
        rest = {"ids": self.ids, "cluster": self.cluster, "weights": self.weights}
        return {name: values for name, values in (groups | rest).items() if values is not None}

    def take(self, rows: Any) -> Labels:
        """Those of some queries: a slice, a mask or numbers."""
        return self.each(lambda values: values[rows])

    def each(self, change: Callable[[AnyArray], AnyArray]) -> Labels:
        """Every array changed in the same way."""
        return Labels(
            None if self.ids is None else change(self.ids),
            {name: change(values) for name, values in self.groups.items()},
            None if self.cluster is None else change(self.cluster),
            None if self.weights is None else change(self.weights),
        )

    @staticmethod
    def join(parts: Sequence[Labels]) -> Labels:
        """Those of several parts, one after the other; all have the same labels of the same kinds."""
        first = parts[0]
        if len(parts) == 1:
            return first
        layout = {name: values.dtype.kind == "U" for name, values in first.columns().items()}
        for part in parts[1:]:
            own = {name: values.dtype.kind == "U" for name, values in part.columns().items()}
            if own.keys() != layout.keys():
                named = " and ".join(", ".join(each) or "none" for each in (own, layout))
                raise InputError(f"parts differ in their labels: {named}", fix="Give every part the same.")
            if own != layout:
                name = next(name for name in own if own[name] != layout[name])
                raise InputError("text labels in one part and integers in another", where=name, fix="Use one kind.")
        return Labels(
            None if first.ids is None else np.concatenate([part.ids for part in parts if part.ids is not None]),
            {name: np.concatenate([part.groups[name] for part in parts]) for name in first.groups},
            None if first.cluster is None else np.concatenate([p.cluster for p in parts if p.cluster is not None]),
            None if first.weights is None else np.concatenate([p.weights for p in parts if p.weights is not None]),
        )

    def require_unique(self) -> None:
        """Refuse an id that comes again: it would count as two queries."""
        if self.ids is None:
            return
        ordered = np.sort(self.ids)
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        if again.size:
            raise InputError(f"{ordered[again[0]]} occurs twice", where="ids", fix="Give every query its own id.")

    def without_ids(self) -> Labels:
        return replace(self, ids=None)

    def to_arrays(self) -> dict[str, AnyArray]:
        """For an archive; `from_arrays` reads them."""
        groups = {f"group.{name}": values for name, values in self.groups.items()}
        rest = {"ids": self.ids, "cluster": self.cluster, "weights": self.weights}
        return {name: values for name, values in (groups | rest).items() if values is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray], n: int) -> Labels:
        groups = {name.removeprefix("group."): values for name, values in arrays.items() if name.startswith("group.")}
        ids, cluster, weights = (arrays.get(name) for name in ("ids", "cluster", "weights"))
        return cls.given(n, ids=ids, groups=groups, cluster=cluster, weights=weights)


def _named(groups: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if groups is None:
        return {}
    if not isinstance(groups, Mapping) or not all(isinstance(name, str) for name in groups):
        raise InputError("expected labels under a name", where="groups", fix='For example {"relation": labels}.')
    for name in groups:
        if name in _COLUMNS:
            raise OptionError(f"a group cannot be named {name!r}", fix=f"That column {_COLUMNS[name]}.")
    return groups


def _clusters(cluster: Any) -> Ints:
    """Numbers of the clusters; names are numbered in the order of their first appearance."""
    array = as_labels(cluster, "cluster")
    if array.dtype.kind == "U":
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    return array.astype(np.int64, copy=False)


def _weights(weights: Any) -> Floats:
    array = as_numeric(weights, "weights").astype(np.float64)
    refuse_nan(array, "weights", fix="Leave these queries out.")
    if not (np.isfinite(array) & (array > 0)).all():
        fix = "Leave queries out that do not count."
        raise InputError("weights must be finite and above 0", where="weights", fix=fix)
    return array
