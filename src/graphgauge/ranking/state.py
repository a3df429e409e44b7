"""States: counts of parts of an evaluation, which merge to the whole, and its files.

A state is what `Counts` are, part by part. Its .npz file is the table of single queries, too. The whole has the same
bits however the queries were split and in whichever order parts were counted and merged.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.archive import read_archive, write_archive
from graphgauge.core.arrays import AnyArray, as_numeric, refuse_nan
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.options import nan_policy, whole_number
from graphgauge.core.result import Result
from graphgauge.core.types import Floats, Ints
from graphgauge.ranking.counts import SINGLE, Counts, Labels, arrays_of
from graphgauge.ranking.evaluate import evaluate, queries_of
from graphgauge.ranking.queries import CountedQueries, Queries
from graphgauge.ranking.samples import Pooled
from graphgauge.ranking.scores import MINUS_INF, PoolQueries

_KIND = "ranking"
Part = CountedQueries | PoolQueries


class RankingState:
    """Counts over any number of batches, shards and machines; metrics are computed from them at the end.

    Parameters
    ----------
    shard
        The name of the part that is counted here. States that have counted a part of the same name do not merge, and
        parts are put together in the order of their names.
    pooled
        Keep all scores, too: for `roc_auc`, `average_precision` and `pooled_hits@k`.
    minus_inf, nan
        As in `Queries.from_scores`, for every batch of scores.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> one, other = ranking.RankingState(shard="0"), ranking.RankingState(shard="1")
    >>> _ = one.update([0.9], [[0.7, 0.1]]), other.update([0.4], [[0.8, 0.3]])
    >>> one.merge(other).evaluate()["mrr"].value
    0.75
    """

    kind = _KIND

    def __init__(
        self, shard: str | None = None, *, pooled: bool = False, minus_inf: str = "rank", nan: str = "raise"
    ) -> None:
        if shard is not None and not isinstance(shard, str):
            raise OptionError(f"shard is {shard!r:.60}", fix="Give its name, such as the path of its file.")
        self.pooled = pooled
        self._rules = {"minus_inf": one_of("minus_inf", minus_inf, MINUS_INF), "nan": nan_policy(nan)}
        self._shard = shard
        self.reset()

    def reset(self) -> None:
        """Forget everything that was counted."""
        self._name = self._shard or uuid.uuid4().hex
        # What was counted under each name, in parts that were put together as they grew; and all ids.
        self._parts: dict[str, list[Part]] = {}
        self._ids: set[Any] = set()

    @property
    def n(self) -> int:
        """The number of queries, or of positives against one pool."""
        return sum(map(len, self._in_order()))

    @property
    def shards(self) -> tuple[str, ...]:
        """The names of all parts that were counted."""
        return tuple(sorted(self._parts))

    # ---- in

    def update(
        self, pos_scores: Any, neg_scores: Any = None, *, start: int | None = None, **options: Any
    ) -> RankingState:
        """Count one batch: scores as in `evaluate`, or any `Queries`.

        In the form with one pool, positives and negatives add up over all batches. A batch whose first query is number
        `start` of all is a part of its own, which is refused a second time.
        """
        if not isinstance(pos_scores, Queries):
            options = self._rules | options
        queries = queries_of(pos_scores, neg_scores, **options)
        # Numbers of one length are in order as texts, too.
        name = self._name if start is None else f"from {whole_number('start', start):015d}"
        if start is not None and name in self._parts:
            raise InputError(f"the queries from number {start:,} on were counted before", fix="Count each part once.")
        if isinstance(queries, PoolQueries):
            self._add(name, queries)
        else:
            scores = queries.pool() if self.pooled and queries.has_pool else None
            self._add(name, CountedQueries(queries.count(), scores))
        return self

    def merge(self, other: RankingState) -> RankingState:
        """Add the parts that another state has counted; a part or a query that both have is refused."""
        twice = sorted({*self._parts} & {*other._parts})
        if twice:
            more = f" and {len(twice) - 1} more" if len(twice) > 1 else ""
            raise InputError(f"both states have counted {twice[0]!r}{more}", fix="Merge each part once.")
        if not other._parts:
            return self
        if self._parts and self.pooled != other.pooled:
            raise InputError("one state keeps all scores and the other does not", fix="Count both with pooled=True.")
        self._require_alike(other._in_order()[0], other._ids)
        self.pooled = other.pooled
        self._parts |= {name: parts.copy() for name, parts in other._parts.items()}
        self._ids |= other._ids
        return self

    def _add(self, name: str, part: Part) -> None:
        """Add to what was counted under a name; what does not go with the rest is refused and changes nothing."""
        ids = set() if part.labels.ids is None else set(part.labels.ids.tolist())
        self._require_alike(part, ids)
        parts: list[Any] = [*self._parts.get(name, []), part]
        while len(parts) > 1 and parts[-1].n >= parts[-2].n:  # so that many small batches cost little
            parts[-2:] = [part.join(parts[-2:])]
        if isinstance(part, CountedQueries) and not ids and parts[-1].n > SINGLE:
            parts[-1] = CountedQueries(parts[-1].counts.fold(), parts[-1].pool() if part.has_pool else None)
        self._parts[name] = parts
        self._ids |= ids

    def _require_alike(self, part: Any, ids: set[Any]) -> None:
        """Refuse what does not go with what was counted: another form or other labels, or an id that comes again."""
        if not self._parts:
            return
        first: Any = self._in_order()[0]
        if type(first) is not type(part):
            what = "some batches have negatives of each query, others one pool for all positives"
            raise InputError(what, fix="Use one state for each form of input.")
        Labels.join([first.labels.take(slice(0, 0)), part.labels])
        if isinstance(part, CountedQueries):
            Counts.join([first.count(slice(0, 0)), part.counts.take(slice(0, 0))])
        again = self._ids & ids
        if again:
            raise InputError(f"{min(again)} occurs twice", where="ids", fix="Give every query its own id.")

    def _in_order(self) -> list[Part]:
        return [part for name in sorted(self._parts) for part in self._parts[name]]

    # ---- out

    def counts(self) -> Counts:
        """The counts of all parts: in the order of their ids, or if they have none, of the names of the parts."""
        if not self._parts:
            raise InputError("nothing was counted", fix="Update the state with scores first.")
        whole = Counts.join([part.count() for part in self._in_order()])
        return whole if whole.labels.ids is None else whole.take(np.argsort(whole.labels.ids, kind="stable"))

    def evaluate(
        self,
        *,
        k: Sequence[int] | int = (1, 3, 10),
        ties: str = "realistic",
        metrics: Any = None,
        confidence: float = 0.95,
        protocol: str | None = None,
    ) -> Evaluation:
        """The metrics of everything that was counted, with options as in the function `evaluate`."""
        parts: list[Any] = self._in_order()
        if parts and isinstance(parts[0], PoolQueries):
            queries: Queries = PoolQueries.join(parts)
        else:
            pools = [part.pool() for part in parts if part.has_pool]
            queries = CountedQueries(self.counts(), Pooled.join(pools) if pools else None)
        return evaluate(queries, k=k, ties=ties, metrics=metrics, confidence=confidence, protocol=protocol)

    def compute(self, **options: Any) -> dict[str, float]:
        """The values of `evaluate` alone."""
        return {key: result.value for key, result in self.evaluate(**options).items()}

    # ---- files

    def save(self, path: str | Path) -> None:
        """Write the counts, which are one row per query; `load` reads them."""
        arrays: dict[str, AnyArray] = {}
        parts = [(name, own[0].join(own)) for name, own in sorted(self._parts.items())]  # type: ignore[arg-type]
        counted = [part.counts for _, part in parts if isinstance(part, CountedQueries)]
        if counted:
            arrays |= Counts.join(counted).to_arrays()
        for number, (_, part) in enumerate(parts):
            own = part.to_arrays() if isinstance(part, PoolQueries) else {}
            if isinstance(part, CountedQueries) and part.has_pool:
                pool = part.pool()
                values = {each.name: getattr(pool, each.name) for each in fields(pool)}
                own = {name: np.asarray(value) for name, value in values.items() if value is not None}
            arrays |= {f"{number}.{name}": each for name, each in own.items()}
        rules = [[part.minus_inf, part.nan] if isinstance(part, PoolQueries) else None for _, part in parts]
        left = [part.counts.left if isinstance(part, CountedQueries) else None for _, part in parts]
        listed = [
            [name, part.n, rule, *([] if gone is None else [len(gone)])]
            for (name, part), rule, gone in zip(parts, rules, left, strict=True)
        ]
        write_archive(path, _KIND, {"pooled": self.pooled, "parts": listed}, arrays)

    @classmethod
    def load(cls, path: str | Path) -> RankingState:
        """Read what `save` wrote; a file that was changed is refused."""
        facts, arrays = read_archive(path, _KIND)
        state = cls(pooled=bool(facts["pooled"]))
        listed = facts["parts"]
        counted: Iterable[Counts | None] = [None] * len(listed)
        if "above" in arrays:
            counted = Counts.from_arrays(arrays).split([(size, sum(left)) for _, size, _, *left in listed])
        for number, ((name, _, rules, *_), counts) in enumerate(zip(listed, counted, strict=True)):
            own: dict[str, Any] = arrays_of(arrays, number)
            if counts is None:
                state._add(name, PoolQueries.from_arrays(own, *rules))
            else:
                own |= {name: str(own[name]) for name in ("over", "unit") if own}
                state._add(name, CountedQueries(counts, Pooled(**own) if own else None))
        return state


class BinnedAUC:
    """The area under the ROC curve of streams beyond memory, approximately: scores are counted in a million bins.

    A bin has the scores that share the first 20 bits of their float32: about three decimal digits, at any scale. Pairs
    in one bin count half, so the exact area is within half of their share, which `evaluate` says.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> state = ranking.BinnedAUC().update([0.9, 0.4], [0.7, 0.1, 0.3])
    >>> round(state.compute(), 4)
    0.8333
    """

    _BITS = 20

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything that was counted."""
        self._counts: Ints = np.zeros((2, 1 << self._BITS), np.int64)

    def update(self, pos_scores: Any, neg_scores: Any) -> BinnedAUC:
        """Count scores of positives and of negatives, of any number each."""
        for side, name, scores in ((0, "pos_scores", pos_scores), (1, "neg_scores", neg_scores)):
            values = as_numeric(scores, name).reshape(-1)
            refuse_nan(values, name, fix="Repair the model.")
            with np.errstate(over="ignore"):
                bits = (values.astype(np.float32) + np.float32(0)).view(np.uint32)
            # In the order of the scores: of negative ones all bits are turned, of the others the first.
            ordered = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
            self._counts[side] += np.bincount(ordered >> (32 - self._BITS), minlength=1 << self._BITS)
        return self

    def merge(self, other: BinnedAUC) -> BinnedAUC:
        """Add what another state has counted."""
        self._counts = self._counts + other._counts
        return self

    def compute(self) -> float:
        """The area; NaN without positives or negatives."""
        return self._area()[0]

    def evaluate(self) -> Evaluation:
        """The area as a result, marked approximate, with the range in which the exact one is."""
        value, doubt = self._area()
        said = f"approximate: the exact area is between {value - doubt:.6f} and {value + doubt:.6f}"
        result = Result(
            key="roc_auc",
            metric="roc_auc",
            value=value,
            n=int(self._counts[0].sum()),
            unit="positive",
            direction="higher",
            bounds=(0.0, 1.0),
            no_interval="a binned state keeps no single scores",
            conventions={"ties": "half", "approximate": "scores in 2**20 bins"},
            reason="no positives or no negatives" if np.isnan(value) else None,
            warnings=(said,),
            tolerance=max(float(np.nan_to_num(doubt)), 1e-12),
        )
        return Evaluation("ranking", [result], conventions=result.conventions, findings=())

    def _area(self) -> tuple[float, float]:
        positives, negatives = self._counts
        pairs = float(positives.sum()) * float(negatives.sum())
        if not pairs:
            return float("nan"), 0.0
        below: Floats = np.cumsum(negatives, dtype=np.float64) - negatives
        same = float((positives * negatives.astype(np.float64)).sum()) / 2
        return (float((positives * below).sum()) + same) / pairs, same / pairs
