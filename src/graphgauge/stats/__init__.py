"""Statistics over runs: summaries, tests and comparisons."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphgauge.old.stats.aggregate import Aggregate, Summary, aggregate
    from graphgauge.old.stats.compare import compare
    from graphgauge.old.stats.compare_items import ItemsComparison
    from graphgauge.old.stats.comparison import Comparison
    from graphgauge.old.stats.design import Design
    from graphgauge.old.stats.load import load
    from graphgauge.old.stats.many import Friedman, critical_difference, friedman, holm, mean_ranks
    from graphgauge.old.stats.method_test import MethodTest
    from graphgauge.old.stats.paired import PairedTest, paired_test, unpaired_test
    from graphgauge.old.stats.permutation import PairedItems, paired_items
    from graphgauge.old.stats.power import Needed, units_needed
    from graphgauge.old.stats.ranks import RankSum, rank_sum
    from graphgauge.old.stats.regression import Regression, gate
    from graphgauge.old.stats.resample import interquartile_mean, probability_of_improvement
    from graphgauge.old.stats.runs import Run, Runs
    from graphgauge.old.stats.sequence import MeanSequence, PairedSequence
    from graphgauge.old.stats.wilcoxon import SignedRank, attainable_p, seeds_needed, signed_rank

# Names of the package with the modules that have them, loaded on first use: intervals cost nothing else.
_NAMES = {
    "Aggregate": "aggregate",
    "Comparison": "comparison",
    "Design": "design",
    "Friedman": "many",
    "ItemsComparison": "compare_items",
    "MeanSequence": "sequence",
    "MethodTest": "method_test",
    "Needed": "power",
    "PairedItems": "permutation",
    "PairedSequence": "sequence",
    "PairedTest": "paired",
    "RankSum": "ranks",
    "Regression": "regression",
    "Run": "runs",
    "Runs": "runs",
    "SignedRank": "wilcoxon",
    "Summary": "aggregate",
    "aggregate": "aggregate",
    "attainable_p": "wilcoxon",
    "compare": "compare",
    "critical_difference": "many",
    "friedman": "many",
    "gate": "regression",
    "holm": "many",
    "interquartile_mean": "resample",
    "load": "load",
    "mean_ranks": "many",
    "paired_items": "permutation",
    "paired_test": "paired",
    "probability_of_improvement": "resample",
    "rank_sum": "ranks",
    "seeds_needed": "wilcoxon",
    "signed_rank": "wilcoxon",
    "units_needed": "power",
    "unpaired_test": "paired",
}

__all__ = [
    "Aggregate",
    "Comparison",
    "Design",
    "Friedman",
    "ItemsComparison",
    "MeanSequence",
    "MethodTest",
    "Needed",
    "PairedItems",
    "PairedSequence",
    "PairedTest",
    "RankSum",
    "Regression",
    "Run",
    "Runs",
    "SignedRank",
    "Summary",
    "aggregate",
    "attainable_p",
    "compare",
    "critical_difference",
    "friedman",
    "gate",
    "holm",
    "interquartile_mean",
    "load",
    "mean_ranks",
    "paired_items",
    "paired_test",
    "probability_of_improvement",
    "rank_sum",
    "seeds_needed",
    "signed_rank",
    "units_needed",
    "unpaired_test",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f"graphgauge.old.stats.{_NAMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
