"""Knowledge graphs: both sides of test triples in one call, filtered by known triples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints, is_tensor
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.ranking.all_entities import rank_all
from graphgauge.ranking.edges import Edges
from graphgauge.ranking.inputs import as_groups
from graphgauge.ranking.state import RankingState

SIDES = ("head", "tail")
# The columns of a triple that are given if this side is asked for.
_GIVEN = {"head": slice(1, 3), "tail": slice(0, 2)}
_MODEL = (
    'A function of heads, relations and tails that broadcasts, a dictionary {"tail": f, "head": g} of functions of '
    "pairs (b, 2) that score all entities, or a model with predict_t and predict_h."
)


def known_answers(triples: Any, known: Any, side: str = "tail") -> tuple[Ints, Ints]:
    """The answers to each triple's query that known triples contain, as `(values, offsets)` for `known=` of `rank_all`.

    `known` is an array of triples (n, 3) or a list of them: training, validation, test.

    >>> known_answers([[0, 0, 1]], [[0, 0, 1], [0, 0, 2], [1, 0, 3]])
    (array([1, 2]), array([0, 2]))
    """
    one_of("side", side, SIDES)
    asked, all_known = _triples(triples, "triples"), _joined(known, "known")
    heads, tails = asked.head, asked.tail
    given, others = (heads, all_known.head) if side == "tail" else (tails, all_known.tail)
    answers = all_known.tail if side == "tail" else all_known.head
    relations = 1 + max(int(asked.relation.max(initial=0)), int(all_known.relation.max(initial=0)))
    if (1 + max(int(given.max(initial=0)), int(others.max(initial=0)))) * relations > np.iinfo(np.int64).max:
        raise InputError("node numbers are too large to be looked up", fix="Number nodes from 0 without gaps.")
    keys, wanted = others * relations + all_known.relation, given * relations + asked.relation
    order = np.lexsort((answers, keys))
    keys, answers = keys[order], answers[order]
    fresh = np.ones(len(keys), bool)
    fresh[1:] = (keys[1:] != keys[:-1]) | (answers[1:] != answers[:-1])
    keys, answers = keys[fresh], answers[fresh]
    first, last = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, side="right")
    size = last - first
    ends = np.cumsum(size)
    inside = np.arange(int(size.sum())) - np.repeat(ends - size, size)
    return answers[np.repeat(first, size) + inside], np.concatenate([[0], ends])


def rank_triples(
    model: Any,
    test: Any,
    *,
    known: Any = None,
    sides: Sequence[str] = SIDES,
    entities: int | None = None,
    candidates: Mapping[str, Any] | None = None,
    groups: Mapping[str, Any] | None = None,
    keep: str | None = None,
    batch: int | None = None,
    max_memory: int | None = None,
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
        in PyKEEN. If `test` is a tensor, they get tensors.
    known
        Triples whose answers are left out, an array or a list of arrays: training, validation. Those of `test` are left
        out with them. None ranks without a filter.
    entities
        The number of entities; by default the model's `num_entities`.
    candidates
        Allowed entities by relation, `{"tail": sets, "head": sets}`: one set per relation, as in `rank_all`.
    groups
        Further labels, one per triple.
    """
    sides = _sides(sides)
    triples = _triples(test, "test")
    count = _entities(model, entities)
    last = max(triples.head.max(initial=0), triples.tail.max(initial=0))
    if len(triples) and last >= count:
        raise InputError(f"names the entity {last}, and entity numbers must be in 0 … {count - 1}", where="test",
                         fix="Number entities from 0, or pass their number as entities=.")  # fmt: skip
    scorers = _scorers(model, sides, test, count)
    extra = as_groups(groups)
    for name in ("side", "relation"):
        if name in extra:
            raise OptionError(f"groups already have {name!r}", fix="Leave it out, or rename it.")
    rows = test if is_tensor(test) else np.stack([triples.head, triples.relation, triples.tail], axis=1)
    known_triples = None if known is None else Edges.joined([_joined(known, "known"), triples])
    cluster = _numbered(triples)
    state = RankingState(keep=keep)
    for side in sides:
        targets = triples.tail if side == "tail" else triples.head
        filtered = None if known_triples is None else known_answers(
            np.stack([triples.head, triples.relation, triples.tail], axis=1),
            np.stack([known_triples.head, known_triples.relation, known_triples.tail], axis=1), side,
        )  # fmt: skip
        allowed = (candidates or {}).get(side)
        state.merge(
            rank_all(
                rows[:, _GIVEN[side]], np.arange(count), targets, score=scorers[side], known=filtered,
                candidates=allowed, kinds=None if allowed is None else triples.relation,
                groups={"side": np.full(len(triples), side), "relation": triples.relation, **extra}, cluster=cluster,
                ids=len(SIDES) * np.arange(len(triples)) + SIDES.index(side), keep=keep, batch=batch,
                max_memory=max_memory, threads=threads,
            )
        )  # fmt: skip
    return state


