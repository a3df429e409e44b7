"""Queries that are counted when they are drawn: embeddings, scores in memory or files, flat scores, a callback."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_labels, as_numeric, is_tensor, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import whole_number
from graphgauge.old.io.arrays import Shards
from graphgauge.old.ranking.all_entities import (
    MINUS_INF,
    Counter,
    Field,
    Scorer,
    answers_of,
    counted_block,
    one_target_each,
    scorer_of,
)
from graphgauge.old.ranking.entity_sets import EntitySets, SomeSets, number_of_sets, places
from graphgauge.old.ranking.inputs import as_integers, checked_offsets
from graphgauge.old.ranking.items import Items, ListItems
from graphgauge.old.ranking.lists import Queries, as_grades
from graphgauge.old.ranking.state import RankingState
from graphgauge.old.ranking.triples import SIDES, TripleQueries

Counted = Items | ListItems
# Queries that are scored at once, at most.
_BLOCK = 1024


class Source(Protocol):
    """Queries by number; `count` ranks the right answers of some of them, under their numbers as ids.

    `step` is the smallest number of queries that is worth a look.
    """

    queries: int
    step: int

    def count(self, rows: Ints) -> Counted: ...


class EntityQueries:
    """Queries ranked among all entities, with the arguments of `rank_all`."""

    step = 64

    def __init__(
        self,
        queries: Any,
        entities: Any,
        targets: Any,
        *,
        score: str | Scorer = "dot",
        known: Any = None,
        candidates: Any = None,
        kinds: Any = None,
        minus_inf: str = MINUS_INF[0],
        batch: int | None = None,
        threads: int | None = None,
    ) -> None:
        # The part that concerns the entities is prepared once, not for every block of queries.
        self.scorer: Counter = scorer_of(queries, entities, score, minus_inf)
        self.queries, self.entities = self.scorer.queries, self.scorer.entities
        self.one_each = one_target_each(targets)
        self._answers = answers_of(targets, self.scorer, self.one_each)
        # Queries without a right answer have no value, and are not drawn.
        self.chosen = np.flatnonzero(self._answers.sizes)
        self._minus_inf = minus_inf
        self._known = None if known is None else SomeSets(known, self.queries, "known")
        self._kinds = None if kinds is None else as_integers(kinds, "kinds")
        self._candidates: Any = None
        if candidates is not None and self._kinds is not None:
            require_shape(self._kinds, (self.queries,), "kinds", "One kind per query.")
            count = number_of_sets(candidates)
            self._candidates = EntitySets.of(candidates, count, self.entities, "candidates", "kind")
        elif candidates is not None:
            self._candidates = SomeSets(candidates, self.queries, "candidates")
        if batch is None:
            # Looks are further and further apart; blocks of one size use the same memory.
            batch = min(self.scorer.rows_at_once, _BLOCK)
        self._limits: dict[str, Any] = {"batch": batch, "threads": threads}
        self.given, self.queries = self.queries, len(self.chosen)
        self._score = score

    @cached_property
    def fingerprint(self) -> str:
        """What stands for the inputs, where it is known without scoring."""
        score = self._score if isinstance(self._score, str) else "function"
        known = hashlib.sha256(f"{score} {self.entities}".encode())
        kinds = b"" if self._kinds is None else np.ascontiguousarray(self._kinds).tobytes()
        known.update(self._answers.values.tobytes() + self._answers.offsets.tobytes() + kinds)
        for part in getattr(self.scorer, "magnitudes", ()):
            known.update(np.ascontiguousarray(part).tobytes())
        for name, sets in (("known", self._known), ("candidates", self._candidates)):
            known.update(f"{name} {sets is not None}".encode())
            if isinstance(sets, SomeSets):
                known.update(sets.flat)
        return known.hexdigest()[:24]

    def asking(self, rows: Ints) -> tuple[Counter, Field]:
        """The scorer of some queries, and the entities that take part in them; the sets of others are not read."""
        scorer = self.scorer.asking(rows)
        known = None if self._known is None else self._known.take(rows)
        candidates, kinds = self._candidates, self._kinds
        if kinds is not None:
            kinds = kinds[rows]
        elif candidates is not None:
            candidates = candidates.take(rows)
        return scorer, Field.of(self._answers.take(rows), known, candidates, kinds, scorer, rows)

    def candidates(self) -> Ints | None:
        """How many candidates each query has, where that is known without scores."""
        if not self.one_each or self._minus_inf == "exclude":
            return None
        parts = [
            self.asking(np.arange(start, min(start + _BLOCK, self.queries)))[1].negatives() + 1
            for start in range(0, self.queries, _BLOCK)
        ]
        return np.concatenate(parts)

    def count(self, rows: Ints) -> Counted:
        chosen = self.chosen[rows]
        scorer, field = self.asking(chosen)
        found = counted_block(scorer, field, self.one_each, **self._limits)
        if self.one_each:
            return Items(rows, found.counts.greater, found.counts.equal, found.counts.negatives + 1)
        kept = found.added_to(RankingState(keep="items"), rows).items()
        assert kept is not None
        return kept


class TripleSides:
    """Both sides of test triples, with the arguments of `rank_triples`: query `2 i + side` asks triple i for a side."""

    step = EntityQueries.step

    def __init__(
        self,
        model: Any,
        test: Any,
        *,
        sides: Sequence[str] = SIDES,
        batch: int | None = None,
        threads: int | None = None,
        **asked: Any,
    ) -> None:
        self._asked = TripleQueries.of(model, test, sides=sides, **asked)
        limits: dict[str, Any] = {"batch": batch, "threads": threads}
        self._sides: list[EntityQueries] = []
        for side in self._asked.sides:
            queries, entities, targets = self._asked.arguments(side)
            self._sides.append(
                EntityQueries(queries, entities, targets, **self._asked.options(side, at_once=False), **limits)
            )
        self.queries, self.entities = len(self._asked.sides) * len(self._asked.triples), self._sides[0].entities

    @property
    def labels(self) -> dict[str, Any]:
        """The groups and the cluster of each query."""
        triples, sides = self._asked.triples, self._asked.sides
        return {
            "groups": {"side": np.tile(sides, len(triples)), "relation": np.repeat(triples.relation, len(sides))},
            "cluster": np.repeat(self._asked.numbers, len(sides)),
        }

    def repeated(self, labels: Any) -> Any:
        """Labels per triple, for each of its queries."""
        return None if labels is None else np.repeat(np.asarray(labels), len(self._sides))

    @property
    def fingerprint(self) -> str:
        return " ".join(side.fingerprint for side in self._sides)

    def candidates(self) -> Ints | None:
        found = [side.candidates() for side in self._sides]
        known = [each for each in found if each is not None]
        return np.stack(known, axis=1).reshape(-1) if len(known) == len(found) else None

    def count(self, rows: Ints) -> Counted:
        triple, side = np.divmod(rows, len(self._sides))
        parts = []
        for number, source in enumerate(self._sides):
            found = source.count(triple[side == number])
            assert isinstance(found, Items)
            parts.append(Items(found.ids * len(self._sides) + number, found.greater, found.equal, found.candidates))
        return Items.join(parts)


class ScoredQueries:
    """Positives (n,) and their negatives: a matrix (n, k), perhaps masked, or flat with offsets. Only drawn rows are
    read, from arrays, memory maps or files."""

    step = 64
    stored = True

    def __init__(
        self, pos: Any, neg: Any, *, offsets: Any = None, mask: Any = None, threads: int | None = None
    ) -> None:
        if pos is None or neg is None:
            raise OptionError("pos_scores and neg_scores go together", fix="Give both.")
        self._pos, self._neg, self._mask = (
            _readable(given, name) for given, name in ((pos, "pos_scores"), (neg, "neg_scores"), (mask, "mask"))
        )
        self._threads = threads
        if len(self._pos.shape) != 1:
            raise InputError(
                f"expected shape (n,), found {tuple(self._pos.shape)}",
                where="pos_scores",
                fix="One positive per query.",
            )
        self.queries = len(self._pos)
        self._offsets = None if offsets is None else checked_offsets(offsets, self.queries, len(self._neg))
        if self._offsets is None:
            _require_rows(self._neg, self.queries, "neg_scores")
        elif mask is not None:
            raise OptionError("offsets and mask exclude each other", fix="Give one of them.")
        if mask is not None:
            _require_rows(self._mask, self.queries, "mask")

    def candidates(self) -> Ints | None:
        """How many candidates each query has; None if a file would have to be read for it."""
        if self._offsets is not None:
            return np.diff(self._offsets) + 1
        if self._mask is None:
            return np.full(self.queries, self._neg.shape[1] + 1)
        if isinstance(self._mask, np.ndarray) and not isinstance(self._mask, np.memmap):
            return np.asarray(np.count_nonzero(self._mask, axis=1) + 1, np.int64)
        return None

    def count(self, rows: Ints) -> Counted:
        state = RankingState(keep="items")
        given: dict[str, Any] = {"ids": rows, "threads": self._threads}
        if self._offsets is None:
            if self._mask is not None:
                given["mask"] = _taken(self._mask, rows)
            state.update(_taken(self._pos, rows), _taken(self._neg, rows), **given)
        else:
            given["offsets"] = np.concatenate([[0], np.cumsum(np.diff(self._offsets)[rows])])
            state.update(_taken(self._pos, rows), _taken(self._neg, places(self._offsets, rows)), **given)
        kept = state.items()
        assert kept is not None
        return kept


class FlatQueries:
    """Scores with labels and query ids, several positives per query allowed; only drawn candidates' scores are read."""

    step = 64
    stored = True

    def __init__(self, scores: Any, labels: Any, queries: Any, *, threads: int | None = None) -> None:
        names = as_labels(queries, "queries")
        require_shape(names, (None,), "queries", "One query id per score.")
        self._scores, self._labels = _readable(scores, "scores"), as_grades(labels, len(names), threads)
        if len(self._scores) != len(names):
            raise InputError(
                f"{len(self._scores)} for {len(names)} query ids", where="scores", fix="One per candidate."
            )
        self.of = Queries.of(names, threads)
        positive = np.zeros(len(self.of), bool)
        positive[self.of.of_row[np.flatnonzero(self._labels)]] = True
        # Queries without a positive have no value, and are not drawn.
        self.chosen = np.flatnonzero(positive)
        self.given, self.queries, self._threads = len(self.of), len(self.chosen), threads

    def count(self, rows: Ints) -> Counted:
        query = self.chosen[rows]
        begin, size = self.of.begin[query], self.of.size[query]
        inside = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
        place = np.repeat(begin, size) + inside
        wanted = place if self.of.order is None else self.of.order[place]
        state = RankingState(keep="items")
        state.update(
            scores=_taken(self._scores, wanted),
            labels=self._labels[wanted],
            queries=np.repeat(rows, size),
            threads=self._threads,
        )
        kept = state.items()
        assert kept is not None
        return kept

    def one_each(self, values: Any, name: str, convert: Callable[[Any], AnyArray]) -> AnyArray:
        """One label per drawn query, from any of the ways in which the flat form takes them."""
        return self.of.one_each(values, name, convert)[self.chosen]


