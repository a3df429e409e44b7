"""The message-passing layers of a PyTorch Geometric module: how far and which way messages go, and how to stop them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.types import Mask
from graphgauge.explanation.pyg_graph import BOTH_WAYS, FLOWS, like


@dataclass(frozen=True, eq=False)
class Layers:
    """What the layers of a module have in common.

    `depth` is the number of layers one after the other. `flow` is one of `FLOWS`, or `BOTH_WAYS` if layers differ.
    Messages are `maskable` if torch_geometric can multiply them.
    """

    module: Any
    depth: int
    flow: str
    maskable: bool

    @classmethod
    def of(cls, module: Any) -> Layers:
        """The layers of a module; those that keep the graph of their first call are refused."""
        layers = [*message_layers(module)]
        cached = next((type(layer).__name__ for layer in layers if getattr(layer, "cached", False)), None)
        if cached is not None:
            what = f"{cached} keeps the graph of its first call (cached=True), so masks would have no effect"
            fix = "Build it with cached=False and load the weights."
            raise InputError(what, where="module", fix=fix)
        flows = {getattr(layer, "flow", FLOWS[0]) for layer in layers} or {FLOWS[0]}
        library = sys.modules.get("torch_geometric.nn.conv.message_passing")
        maskable = library is not None and any(isinstance(layer, library.MessagePassing) for layer in layers)
        return cls(module, _depth(module), flows.pop() if len(flows) == 1 else BOTH_WAYS, maskable)

    @contextmanager
    def multiplied(self, edge_index: Mapping[Any, Any], weights: Mapping[Any, Mask]) -> Iterator[None]:
        """Their messages multiplied by weights, 0 or 1 for each edge, by type of edge, in this block."""
        tools = need("torch_geometric.explain.algorithm.utils", "multiplying messages by masks")
        if not self.maskable:
            what = f"{type(self.module).__name__} has no torch_geometric layers, whose messages can be multiplied"
            raise InputError(what, where="module", fix='Use masking="remove".')
        masks = {kind: like(mask.reshape(-1), edge_index[kind]).float() for kind, mask in weights.items()}
        set_masks = tools.set_masks if None in masks else tools.set_hetero_masks
        # Unless told otherwise, both take the masks for logits.
        set_masks(self.module, masks.get(None, masks), edge_index.get(None, edge_index), apply_sigmoid=False)
        try:
            yield
        finally:
            tools.clear_masks(self.module)


def message_layers(module: Any) -> Iterator[Any]:
    """The layers of a module that pass messages."""
    modules = getattr(module, "modules", None)
    yield from (layer for layer in (modules() if callable(modules) else ()) if _passes_messages(layer))


def _passes_messages(layer: Any) -> bool:
    return callable(getattr(layer, "propagate", None)) and callable(getattr(layer, "message", None))


def _depth(module: Any) -> int:
    """The number of message-passing layers one after the other; those of different edge types are side by side."""
    if _passes_messages(module):
        return 1
    children = getattr(module, "named_children", None)
    named = [*children()] if callable(children) else []
    by_type = bool(named) and all(len(name.strip("<>").split("__")) >= 3 for name, _ in named)
    return (max if by_type else sum)([0, *(_depth(child) for _, child in named)])
