"""Inputs of tests that are written once for every family: dictionaries of columns as the sides they describe."""

from __future__ import annotations

from typing import Any

import pytest

from graphgauge.core.evaluation import Evaluation
from graphgauge.generation import Graphs, Molecules, Samples, evaluate

SIDES = ("real", "generated", "train", "classifier")


def side_of(columns: Any) -> Any:
    """A side with its columns; graphs are (number of nodes, edges), molecules SMILES."""
    if not isinstance(columns, dict):
        return columns
    columns = dict(columns)
    if "graphs" in columns:
        columns["items"] = Graphs.from_objects([(nodes, edges) for nodes, edges in columns.pop("graphs")])
    if "smiles" in columns:
        pytest.importorskip("rdkit")
        columns["items"] = Molecules.from_smiles(columns.pop("smiles"))
    return Samples(**columns)


def evaluate_sides(**inputs: Any) -> Evaluation:
    """The evaluation of such inputs."""
    return evaluate(**{name: side_of(value) if name in SIDES else value for name, value in inputs.items()})
