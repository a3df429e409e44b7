"""The exact rank of each target among all entities, without the full matrix of queries × entities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Ints, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.kernels.bands import band_counts
from graphgauge.kernels.threads import map_blocks, row_blocks
from graphgauge.ranking.inputs import as_integers, checked_offsets
from graphgauge.ranking.state import RankingState

Floats = NDArray[np.floating[Any]]
Scorer = Callable[[AnyArray, AnyArray], AnyArray]

SCORES = ("dot", "l1", "l2", "distmult")
_SCORER = "It takes a block of queries and all entities."
# Scores of one block of queries against all entities, in bytes.
_BLOCK_BYTES = 1 << 27


def rank_all(
    queries: Any,
    entities: Any,
    targets: Any,
    *,
    score: str | Scorer = "dot",
    known: tuple[Any, Any] | None = None,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    ids: Any = None,
    keep: str | None = None,
    threads: int | None = None,
) -> RankingState:
    """Rank each query's target among all entities; returns the state to evaluate.

    Parameters
    ----------
    queries, entities
        Embeddings (q, d) and (m, d). For `distmult` queries are a pair (heads, relations), multiplied cell by cell.
    targets
        For each query the number of the right entity. It is left out of its candidates by that number, not by
        its score.
    score
        `dot`, `distmult`, `l1` and `l2` (negated distances), or a function that scores a block of queries against the
        entities: `(b, d), (m, d) → (b, m)`. The built-in ones are exact: a candidate whose score is within
        rounding of the target's is scored again in float64, in a fixed order, so equal rows tie.
    known
        Other right answers to leave out, as flat entity numbers and offsets (q + 1): `(values, offsets)`.
    """
    scorer = _Exact.of(queries, entities, score) if isinstance(score, str) else _Given(queries, entities, score)
    targets = _entity_numbers(targets, "targets", scorer.entities)
    require_shape(targets, (scorer.queries,), "targets", "One target per query.")
    values, offsets = _known(known, scorer)
    greater, equal = np.empty(scorer.queries, np.int64), np.empty(scorer.queries, np.int64)
    left_out = np.empty(scorer.queries, np.int64)
    step = max(1, _BLOCK_BYTES // max(1, scorer.entities * scorer.itemsize))
    for start in range(0, scorer.queries, step):
        block = slice(start, min(start + step, scorer.queries))
        excluded = _excluded(targets, values, offsets, block)
        greater[block], equal[block] = scorer.counts(block, targets[block], excluded, threads)
        left_out[block] = np.bincount(excluded[0], minlength=block.stop - block.start)
    state = RankingState(keep=keep)
    state.update_counts(
        greater, equal, scorer.entities - left_out + 1, groups=groups, cluster=cluster, weights=weights, ids=ids
    )
    return state


class _Given:
    """A user function; its scores are compared without rescoring."""

    itemsize = 8

    def __init__(self, queries: Any, entities: Any, function: Scorer) -> None:
        if not callable(function):
            raise OptionError(f"score must be a name or a function, not {function!r:.60}",
                              fix=f"The names are {', '.join(SCORES)}.")  # fmt: skip
        self._queries, self._entities = as_numeric(queries, "queries"), as_numeric(entities, "entities")
        for name, array in (("queries", self._queries), ("entities", self._entities)):
            if not array.ndim:
                raise InputError("found a single number", where=name, fix="Pass one row of numbers per entry.")
        self._function = function
        self.queries, self.entities = len(self._queries), len(self._entities)

    def counts(
        self, block: slice, targets: Ints, excluded: tuple[Ints, Ints], threads: int | None
    ) -> tuple[Ints, Ints]:
        try:
            found = self._function(self._queries[block], self._entities)
        except (Exception, SystemExit) as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"the function failed ({what:.200})", where="score", fix=_SCORER) from error
        scores = as_numeric(found, "score")
        require_shape(scores, (len(targets), self.entities), "score", "It returns one row per query.")
        refuse_nan(scores, "score", fix="Repair the model.")
        own = scores[np.arange(len(targets)), targets][:, None]
        use = np.ones(scores.shape, bool)
        use[excluded] = False
        return np.count_nonzero((scores > own) & use, axis=1), np.count_nonzero((scores == own) & use, axis=1)


class _Exact:
    """Dot products and distances. A fast product decides all but near ties, which are scored again in float64.

    The error of a fast score is bounded, so scores further than that from the target are decided.
    """

    def __init__(self, queries: AnyArray, entities: AnyArray, score: str) -> None:
        self.itemsize = queries.dtype.itemsize
        self._left, self._right, self._distance = queries, entities, score in ("l1", "l2")
        self._score = score
        self._scores: AnyArray | None = None
        self.queries, self.entities = len(queries), len(entities)
        size = queries.shape[1]
        # Rounding of the fast score and of the float64 score that it is compared with.
        unit = (float(np.finfo(queries.dtype).eps) + float(np.finfo(float).eps)) / 2
        norms = np.sqrt(np.einsum("ij,ij->i", entities, entities, dtype=float))
        own = np.sqrt(np.einsum("ij,ij->i", queries, queries, dtype=float))
        largest = float(norms.max(initial=0.0))
        if score == "l2":
            self._squares = (norms**2).astype(queries.dtype)
            # −|q−e|² as 2q·e − |e|²: two terms, each with a product's error, and the rounding of their sum.
            self._bound = (size + 4) * unit * (2 * own * largest + largest**2 + own**2)
        elif score == "l1":
            self._bound = (size + 4) * unit * np.sqrt(size) * (own + largest)
        else:
            self._bound = (size + 2) * unit * own * largest
        # Products that underflow have an absolute error, even for small scores.
        self._bound += (size + 4) * float(np.finfo(queries.dtype).tiny)

    @classmethod
    def of(cls, queries: Any, entities: Any, score: str) -> _Exact:
        if score not in SCORES:
            raise UnknownNameError("score", score, SCORES)
        entities = as_numeric(entities, "entities")
        if score == "distmult":
            if not isinstance(queries, tuple | list) or len(queries) != 2:
                raise OptionError("distmult takes queries=(heads, relations)", fix="Both have the entities' width.")
            heads, relations = (as_numeric(part, "queries") for part in queries)
            require_shape(relations, heads.shape, "queries[1]", "Heads and relations have the same shape.")
            dtype = np.result_type(heads, relations, entities, np.float32)
            # The product is rounded once and is then the query, the same for every candidate.
            queries = heads.astype(dtype) * relations.astype(dtype)
        queries = as_numeric(queries, "queries")
        require_shape(entities, (None, None), "entities", "Embeddings have shape (m, d).")
        require_shape(queries, (None, entities.shape[1]), "queries", "Queries and entities have the same width.")
        dtype = np.result_type(queries, entities, np.float32)
        for name, array in (("queries", queries), ("entities", entities)):
            refuse_nan(array, name, fix="Repair the embeddings.")
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise InputError("infinite values in embeddings", where=name, fix="Repair the embeddings.")
        with np.errstate(over="ignore"):
            reach = entities.shape[1] * (_magnitude(queries) + _magnitude(entities)) ** 2
        if reach > np.finfo(np.float64).max / 8:
            raise InputError("embeddings so large that their scores overflow", fix="Scale them down.")
        if reach > np.finfo(dtype).max / 8:
            dtype = np.dtype(np.float64)
        return cls(np.ascontiguousarray(queries, dtype), np.ascontiguousarray(entities, dtype), score)

    def counts(
        self, block: slice, targets: Ints, excluded: tuple[Ints, Ints], threads: int | None
    ) -> tuple[Ints, Ints]:
        left = self._left[block]
        own = self._slow(left, targets)
        fast = self._fast(left, threads)
        low, high = own - self._bound[block], own + self._bound[block]
        # The fast distances leave out the query's square, which shifts a row but keeps its order.
        shift = np.einsum("ij,ij->i", left, left, dtype=float) if self._score == "l2" else 0.0
        greater, near_row, near_entity = band_counts(fast, low + shift, high + shift, threads=threads)
        greater, equal = greater.astype(np.int64), np.zeros(len(targets), np.int64)
        # Answers to leave out: those above the band were counted and are subtracted, those inside it are dropped below.
        row, entity = excluded
        gone = fast[row, entity] > (high + shift)[row]
        greater -= np.bincount(row[gone], minlength=len(targets))
        near = np.setdiff1d(near_row * self.entities + near_entity, row * self.entities + entity)
        near_row, near_entity = np.divmod(near, self.entities)
        again = self._slow(left[near_row], near_entity) if len(near) else np.empty(0)
        greater += np.bincount(near_row[again > own[near_row]], minlength=len(targets))
        equal += np.bincount(near_row[again == own[near_row]], minlength=len(targets))
        return greater, equal

    def _fast(self, left: AnyArray, threads: int | None) -> AnyArray:
        if self._score == "l1":
            from scipy.spatial.distance import cdist

            fast = np.empty((len(left), self.entities), left.dtype)

            def fill(part: slice) -> None:
                fast[:, part] = -cdist(left, self._right[part], "cityblock")

            map_blocks(fill, row_blocks(self.entities, fast.size), threads=threads)
            return fast
        if self._scores is None:
            # The first block is the longest; the others reuse its memory, because allocation costs more than filling.
            self._scores = np.empty((len(left), self.entities), left.dtype)
        product = np.matmul(left, self._right.T, out=self._scores[: len(left)])
        if self._score == "l2":
            product *= 2
            product -= self._squares
        return product

    def _slow(self, left: AnyArray, entities: Ints) -> Floats:
        """The score of each row with its entity in float64, summed in an order independent of other rows."""
        total = np.zeros(len(left))
        for start in range(0, len(left), 4096):
            part = slice(start, start + 4096)
            a, b = left[part].astype(float), self._right[entities[part]].astype(float)
            if self._distance:
                terms = np.abs(a - b) if self._score == "l1" else (a - b) ** 2
                total[part] = -_ordered_sum(terms)
            else:
                total[part] = _ordered_sum(a * b)
        return total


def _magnitude(embeddings: AnyArray) -> np.float64:
    return np.float64(np.abs(embeddings).max(initial=0))


def _ordered_sum(terms: Floats) -> Floats:
    """Row sums from left to right: the order of NumPy's sum depends on the array's shape."""
    total = np.zeros(len(terms))
    for column in terms.T:
        total += column
    return total


def _entity_numbers(numbers: Any, name: str, entities: int) -> Ints:
    array = as_integers(numbers, name, "entity numbers")
    if array.size and (int(array.min()) < 0 or int(array.max()) >= entities):
        within = f"be in 0 … {entities - 1}" if entities else "name entities, and there are none"
        raise InputError(f"entity numbers must {within}", where=name)
    return array


def _known(known: tuple[Any, Any] | None, scorer: _Exact | _Given) -> tuple[Ints, Ints]:
    if known is None:
        return np.empty(0, np.int64), np.zeros(scorer.queries + 1, np.int64)
    if not isinstance(known, tuple | list) or len(known) != 2:
        raise InputError("expected known=(values, offsets)", where="known", fix="Entity numbers, and q + 1 offsets.")
    values = _entity_numbers(known[0], "known", scorer.entities)
    require_shape(values, (None,), "known", "Pass the known answers of all queries in one flat array.")
    return values, checked_offsets(known[1], scorer.queries, len(values), "known offsets", "known answers")


def _excluded(targets: Ints, values: Ints, offsets: Ints, block: slice) -> tuple[Ints, Ints]:
    """Row (within the block) and entity of all non-candidates: each target, and its known answers once."""
    ends = offsets[block.start : block.stop + 1]
    count = block.stop - block.start
    row = np.concatenate([np.repeat(np.arange(count), np.diff(ends)), np.arange(count)])
    entity = np.concatenate([values[ends[0] : ends[-1]], targets[block]])
    span = int(entity.max(initial=0)) + 1
    pair = np.unique(row * span + entity)
    return pair // span, pair % span
