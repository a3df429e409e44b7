"""Functions that return plain numbers: one metric of scores, without intervals or levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import one_of
from graphgauge.core.options import whole_number
from graphgauge.core.types import Floats
from graphgauge.ranking.evaluate import queries_of
from graphgauge.ranking.pooled import Pooled
from graphgauge.ranking.samples import Ranks
from graphgauge.ranking.ties import TIES


def mrr(pos_scores: Any, neg_scores: Any, *, ties: str = "realistic", **options: Any) -> float:
    """Mean reciprocal rank.

    Parameters
    ----------
    pos_scores, neg_scores, options
        As in `Queries.from_scores`.
    ties
        `realistic`, `optimistic`, `pessimistic` or `expected`.

    Returns
    -------
    float
        In (0, 1]; 1 if every positive has the first rank; NaN without positives.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ranking.mrr([0.5, 0.9], [[0.7, 0.1], [0.1, 0.2]])
    0.75
    >>> round(ranking.mrr([0.5], [[0.5] * 9], ties="expected"), 5)
    0.2929
    """
    sample = _ranks(pos_scores, neg_scores, ties, options)
    return float(sample.mean(sample.reciprocal)[0])


def hits_at_k(pos_scores: Any, neg_scores: Any, *, k: int = 10, ties: str = "realistic", **options: Any) -> float:
    """Share of positives among the first k.

    Parameters
    ----------
    pos_scores, neg_scores, options
        As in `Queries.from_scores`.
    k
        The last rank that counts as a hit.
    ties
        `realistic`, `optimistic`, `pessimistic` or `expected`.

    Returns
    -------
    float
        In [0, 1]; NaN without positives.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ranking.hits_at_k([0.5, 0.9], [[0.7, 0.1], [0.1, 0.2]], k=1)
    0.5
    """
    last = whole_number("k", k, 1)
    sample = _ranks(pos_scores, neg_scores, ties, options)
    return float(sample.mean(sample.within(last))[0])


def ranks(pos_scores: Any, neg_scores: Any, *, ties: str = "realistic", **options: Any) -> Floats:
    """The rank of every positive among its candidates; under `expected` the mean rank.

    Parameters
    ----------
    pos_scores, neg_scores, options
        As in `Queries.from_scores`.
    ties
        `realistic`, `optimistic`, `pessimistic` or `expected`.

    Returns
    -------
    array (n,)
        One rank per positive, in their order, 1 for the first place; NaN where nan="omit" drops a query.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ranking.ranks([0.5, 0.9], [[0.7, 0.1], [0.1, 0.2]]).tolist()
    [2.0, 1.0]
    """
    one_of("ties", ties, TIES)
    queries = queries_of(pos_scores, neg_scores, **options)
    counts, kept = queries.count_rows(slice(0, queries.n))
    found = np.full(queries.n, np.nan)
    found[slice(None) if kept is None else kept] = Ranks.each(counts, ties).rank
    return found


def roc_auc(pos_scores: Any, neg_scores: Any) -> float:
    """Area under the ROC curve of two 1-D arrays of scores; ties count half.

    Parameters
    ----------
    pos_scores, neg_scores
        Scores of the positives and of the negatives, higher is better.

    Returns
    -------
    float
        In [0, 1], 0.5 at chance; NaN if either array is empty.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ranking.roc_auc([0.9, 0.4], [0.4, 0.1])
    0.875
    """
    return _pooled(pos_scores, neg_scores).roc_auc


def average_precision(pos_scores: Any, neg_scores: Any) -> float:
    """Step-wise average precision of two 1-D arrays of scores.

    Parameters
    ----------
    pos_scores, neg_scores
        Scores of the positives and of the negatives, higher is better.

    Returns
    -------
    float
        In (0, 1]; NaN if either array is empty. Its chance level is the share of positives among all scores.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> round(ranking.average_precision([0.9, 0.4], [0.7, 0.1]), 4)
    0.8333
    """
    return _pooled(pos_scores, neg_scores).average_precision


def _ranks(pos_scores: Any, neg_scores: Any, ties: str, options: Mapping[str, Any]) -> Ranks:
    one_of("ties", ties, TIES)
    return Ranks.of(queries_of(pos_scores, neg_scores, **options).count(), ties)


def _pooled(pos_scores: Any, neg_scores: Any) -> Pooled:
    pos, neg = as_numeric(pos_scores, "pos_scores"), as_numeric(neg_scores, "neg_scores")
    for name, scores in (("pos_scores", pos), ("neg_scores", neg)):
        require_shape(scores, (None,), name, "Pooled metrics take two 1-D arrays.")
        refuse_nan(scores, name, fix="Repair the model or drop them before the call.")
    return Pooled(pos, neg)
