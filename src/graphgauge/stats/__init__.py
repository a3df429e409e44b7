"""Statistics over runs: summaries, comparisons, gates against a baseline, and the tests they are made of."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphgauge.stats.comparison import compare
    from graphgauge.stats.design import Design
    from graphgauge.stats.effects import (
        bootstrap_interval,
        interquartile_mean,
        probability_of_improvement,
        seeds_needed,
        units_needed,
    )
    from graphgauge.stats.many import Friedman, Trend, critical_difference, friedman, holm, mean_ranks, page_test
    from graphgauge.stats.outcome import Comparison, Pair, Standing
    from graphgauge.stats.ranks import PairedTest, RankSum, SignedRank, paired_test, rank_sum, signed_rank
    from graphgauge.stats.reading import read_runs
    from graphgauge.stats.regression import Regression, gate
    from graphgauge.stats.runs import Run, Runs
    from graphgauge.stats.summaries import Aggregate, Summary, aggregate

# Modules with their public names, loaded on first use: intervals cost nothing else.
_MODULES = {
    "comparison": "compare",
    "design": "Design",
    "effects": "bootstrap_interval interquartile_mean probability_of_improvement seeds_needed units_needed",
    "many": "Friedman Trend critical_difference friedman holm mean_ranks page_test",
    "outcome": "Comparison Pair Standing",
    "ranks": "PairedTest RankSum SignedRank paired_test rank_sum signed_rank",
    "reading": "read_runs",
    "regression": "Regression gate",
    "runs": "Run Runs",
    "summaries": "Aggregate Summary aggregate",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "Aggregate",
    "Comparison",
    "Design",
    "Friedman",
    "Pair",
    "PairedTest",
    "RankSum",
    "Regression",
    "Run",
    "Runs",
    "SignedRank",
    "Standing",
    "Summary",
    "Trend",
    "aggregate",
    "bootstrap_interval",
    "compare",
    "critical_difference",
    "friedman",
    "gate",
    "holm",
    "interquartile_mean",
    "mean_ranks",
    "page_test",
    "paired_test",
    "probability_of_improvement",
    "rank_sum",
    "read_runs",
    "seeds_needed",
    "signed_rank",
    "units_needed",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"graphgauge.stats.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_HOMES)
