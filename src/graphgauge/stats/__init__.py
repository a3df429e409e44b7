"""From many runs to a claim that holds."""

from graphgauge.stats.many import Friedman, critical_difference, friedman, holm, mean_ranks
from graphgauge.stats.paired import PairedTest, paired_test
from graphgauge.stats.permutation import PairedItems, paired_items
from graphgauge.stats.power import attainable_p, seeds_needed
from graphgauge.stats.resample import interquartile_mean, probability_of_improvement
from graphgauge.stats.wilcoxon import SignedRank, signed_rank

__all__ = [
    "Friedman",
    "PairedItems",
    "PairedTest",
    "SignedRank",
    "attainable_p",
    "critical_difference",
    "friedman",
    "holm",
    "interquartile_mean",
    "mean_ranks",
    "paired_items",
    "paired_test",
    "probability_of_improvement",
    "seeds_needed",
    "signed_rank",
]
