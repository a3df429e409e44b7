"""What notebooks show of outcomes that are a sentence, and of the values of single items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.arrays import AnyArray
from graphgauge.core.errors import InputError
from graphgauge.old.core.result import Table

if TYPE_CHECKING:
    import pandas


class Sentence:
    """An outcome whose `str` is a sentence, which a notebook shows."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>"


class ItemTable(ABC):
    """Values of single items: `items["mrr"]` has one per item, `items[3]` all of one item."""

    ids: AnyArray

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def shown(self) -> dict[str, AnyArray]:
        """The columns that are shown, without the ids."""

    @abstractmethod
    def values_of(self, metric: str) -> AnyArray:
        """The values of a metric by item, as they enter its mean."""

    def __getitem__(self, key: str | int) -> Any:
        if isinstance(key, str):
            return self.values_of(key)
        if isinstance(key, bool) or not isinstance(key, int | np.integer):
            raise InputError(f"found {type(key).__name__}", where="item", fix="Name a metric, or number an item.")
        if not -len(self) <= key < len(self):
            raise IndexError(f"item {key} of {len(self)}")
        return {name: values[key].item() for name, values in self.table.columns.items()}

    @property
    def table(self) -> Table:
        return Table("id", {"id": self.ids, **self.shown})

    def to_frame(self) -> pandas.DataFrame:
        """One row per item.

        Returns
        -------
        pandas.DataFrame
            The id, and what is known of the item.
        """
        return self.table.to_frame()

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.shown)

    def __str__(self) -> str:
        return str(self.table)

    def __repr__(self) -> str:
        return f"<{len(self):,} items with {', '.join([*self.shown][:4])}{', …' if len(self.shown) > 4 else ''}>"

    def _repr_html_(self) -> str:
        return self.table._repr_html_()
