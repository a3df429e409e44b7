"""Right answers ranked among all entities: by embeddings, a scoring function, or a matrix of scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints, Mask, as_labels, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.metric import Metric
from graphgauge.ranking.beyond import Catalog, Recommended
from graphgauge.ranking.counts import Counts, Labels, Met
from graphgauge.ranking.evaluate import evaluate
from graphgauge.ranking.queries import Queries, Rows
from graphgauge.ranking.scorers import FunctionOf, Matrix, Scorer, Task, Tasks
from graphgauge.ranking.sets import Numbering, Sets, is_one_each

# What a score of −inf of a model means: a low score like any other, or an entity that is no candidate.
MINUS_INF = ("rank", "exclude")
# Scores that are computed at once, which later blocks reuse the memory of; but no fewer queries than these.
_AT_ONCE, _FEWEST = 1 << 22, 64


def from_embeddings(
    queries: Any = None,
    entities: Any = None,
    *,
    targets: Any,
    scores: Any = None,
    score: str | Callable[[Any, Any], Any] = "dot",
    known: Any = None,
    candidates: Any = None,
    minus_inf: str | None = None,
    catalog: Any = None,
    names: Any = None,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    ids: Any = None,
) -> Queries:
    """Right answers of each query among all entities, by embeddings, a scoring function, or a matrix of scores.

    Sets of entities (`targets`, `known`, `candidates`) have one meaning everywhere: a sparse or a boolean matrix
    (q, m), `(values, offsets)`, a list with the entities of each query, a dictionary by query, an array (n, 2) or a
    frame of pairs of query and entity.

    Parameters
    ----------
    queries, entities
        Embeddings (q, d) and (m, d). With a scoring function, any
        arrays or tensors, or tuples of them, with one row per query and per entity.
    targets
        The number of the right entity of each query (q,); or sets, for metrics of whole lists.
    scores
        In place of embeddings: a matrix (q, m), in memory, mapped from a file, or on a CUDA device.
    score
        `dot`, `l1` and `l2` (negated distances), or a function that scores a block of queries against the
        entities, (b, …), (m, …) → (b, m). The named ones are exact: equal rows tie.
    known
        Other right answers, and items of training: they are no candidates. Targets may be among them.
    candidates
        The only candidates of each query, as sets.
    minus_inf
        What a score of −inf means: `rank`, a low score like any other; `exclude`, no candidate, as libraries mark them.
        Without it, it is an error.
    catalog
        A `Catalog`, for `coverage@k` and the other metrics of what is recommended.
    names
        The names of the entities in order, if sets name them.
    groups, cluster, weights, ids
        As in `from_scores`.

    Returns
    -------
    Queries
        For `evaluate` and `evaluate_until`.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> queries = ranking.Queries.from_embeddings([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]], targets=[0])
    >>> ranking.evaluate(queries)["mrr"].value
    0.5
    """
    scorer = scorer_of(queries, entities, scores, score)
    labels = Labels.given(scorer.queries, ids=ids, groups=groups, cluster=cluster, weights=weights)
    of = numbering(scorer, labels, names)
    right = Sets.read(targets, of, "targets")
    allowed = None if candidates is None else Sets.read(candidates, of, "candidates")
    outside = np.zeros(0) if allowed is None else ~allowed.contain(right.rows, right.values)
    if outside.any():
        first = int(np.argmax(outside))
        what = f"{right.values[first]} of query {right.rows[first]} is not among its candidates"
        raise InputError(what, where="targets", fix="Add it to candidates=.")
    left_out = Sets.read(known, of, "known").without(right)
    task = Task(right, left_out, allowed, lists=not is_one_each(targets))
    return EntityQueries(scorer, task, labels, minus_inf, Catalog.of(catalog, scorer.entities))


def numbering(scorer: Scorer, labels: Labels, names: Any, query: str = "query", entity: str = "entity") -> Numbering:
    """What sets of a scorer's queries and entities are about; these are called so in errors."""
    every = None if names is None else as_labels(names, "names")
    if every is not None:
        require_shape(every, (scorer.entities,), "names", "One name per entity, in their order.")
    return Numbering(scorer.queries, scorer.entities, labels.ids, every, query, entity)


def scorer_of(queries: Any, entities: Any, scores: Any, score: str | Callable[[Any, Any], Any]) -> Scorer:
    """What scores the queries against all entities."""
    if scores is not None:
        if queries is not None or entities is not None or score != "dot":
            raise OptionError("scores exclude queries, entities and score", fix="Pass a matrix, or embeddings.")
        return Matrix(scores)
    if queries is None or entities is None:
        raise OptionError("nothing to rank", fix="Pass embeddings as queries and entities, or scores=matrix.")
    if callable(score):
        return FunctionOf(queries, entities, score)
    from graphgauge.ranking.scorers import Embeddings

    return Embeddings(queries, entities, score)


class EntityQueries(Queries):
    """Queries ranked by a scorer among all entities, or among the allowed ones of each, without those left out."""

    def __init__(
        self, scorer: Scorer, tasks: Tasks, labels: Labels, minus_inf: str | None, catalog: Catalog | None = None
    ) -> None:
        if minus_inf is not None:
            one_of("minus_inf", minus_inf, MINUS_INF)
        self.scorer, self.tasks, self.labels = scorer, tasks, labels
        self.n, self.minus_inf, self.catalog = scorer.queries, minus_inf, catalog
        self.answers = tasks.targets.sizes

    def work(self) -> int:
        return self.n * self.scorer.entities

    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        has = self.answered(rows)
        asked = self.rows(rows)[slice(None) if has is None else has]
        parts = [self.scorer.counts(part, self.tasks.take(part), self.minus_inf) for part in self._parts(asked)]
        counts = Counts.join(parts)
        met = counts.met + Met(unanswered=0 if has is None else int((~has).sum()))
        return replace(counts, met=met), has

    def recommended(self, k: int) -> Recommended:
        """The first items of all queries, of those without right answers, too."""
        assert self.catalog is not None
        parts, candidates = [], []
        for rows in self._parts(np.arange(self.n)):
            task = self.tasks.take(rows)
            row, item, score = self.scorer.top(rows, task, k)
            kept = ~np.isneginf(score) if self.minus_inf == "exclude" else slice(None)
            parts.append((rows[row][kept], item[kept], score[kept]))
            candidates.append(np.count_nonzero(task.candidates(), axis=1))
        columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Recommended.placed(*columns, candidates=np.concatenate(candidates), catalog=self.catalog, kept=k)

    def _parts(self, rows: Ints) -> Iterator[Ints]:
        """Rows that are scored together; one part without any."""
        step = max(_FEWEST, _AT_ONCE // max(self.scorer.entities, 1))
        for start in range(0, max(len(rows), 1), step):
            yield rows[start : start + step]


# ---- recommenders


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
    scorer = Matrix(scores) if items is None else scorer_of(scores, items, None, score)
    labels = Labels.given(scorer.queries, ids=ids, groups=groups, cluster=cluster, weights=weights)
    of = numbering(scorer, labels, names, "user", "item")
    right, left_out = Sets.read(test, of, "test"), Sets.read(known, of, "known")
    right.refuse_common(left_out, "test", "item {entity} of user {row} is known, too", "Leave it out of one of them.")
    task = Task(right, left_out, lists=True)
    queries = EntityQueries(scorer, task, labels, minus_inf, Catalog.of(catalog, scorer.entities))
    return evaluate(queries, k=k, ties=ties, metrics=metrics, confidence=confidence)
