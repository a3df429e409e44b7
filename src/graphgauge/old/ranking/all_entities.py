"""The exact rank of each right answer among all entities, without the full matrix of queries × entities."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Ints, as_numeric, is_cuda, is_tensor, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError, UnknownNameError, one_of
from graphgauge.core.options import whole_number
from graphgauge.kernels.bands import band_counts, threshold_counts
from graphgauge.kernels.dtypes import refuse_inexact
from graphgauge.kernels.threads import map_blocks, row_blocks
from graphgauge.old.ranking.device_scores import DeviceScores
from graphgauge.old.ranking.entity_sets import BlockCounts, EntitySets, entity_numbers, number_of_sets
from graphgauge.old.ranking.inputs import as_integers
from graphgauge.old.ranking.state import RankingState

Floats = NDArray[np.floating[Any]]
# Embeddings or other rows: an array, a tensor, or several of them, as the real and imaginary parts of ComplEx.
Rows = Any
Scorer = Callable[[Rows, Rows], Any]
# What ranks the right answers in blocks: named scores, or a user's function.
Counter: TypeAlias = "_Exact | Given"

SCORES = ("dot", "l1", "l2", "distmult")
# What a score of −inf means: a value like any other, an entity that is no candidate, or an error.
MINUS_INF = ("rank", "exclude", "raise")
_SCORER = "It takes a block of queries and all entities."
# Scores of one block of queries against all entities, in bytes.
_BLOCK_BYTES = 1 << 27


def rank_all(
    queries: Any,
    entities: Any,
    targets: Any,
    *,
    score: str | Scorer = "dot",
    known: Any = None,
    candidates: Any = None,
    kinds: Any = None,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    ids: Any = None,
    keep: str | None = None,
    minus_inf: str = "rank",
    batch: int | None = None,
    threads: int | None = None,
) -> RankingState:
    """Rank the right answers of each query among all entities; returns the state to evaluate.

    Sets of entities (`targets`, `known`, `candidates`) are `(values, offsets)`, a list with the entity
    numbers of each query, a scipy sparse matrix or a boolean matrix (queries, entities).

    Parameters
    ----------
    queries, entities
        Embeddings (q, d) and (m, d). For `distmult` queries are a pair (heads, relations), multiplied cell by cell.
        With a scoring function, any arrays or tensors, or tuples of them, with one row per query and per entity.
    targets
        The number of the right entity of each query (q,), or sets of several. With sets, each right answer is ranked
        among the wrong ones, and the metrics of whole lists (`recall@k`, `ndcg@k`, `map@k` …) are computed too. A
        target is found by its number, not by its score.
    score
        `dot`, `distmult`, `l1` and `l2` (negated distances), or a function that scores a block of queries against the
        entities: `(b, d), (m, d) → (b, m)`. It gets rows as they were given, tensors as tensors. The built-in ones are
        exact: a candidate whose score is within rounding of the target's is scored again in float64, in a fixed order,
        so equal rows tie.
    known
        Other right answers, and what else is no candidate, such as the items of training: they are left out. The
        targets may be among them.
    candidates, kinds
        The only candidates of each query. With `kinds` (q,), the kind of each query, `candidates` has one set per kind.
    minus_inf
        What a score of −inf of a function means: `rank`, a low score like any other; `exclude`, an entity that is no
        candidate, as libraries mark them; `raise`, an error.
    batch
        Queries scored at once; by default as many as have 128 MB of scores.
    groups, cluster, weights, ids, keep
        As in `evaluate`, one per query.
    threads
        Threads of the compiled loop; by default all cores.

    Returns
    -------
    RankingState
        The counts of all queries; its `evaluate` gives metrics.

    Raises
    ------
    InputError
        If shapes do not fit, or a target is out of range.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> state = ranking.rank_all([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]], targets=[0])
    >>> state.evaluate()["mrr"].value
    0.5
    """
    scorer = scorer_of(queries, entities, score, minus_inf)
    state = RankingState(keep=keep)
    counted = ranked(scorer, targets, known, candidates, kinds, batch=batch, threads=threads)
    return counted.added_to(state, ids, groups=groups, cluster=cluster, weights=weights)


def scorer_of(queries: Any, entities: Any, score: str | Scorer, minus_inf: str) -> Counter:
    """What scores the queries against all entities."""
    one_of("minus_inf", minus_inf, MINUS_INF)
    if not isinstance(score, str):
        return Given(queries, entities, score, minus_inf)
    if score not in SCORES:
        raise UnknownNameError("score", score, SCORES)
    return _Exact.of(queries, entities, score)


def one_target_each(targets: Any) -> bool:
    """Whether targets are one number per query, not sets."""
    if isinstance(targets, np.ndarray) or is_tensor(targets):
        return bool(targets.ndim == 1)
    return isinstance(targets, list | range) and not any(np.ndim(each) or isinstance(each, set) for each in targets)


def answers_of(targets: Any, scorer: Counter, one_each: bool) -> EntitySets:
    if not one_each:
        return EntitySets.of(targets, scorer.queries, scorer.entities, "targets")
    numbers = entity_numbers(targets, "targets", scorer.entities)
    require_shape(numbers, (scorer.queries,), "targets", "One target per query.")
    return EntitySets(numbers, np.arange(scorer.queries + 1), scorer.entities)


def _rows_at_once(entities: int, itemsize: int) -> int:
    return max(1, _BLOCK_BYTES // max(1, entities * itemsize))


@dataclass(frozen=True)
class Field:
    """Which entities take part in each query: the right answers, what is left out, and, if restricted, the candidates.

    `allowed` has one set per kind, and `kind` is that of each query. All right answers are in `absent`, the entities
    that are no wrong answers.
    """

    answers: EntitySets
    absent: EntitySets
    allowed: EntitySets | None
    kind: Ints

    @classmethod
    def of(
        cls,
        answers: EntitySets,
        known: Any,
        candidates: Any,
        kinds: Any,
        scorer: Counter,
        numbers: Ints | None = None,
    ) -> Field:
        """`numbers` are those of the queries, if they are not all of them."""
        queries, entities = scorer.queries, scorer.entities
        left_out = EntitySets.of(known, queries, entities, "known")
        if candidates is None:
            if kinds is not None:
                raise OptionError("kinds needs candidates", fix="Give one set of candidates per kind.")
            return cls(answers, answers.joined(left_out), None, np.zeros(queries, np.int64))
        kind = np.arange(queries) if kinds is None else as_integers(kinds, "kinds", "numbers of kinds")
        require_shape(kind, (queries,), "kinds", "One kind per query.")
        count = queries if kinds is None else _kinds(candidates, kind)
        allowed = EntitySets.of(candidates, count, entities, "candidates", "query" if kinds is None else "kind")
        _refuse(answers, ~allowed.contain(kind[answers.rows()], answers.values), numbers)
        return cls(answers, answers.joined(left_out), allowed, kind)

    def negatives(self) -> Ints:
        """The number of wrong answers of each query."""
        if self.allowed is None:
            return self.absent.entities - self.absent.sizes
        rows = self.absent.rows()
        inside = self.allowed.contain(self.kind[rows], self.absent.values)
        return self.allowed.sizes[self.kind] - np.bincount(rows[inside], minlength=len(self.kind))

    def blank(self, scores: AnyArray, block: slice, nothing: float) -> None:
        """Write `nothing` over the scores (b, m) of all but the wrong answers."""
        if self.allowed is not None:
            for row, kind in enumerate(self.kind[block]):
                chosen = self.allowed.within(slice(int(kind), int(kind) + 1))
                kept = scores[row, chosen]
                scores[row] = nothing
                scores[row, chosen] = kept
        scores[self.absent.rows(block), self.absent.within(block)] = nothing


def _kinds(candidates: Any, kind: Ints) -> int:
    """The number of kinds: that of the sets, which all kinds of queries are among."""
    count = number_of_sets(candidates)
    if kind.size and (kind.min() < 0 or kind.max() >= count):
        raise InputError(f"kinds must be in 0 … {count - 1}, as there are {count} sets of candidates", where="kinds")
    return count


def _refuse(answers: EntitySets, wrong: AnyArray, numbers: Ints | None) -> None:
    if wrong.any():
        first = int(np.argmax(wrong))
        query = answers.rows()[first] if numbers is None else numbers[answers.rows()[first]]
        others = int(np.count_nonzero(wrong)) - 1
        raise InputError(
            f"entity {answers.values[first]} of query {query} is not among its candidates"
            + (f", and {others} others are not right either" if others else ""),
            where="targets",
            fix="Add it to candidates=.",
        )


class _Counts(NamedTuple):
    """For each right answer the wrong ones above and tied, and its score; the wrong ones and those at −inf in all."""

    greater: Ints
    equal: Ints
    own: Floats
    negatives: Ints
    lowest: int


def _counted(scorer: Counter, field: Field, step: int, threads: int | None) -> _Counts:
    answers = field.answers
    greater, equal = np.empty(len(answers.values), np.int64), np.empty(len(answers.values), np.int64)
    own = np.empty(len(answers.values))
    negatives, lowest = field.negatives(), 0
    for start in range(0, scorer.queries, step):
        block = slice(start, min(start + step, scorer.queries))
        part = slice(int(answers.offsets[block.start]), int(answers.offsets[block.stop]))
        found = scorer.counts(block, answers.rows(block), answers.values[part], field, threads)
        greater[part], equal[part], own[part] = found.greater, found.equal, found.own
        negatives[block] -= found.left_out
        lowest += found.lowest
    return _Counts(greater, equal, own, negatives, lowest)


class Ranked(NamedTuple):
    """What was counted of each right answer, and whether every query has one, given as a number."""

    answers: EntitySets
    counts: _Counts
    one_each: bool

    def added_to(self, state: RankingState, ids: Any = None, **labels: Any) -> RankingState:
        """The state with these queries, under their `labels`."""
        counts = self.counts
        state.lowest_candidates += counts.lowest
        if self.one_each:
            return state.update_counts(counts.greater, counts.equal, counts.negatives + 1, ids=ids, **labels)
        return state.update_lists(**_lists(self.answers, counts), queries=ids, **labels)


def ranked(
    scorer: Counter,
    targets: Any,
    known: Any = None,
    candidates: Any = None,
    kinds: Any = None,
    *,
    batch: int | None = None,
    threads: int | None = None,
) -> Ranked:
    """Rank the right answers with any scorer; the sets are those of `rank_all`."""
    one_each = one_target_each(targets)
    field = Field.of(answers_of(targets, scorer, one_each), known, candidates, kinds, scorer)
    return counted_block(scorer, field, one_each, batch=batch, threads=threads)


def counted_block(
    scorer: Counter,
    field: Field,
    one_each: bool,
    *,
    batch: int | None = None,
    threads: int | None = None,
) -> Ranked:
    """All queries of a scorer, ranked in the field that belongs to them."""
    step = scorer.rows_at_once if batch is None else whole_number("batch", batch, 1)
    counts = _counted(scorer, field, step, threads)
    return Ranked(field.answers, counts, one_each)


def _lists(answers: EntitySets, counts: _Counts) -> dict[str, Any]:
    """The runs of equal scores that contain right answers, query by query and best first."""
    query = answers.rows()
    order = np.lexsort((-counts.own, query))
    query, own, greater, equal = query[order], counts.own[order], counts.greater[order], counts.equal[order]
    new = np.ones(len(query), bool)
    new[1:] = (query[1:] != query[:-1]) | (own[1:] != own[:-1])
    first = np.flatnonzero(new)
    positives = np.diff(np.append(first, len(query)))
    ahead = first - answers.offsets[query[first]]
    return {
        "relevant": answers.sizes,
        "candidates": counts.negatives + answers.sizes,
        "runs": np.bincount(query[first], minlength=len(answers)),
        "start": greater[first] + ahead,
        "length": equal[first] + positives,
        "positives": positives,
    }


class Given:
    """A user function; its scores are compared without rescoring.

    `minus_inf` says what a candidate at −inf is: ranked as any other, left out, or an error.
    """

    def __init__(self, queries: Rows, entities: Rows, function: Scorer, minus_inf: str = "rank") -> None:
        if not callable(function):
            raise OptionError(
                f"score must be a name or a function, not {function!r:.60}", fix=f"The names are {', '.join(SCORES)}."
            )
        self._queries, self._entities, self._function = (
            _parts(queries, "queries"),
            _parts(entities, "entities"),
            function,
        )
        self.queries, self.entities = _length(self._queries, "queries"), _length(self._entities, "entities")
        self._minus_inf = minus_inf

    def asking(self, rows: Ints) -> Given:
        """The same for some of the queries."""
        other = copy(self)
        other._queries, other.queries = _cut(self._queries, rows), len(rows)
        return other

    @property
    def rows_at_once(self) -> int:
        """How many queries are scored at once."""
        return _rows_at_once(self.entities, 8)

    def counts(self, block: slice, row: Ints, target: Ints, field: Field, threads: int | None) -> BlockCounts:
        scores = self._scores(block, threads)
        own = scores.own(row, target)
        scores.blank(field, block)
        lowest = scores.lowest()
        filtered = int(lowest.sum())
        left_out: Ints | int = 0
        if filtered and self._minus_inf == "raise":
            row_of_first, column = scores.first_lowest()
            raise InputError(
                f"{filtered} candidates score −inf, the first at ({block.start + row_of_first}, {column}): as a filter "
                "they would still count as candidates",
                where="scores",
                fix='Pass them in train= or known=, or say minus_inf="exclude" or "rank".',
            )
        if self._minus_inf != "rank" and np.isneginf(own).any():
            first = int(np.argmax(np.isneginf(own)))
            raise InputError(
                f"the right answer {target[first]} of query {block.start + row[first]} scores −inf",
                where="scores",
                fix="Filter neither answers nor, with them, training items.",
            )
        if filtered and self._minus_inf == "exclude":
            scores.drop_lowest()
            left_out, filtered = lowest, 0
        return BlockCounts(*scores.counts(row, own), own, left_out, filtered)

    def _called(self, queries: Rows, entities: Rows) -> Any:
        torch = _torch_of(self._queries, self._entities)
        try:
            with nullcontext() if torch is None else torch.no_grad():
                return self._function(queries, entities)
        except (Exception, SystemExit) as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"the function failed ({what:.200})", where="score", fix=_SCORER) from error

    def _scores(self, block: slice, threads: int | None) -> _HostScores | DeviceScores:
        """A copy of the function's scores, in which what takes no part can be blanked."""
        found = self._called(_cut(self._queries, block), self._entities)
        scores = found if is_cuda(found) else as_numeric(found, "score")
        require_shape(scores, (block.stop - block.start, self.entities), "score", "It returns one row per query.")
        return DeviceScores(scores) if is_cuda(scores) else _HostScores(scores, threads)


