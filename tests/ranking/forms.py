"""Inputs of tests that are written once for every family: a dictionary of arguments as the queries it describes."""

from __future__ import annotations

from typing import Any

from graphgauge.ranking import Queries, evaluate


def queries_of(inputs: dict[str, Any]) -> Queries:
    """Scores of positives and negatives, candidate lists, or lists of the first items."""
    inputs = dict(inputs)
    if "indices" in inputs:
        return Queries.from_topk(**inputs)
    if "scores" in inputs:
        return Queries.from_lists(**inputs)
    if "offsets" in inputs:
        inputs["neg_scores"] = inputs["neg_scores"], inputs.pop("offsets")
    return Queries.from_scores(**inputs)


def evaluate_any(metrics: Any = None, ties: str = "realistic", **inputs: Any) -> Any:
    """The metrics of such inputs."""
    return evaluate(queries_of(inputs), metrics=metrics, ties=ties)