class AskedQueries:
    """Scores that a callback computes: `score_query(i)` returns those of the right answers and those of the wrong.

    One right answer is a number, several are an array, in all queries alike.
    """

    step = 8

    def __init__(self, score_query: Callable[[int], Any], queries: int, *, threads: int | None = None) -> None:
        if not callable(score_query):
            raise OptionError(f"score_query must be a function, not {score_query!r:.60}")
        self._ask, self.queries, self._threads = score_query, whole_number("n_queries", queries, 1), threads
        self._several: bool | None = None

    def count(self, rows: Ints) -> Counted:
        asked = [self._scores(int(row)) for row in rows]
        several = any(pos.ndim for pos, _ in asked)
        if any(bool(pos.ndim) != (several if self._several is None else self._several) for pos, _ in asked):
            raise InputError(
                "one right answer for some queries and an array of them for others",
                where="score_query",
                fix="Return a number for all queries, or an array for all.",
            )
        self._several = several if asked else self._several
        state = RankingState(keep="items")
        size = np.array([neg.size for _, neg in asked], np.int64)
        negatives = np.concatenate([neg for _, neg in asked]) if asked else np.empty(0)
        if not several:
            positives = np.array([pos[()] for pos, _ in asked])
            state.update(
                positives, negatives, offsets=np.concatenate([[0], np.cumsum(size)]), ids=rows, threads=self._threads
            )
        else:
            right = np.array([pos.size for pos, _ in asked], np.int64)
            state.update(
                scores=np.concatenate([np.concatenate([pos for pos, _ in asked]), negatives]),
                labels=np.repeat([1, 0], [int(right.sum()), int(size.sum())]),
                queries=np.concatenate([np.repeat(rows, right), np.repeat(rows, size)]),
                threads=self._threads,
            )
        kept = state.items()
        assert kept is not None
        return kept

    def _scores(self, row: int) -> tuple[AnyArray, AnyArray]:
        try:
            found = self._ask(row)
        except (Exception, SystemExit) as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"the function failed for query {row} ({what:.200})", where="score_query") from error
        if not isinstance(found, tuple) or len(found) != 2:
            raise InputError(
                f"returned {type(found).__name__} for query {row}",
                where="score_query",
                fix="It returns the scores of the right answers and those of the wrong ones.",
            )
        # Copies, because a function may fill the same arrays again for the next query.
        pos, neg = (np.array(as_numeric(part, f"score_query({row})")) for part in found)
        if pos.ndim > 1 or neg.ndim != 1 or not pos.size:
            raise InputError(
                f"returned shapes {pos.shape} and {neg.shape} for query {row}",
                where="score_query",
                fix="A number or a flat array of right answers, and a flat array of others.",
            )
        return pos, neg


def _readable(given: Any, name: str) -> Any:
    """Arrays, memory maps, tensors and files as they are; lists as arrays."""
    return (
        given
        if given is None or isinstance(given, Shards | np.ndarray) or is_tensor(given)
        else (as_numeric(given, name))
    )


def _taken(given: Any, rows: Ints) -> Any:
    """Some rows; rows of a memory map are read in the order of the file."""
    if isinstance(given, Shards):
        return given.take(rows)
    if isinstance(given, np.memmap):
        order = np.argsort(rows, kind="stable")
        found = np.empty((len(rows), *given.shape[1:]), given.dtype)
        found[order] = given[rows[order]]
        return found
    return given[rows]


def _require_rows(given: Any, queries: int, name: str) -> None:
    shape = given.shape
    if len(shape) != 2 or shape[0] != queries:
        raise InputError(
            f"expected shape ({queries}, k), found {tuple(shape)}",
            where=name,
            fix="One row of negatives per positive; flat negatives need offsets.",
        )
