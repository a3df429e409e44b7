"""Right answers ranked among all entities: of queries in general, of recommenders, and of knowledge graphs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints, Mask, as_labels, as_numeric, is_tensor, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.metric import Metric
from graphgauge.core.options import whole_number
from graphgauge.ranking.beyond import Catalog, Recommended
from graphgauge.ranking.counts import Counts, Labels, Met
from graphgauge.ranking.evaluate import evaluate
from graphgauge.ranking.queries import Queries, Rows
from graphgauge.ranking.scorers import SCORES, Embeddings, FunctionOf, Matrix, Scorer, Task
from graphgauge.ranking.scores import MINUS_INF
from graphgauge.ranking.sets import (
    Edges,
    Numbering,
    Sets,
    dense,
    is_one_each,
    require_one_numbering,
    triple_names,
    triples_of,
)

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
        Embeddings (q, d) and (m, d). With a scoring function, any arrays or tensors with one row per query and per
        entity.
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
    scorer = _scorer(queries, entities, scores, score)
    labels = Labels.given(scorer.queries, ids=ids, groups=groups, cluster=cluster, weights=weights)
    of = _numbering(scorer, labels, names)
    right = Sets.read(targets, of, "targets")
    allowed = None if candidates is None else Sets.read(candidates, of, "candidates")
    if allowed is not None:
        outside = ~allowed.contain(right.rows, right.values)
        what = "{entity} of query {row} is not among its candidates"
        right.refuse(outside, "targets", what, "Add it to candidates=.")
    left_out = Sets.read(known, of, "known").without(right)
    task = Task(right, left_out, allowed, lists=not is_one_each(targets))
    return EntityQueries(scorer, task, labels, minus_inf, Catalog.of(catalog, scorer.entities))


def _numbering(scorer: Scorer, labels: Labels, names: Any, *called: str) -> Numbering:
    """What sets of a scorer's queries and entities are about; these are called so in errors."""
    every = None if names is None else as_labels(names, "names")
    if every is not None:
        require_shape(every, (scorer.entities,), "names", "One name per entity, in their order.")
    return Numbering(scorer.queries, scorer.entities, labels.ids, every, *called)


def _scorer(queries: Any, entities: Any, scores: Any, score: str | Callable[[Any, Any], Any]) -> Scorer:
    """What scores the queries against all entities."""
    if not callable(score):
        one_of("score", score, SCORES)
    if scores is not None:
        if queries is not None or entities is not None or score != "dot":
            raise OptionError("scores exclude queries, entities and score", fix="Pass a matrix, or embeddings.")
        return Matrix(scores)
    if queries is None or entities is None:
        raise OptionError("nothing to rank", fix="Pass embeddings as queries and entities, or scores=matrix.")
    return FunctionOf(queries, entities, score) if callable(score) else Embeddings(queries, entities, score)


