"""Values of single items (queries, events, time steps): what two evaluations of the same items are compared by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.archive import read_npz
from graphgauge.core.arrays import text_array
from graphgauge.core.disk import atomic_path
from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.core.grid import Grid
from graphgauge.core.types import AnyArray, Floats


@dataclass(frozen=True, eq=False)
class Items:
    """One number per item and metric.

    The value of a metric is the mean of its `values`, or with `weights[key]` the weighted mean: of a ratio of sums the
    values are numerator over denominator, the weights the denominators. NaN is an item without a value. `cluster`
    groups items that are not independent. Items of `unit` "time step" are in the order of time. `asked` tells by name
    what each item was asked, whatever was answered (numbers of candidates, sums of truths): items of two
    evaluations are compared only if it is the same.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge.core.items import Items
    >>> items = Items("query", np.arange(3), {"mrr": np.array([1.0, 0.5, 0.25])})
    >>> float(items["mrr"].mean()), len(items)
    (0.5833333333333334, 3)
    """

    unit: str
    ids: AnyArray
    values: Mapping[str, Floats]
    weights: Mapping[str, Floats] = field(default_factory=dict)
    cluster: AnyArray | None = None
    asked: Mapping[str, AnyArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, key: str) -> Floats:
        if key not in self.values:
            raise UnknownNameError("metric", key, self.values)
        return self.values[key]

    def to_grid(self) -> Grid:
        """A row per item."""
        cluster = {} if self.cluster is None else {"cluster": self.cluster}
        return Grid({"id": self.ids, **cluster, **dict(self.values.items())})

    def save(self, path: str | Path) -> None:
        """Write an .npz archive, which `load` reads."""
        arrays = {f"value.{key}": np.asarray(values) for key, values in self.values.items()}
        arrays |= {f"weight.{key}": np.asarray(weights) for key, weights in self.weights.items()}
        arrays |= {f"asked.{name}": np.asarray(column) for name, column in self.asked.items()}
        cluster = {} if self.cluster is None else {"cluster": _storable(self.cluster)}
        contents: dict[str, Any] = {"unit": np.array(self.unit), "ids": _storable(self.ids), **arrays, **cluster}
        with atomic_path(path) as temporary, temporary.open("wb") as stream:
            np.savez_compressed(stream, **contents)

    @classmethod
    def load(cls, path: str | Path) -> Items:
        """Read what `save` wrote; nothing is unpickled."""
        return cls._of_arrays(read_npz(path, fix="Evaluate again."), str(path))

    @classmethod
    def _of_arrays(cls, arrays: Mapping[str, AnyArray], where: str) -> Items:
        try:
            unit, ids = str(arrays["unit"][()]), arrays["ids"]
        except (KeyError, IndexError):
            raise InputError("not a file of items: it has no unit or no ids", where=where) from None
        parts: dict[str, dict[str, AnyArray]] = {"value": {}, "weight": {}, "asked": {}}
        for name, values in arrays.items():
            part, _, key = name.partition(".")
            if (name == "cluster" or part in parts) and (ids.ndim != 1 or values.shape != ids.shape):
                raise InputError(f"{name} has shape {values.shape}, not one entry per item", where=where)
            if part in parts:
                if values.dtype.kind not in "fiub":
                    raise InputError(f"{name} has {values.dtype}, not numbers", where=where)
                parts[part][key] = values if part == "asked" else values.astype(np.float64)
        return cls(unit, ids, parts["value"], parts["weight"], arrays.get("cluster"), parts["asked"])


def _storable(values: Any) -> AnyArray:
    """Ids as numbers or texts, which need no pickle."""
    array = np.asarray(values)
    return text_array([str(each) for each in array], "ids") if array.dtype == object else array