class _HostScores:
    """The scores (b, m) of a function, as NumPy arrays."""

    def __init__(self, scores: AnyArray, threads: int | None) -> None:
        self._scores: Floats = as_floats(scores, "score")
        self._threads = threads

    def own(self, row: Ints, target: Ints) -> AnyArray:
        return self._scores[row, target]

    def blank(self, field: Field, block: slice) -> None:
        field.blank(self._scores, block, np.nan)

    def lowest(self) -> Ints:
        """How many scores of each row are −inf."""
        counts: Ints = np.count_nonzero(np.isneginf(self._scores), axis=1)
        return counts

    def first_lowest(self) -> tuple[int, int]:
        row, column = divmod(int(np.argmax(np.isneginf(self._scores))), int(self._scores.shape[1]))
        return row, column

    def drop_lowest(self) -> None:
        self._scores[np.isneginf(self._scores)] = np.nan

    def counts(self, row: Ints, own: AnyArray) -> tuple[Ints, Ints]:
        """How many scores of its row are above each of the right answers' own, and equal to it."""
        return threshold_counts(self._scores, row, own, threads=self._threads)


def as_floats(scores: Any, name: str) -> Floats:
    """A copy of the scores of a model, as floats that compare as they do."""
    given = as_numeric(scores, name)
    refuse_nan(given, name, fix="Repair the model.")
    if given.dtype.kind in "iu" and given.size:
        refuse_inexact(int(given.min()), int(given.max()))
    narrow = given.dtype.kind == "f" and given.dtype.itemsize <= 4
    return np.array(given, np.float32 if narrow else np.float64, order="C")


