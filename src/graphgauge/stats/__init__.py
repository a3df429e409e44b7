"""Statistics over runs: summaries, tests and comparisons."""

from graphgauge.stats.aggregate import Aggregate, Summary, aggregate
from graphgauge.stats.compare import compare
from graphgauge.stats.compare_items import ItemsComparison
from graphgauge.stats.comparison import Comparison
from graphgauge.stats.design import Design
from graphgauge.stats.load import load
from graphgauge.stats.many import Friedman, critical_difference, friedman, holm, mean_ranks
from graphgauge.stats.method_test import MethodTest
from graphgauge.stats.paired import PairedTest, paired_test, unpaired_test
from graphgauge.stats.permutation import PairedItems, paired_items
from graphgauge.stats.power import Needed, units_needed
from graphgauge.stats.ranks import RankSum, rank_sum
from graphgauge.stats.regression import Regression, gate
from graphgauge.stats.resample import interquartile_mean, probability_of_improvement
from graphgauge.stats.runs import Run, Runs
from graphgauge.stats.sequence import MeanSequence, PairedSequence
from graphgauge.stats.wilcoxon import SignedRank, attainable_p, seeds_needed, signed_rank

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
