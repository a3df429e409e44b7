"""Recommenders: all items but those of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints, as_numeric, is_tensor, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import metric_names
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.metric import metrics as registered
from graphgauge.old.ranking.all_entities import Scorer, rank_all
from graphgauge.old.ranking.entity_sets import EntitySets
from graphgauge.old.ranking.evaluate import evaluate_state
from graphgauge.old.ranking.inputs import as_integers
from graphgauge.old.ranking.state import RankingState

_MATRIX = "A matrix of scores (users, items), or embeddings (users, d) and items=(items, d)."


def recommend(
    scores: Any,
    items: Any = None,
    *,
    test: Any,
    train: Any = None,
    candidates: Any = None,
    score: str | Scorer = "dot",
    minus_inf: str = "raise",
    k: Sequence[int] | int = 10,
    ties: str = "realistic",
    metrics: Sequence[str] | None = None,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    ids: Any = None,
    keep: str | None = None,
    confidence: float = 0.95,
    batch: int | None = None,
    threads: int | None = None,
) -> Evaluation:
    """How high the items of a test set rank among all items that a user does not know from training.

    Users without a test item are left out and counted. By default the metrics of whole lists are computed: recall,
    precision, nDCG, MAP, hit ratio, and the reciprocal rank of the first right item.

    Parameters
    ----------
    scores, items
        A matrix of scores (users, items); or embeddings of users, with those of the items in `items`, scored by
        `score` as in `rank_all`.
    test, train
        The items of each user to be found, and those that are no candidates: a scipy sparse matrix (users, items),
        an array of pairs (n, 2) of user and item, or sets as in `rank_all`. An item in both is an error. A list of
        lists of two numbers could be pairs or sets, and is refused.
    candidates
        The only items that can be recommended to a user, as sets.
    minus_inf
        What a score of −inf means in a matrix: `raise`, an error; `exclude`, an item that is no candidate, as libraries
        mark them; `rank`, a low score like any other.
    score
        How embeddings are scored, as in `rank_all`.
    k, ties, metrics, groups, cluster, weights, ids, keep, confidence
        As in `evaluate`, one label per user.
    batch, threads
        As in `rank_all`.

    Returns
    -------
    Evaluation
        The metrics of whole lists, each the mean over users with test items.

    Raises
    ------
    InputError
        If shapes do not fit, or an item is in both `test` and `train`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import ranking
    >>> scores = np.array([[0.9, 0.5, 0.1], [0.2, 0.8, 0.4]])
    >>> test, train = np.array([[0, 1], [1, 2]]), np.array([[0, 0]])
    >>> ev = ranking.recommend(scores, test=test, train=train, k=1)
    >>> ev["recall@1"].value
    0.5
    """
    state = rank_recommended(
        scores,
        items,
        test=test,
        train=train,
        candidates=candidates,
        score=score,
        minus_inf=minus_inf,
        groups=groups,
        cluster=cluster,
        weights=weights,
        ids=ids,
        keep=keep,
        batch=batch,
        threads=threads,
    )
    names = metric_names(metrics) or names_of_recommenders()
    return evaluate_state(state, k=k, ties=ties, metrics=names, confidence=confidence)


def rank_recommended(
    scores: Any, items: Any = None, *, test: Any, train: Any, score: str | Scorer = "dot", **counting: Any
) -> RankingState:
    """The state of `recommend`; `counting` are further arguments of `rank_all`."""
    return rank_all(**recommended(scores, items, test=test, train=train, score=score), **counting)


def recommended(
    scores: Any, items: Any = None, *, test: Any, train: Any, score: str | Scorer = "dot"
) -> dict[str, Any]:
    """The users, items and interactions as arguments of `rank_all`."""
    rows, columns = scores, items
    if items is None:
        if score != "dot":
            raise OptionError("score needs items", fix=_MATRIX)
        matrix = scores if is_tensor(scores) else as_numeric(_dense(scores), "scores")
        require_shape(matrix, (None, None), "scores", _MATRIX)
        rows, columns = (np.arange(length) for length in matrix.shape)
        score = _rows_of(matrix)
    users, count = (len(given[0] if isinstance(given, tuple) else given) for given in (rows, columns))
    right, known = _interactions(test, users, count, "test"), _interactions(train, users, count, "train")
    both = known.contain(right.rows(), right.values)
    if both.any():
        first = int(np.argmax(both))
        others = int(np.count_nonzero(both)) - 1
        raise InputError(
            f"item {right.values[first]} of user {right.rows()[first]} is in train, too"
            + (f", and {others} others" if others else ""),
            where="test",
            fix="Leave it out of test or out of train.",
        )
    return {
        "queries": rows,
        "entities": columns,
        "targets": _as_sets(right),
        "known": _as_sets(known),
        "score": score,
    }


def _rows_of(matrix: Any) -> Scorer:
    """Rows that follow each other are a view, others, which were drawn, a copy."""

    def score(rows: Any, _: Any) -> Any:
        follow = rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all()
        return matrix[rows[0] : rows[-1] + 1] if follow else matrix[rows]

    return score


def _dense(scores: Any) -> Any:
    if hasattr(scores, "tocsr"):
        raise InputError(
            "found a sparse matrix",
            where="scores",
            fix="A score that is not stored is unknown. Pass a dense matrix, or embeddings.",
        )
    return scores


def _interactions(given: Any, users: int, items: int, name: str) -> EntitySets:
    """The items of each user, from pairs of user and item or from sets."""
    listed = (is_tensor(given) or isinstance(given, np.ndarray)) and given.ndim == 2 and given.shape[1] == 2
    if listed and str(given.dtype).removeprefix("torch.") != "bool":
        numbers = as_integers(as_numeric(given, name), name, "pairs of user and item")
        for column, count, what in ((0, users, "users"), (1, items, "items")):
            outside = (numbers[:, column] < 0) | (numbers[:, column] >= count)
            if outside.any():
                raise InputError(
                    f"{numbers[outside][0, column]} is not among the {count} {what}",
                    where=name,
                    fix="Pairs (n, 2) of user and item, both numbered from 0.",
                )
        return EntitySets.from_rows(numbers[:, 0], numbers[:, 1], users, items)
    if isinstance(given, list) and given and all(isinstance(each, list | tuple) and len(each) == 2 for each in given):
        raise InputError(
            f"{len(given)} lists of two numbers can be pairs of user and item, or two items of each user",
            where=name,
            fix="Pass pairs as an array, np.array(pairs), and items of users as sets, [set(items) for items in lists].",
        )
    return EntitySets.of(given, users, items, name, "user")


def _as_sets(sets: EntitySets) -> tuple[Ints, Ints]:
    return sets.values, sets.offsets


def names_of_recommenders() -> list[str]:
    """The default metrics that look at whole lists."""
    return [entry.key for entry in registered("ranking") if entry.default and "lists" in entry.needs]
