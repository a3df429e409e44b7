"""What an audit can be given beyond a family's own inputs, and how it is read from files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphgauge.core.arrays import AnyArray
from graphgauge.io.arrays import open_array


def read_array(path: str) -> AnyArray:
    file = open_array(path)
    return file.rows(0, len(file))


@dataclass(frozen=True)
class Material:
    help: str
    read: Callable[[str], Any] = read_array


# By family and by the name under which its checks ask for it; each is an option of `graphgauge audit FAMILY`.
MATERIALS: dict[str, dict[str, Material]] = {
    "ranking": {
        "test_edges": Material("The edges that were ranked, (n, 2), or triples (n, 3): head, relation, tail."),
        "train_edges": Material("The edges that were trained on, likewise."),
        "known_edges": Material("All edges that are true, likewise; without it those of training and test."),
        "neg_targets": Material("The tails behind the negatives, (n, k)."),
    },
    "explanation": {},
    "generation": {
        "drawn": Material("How often the generator was asked: one number, or one for each condition or batch."),
    },
    "forecasting": {},
    "evolution": {},
    "recovery": {
        "data": Material("The data that the graph was learned from, (samples, d)."),
    },
}


def read_material(family: str, name: str, path: str) -> Any:
    return MATERIALS[family][name].read(path)