class EntityQueries(Queries):
    """Queries ranked by a scorer among all entities, or among the allowed ones of each, without those left out."""

    def __init__(
        self,
        scorer: Scorer,
        tasks: Task | Answers,
        labels: Labels,
        minus_inf: str | None,
        catalog: Catalog | None = None,
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
    if items is None and (callable(score) or score in ("l1", "l2")):
        raise OptionError("score needs items", fix="Pass embeddings of users and of items.")
    scorer = _scorer(None, None, scores, score) if items is None else _scorer(scores, items, None, score)
    labels = Labels.given(scorer.queries, ids=ids, groups=groups, cluster=cluster, weights=weights)
    of = _numbering(scorer, labels, names, "user", "item")
    right, left_out = Sets.read(test, of, "test"), Sets.read(known, of, "known")
    known_too = left_out.contain(right.rows, right.values)
    right.refuse(known_too, "test", "item {entity} of user {row} is known, too", "Leave it out of one of them.")
    task = Task(right, left_out, lists=True)
    queries = EntityQueries(scorer, task, labels, minus_inf, Catalog.of(catalog, scorer.entities))
    return evaluate(queries, k=k, ties=ties, metrics=metrics, confidence=confidence)


SIDES = ("head", "tail")
# How embeddings of entities and relations are scored: the distances are those of TransE.
TRIPLE_SCORES = ("distmult", "l1", "l2")
_MODEL = (
    "A function of heads, relations and tails that broadcasts, a model with predict_t and predict_h (.model of "
    "PyKEEN's results), or embeddings (entities, relations)."
)


def from_triples(
    model: Any,
    test: Any,
    *,
    known: Any = None,
    score: str | None = None,
    sides: Sequence[str] = ("head", "tail"),
    entities: int | None = None,
    names: Any = None,
    minus_inf: str = "rank",
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
) -> Queries:
    """The heads and tails of test triples among all entities; broken down by `side` and `relation`.

    The queries of one triple are one cluster. Triples are an array (n, 3) of head, relation and tail, a frame with
    these columns, a TriplesFactory of PyKEEN, or a list of these.

    Parameters
    ----------
    model
        Embeddings (entities, relations) with `score`; a model with `predict_t` and `predict_h`, as in PyKEEN, which
        take pairs (head, relation) and (relation, tail) and score all entities; or a function of heads, relations and
        tails that broadcasts, for tails (b, 1), (b, 1) and (1, entities).
    test
        The triples to rank.
    known
        True triples, training and validation, whose answers are left out; those of `test` with them. None ranks
        without a filter.
    score
        How embeddings are scored: `distmult`, or `l1` or `l2`, the distances of TransE.
    sides
        The ends that are asked for.
    entities
        The number of entities, if the model does not have it as `num_entities`.
    names
        (entity names, relation names) in order, or a TriplesFactory, if triples name them.
    minus_inf
        What a score of −inf means: `rank`, a low score like any other; `exclude`, no candidate.
    groups, cluster, weights
        As in `from_scores`, one per triple.

    Returns
    -------
    Queries
        For `evaluate` and `evaluate_until`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import ranking
    >>> model = np.eye(3), np.ones((1, 3))
    >>> queries = ranking.Queries.from_triples(model, np.array([[0, 0, 0], [1, 0, 2]]), score="distmult")
    >>> round(ranking.evaluate(queries)["mrr"].value, 4)
    0.7
    """
    chosen = (sides,) if isinstance(sides, str) else tuple(sides)
    for side in chosen:
        one_of("sides", side, SIDES)
    if not chosen or len({*chosen}) < len(chosen):
        raise OptionError("each side once, at least one", fix='For example sides=("head", "tail").')
    by_name = triple_names(names)
    require_one_numbering(by_name, known=known, test=test)
    triples = triples_of(test, "test", by_name)
    # Without known triples nothing is left out; with them the test triples are known, too.
    others = triples.take(slice(0, 0))
    if known is not None:
        others = Edges.joined([triples_of(known, "known", by_name), triples])
    rows = getattr(test, "mapped_triples", test)
    count, scorer = _asked(model, score, rows if is_tensor(rows) else triples.rows, entities)
    for name, edges in (("test", triples), ("known", others)):
        if edges.nodes > count:
            what = f"names the entity {edges.nodes - 1}, and entity numbers must be in 0 … {count - 1}"
            raise InputError(what, where=name, fix="Number entities from 0, or pass their number as entities=.")
    parts = []
    for side in chosen:
        turned = (triples, others) if side == "tail" else (triples.reversed, others.reversed)
        parts.append(EntityQueries(scorer(side), Answers(*turned, count), Labels(), minus_inf))
    return TripleQueries(parts, _labels(triples, chosen, {"groups": groups, "cluster": cluster, "weights": weights}))


class TripleQueries(Queries):
    """The queries of all sides, one side after the other."""

    def __init__(self, sides: Sequence[EntityQueries], labels: Labels) -> None:
        self._sides, self.labels = sides, labels
        self.n = sum(side.n for side in sides)

    def work(self) -> int:
        return sum(side.work() for side in self._sides)

    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        numbers = self.rows(rows)
        size = self._sides[0].n
        parts, order = [], [np.empty(0, np.int64)]
        for place, side in enumerate(self._sides):
            own = np.flatnonzero(numbers // max(size, 1) == place)
            parts.append(side.count_rows(numbers[own] - place * size)[0])
            order.append(own)
        return Counts.join(parts).take(np.argsort(np.concatenate(order))), None


class Answers:
    """The tasks of one side: its right answers, and those of known triples to the same question, which are left out.

    Edges are turned so that their tail is asked for.
    """

    def __init__(self, asked: Edges, known: Edges, entities: int) -> None:
        self.targets = Sets(asked.tail, np.arange(len(asked) + 1), entities)
        both = Edges.joined([asked, known])
        question = dense(both.head, both.relation)
        self._question, others = np.split(question, [len(asked)])
        self._known = Sets.from_pairs(others, known.tail, int(question.max(initial=-1)) + 1, entities)

    def take(self, rows: Any) -> Task:
        targets = self.targets.take(rows)
        return Task(targets, self._known.take(self._question[rows]).without(targets))


def _labels(triples: Edges, sides: Sequence[str], about: Mapping[str, Any]) -> Labels:
    """Sides and relations as groups; the queries of one triple, also where it is repeated, are one cluster."""
    n = len(triples)
    cluster = _codes(triples) if about["cluster"] is None else about["cluster"]
    given = Labels.given(n, **{**about, "cluster": cluster})
    for name in ("side", "relation"):
        if name in given.groups:
            raise OptionError(f"groups already have {name!r}", fix="Leave it out, or rename it.")
    every = given.take(np.tile(np.arange(n), len(sides)))
    own = {"side": np.repeat(np.array(sides), n), "relation": np.tile(triples.relation, len(sides))}
    ids = np.concatenate([len(SIDES) * np.arange(n) + SIDES.index(side) for side in sides])
    return Labels(ids, {**own, **every.groups}, every.cluster, every.weights)


def _codes(triples: Edges) -> Ints:
    """A number of each triple that is the same in every batch, as far as numbers are large enough."""
    if triples.nodes > 1 << 24 or int(triples.relation.max(initial=0)) >= 1 << 15:
        return triples.numbers
    codes: Ints = triples.head << 39 | triples.relation << 24 | triples.tail
    return codes


# ---- models


def _asked(model: Any, score: str | None, rows: Any, entities: int | None) -> tuple[int, Callable[[str], Scorer]]:
    """The number of entities, and what scores them for the queries of a side."""
    if isinstance(model, tuple):
        return _of_embeddings(model, score, as_numeric(rows, "test").astype(np.int64), entities)
    if score is not None:
        raise OptionError("score goes with embeddings", fix="A model scores triples itself.")
    if not (callable(model) or (hasattr(model, "predict_t") and hasattr(model, "predict_h"))):
        raise OptionError(f"expected a model, not {model!r:.60}", fix=_MODEL)
    given = getattr(model, "num_entities", None) if entities is None else entities
    if given is None:
        raise OptionError("entities not given", fix="Pass the number of entities.")
    count = whole_number("entities", int(given) if hasattr(given, "__index__") else given, 1)
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module) and not is_tensor(rows):
        rows = torch.as_tensor(rows, device=next((each.device for each in model.parameters()), None))
    every: Any = torch.arange(count, device=rows.device) if is_tensor(rows) else np.arange(count)

    def scorer(side: str) -> Scorer:
        return FunctionOf(rows[:, 1:] if side == "head" else rows[:, :2], every, _function(model, side))

    return count, scorer


def _of_embeddings(
    model: tuple[Any, ...], score: str | None, rows: Ints, entities: int | None
) -> tuple[int, Callable[[str], Scorer]]:
    """DistMult and TransE: a query is an embedding too, and is compared with those of all entities."""
    if len(model) != 2:
        raise OptionError(f"expected embeddings of entities and relations, found {len(model)} parts", fix=_MODEL)
    if score is None:
        raise OptionError("score not given", fix=f"Embeddings are scored by {', '.join(TRIPLE_SCORES)}.")
    one_of("score", score, TRIPLE_SCORES)
    vectors, shifts = as_numeric(model[0], "entities"), as_numeric(model[1], "relations")
    require_shape(vectors, (None, None), "entities", "Embeddings have shape (entities, d).")
    require_shape(shifts, (None, vectors.shape[1]), "relations", "Entities and relations have the same width.")
    if entities is not None and entities != len(vectors):
        raise OptionError(f"entities is {entities}, and there are {len(vectors)} embeddings", fix="Leave it out.")
    last = int(rows[:, 1].max(initial=-1))
    if last >= len(shifts):
        said = f"names the relation {last}, and relation numbers must be in 0 … {len(shifts) - 1}"
        raise InputError(said, where="test", fix="Number them from 0.")

    def scorer(side: str) -> Scorer:
        dtype = np.result_type(vectors, shifts, np.float32)
        fixed, moved = vectors[rows[:, 0 if side == "tail" else 2]].astype(dtype), shifts[rows[:, 1]].astype(dtype)
        if score == "distmult":  # the product is rounded once, and is then the query
            return Embeddings(fixed * moved, vectors, "dot")
        return Embeddings(fixed + moved if side == "tail" else fixed - moved, vectors, str(score))

    return len(vectors), scorer


def _function(model: Any, side: str) -> Callable[[Any, Any], Any]:
    """A function of pairs (head, relation) or (relation, tail) and of all entities."""
    if hasattr(model, "predict_t") and hasattr(model, "predict_h"):
        score = model.predict_t if side == "tail" else model.predict_h
        return lambda pairs, _: score(pairs)
    if side == "tail":
        return lambda pairs, every: model(pairs[:, :1], pairs[:, 1:], every[None])
    return lambda pairs, every: model(every[None], pairs[:, :1], pairs[:, 1:])
