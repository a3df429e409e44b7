"""Statistics over runs: summaries, tests and comparisons."""

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
