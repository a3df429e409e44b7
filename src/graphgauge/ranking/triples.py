"""Knowledge graphs: the heads and tails of test triples among all entities, filtered by known triples."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints, Mask, as_numeric, is_tensor, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.ranking.counts import Counts, Labels
from graphgauge.ranking.entities import EntityQueries
from graphgauge.ranking.queries import Queries, Rows
from graphgauge.ranking.scorers import FunctionOf, Scorer, Task
from graphgauge.ranking.sets import Edges, Sets, TripleNames, dense, triples_of

SIDES = ("head", "tail")
# How embeddings of entities and relations are scored: the distances are those of TransE.
TRIPLE_SCORES = ("distmult", "l1", "l2")
_MODEL = (
    'A function of heads, relations and tails that broadcasts, a dictionary {"tail": f, "head": g} of functions of '
    "pairs (b, 2) that score all entities, a model with predict_t and predict_h (.model of PyKEEN's results), or "
    "embeddings (entities, relations)."
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
        Embeddings (entities, relations) with `score`; a model with `predict_t` and `predict_h`, as in PyKEEN; a
        dictionary `{"tail": f, "head": g}` of such functions of pairs (head, relation) and (relation, tail), which
        score all entities; or a function of heads, relations and tails that broadcasts, for tails (b, 1), (b, 1) and
        (1, entities).
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
    by_name = TripleNames.of(names)
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
        parts.append(EntityQueries(scorer(side), Answers(*turned, count), Labels(), "rank"))
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
    if not (
        callable(model) or isinstance(model, Mapping) or (hasattr(model, "predict_t") and hasattr(model, "predict_h"))
    ):
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
    from graphgauge.ranking.scorers import Embeddings

    if len(model) != 2:
        raise OptionError(f"expected embeddings of entities and relations, found {len(model)} parts", fix=_MODEL)
    if score not in TRIPLE_SCORES:
        what = "score not given" if score is None else f"score is {score!r:.60}"
        raise OptionError(what, fix=f"Embeddings are scored by {', '.join(TRIPLE_SCORES)}.")
    vectors, shifts = as_numeric(model[0], "entities"), as_numeric(model[1], "relations")
    require_shape(vectors, (None, None), "entities", "Embeddings have shape (entities, d).")
    require_shape(shifts, (None, vectors.shape[1]), "relations", "Entities and relations have the same width.")
    if entities is not None and entities != len(vectors):
        raise OptionError(f"entities is {entities}, and there are {len(vectors)} embeddings", fix="Leave it out.")
    for column, table, what in ((0, vectors, "entity"), (1, shifts, "relation"), (2, vectors, "entity")):
        last = int(rows[:, column].max(initial=-1))
        if last >= len(table):
            said = f"names the {what} {last}, and {what} numbers must be in 0 … {len(table) - 1}"
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
        model = {"tail": model.predict_t, "head": model.predict_h}
    if isinstance(model, Mapping):
        score = model.get(side)
        if not callable(score):
            raise OptionError(f"no function for the side {side!r}", fix=_MODEL)
        return lambda pairs, _: score(pairs)
    if side == "tail":
        return lambda pairs, every: model(pairs[:, :1], pairs[:, 1:], every[None])
    return lambda pairs, every: model(every[None], pairs[:, :1], pairs[:, 1:])
