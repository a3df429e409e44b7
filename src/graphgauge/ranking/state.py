"""States: counts of parts of an evaluation, which merge to the whole, and its files.

A state is what `Counts` are, part by part. Its .npz file is the table of single queries, too. The whole has the same
bits however the queries were split and in whichever order parts were counted and merged.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.archive import read_archive, write_archive
from graphgauge.core.arrays import AnyArray, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.options import nan_policy, whole_number
from graphgauge.core.result import Result
from graphgauge.core.types import Floats, Ints
from graphgauge.protocols import under_protocols
from graphgauge.ranking.counts import Counts
from graphgauge.ranking.evaluate import evaluation_of, queries_of
from graphgauge.ranking.labels import Labels
from graphgauge.ranking.pooled import Pooled
from graphgauge.ranking.queries import Queries
from graphgauge.ranking.scores import MINUS_INF, PoolQueries

# Queries without ids are kept one by one up to this many, and beyond it as cells of those that count the same.
_SINGLE = 1 << 24
_KIND = "ranking"


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
        self._parts: dict[str, _Part] = {}
        self._pools: dict[str, Pooled] = {}
        self._shared: dict[str, PoolQueries] = {}

    @property
    def n(self) -> int:
        """The number of queries, or of positives against one pool."""
        return sum(map(len, self._parts.values())) + sum(each.n for each in self._shared.values())

    @property
    def shards(self) -> tuple[str, ...]:
        """The names of all parts that were counted."""
        return tuple(sorted({*self._parts, *self._shared}))

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
        queries = queries_of(pos_scores, neg_scores, options)
        self._require_alike(isinstance(queries, PoolQueries))
        # Numbers of one length are in order as texts, too.
        name = self._name if start is None else f"from {whole_number('start', start):015d}"
        if start is not None and name in self.shards:
            raise InputError(f"the queries from number {start:,} on were counted before", fix="Count each part once.")
        if isinstance(queries, PoolQueries):
            known = self._shared.get(name)
            self._shared[name] = queries if known is None else _one_pool([known, queries])
            return self
        pool = queries.pool() if self.pooled else None
        self._add(name, queries.count(), pool)
        return self

    def merge(self, other: RankingState) -> RankingState:
        """Add the parts that another state has counted; a part or a query that both have is refused."""
        twice = sorted({*self.shards} & {*other.shards})
        if twice:
            more = f" and {len(twice) - 1} more" if len(twice) > 1 else ""
            raise InputError(f"both states have counted {twice[0]!r}{more}", fix="Merge each part once.")
        if self.pooled != other.pooled and self.shards and other.shards:
            raise InputError("one state keeps all scores and the other does not", fix="Count both with pooled=True.")
        if other.shards:
            self._require_alike(bool(other._shared))
            self.pooled = other.pooled
        self._parts |= {name: part.copy() for name, part in other._parts.items()}
        self._pools |= other._pools
        self._shared |= other._shared
        if self._parts:
            try:
                self.counts()
            except InputError:
                for mine in (self._parts, self._pools, self._shared):
                    for name in other.shards:
                        mine.pop(name, None)
                raise
        return self

    def _require_alike(self, shared: bool) -> None:
        if self.shards and shared != bool(self._shared):
            what = "some batches have negatives of each query, others one pool for all positives"
            raise InputError(what, fix="Use one state for each form of input.")

    def _add(self, name: str, counts: Counts, pool: Pooled | None) -> None:
        part = self._parts.get(name) or _Part()
        part.add(counts)
        self._parts[name] = part
        if pool is not None:
            self._pools[name] = pool if name not in self._pools else _pooled([self._pools[name], pool])

    # ---- out

    def counts(self) -> Counts:
        """The counts of all parts: in the order of their ids, or if they have none, of the names of the parts."""
        if not self._parts:
            raise InputError("nothing was counted", fix="Update the state with scores first.")
        whole = Counts.join([self._parts[name].counts() for name in sorted(self._parts)])
        if whole.labels.ids is None:
            return whole
        whole.labels.require_unique()
        return whole.take(np.argsort(whole.labels.ids, kind="stable"))

    @under_protocols("ranking")
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
        options: dict[str, Any] = {"k": k, "ties": ties, "metrics": metrics, "confidence": confidence}
        if self._shared:
            queries: Queries = _one_pool([self._shared[name] for name in sorted(self._shared)])
            return evaluation_of(queries.count, pool=queries.pool, **options)
        pools = [self._pools[name] for name in sorted(self._pools)]
        return evaluation_of(self.counts(), pool=(lambda: _pooled(pools)) if pools else None, **options)

    def compute(self, **options: Any) -> dict[str, float]:
        """The values of `evaluate` alone."""
        return {key: result.value for key, result in self.evaluate(**options).items()}

    # ---- files

    def save(self, path: str | Path) -> None:
        """Write the counts, which are one row per query; `load` reads them."""
        arrays: dict[str, AnyArray] = {}
        facts: dict[str, Any] = {"pooled": self.pooled, "shards": [], "pools": []}
        if self._parts:
            parts = {name: self._parts[name].counts() for name in sorted(self._parts)}
            facts["shards"] = [[name, len(part.candidates)] for name, part in parts.items()]
            arrays |= Counts.join(list(parts.values())).to_arrays()
        for number, name in enumerate(sorted(self._pools)):
            arrays |= _arrays_of(f"pool{number}", self._pools[name])
        for number, name in enumerate(sorted(self._shared)):
            part = self._shared[name]
            facts["pools"].append([name, part.minus_inf, part.nan])
            arrays |= {f"shared{number}.pos": part.pos, f"shared{number}.neg": part.neg}
            arrays |= {f"shared{number}.{key}": values for key, values in part.labels.to_arrays().items()}
        write_archive(path, _KIND, facts, arrays)

    @classmethod
    def load(cls, path: str | Path) -> RankingState:
        """Read what `save` wrote; a file that was changed is refused."""
        facts, arrays = read_archive(path, _KIND)
        state = cls(pooled=bool(facts["pooled"]))
        start = 0
        whole = Counts.from_arrays(arrays) if facts["shards"] else None
        for number, (name, size) in enumerate(facts["shards"]):
            assert whole is not None
            part = whole.take(slice(start, start + size))
            # What was met is said once, of the whole.
            state._parts[name] = _Part()
            state._parts[name].add(part if number == 0 else replace(part, met=type(part.met)()))
            start += size
            if state.pooled and f"pool{number}.pos" in arrays:
                state._pools[name] = _pool_of(_named(arrays, f"pool{number}"))
        for number, (name, minus_inf, nan) in enumerate(facts["pools"]):
            own = _named(arrays, f"shared{number}")
            labels = Labels.from_arrays(own, len(own["pos"]))
            state._shared[name] = PoolQueries(own["pos"], own["neg"], labels, minus_inf, nan)
        return state


class _Part:
    """The batches of one part, put together as they grow, so that many small ones cost little."""

    def __init__(self) -> None:
        self._chunks: list[Counts] = []
        self._ids: list[AnyArray] = []  # of each chunk, sorted

    def __len__(self) -> int:
        return sum(map(len, self._chunks))

    def copy(self) -> _Part:
        other = _Part()
        other._chunks, other._ids = self._chunks.copy(), self._ids.copy()
        return other

    def add(self, counts: Counts) -> None:
        """Add a batch; one that has a known id, or other labels than earlier ones, is refused and changes nothing."""
        if self._chunks:
            Counts.join([self._chunks[0].take(slice(0, 0)), counts])
        ids = counts.labels.ids
        own = np.empty(0) if ids is None else np.sort(ids)
        for known in self._ids if ids is not None else ():
            again = (
                own[known[np.minimum(np.searchsorted(known, own), len(known) - 1)] == own] if len(known) else own[:0]
            )
            if len(again):
                raise InputError(f"{again[0]} occurs twice", where="ids", fix="Give every query its own id.")
        self._chunks.append(counts)
        self._ids.append(own)
        while len(self._chunks) > 1 and len(self._chunks[-1].candidates) >= len(self._chunks[-2].candidates):
            self._chunks[-2:] = [Counts.join(self._chunks[-2:])]
            self._ids[-2:] = [np.sort(np.concatenate(self._ids[-2:]))]
        if len(self._chunks[-1].candidates) > _SINGLE and ids is None:
            self._chunks[-1] = self._chunks[-1].fold()

    def counts(self) -> Counts:
        """Of all batches, in their order."""
        return Counts.join(self._chunks)


def _named(arrays: Mapping[str, AnyArray], prefix: str) -> dict[str, AnyArray]:
    return {name.removeprefix(f"{prefix}."): each for name, each in arrays.items() if name.startswith(f"{prefix}.")}


def _arrays_of(prefix: str, pool: Pooled) -> dict[str, AnyArray]:
    optional = {"offsets": pool.offsets, "cluster": pool.cluster}
    arrays = {"pos": pool.pos, "neg": pool.neg, "over": np.array(pool.over), "unit": np.array(pool.unit)}
    arrays |= {name: values for name, values in optional.items() if values is not None}
    return {f"{prefix}.{name}": values for name, values in arrays.items()}


def _pool_of(arrays: Mapping[str, AnyArray]) -> Pooled:
    texts = str(arrays["over"]), str(arrays["unit"])
    return Pooled(arrays["pos"], arrays["neg"], arrays.get("offsets"), arrays.get("cluster"), *texts)


def _pooled(parts: list[Pooled]) -> Pooled:
    """The scores of several parts together."""
    first = parts[0]
    if len(parts) == 1:
        return first
    starts = np.cumsum([0] + [len(part.neg) for part in parts[:-1]])
    offsets = [part.offsets[1:] + start for part, start in zip(parts, starts, strict=True) if part.offsets is not None]
    cluster = [part.cluster for part in parts if part.cluster is not None]
    if cluster and first.over == "queries":  # each part has numbered its own
        sizes = [int(each.max(initial=-1)) + 1 for each in cluster[:-1]]
        cluster = [each + shift for each, shift in zip(cluster, np.cumsum([0, *sizes]), strict=True)]
    return Pooled(
        np.concatenate([part.pos for part in parts]),
        np.concatenate([part.neg for part in parts]),
        None if first.offsets is None else np.concatenate([[0], *offsets]),
        None if first.cluster is None else np.concatenate(cluster),
        first.over,
        first.unit,
    )


def _one_pool(parts: list[PoolQueries]) -> PoolQueries:
    """Positives of several parts against the negatives of all."""
    first = parts[0]
    if len({(part.minus_inf, part.nan) for part in parts}) > 1:
        raise InputError("parts differ in minus_inf or nan", fix="Count all in the same way.")
    return PoolQueries(
        np.concatenate([part.pos for part in parts]),
        np.concatenate([part.neg for part in parts]),
        Labels.join([part.labels for part in parts]),
        first.minus_inf,
        first.nan,
    )


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

    @property
    def n(self) -> tuple[int, int]:
        """The numbers of positives and of negatives."""
        positives, negatives = self._counts.sum(axis=1).tolist()
        return positives, negatives

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
            n=self.n[0],
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

    def save(self, path: str | Path) -> None:
        """Write the counts of the bins that have any."""
        used = np.flatnonzero(self._counts.any(axis=0))
        write_archive(path, "ranking-auc", {}, {"bin": used, "counts": self._counts[:, used]})

    @classmethod
    def load(cls, path: str | Path) -> BinnedAUC:
        """Read what `save` wrote."""
        _, arrays = read_archive(path, "ranking-auc")
        require_shape(arrays["counts"], (2, len(arrays["bin"])), "counts", "Count again.")
        state = cls()
        state._counts[:, arrays["bin"]] = arrays["counts"]
        return state
