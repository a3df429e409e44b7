"""Statistics over runs: summaries, tests and comparisons."""

from graphgauge.stats.aggregate import Aggregate, Summary, aggregate
from graphgauge.stats.compare import compare
from graphgauge.stats.compare_items import ItemsComparison
from graphgauge.stats.comparison import Comparison
from graphgauge.stats.load import load
from graphgauge.stats.many import Friedman, critical_difference, friedman, holm, mean_ranks
from graphgauge.stats.paired import PairedTest, paired_test
from graphgauge.stats.published import PublishedComparison, compare_published
from graphgauge.stats.permutation import PairedItems, paired_items
from graphgauge.stats.resample import interquartile_mean, probability_of_improvement
from graphgauge.stats.runs import Run, Runs
from graphgauge.stats.wilcoxon import SignedRank, attainable_p, seeds_needed, signed_rank

__all__ = [
    "Aggregate",
    "Comparison",
    "Friedman",
    "ItemsComparison",
    "PairedItems",
    "PairedTest",
    "PublishedComparison",
    "Run",
    "Runs",
    "SignedRank",
    "Summary",
    "aggregate",
    "attainable_p",
    "compare",
    "compare_published",
    "critical_difference",
    "friedman",
    "holm",
    "interquartile_mean",
    "load",
    "mean_ranks",
    "paired_items",
    "paired_test",
    "probability_of_improvement",
    "seeds_needed",
    "signed_rank",
]
