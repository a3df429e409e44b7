"""Per-event values, kept to compare explainers event by event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from graphgauge.core.arrays import AnyArray, Floats
from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.old.core.shown import ItemTable
from graphgauge.old.core.state import load_state, save_state

_KIND = "explanation-items"


@dataclass(frozen=True, repr=False)
class Items(ItemTable):
    """One row per event: its id and its value of each metric that is a mean over events, NaN if undefined.

    `signed` has the signed values of metrics that are sizes of a change: comparisons take these, because an explainer
    that names edges against the answer changes it as much as one that names edges for it.
    """

    ids: AnyArray
    columns: Mapping[str, Floats]
    signed: Mapping[str, Floats] = field(default_factory=dict)
    cluster: None = None  # events are independent

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def shown(self) -> dict[str, AnyArray]:
        return dict(self.columns)

    def values_of(self, metric: str) -> Floats:
        if metric not in self.columns:
            raise UnknownNameError("metric of single events", metric, self.columns)
        return self.columns[metric]

    def values(self, metric: str, *, ties: str | None = None) -> Floats:
        """The values of a metric by event for a comparison; `ties` has no effect: they are broken in `collect`."""
        return self.signed[metric] if metric in self.signed else self.values_of(metric)

    def remark(self, metric: str) -> str | None:
        """What a comparison by these values should say."""
        return f"{metric} is compared with its sign" if metric in self.signed else None

    def save(self, path: str | Path) -> None:
        stored = {f"value{index}": values for index, values in enumerate(self.columns.values())}
        stored |= {f"signed{index}": values for index, values in enumerate(self.signed.values())}
        facts = {"keys": list(self.columns), "signed": list(self.signed)}
        save_state(path, _KIND, facts, {"ids": self.ids, **stored})

    @classmethod
    def load(cls, path: str | Path) -> Items:
        _, facts, columns = load_state(path, _KIND)
        try:
            ids = columns["ids"]
            values = {str(key): columns[f"value{index}"] for index, key in enumerate(facts["keys"])}
            signed = {str(key): columns[f"signed{index}"] for index, key in enumerate(facts.get("signed", []))}
            if ids.ndim != 1 or any(column.shape != ids.shape for column in (*values.values(), *signed.values())):
                raise ValueError("columns of different lengths")
        except (KeyError, TypeError, ValueError):
            raise InputError("not per-event values of explanations", where=str(path)) from None
        floats = [{key: np.asarray(column, float) for key, column in each.items()} for each in (values, signed)]
        return cls(ids, floats[0], floats[1])
