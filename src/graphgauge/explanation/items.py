"""Per-event values, kept to compare explainers event by event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphgauge.core.arrays import AnyArray, Floats
from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.core.state import load_state, save_state

_KIND = "explanation-items"


@dataclass(frozen=True)
class Items:
    """One row per event: its id and its value of each metric that is a mean over events, NaN if undefined."""

    ids: AnyArray
    columns: Mapping[str, Floats]
    cluster: None = None  # events are independent

    def __len__(self) -> int:
        return len(self.ids)

    def values(self, metric: str, *, ties: str | None = None) -> Floats:
        """The values of a metric by event; `ties` has no effect, because ties are broken in `collect`."""
        if metric not in self.columns:
            raise UnknownNameError("metric of single events", metric, self.columns)
        return self.columns[metric]

    def save(self, path: str | Path) -> None:
        stored = {f"value{index}": values for index, values in enumerate(self.columns.values())}
        save_state(path, _KIND, {"keys": list(self.columns)}, {"ids": self.ids, **stored})

    @classmethod
    def load(cls, path: str | Path) -> Items:
        _, facts, columns = load_state(path, _KIND)
        try:
            ids = columns["ids"]
            values = {str(key): columns[f"value{index}"] for index, key in enumerate(facts["keys"])}
            if ids.ndim != 1 or any(column.shape != ids.shape for column in values.values()):
                raise ValueError("columns of different lengths")
        except (KeyError, TypeError, ValueError):
            raise InputError("not per-event values of explanations", where=str(path)) from None
        return cls(ids, {key: np.asarray(column, float) for key, column in values.items()})
