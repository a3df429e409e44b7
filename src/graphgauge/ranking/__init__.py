"""Link prediction and retrieval: how high the right answers rank."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from graphgauge.ranking.evaluate import average_precision, evaluate, hits_at_k, mrr, ranks, roc_auc
from graphgauge.ranking.queries import Queries

if TYPE_CHECKING:
    from graphgauge.ranking.beyond import Catalog
    from graphgauge.ranking.entities import recommend
    from graphgauge.ranking.negative_sampling import Negatives, negatives
    from graphgauge.ranking.state import BinnedAUC, RankingState
    from graphgauge.ranking.until import evaluate_until

# Names that are loaded when they are first used, with the modules that have them.
_LATER = {
    "BinnedAUC": "state",
    "Catalog": "beyond",
    "Negatives": "negative_sampling",
    "RankingState": "state",
    "evaluate_until": "until",
    "negatives": "negative_sampling",
    "recommend": "entities",
}

__all__ = [
    "BinnedAUC",
    "Catalog",
    "Negatives",
    "Queries",
    "RankingState",
    "average_precision",
    "evaluate",
    "evaluate_until",
    "hits_at_k",
    "mrr",
    "negatives",
    "ranks",
    "recommend",
    "roc_auc",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"graphgauge.ranking.{_LATER[name]}"), name)
    raise AttributeError(f"module 'graphgauge.ranking' has no attribute {name!r}")
