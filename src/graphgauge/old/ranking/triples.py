"""Knowledge graphs: both sides of test triples in one call, filtered by known triples."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.arrays import Ints, as_numeric, is_tensor, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.old.ranking.all_entities import rank_all
from graphgauge.old.ranking.edges import Edges
from graphgauge.old.ranking.inputs import as_groups
from graphgauge.old.ranking.state import RankingState

SIDES = ("head", "tail")
# How embeddings of entities and relations are scored: the distances are those of TransE.
TRIPLE_SCORES = ("distmult", "l1", "l2")
# The columns of a triple that are given if this side is asked for.
_GIVEN = {"head": slice(1, 3), "tail": slice(0, 2)}
_MODEL = (
    'A function of heads, relations and tails that broadcasts, a dictionary {"tail": f, "head": g} of functions of '
    "pairs (b, 2) that score all entities, a model with predict_t and predict_h, or embeddings (entities, relations)."
)


def known_answers(triples: Any, known: Any, side: str = "tail") -> tuple[Ints, Ints]:
    """The answers to each triple's query that known triples contain, as `(values, offsets)` for `known=` of `rank_all`.

    `known` is an array of triples (n, 3) or a list of them: training, validation, test.

    Parameters
    ----------
    triples
        Triples (n, 3) of head, relation and tail, by number, whose head or tail is asked for.
    known
        Triples that are true.
    side
        The end that is asked for: `tail` or `head`.

    Returns
    -------
    tuple of numpy.ndarray
        Entity numbers of all queries, and where those of each query begin (n + 1).

    Raises
    ------
    InputError
        If an array is not (n, 3).

    Examples
    --------
    >>> from graphgauge import ranking
    >>> values, offsets = ranking.known_answers([[0, 0, 1]], [[0, 0, 1], [0, 0, 2], [1, 0, 3]])
    >>> values.tolist(), offsets.tolist()
    ([1, 2], [0, 2])
    """
    one_of("side", side, SIDES)
    return KnownAnswers(_triples(triples, "triples"), _joined(known, "known"), side).take()


class KnownAnswers:
    """The answers to the queries of triples that known triples contain, looked up for some queries or for all."""

    def __init__(self, asked: Edges, all_known: Edges, side: str) -> None:
        given, others = (asked.head, all_known.head) if side == "tail" else (asked.tail, all_known.tail)
        answers = all_known.tail if side == "tail" else all_known.head
        relations = 1 + max(int(asked.relation.max(initial=0)), int(all_known.relation.max(initial=0)))
        if (1 + max(int(given.max(initial=0)), int(others.max(initial=0)))) * relations > np.iinfo(np.int64).max:
            raise InputError("node numbers are too large to be looked up", fix="Number nodes from 0 without gaps.")
        keys, self._wanted = others * relations + all_known.relation, given * relations + asked.relation
        order = np.lexsort((answers, keys))
        keys, answers = keys[order], answers[order]
        fresh = np.ones(len(keys), bool)
        fresh[1:] = (keys[1:] != keys[:-1]) | (answers[1:] != answers[:-1])
        self._keys, self._answers = keys[fresh], answers[fresh]

    def __len__(self) -> int:
        return len(self._wanted)

    def take(self, rows: Ints | slice = slice(None)) -> tuple[Ints, Ints]:
        """As `(values, offsets)`."""
        wanted = self._wanted[rows]
        first, last = np.searchsorted(self._keys, wanted), np.searchsorted(self._keys, wanted, side="right")
        size = last - first
        ends = np.cumsum(size)
        inside = np.arange(int(size.sum())) - np.repeat(ends - size, size)
        return self._answers[np.repeat(first, size) + inside], np.concatenate([[0], ends])


def rank_triples(
    model: Any,
    test: Any,
    *,
    score: str | None = None,
    known: Any = None,
    sides: Sequence[str] = SIDES,
    entities: int | None = None,
    candidates: Mapping[str, Any] | None = None,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    keep: str | None = None,
    batch: int | None = None,
    threads: int | None = None,
) -> RankingState:
    """Rank the heads and tails of test triples (n, 3) among all entities; returns the state to evaluate.

    Results are broken down by `side` and `relation`, and the queries of one triple are one cluster.

    Parameters
    ----------
    model
        A function `score(heads, relations, tails)` of index arrays that broadcasts to (b, entities): for tails it gets
        (b, 1), (b, 1) and (1, entities). Or `{"tail": f, "head": g}`, functions of pairs (b, 2), (head, relation) and
        (relation, tail), that return scores (b, entities); or a model with such methods `predict_t` and `predict_h`, as
        in PyKEEN. If `test` is a tensor or the model a module of torch, they get tensors. Or embeddings of entities and
        relations, a pair (entities, d), (relations, d), with `score`.
    score
        How embeddings are scored: `distmult`, or `l1` or `l2`, the distances of TransE.
    known
        Triples whose answers are left out, an array or a list of arrays: training, validation. Those of `test` are left
        out with them. None ranks without a filter.
    entities
        The number of entities; by default the model's `num_entities`, or the number of embeddings.
    candidates
        Allowed entities by relation, `{"tail": sets, "head": sets}`: one set per relation, as in `rank_all`.
    groups
        Further labels, one per triple.
    cluster
        Integers, one per triple, if not each triple is a cluster of its own.
    weights
        How much each triple counts.
    test
        Triples (n, 3) of head, relation and tail, by number.
    sides
        The ends that are asked for: `head`, `tail` or both.
    keep
        `"items"` keeps each query's counts.
    batch, threads
        As in `rank_all`.

    Returns
    -------
    RankingState
        The counts of all queries, one per triple and side.

    Raises
    ------
    InputError
        If a triple is out of range, or scores do not have the shape (b, entities).

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import ranking
    >>> entities, relations = np.eye(3), np.ones((1, 3))
    >>> state = ranking.rank_triples((entities, relations), [[0, 0, 0], [1, 0, 2]], score="distmult")
    >>> round(state.evaluate()["mrr"].value, 4)
    0.7
    """
    asked = TripleQueries.of(
        model, test, score=score, known=known, sides=sides, entities=entities, candidates=candidates
    )
    cluster = asked.numbers if cluster is None else cluster
    labels = {"groups": groups, "cluster": cluster, "weights": weights, "keep": keep}
    return _rank_sides(asked, 0, labels, batch=batch, threads=threads)


def rank_some_triples(
    model: Any,
    test: Any,
    rows: slice,
    *,
    known: Any = None,
    score: str | None = None,
    sides: Sequence[str] = SIDES,
    entities: int | None = None,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    keep: str | None = None,
    threads: int | None = None,
) -> RankingState:
    """The part of `rank_triples` with some of the triples; labels are those of the part."""
    every = _triples(test, "test")
    if known is not None:
        known = Edges.joined([_joined(known, "known"), every])
    asked = TripleQueries.of(model, test[rows], score=score, known=known, sides=sides, entities=entities)
    cluster = _numbered(every)[rows] if cluster is None else cluster
    labels = {"groups": groups, "cluster": cluster, "weights": weights, "keep": keep}
    return _rank_sides(asked, rows.start, labels, threads=threads)


def _rank_sides(asked: TripleQueries, first: int, labels: Mapping[str, Any], **limits: Any) -> RankingState:
    """Both sides of the triples, of which the first one has this number."""
    triples, extra = asked.triples, as_groups(labels["groups"])
    for name in ("side", "relation"):
        if name in extra:
            raise OptionError(f"groups already have {name!r}", fix="Leave it out, or rename it.")
    state = RankingState(keep=labels["keep"])
    for side in asked.sides:
        own = {"side": np.full(len(triples), side), "relation": triples.relation, **extra}
        ids = len(SIDES) * (first + np.arange(len(triples))) + SIDES.index(side)
        counting: dict[str, Any] = {**asked.options(side), **labels, **limits, "groups": own, "ids": ids}
        queries, entities, targets = asked.arguments(side)
        state.merge(rank_all(queries, entities, targets, **counting))
    return state


@dataclass(frozen=True)
class TripleQueries:
    """The queries of test triples, side by side, as arguments of `rank_all`."""

    triples: Edges
    sides: tuple[str, ...]
    asker: _Asker
    known: Edges | None
    allowed: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        model: Any,
        test: Any,
        *,
        score: str | None = None,
        known: Any = None,
        sides: Sequence[str] = SIDES,
        entities: int | None = None,
        candidates: Mapping[str, Any] | None = None,
    ) -> TripleQueries:
        """The arguments are those of `rank_triples`."""
        chosen = _sides(sides)
        triples = _triples(test, "test")
        rows = test if is_tensor(test) else np.stack([triples.head, triples.relation, triples.tail], axis=1)
        asker = _asker(model, score, rows, entities)
        _require_entities(triples, asker.entities, "test")
        known_triples = None
        if known is not None:
            known_triples = Edges.joined([_joined(known, "known"), triples])
            _require_entities(known_triples, asker.entities, "known")
        return cls(triples, chosen, asker, known_triples, _by_side(candidates))

    def arguments(self, side: str) -> tuple[Any, Any, Ints]:
        """The queries, the entities, and the right answers."""
        queries, every, _ = self.asker.asked(side)
        return queries, every, self.triples.tail if side == "tail" else self.triples.head

    def options(self, side: str, at_once: bool = True) -> dict[str, Any]:
        """Known answers of all queries `at_once`, or those of some when they are asked."""
        allowed = self.allowed[side]
        known = None if self.known is None else KnownAnswers(self.triples, self.known, side)
        return {
            "score": self.asker.asked(side)[2],
            "known": known.take() if at_once and known is not None else known,
            "candidates": allowed,
            "kinds": None if allowed is None else self.triples.relation,
        }

    @property
    def numbers(self) -> Ints:
        """The number of each triple among the distinct ones: a repeated triple is one cluster."""
        return _numbered(self.triples)


def _require_entities(triples: Edges, count: int, name: str) -> None:
    last = max(triples.head.max(initial=-1), triples.tail.max(initial=-1))
    if last >= count:
        raise InputError(
            f"names the entity {last}, and entity numbers must be in 0 … {count - 1}",
            where=name,
            fix="Number entities from 0, or pass their number as entities=.",
        )


def _by_side(candidates: Mapping[str, Any] | None) -> dict[str, Any]:
    """The allowed candidates of each side, or None."""
    if candidates is not None and not isinstance(candidates, Mapping):
        raise InputError(
            f"expected sets by side, found {type(candidates).__name__}",
            where="candidates",
            fix='For example {"tail": sets}, one set per relation.',
        )
    for side in candidates or ():
        one_of("side", side, SIDES)
    return {side: (candidates or {}).get(side) for side in SIDES}


def _sides(sides: Sequence[str]) -> tuple[str, ...]:
    chosen = (sides,) if isinstance(sides, str) else tuple(sides)
    for side in chosen:
        one_of("side", side, SIDES)
    if not chosen or len({*chosen}) < len(chosen):
        raise OptionError("each side once, at least one", fix='For example sides=("head", "tail").')
    return chosen


def _triples(given: Any, name: str) -> Edges:
    if np.shape(given)[1:] != (3,):
        raise InputError(
            f"expected triples (n, 3), found shape {tuple(np.shape(given))}",
            where=name,
            fix="Whole numbers: head, relation, tail.",
        )
    return Edges.of(given, name)


def _joined(given: Any, name: str) -> Edges:
    """One array of triples, or a list of them."""
    if isinstance(given, Edges):
        return given
    if isinstance(given, list | tuple) and any(np.ndim(part) == 2 for part in given):
        return Edges.joined([_triples(part, f"{name}[{number}]") for number, part in enumerate(given)])
    return _triples(given, name)


def _numbered(triples: Edges) -> Ints:
    """The number of each triple among the distinct ones: a repeated triple is one cluster."""
    rows = np.stack([triples.head, triples.relation, triples.tail], axis=1)
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)


class _Asker(NamedTuple):
    """How the queries of a side are asked: their rows, all entities, and the score, for `rank_all`."""

    entities: int
    asked: Callable[[str], tuple[Any, Any, Any]]


def _asker(model: Any, score: str | None, rows: Any, entities: int | None) -> _Asker:
    if isinstance(model, tuple):
        return _of_embeddings(model, score, rows, entities)
    if score is not None:
        raise OptionError("score goes with embeddings", fix="A model scores triples itself.")
    count = _entities(model, entities)
    rows = _for_model(model, rows)
    methods = _methods(model)

    def asked(side: str) -> tuple[Any, Any, Any]:
        function: Any
        if methods is None:
            function = _broadcast(model, side, rows)
        elif callable(methods.get(side)):
            function = _of_pairs(methods[side])
        else:
            raise OptionError(f"no function for the side {side!r}", fix=_MODEL)
        return rows[:, _GIVEN[side]], np.arange(count), function

    return _Asker(count, asked)


def _of_embeddings(model: tuple[Any, ...], score: str | None, rows: Any, entities: int | None) -> _Asker:
    """DistMult and TransE: a query is an embedding too, and is compared with those of all entities."""
    if len(model) != 2:
        raise OptionError(f"expected embeddings of entities and relations, found {len(model)} parts", fix=_MODEL)
    if score not in TRIPLE_SCORES:
        raise OptionError(
            f"score is {score!r:.60}" if score is not None else "score not given",
            fix=f"Embeddings are scored by {', '.join(TRIPLE_SCORES)}.",
        )
    vectors, shifts = model
    vectors, shifts = as_numeric(vectors, "entities"), as_numeric(shifts, "relations")
    require_shape(vectors, (None, None), "entities", "Embeddings have shape (entities, d).")
    require_shape(shifts, (None, vectors.shape[1]), "relations", "Entities and relations have the same width.")
    if entities is not None and entities != len(vectors):
        raise OptionError(f"entities is {entities}, and there are {len(vectors)} embeddings", fix="Leave it out.")
    heads, kinds, tails = (as_numeric(rows[:, column], "test") for column in range(3))
    if kinds.max(initial=-1) >= len(shifts):
        raise InputError(
            f"names the relation {kinds.max()}, and relation numbers must be in 0 … {len(shifts) - 1}",
            where="test",
            fix="Number relations from 0.",
        )

    def asked(side: str) -> tuple[Any, Any, Any]:
        dtype = np.result_type(vectors, shifts, np.float32)
        given, moved = vectors[heads if side == "tail" else tails].astype(dtype), shifts[kinds].astype(dtype)
        if score == "distmult":
            return (given, moved), vectors, score
        return (given + moved if side == "tail" else given - moved), vectors, score

    return _Asker(len(vectors), asked)


def _for_model(model: Any, rows: Any) -> Any:
    """The triples as a tensor on the device of a module of torch."""
    torch: Any = sys.modules.get("torch")
    if torch is None or is_tensor(rows) or not isinstance(model, torch.nn.Module):
        return rows
    device = next((parameter.device for parameter in model.parameters()), None)
    return torch.as_tensor(rows, device=device)


def _entities(model: Any, entities: int | None) -> int:
    found = getattr(model, "num_entities", None) if entities is None else entities
    if found is None:
        raise OptionError("entities not given", fix="Pass the number of entities.")
    return whole_number("entities", int(found) if hasattr(found, "__index__") else found, 1)


def _methods(model: Any) -> dict[str, Any] | None:
    """The functions of pairs, by side; None if the model is a function of triples."""
    if isinstance(model, Mapping):
        return dict(model)
    if hasattr(model, "predict_t") and hasattr(model, "predict_h"):
        return {"tail": model.predict_t, "head": model.predict_h}
    if callable(model):
        return None
    raise OptionError(f"expected a model, not {model!r:.60}", fix=_MODEL)


def _of_pairs(score: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A function of pairs, which scores all entities."""
    return lambda rows, _: score(rows)


def _broadcast(score: Callable[..., Any], side: str, triples: Any) -> Callable[[Any, Any], Any]:
    def scored(rows: Any, numbers: Any) -> Any:
        every: Any = numbers[None, :]
        if is_tensor(triples):
            import torch

            every = torch.as_tensor(every, device=triples.device)
        first, second = rows[:, :1], rows[:, 1:]
        return score(first, second, every) if side == "tail" else score(every, first, second)

    return scored