def _parts(rows: Rows, name: str) -> Rows:
    """Arrays and tensors as they are, lists as arrays."""
    if isinstance(rows, tuple):
        return tuple(_parts(part, f"{name}[{number}]") for number, part in enumerate(rows))
    return rows if is_tensor(rows) or isinstance(rows, np.ndarray) else as_numeric(rows, name)


def _length(rows: Rows, name: str) -> int:
    parts = rows if isinstance(rows, tuple) else (rows,)
    if not parts or any(not len(part.shape) for part in parts):
        raise InputError("found a single number", where=name, fix="Pass one row of numbers per entry.")
    lengths = {len(part) for part in parts}
    if len(lengths) > 1:
        raise InputError(
            f"parts of different lengths: {', '.join(map(str, sorted(lengths)))}",
            where=name,
            fix="All parts have one row per entry.",
        )
    return lengths.pop()


def _cut(rows: Rows, block: slice | Ints) -> Rows:
    return tuple(part[block] for part in rows) if isinstance(rows, tuple) else rows[block]


def _torch_of(*given: Rows) -> Any:
    """The module torch, if tensors are given."""
    parts = [part for rows in given for part in (rows if isinstance(rows, tuple) else (rows,))]
    return sys.modules["torch"] if any(map(is_tensor, parts)) else None


