"""Inputs of the network: subgraphs as arrays, copied per mask and joined into one graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphgauge.core.errors import InputError
from graphgauge.explanation.inputs import Masks, Subgraph

# Frequencies of the waves that encode a contact's age, in turns per mean gap of a node's contacts.
_WAVES = (0.05, 0.1, 0.2, 0.4)
# Inputs per contact besides its features: the age, and two columns per wave.
AGE_COLUMNS = 1 + 2 * len(_WAVES)


@dataclass(frozen=True)
class Graphs:
    """Several subgraphs as one graph without contacts between them; every contact is listed in both directions."""

    nodes: Tensor  # (N, 2 + features): is it the first, is it the second, its features
    source: Tensor
    target: Tensor
    contacts: Tensor  # (M, features)
    asked: Tensor  # (graphs, 2) rows of the two nodes
    weight: Tensor | None = None  # (M,) between 0, absent, and 1


@dataclass(frozen=True)
class Encoded:
    """One subgraph as arrays, to be copied per mask."""

    nodes: NDArray[np.float32]
    ends: NDArray[np.int64]
    contacts: NDArray[np.float32]
    asked: NDArray[np.int64]

    def kept(self, masks: Masks) -> Encoded:
        """One copy per mask, with the contacts that the mask keeps; the copies share no nodes."""
        copy, contact = np.nonzero(masks)
        count = len(masks)
        return Encoded(
            nodes=np.tile(self.nodes, (count, 1)),
            ends=self.ends[:, contact] + copy * len(self.nodes),
            contacts=self.contacts[contact],
            asked=(self.asked + np.arange(count)[:, np.newaxis] * len(self.nodes)),
        )


def encoded(subgraph: Subgraph, target: Any, *, gap: float, contact_features: int, node_features: int) -> Encoded:
    """The pair in question, the node features, and the age of contacts in mean gaps of a node's contacts."""
    pair, now = _asked(subgraph, target)
    asked = np.zeros((len(subgraph.nodes), 2))
    asked[pair, [0, 1]] = 1
    if subgraph.times is None:
        raise InputError("has no times", where="subgraph", fix="Give every contact its time.")
    age = (now - np.asarray(subgraph.times, dtype=np.float64)) / gap
    if age.size and not age.min() >= 0:
        raise InputError("has contacts after the time of the question", where="subgraph")
    turns = 2 * np.pi * np.outer(age, _WAVES)
    features = _features(subgraph.edge_features, subgraph.edges, contact_features, "edge_features")
    known = _features(subgraph.node_features, len(asked), node_features, "node_features")
    contact = np.concatenate([features, np.log1p(age)[:, np.newaxis], np.cos(turns), np.sin(turns)], axis=1)
    return Encoded(
        nodes=np.concatenate([asked, known], axis=1, dtype=np.float32),
        ends=np.asarray(subgraph.edge_index),
        contacts=contact.astype(np.float32),
        asked=np.array(pair),
    )


def joined(parts: Sequence[Encoded]) -> Graphs:
    """Graphs joined into one, with contacts in both directions."""
    first = np.cumsum([0, *(len(part.nodes) for part in parts[:-1])])
    ends = np.concatenate([part.ends + start for part, start in zip(parts, first, strict=True)], axis=1)
    contacts = torch.from_numpy(np.concatenate([part.contacts for part in parts]))
    return Graphs(
        nodes=torch.from_numpy(np.concatenate([part.nodes for part in parts])),
        source=torch.from_numpy(ends.ravel()),
        target=torch.from_numpy(ends[::-1].ravel()),
        contacts=torch.cat([contacts, contacts]),
        asked=torch.from_numpy(
            np.concatenate([np.atleast_2d(part.asked) + start for part, start in zip(parts, first, strict=True)])
        ),
    )


def _asked(subgraph: Subgraph, target: Any) -> tuple[list[int], float]:
    """The rows of the target's two nodes, and its time."""
    try:
        one, other = (int(node) for node in target["pair"])
        now = float(target["time"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError(
            f"expected a pair of nodes and a time, found {target!r:.80}",
            where="target",
            fix='Give {"pair": [one, other], "time": time}.',
        ) from None
    rows = {node: row for row, node in enumerate(subgraph.nodes.tolist())}
    if one == other or one not in rows or other not in rows:
        raise InputError(f"the pair ({one}, {other}) is not among the nodes of its subgraph", where="target")
    return [rows[one], rows[other]], now


def _features(given: Any, rows: int, columns: int, name: str) -> NDArray[np.float64]:
    features = np.empty((rows, 0)) if given is None else np.asarray(given, dtype=np.float64)
    if features.shape != (rows, columns):
        raise InputError(
            f"{features.shape[1]} columns, but the network was trained with {columns}", where=f"subgraph, {name}"
        )
    return features
