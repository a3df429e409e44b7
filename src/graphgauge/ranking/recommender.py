"""Recommenders: how high the items of a test set rank among all items that a user does not know from training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.metric import Metric
from graphgauge.ranking.beyond import Catalog
from graphgauge.ranking.entities import EntityQueries, scorer_of
from graphgauge.ranking.evaluate import evaluate
from graphgauge.ranking.labels import Labels
from graphgauge.ranking.scorers import Task
from graphgauge.ranking.sets import Numbering, Sets


def recommend(
    scores: Any,
    items: Any = None,
    *,
    test: Any,
    known: Any = None,
    score: str | Callable[[Any, Any], Any] = "dot",
    minus_inf: str | None = None,
    catalog: Any = None,
    names: Any = None,
    k: Sequence[int] | int = (10,),
    ties: str = "realistic",
    metrics: Sequence[str | Metric] | str | None = None,
    confidence: float = 0.95,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    ids: Any = None,
) -> Evaluation:
    """Metrics of whole lists, each the mean over users with test items: recall, nDCG, MAP, hit ratio and `mrr_first`.

    Parameters
    ----------
    scores, items
        A matrix of scores (users, items); or embeddings of users, with those of the items in `items`, scored by
        `score` as in `Queries.from_embeddings`.
    test, known
        The items of each user to be found, and those of training, which are no candidates: a sparse or a boolean matrix
        (users, items), an array (n, 2) or a frame of pairs of user and item, a list of sets, `(values, offsets)`, a
        dictionary by user. An item in both is an error.
    minus_inf
        What a score of −inf means: `exclude`, an item that is no candidate, as libraries mark them; `rank`, a low score
        like any other. Without it, it is an error.
    catalog
        A `Catalog`, for `coverage@k` and the other metrics of what is recommended.
    names, ids
        The names of the items and of the users in order, if sets name them.
    k, ties, metrics, confidence
        As in `evaluate`.
    groups, cluster, weights
        As in `Queries.from_scores`, one per user.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import ranking
    >>> scores = np.array([[0.9, 0.5, 0.1], [0.2, 0.8, 0.4]])
    >>> ev = ranking.recommend(scores, test=[{1}, {2}], known=[{0}, set()], k=1)
    >>> ev["recall@1"].value
    0.5
    """
    if isinstance(score, str):
        one_of("score", score, ("dot", "l1", "l2"))
    if items is None and score != "dot":
        raise OptionError("score needs items", fix="Pass embeddings of users and of items.")
    scorer = scorer_of(None, None, scores, "dot") if items is None else scorer_of(scores, items, None, score)
    labels = Labels.given(scorer.queries, ids=ids, groups=groups, cluster=cluster, weights=weights)
    every = None if names is None else np.asarray(names)
    of = Numbering(scorer.queries, scorer.entities, labels.ids, every, "user", "item")
    right, left_out = Sets.read(test, of, "test"), Sets.read(known, of, "known")
    right.refuse_common(left_out, "test", "item {entity} of user {row} is known, too", "Leave it out of one of them.")
    task = Task(right, left_out, lists=True)
    queries = EntityQueries(scorer, task, labels, minus_inf, Catalog.of(catalog, scorer.entities))
    return evaluate(queries, k=k, ties=ties, metrics=metrics, confidence=confidence)
