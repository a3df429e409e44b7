"""Data and explanations as those of torch_geometric, for tests without it."""

from __future__ import annotations

from typing import Any


class Data(dict):  # type: ignore[type-arg]
    """A mapping with attributes, some of them of types."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        if name == "num_nodes":
            return len(self["x"])
        raise AttributeError(name)
