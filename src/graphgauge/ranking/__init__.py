"""Link prediction and retrieval: how high the right answers rank."""

from graphgauge.ranking.all_entities import rank_all
from graphgauge.ranking.beyond import Catalog
from graphgauge.ranking.evaluate import average_precision, evaluate, hits_at_k, mrr, ranks, roc_auc
from graphgauge.ranking.from_files import evaluate_files
from graphgauge.ranking.items import Items, ListItems, compare
from graphgauge.ranking.negative_sampling import Negatives, negatives
from graphgauge.ranking.recommend import recommend
from graphgauge.ranking.state import RankingState
from graphgauge.ranking.topk import rank_topk
from graphgauge.ranking.triples import known_answers, rank_triples
from graphgauge.ranking.until import rank_until

__all__ = [
    "Catalog",
    "Items",
    "ListItems",
    "Negatives",
    "RankingState",
    "average_precision",
    "compare",
    "evaluate",
    "evaluate_files",
    "hits_at_k",
    "known_answers",
    "mrr",
    "negatives",
    "rank_all",
    "rank_topk",
    "rank_triples",
    "rank_until",
    "ranks",
    "recommend",
    "roc_auc",
]
