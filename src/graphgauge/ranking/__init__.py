"""Link prediction and retrieval: how high the right answers rank."""

# Imported first, because the module has the name of a function.
import graphgauge.ranking.evaluate  # noqa: F401
from graphgauge.old.ranking.all_entities import rank_all
from graphgauge.old.ranking.beyond import Catalog
from graphgauge.old.ranking.evaluate import average_precision, evaluate, hits_at_k, mrr, ranks, roc_auc
from graphgauge.old.ranking.from_files import evaluate_files
from graphgauge.old.ranking.items import Items, ListItems, compare
from graphgauge.old.ranking.negative_sampling import Negatives, negatives
from graphgauge.old.ranking.recommend import recommend
from graphgauge.old.ranking.state import RankingState
from graphgauge.old.ranking.topk import rank_topk
from graphgauge.old.ranking.triples import known_answers, rank_triples
from graphgauge.old.ranking.until import rank_until

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