def _sides(sides: Sequence[str]) -> tuple[str, ...]:
    chosen = (sides,) if isinstance(sides, str) else tuple(sides)
    for side in chosen:
        one_of("side", side, SIDES)
    if not chosen or len({*chosen}) < len(chosen):
        raise OptionError("each side once, at least one", fix='For example sides=("head", "tail").')
    return chosen


def _triples(given: Any, name: str) -> Edges:
    if np.shape(given)[1:] != (3,):
        raise InputError(f"expected triples (n, 3), found shape {tuple(np.shape(given))}", where=name,
                         fix="Whole numbers: head, relation, tail.")  # fmt: skip
    return Edges.of(given, name)


def _joined(given: Any, name: str) -> Edges:
    """One array of triples, or a list of them."""
    if isinstance(given, list | tuple) and any(np.ndim(part) == 2 for part in given):
        return Edges.joined([_triples(part, f"{name}[{number}]") for number, part in enumerate(given)])
    return _triples(given, name)


def _numbered(triples: Edges) -> Ints:
    """The number of each triple among the distinct ones: a repeated triple is one cluster."""
    rows = np.stack([triples.head, triples.relation, triples.tail], axis=1)
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)


def _entities(model: Any, entities: int | None) -> int:
    found = getattr(model, "num_entities", None) if entities is None else entities
    if found is None:
        raise OptionError("entities not given", fix="Pass the number of entities.")
    return whole_number("entities", int(found) if hasattr(found, "__index__") else found, 1)


def _scorers(model: Any, sides: tuple[str, ...], test: Any, entities: int) -> dict[str, Callable[[Any, Any], Any]]:
    """For each side, the function that scores a block of its queries against all entities."""
    if isinstance(model, Mapping):
        methods = dict(model)
    elif hasattr(model, "predict_t") and hasattr(model, "predict_h"):
        methods = {"tail": model.predict_t, "head": model.predict_h}
    elif callable(model):
        return {side: _broadcast(model, side, test, entities) for side in sides}
    else:
        raise OptionError(f"expected a model, not {model!r:.60}", fix=_MODEL)
    missing = [side for side in sides if not callable(methods.get(side))]
    if missing:
        raise OptionError(f"no function for the side {missing[0]!r}", fix=_MODEL)
    return {side: _of_pairs(methods[side]) for side in sides}


def _of_pairs(score: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda rows, _: score(rows)


def _broadcast(score: Callable[..., Any], side: str, test: Any, entities: int) -> Callable[[Any, Any], Any]:
    def scored(rows: Any, _: Any) -> Any:
        every: Any = np.arange(entities)[None, :]
        if is_tensor(test):
            import torch

            every = torch.as_tensor(every, device=test.device)
        first, second = rows[:, :1], rows[:, 1:]
        return score(first, second, every) if side == "tail" else score(every, first, second)

    return scored
