"""The doors of rankings: which files become which arguments of the library."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

from graphgauge.core.door import CONFIDENCE, METRICS, NAN, PROTOCOL, SEED, Door, Input, Option
from graphgauge.core.errors import InputError
from graphgauge.core.evaluation import Evaluation
from graphgauge.ranking.evaluate import evaluate
from graphgauge.ranking.queries import Queries

_ROOM = "graphgauge.ranking"
_HERE = f"{_ROOM}.doors"
_NEGATIVES = "Their negatives: a row per query, an .npz of values and offsets, or one pool."
_IDS = Input("ids", "Names of the queries, by which evaluations are compared.", "labels", along=True)
_GROUPS = Input("groups", "Labels to break results down by, as AXIS=FILE.", "labels", many="named", along=True)
_CLUSTER = Input("cluster", "Labels: queries with the same one err together.", "labels", along=True)
_WEIGHTS = Input("weights", "How much each query counts.", along=True)
_ABOUT = (_GROUPS, _CLUSTER, _WEIGHTS)
_KNOWN = Input("known", "Other right answers of each query, which are no candidates.", "set")
_CATALOG = Input("catalog", "What is known of the items, in order: popularity, categories.", "table")
_SELECT = (METRICS, CONFIDENCE, PROTOCOL)
_K = Option("k", tuple[int, ...], (1, 3, 10), "Cut-offs of hits@k and other metrics.", 1)
_RULES = Literal["realistic", "optimistic", "pessimistic", "expected"]
_TIES = Option("ties", _RULES, "realistic", "How equal scores rank.")
_MINUS_INF = Option("minus_inf", Literal["rank", "exclude"], "rank", "What a negative at −inf is.")
_MAYBE_INF = Option("minus_inf", Literal["rank", "exclude"] | None, None, "What −inf is; an error without it.")
_SCORE = Option("score", Literal["dot", "l1", "l2"], "dot", "How embeddings are scored.")

SCORES = Door(
    "",
    "Right answers, each among the negatives of its query, or all among one pool.",
    "graphgauge.ranking:evaluate",
    inputs=(
        Input("pos_scores", "Scores of the right answers, one per query.", required=True, many="parts"),
        Input("neg_scores", _NEGATIVES, "ragged", required=True, many="parts"),
        Input("mask", "Which cells of the negatives are used (true or false).", along=True),
        Input("negatives", "The negatives that were scored, of `ranking negatives`.", f"{_ROOM}:Negatives.load"),
        *(_IDS, *_ABOUT),
    ),
    options=(_K, _TIES, _MINUS_INF, NAN),
    common=_SELECT,
    of_state=("minus_inf", "nan"),
    example="graphgauge ranking --pos-scores pos.npy --neg-scores neg.npy",
)

LISTS = Door(
    "lists",
    "Candidate lists with any number of right answers: a score, a label and a query for each candidate.",
    f"{_HERE}:evaluate_lists",
    inputs=(
        Input("scores", "One score per candidate.", required=True),
        Input("labels", "0 for wrong answers, 1 or a grade above 0 for right ones.", required=True),
        Input("queries", "The query of each candidate.", "labels", required=True),
        *_ABOUT,
    ),
    options=(_K, _TIES, _MINUS_INF, NAN),
    common=_SELECT,
    example="graphgauge ranking lists --scores scores.npy --labels labels.npy --queries queries.npy",
)

TOPK = Door(
    "topk",
    "Lists of the first items of each query, best first.",
    f"{_HERE}:evaluate_topk",
    inputs=(
        Input("indices", "Items, a row per query; −1 for empty places at the end.", required=True),
        Input("targets", "The right items of each query.", "set", required=True),
        *(_KNOWN, _CATALOG, _IDS, *_ABOUT),
    ),
    options=(_K, Option("n_items", int | None, None, "How many items there are, for levels of chance.", 1)),
    example="graphgauge ranking topk --indices lists.npy --targets test.npz",
)

RECOMMEND = Door(
    "recommend",
    "Items of a test set, ranked for each user among all items that are not known from training.",
    "graphgauge.ranking:recommend",
    inputs=(
        Input("scores", "A row of scores of all items per user; or embeddings of the users.", required=True),
        Input("items", "Embeddings of the items, if scores are embeddings."),
        Input("test", "The items to be found: pairs of user and item, or a set per user.", "set", required=True),
        Input("known", "The items of training, which are no candidates, likewise.", "set"),
        *(_CATALOG, _IDS, *_ABOUT),
    ),
    options=(
        Option("k", tuple[int, ...], (10,), "Cut-offs of recall@k and other metrics.", 1),
        *(_TIES, _SCORE, _MAYBE_INF),
    ),
    example="graphgauge ranking recommend --scores scores.npy --test test.npy --known train.npz",
)

ENTITIES = Door(
    "entities",
    "Right answers among all entities, from embeddings or a matrix of scores.",
    f"{_HERE}:evaluate_entities",
    inputs=(
        Input("targets", "The right entities of each query.", "set", required=True),
        Input("queries", "Embeddings of the queries."),
        Input("entities", "Embeddings of all entities."),
        Input("scores", "In place of embeddings: a row of scores of all entities per query."),
        Input("candidates", "The only candidates of each query.", "set"),
        *(_KNOWN, _CATALOG, _IDS, _GROUPS, _CLUSTER),
    ),
    options=(_K, _TIES, _SCORE, _MAYBE_INF),
    example="graphgauge ranking entities --queries q.npy --entities e.npy --targets targets.npy",
)

TRIPLES = Door(
    "triples",
    "Heads and tails of the triples of a knowledge graph among all entities.",
    f"{_HERE}:evaluate_triples",
    inputs=(
        Input("triples", "Head, relation and tail, a row per triple.", required=True, argument="test"),
        Input("entities", "Embeddings of all entities.", required=True),
        Input("relations", "Embeddings of all relations.", required=True),
        Input("known", "True triples, whose answers are no candidates.", many="parts"),
        *(_GROUPS, _WEIGHTS),
    ),
    options=(
        Option("score", Literal["distmult", "l1", "l2"], "distmult", "How triples are scored; l1 and l2 as TransE."),
        Option("sides", tuple[Literal["head", "tail"], ...], ("head", "tail"), "What is asked for."),
        _K,
        _TIES,
    ),
    common=_SELECT,
    example="graphgauge ranking triples --triples test.npy --entities e.npy --relations r.npy --known train.npy",
)

UNTIL = Door(
    "until",
    "Only as many queries as a precision or a decision needs.",
    f"{_HERE}:evaluate_until",
    inputs=(
        Input("pos_scores", "Scores of the right answers, one per query.", required=True),
        Input("neg_scores", "Scores of their negatives, a row per query.", "ragged", required=True),
        Input("earlier", "Items of an earlier model, which predict the values.", "items"),
        _GROUPS,
        _CLUSTER,
        Input("resume", "What an earlier run saved, to go on from.", "file"),
    ),
    options=(
        Option("within", dict[str, str] | None, None, "Half-widths to reach, as KEY=WIDTH."),
        Option("gates", tuple[str, ...], (), "Requirements to decide, such as 'mrr >= 0.3'."),
        Option("max_queries", int | None, None, "Read at most so many.", 1),
        _TIES,
        Option("save", Path | None, None, "Write what was read, to go on from."),
    ),
    common=(CONFIDENCE, SEED),
    progress=True,
    example="graphgauge ranking until --pos-scores pos.npy --neg-scores neg.npy --within mrr=0.01",
)

NEGATIVES = Door(
    "negatives",
    "Draw negatives of edges: once, from a seed, without known positives.",
    f"{_HERE}:draw_negatives",
    inputs=(
        Input("edges", "The edges to rank: pairs, or head, relation and tail.", required=True),
        Input("known", "Other true edges, which are left out.", many="parts"),
        Input("history", "The edges before those to rank.", many="parts"),
        Input("times", "The time of each edge: it is known to be true only then."),
        Input("types", "The type of each node.", "labels"),
    ),
    options=(
        Option("sampler", Literal["uniform", "degree", "historical", "inductive", "heart"], "uniform", "Which ones."),
        Option("k", int, 100, "Negatives per edge.", 1),
        Option("nodes", int | None, None, "Number of nodes; without it, what the edges show.", 1),
        Option("side", Literal["tail", "head", "both"], "tail", "The end that is replaced."),
        Option("among", Literal["all", "range", "type"], "all", "Which nodes are drawn."),
        Option("undirected", bool, False, "An edge is true in both directions."),
        Option("ratio", float, 0.5, "The share of historical or inductive negatives.", 0, 1),
    ),
    common=(SEED,),
    product="negatives",
    example="graphgauge ranking negatives --edges test.npy --known train.npy -o negatives.npz",
)

DOORS: tuple[Door, ...] = (SCORES, LISTS, TOPK, RECOMMEND, ENTITIES, TRIPLES, UNTIL, NEGATIVES)


def _evaluated(source: str, **fields: Any) -> Evaluation:
    """The queries of this constructor, evaluated; it takes what `evaluate` does not."""
    chosen = {name: fields.pop(name) for name in ("k", "ties", "metrics", "confidence", "protocol") if name in fields}
    return evaluate(getattr(Queries, source)(**fields), **chosen)


evaluate_lists = partial(_evaluated, "from_lists")
evaluate_topk = partial(_evaluated, "from_topk")
evaluate_entities = partial(_evaluated, "from_embeddings")


def evaluate_triples(entities: Any, relations: Any, *, score: str = "distmult", **fields: Any) -> Evaluation:
    """The door `triples`."""
    return _evaluated("from_triples", model=(entities, relations), score=score, **fields)


def evaluate_until(
    pos_scores: Any,
    neg_scores: Any,
    *,
    earlier: Any = None,
    groups: Any = None,
    cluster: Any = None,
    within: dict[str, str] | None = None,
    **options: Any,
) -> Evaluation:
    """The door `until`."""
    from graphgauge.ranking.until import evaluate_until as until

    queries = Queries.from_scores(pos_scores, neg_scores, groups=groups, cluster=cluster)
    try:
        widths = None if within is None else {key: float(width) for key, width in within.items()}
    except ValueError:
        raise InputError(f"{within} has a width that is no number", where="within") from None
    return until(queries, assist=() if earlier is None else earlier, within=widths, **options)


def draw_negatives(edges: Any, *, known: Any = None, undirected: bool = False, **options: Any) -> Any:
    """The door `negatives`."""
    from graphgauge.ranking.negative_sampling import negatives

    return negatives(edges, known=() if known is None else known, directed=not undirected, **options)
