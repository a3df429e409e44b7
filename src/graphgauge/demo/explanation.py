"""Explanations of a rule over contacts: the answer depends on the last gifts that the target received."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.types import Floats
from graphgauge.demo import Demo
from graphgauge.explanation import Context, Explanation, Subgraph, collect

_PEOPLE, _CONTACTS, _EVENTS = 8, 24, 15


class _Rule:
    """Yes, the more surely the larger the target's last three gifts among the contacts that are left, up to a limit."""

    model_output = "probability"

    def predict(self, subgraph: Subgraph, target: Any, masks: np.ndarray[Any, Any]) -> Floats:
        return np.asarray(0.1 + 0.8 * np.minimum(masks[:, target["gifts"]] @ np.array(target["sizes"]) / 1.8, 1))


def _occlusion(context: Context) -> Floats:
    """How much the answer falls when one contact is left out."""
    kept = np.vstack([np.ones(_CONTACTS, bool), ~np.eye(_CONTACTS, dtype=bool)])
    answers = _Rule().predict(context.subgraph, context.target, kept)
    return np.asarray(answers[0] - answers[1:])


def _recency(context: Context) -> Floats:
    return np.asarray(context.subgraph.times)


def _popularity(context: Context) -> Floats:
    """The number of contacts of the one who gives."""
    edges = context.subgraph.edge_index
    return np.asarray(np.bincount(edges.ravel(), minlength=_PEOPLE)[edges[0]], float)


_EXPLAINERS = {"occlusion": _occlusion, "recency": _recency, "popularity": _popularity}


def _context(event: str, draw: np.random.Generator) -> Context:
    """Contacts of a small group, whose target 0 has received at least three gifts."""
    edges = np.stack([draw.integers(1, _PEOPLE, _CONTACTS), draw.integers(0, 3, _CONTACTS)])
    edges[1] = np.where(edges[0] == edges[1], 0, edges[1])
    sizes = draw.uniform(0.2, 1, _CONTACTS) * (draw.random(_CONTACTS) < 0.5)
    chosen = draw.choice(_CONTACTS, 3, replace=False)
    edges[1, chosen], sizes[chosen] = 0, draw.uniform(0.2, 1, 3)
    gifts = np.flatnonzero((edges[1] == 0) & (sizes > 0))[-3:]
    subgraph = Subgraph(edges, np.arange(_PEOPLE), times=np.sort(draw.random(_CONTACTS)))
    target = {"gifts": gifts.tolist(), "sizes": sizes[gifts].tolist()}
    return Context(subgraph, target, event, truth=np.isin(np.arange(_CONTACTS), gifts))


def _write(folder: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    contexts = [_context(f"{seed}-{event}", draw) for event in range(_EVENTS)]
    found = [Explanation(c, explain(c), name) for c in contexts for name, explain in _EXPLAINERS.items()]
    collect(_Rule(), found, seed=seed).save(folder / f"{seed}.jsonl")


DEMO = Demo(
    dataset="planted rule",
    methods=tuple(_EXPLAINERS),
    inputs={"table": "explanation/{seed}.jsonl", "explainer": "{method}"},
    metric="truth_auc",
    write=_write,
)