class _Exact:
    """Dot products and distances. A fast product decides all but near ties, which are scored again in float64.

    The error of a fast score is bounded, so scores further than that from the target are decided.
    """

    def __init__(self, queries: AnyArray, entities: AnyArray, score: str) -> None:
        self._left, self._right, self._distance = queries, entities, score in ("l1", "l2")
        self._score = score
        self._room: list[AnyArray] = []
        self.queries, self.entities = len(queries), len(entities)
        size = queries.shape[1]
        # Rounding of the fast score and of the float64 score that it is compared with.
        unit = (float(np.finfo(queries.dtype).eps) + float(np.finfo(float).eps)) / 2
        norms = np.sqrt(np.einsum("ij,ij->i", entities, entities, dtype=float))
        own = np.sqrt(np.einsum("ij,ij->i", queries, queries, dtype=float))
        largest = float(norms.max(initial=0.0))
        self.magnitudes = own, norms
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

    def asking(self, rows: Ints) -> _Exact:
        """The same for some of the queries."""
        other = copy(self)
        other._left, other._bound, other.queries = self._left[rows], self._bound[rows], len(rows)
        return other

    @property
    def rows_at_once(self) -> int:
        """How many queries are scored at once."""
        return _rows_at_once(self.entities, self._left.dtype.itemsize)

    @classmethod
    def of(cls, queries: Any, entities: Any, score: str) -> _Exact:
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

    def counts(self, block: slice, row: Ints, target: Ints, field: Field, threads: int | None) -> BlockCounts:
        left = self._left[block]
        own = self._slow(left[row], target)
        fast = self._fast(left, threads)
        field.blank(fast, block, -np.inf)
        # The fast distances leave out the query's square, which shifts a row but keeps its order.
        shift = np.einsum("ij,ij->i", left, left, dtype=float)[row] if self._score == "l2" else 0.0
        bound = self._bound[block][row]
        above, band, entity = band_counts(fast, row, own - bound + shift, own + bound + shift, threads=threads)
        again = self._slow(left[row[band]], entity) if len(band) else np.empty(0)
        greater = above + np.bincount(band[again > own[band]], minlength=len(row))
        return BlockCounts(greater, np.bincount(band[again == own[band]], minlength=len(row)), own)

    def _fast(self, left: AnyArray, threads: int | None) -> AnyArray:
        if self._score == "l1":
            from scipy.spatial.distance import cdist

            fast = np.empty((len(left), self.entities), left.dtype)

            def fill(part: slice) -> None:
                fast[:, part] = -cdist(left, self._right[part], "cityblock")

            map_blocks(fill, row_blocks(self.entities, fast.size), threads=threads)
            return fast
        if not self._room or len(self._room[0]) < len(left):
            # Later blocks that are not much longer reuse the memory, because allocation costs more than filling.
            rows = max(len(left), 2 * len(self._room[0])) if self._room else len(left)
            self._room[:] = [np.empty((rows, self.entities), left.dtype)]
        product = np.matmul(left, self._right.T, out=self._room[0][: len(left)])
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
