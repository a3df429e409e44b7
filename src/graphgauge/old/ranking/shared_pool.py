"""One pool of negatives for all positives: the layout of OGB's ogbl-ppa, collab, ddi and vessel.

A positive's rank depends on the whole pool, so scores are kept and counted at the end: the pool is sorted once, and the
positives are looked up in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_labels, as_numeric, is_tensor, refuse_nan, require_shape
from graphgauge.core.errors import InputError
from graphgauge.kernels.dtypes import exact, working_dtype
from graphgauge.kernels.tails import tail_counts
from graphgauge.old.core.forms import given_names, require
from graphgauge.old.ranking.family import MATRIX, POOL
from graphgauge.old.ranking.inputs import FIX_NAN, as_clusters, as_groups

# Fewer different scores may agree in two batches by chance.
_FEWEST_TO_RECOGNISE = 5


def is_pool(neg_scores: Any, offsets: Any, queries: Any = None) -> bool:
    """Whether the negatives are one flat array that belongs to no query."""
    if neg_scores is None or offsets is not None:
        return False
    if is_tensor(neg_scores) or isinstance(neg_scores, np.ndarray):
        return bool(neg_scores.ndim == 1)
    try:
        return np.ndim(neg_scores) == 1
    except ValueError:  # rows of different lengths
        return False


def pool_counts(pos: AnyArray, neg: AnyArray, *, threads: int | None = None) -> tuple[Ints, Ints]:
    """The negatives of the pool (m,) above each positive (n,), and tied with it; no score is NaN.

    >>> pool_counts(np.array([0.5, 0.9, 0.5]), np.array([0.7, 0.5, 0.1]))
    (array([1, 0, 1]), array([1, 0, 1]))
    """
    tails = tail_counts(pos, neg, threads=threads)
    rising = tails.values[::-1]
    place = len(rising) - 1 - np.searchsorted(rising, exact(pos, rising.dtype))
    return tails.greater[place], tails.equal[place]


@dataclass(frozen=True)
class Part:
    """Scores of one batch without NaN, what is known about its positives, and how many scores were dropped."""

    pos: AnyArray
    neg: AnyArray
    groups: Mapping[str, AnyArray] = field(default_factory=dict)
    cluster: Ints | None = None
    ids: AnyArray | None = None
    dropped_queries: int = 0
    dropped_candidates: int = 0

    @classmethod
    def of(
        cls, pos: Any, neg: Any, *, mask: Any, groups: Mapping[str, Any] | None, cluster: Any, ids: Any, nan: str
    ) -> Part:
        require(POOL, given_names({"pos_scores": pos, "neg_scores": neg, "mask": mask}), [POOL, MATRIX])
        pos, neg = as_numeric(pos, "pos_scores"), as_numeric(neg, "neg_scores")
        require_shape(pos, (None,), "pos_scores", "Positives (n,) go with a pool of negatives (m,).")
        axes = as_groups(groups)
        clusters = None if cluster is None else as_clusters(cluster)
        names = None if ids is None else as_labels(ids, "ids")
        grouped = [(f"groups[{name!r}]", values) for name, values in axes.items()]
        for name, values in [*grouped, ("cluster", clusters), ("ids", names)]:
            if values is not None:
                require_shape(values, pos.shape, name, "One per positive.")
        if nan == "raise":
            refuse_nan(pos, "pos_scores", fix=FIX_NAN)
            refuse_nan(neg, "neg_scores", fix=FIX_NAN)
        rows, kept = (
            ~np.isnan(scores) if scores.dtype.kind == "f" else np.ones(len(scores), bool) for scores in (pos, neg)
        )
        # Copies: what the caller changes later does not change a result.
        return cls(
            pos[rows],
            neg[kept],
            {name: values[rows] for name, values in axes.items()},
            None if clusters is None else clusters[rows],
            None if names is None else names[rows],
            int(np.count_nonzero(~rows)),
            int(np.count_nonzero(~kept)),
        )


class SharedPool:
    """The parts given so far. Positives and negatives may come in different parts."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._contents: set[str] = set()

    def require_new(self, negatives: AnyArray) -> None:
        """Refuse negatives that were given before: the pool of all positives, passed with every batch of them."""
        if _content(negatives) in self._contents:
            raise InputError(
                f"these {len(negatives)} negatives were given before, and would count twice",
                where="neg_scores",
                fix="Negatives add up over batches and states. Give the pool with one of them, and [] with the others.",
            )

    def require_alike(self, part: Part) -> None:
        """Refuse positives that are labelled otherwise than earlier ones."""
        known = next((each for each in self._parts if len(each.pos)), None)
        if known is None or not len(part.pos):
            return
        layouts = [(list(each.groups), each.cluster is not None, each.ids is not None) for each in (part, known)]
        if layouts[0] != layouts[1]:
            (groups, *marks), (others, *other_marks) = layouts
            named = [
                ", ".join(name for name, there in zip(("cluster", "ids"), given, strict=True) if there) or "none"
                for given in (marks, other_marks)
            ]
            raise InputError(
                f"this batch has groups {groups}, of cluster and ids {named[0]}; earlier ones {others} and {named[1]}",
                fix="Give every batch the same groups, cluster and ids.",
            )

    def add(self, part: Part) -> None:
        """Add a part that passed `require_alike`."""
        self._parts.append(part)
        content = _content(part.neg)
        self._contents |= set() if content is None else {content}

    def __iter__(self) -> Any:
        return iter(self._parts)

    def joined(self) -> Part:
        """Everything given so far as one part."""
        parts = self._parts or [Part(np.empty(0), np.empty(0))]
        pos, neg = ([part.pos for part in parts], [part.neg for part in parts])
        labelled = [part for part in parts if len(part.pos)] or parts[:1]
        first = labelled[0]
        return Part(
            _concatenated(pos, [*pos, *neg]),
            _concatenated(neg, [*pos, *neg]),
            {axis: np.concatenate([part.groups[axis] for part in labelled]) for axis in first.groups},
            None if first.cluster is None else np.concatenate([part.cluster for part in labelled]),
            None if first.ids is None else np.concatenate([part.ids for part in labelled]),
            sum(part.dropped_queries for part in parts),
            sum(part.dropped_candidates for part in parts),
        )

    # ---------------------------------------------------------------- file

    def arrays(self) -> dict[str, AnyArray]:
        whole = self.joined()
        found = {"pool_pos": whole.pos, "pool_neg": whole.neg}
        found |= {f"pool_group:{axis}": values for axis, values in whole.groups.items()}
        marks = {"pool_cluster": whole.cluster, "pool_ids": whole.ids}
        return found | {name: values for name, values in marks.items() if values is not None}

    @classmethod
    def restored(cls, arrays: Mapping[str, AnyArray], dropped: tuple[int, int]) -> SharedPool:
        pool = cls()
        groups = {name.partition(":")[2]: values for name, values in arrays.items() if name.startswith("pool_group:")}
        pos, neg = arrays["pool_pos"], arrays["pool_neg"]
        part = Part(pos, neg, groups, arrays.get("pool_cluster"), arrays.get("pool_ids"), *dropped)
        per_positive = [values for values in (*groups.values(), part.cluster, part.ids) if values is not None]
        if pos.ndim != 1 or neg.ndim != 1 or any(values.shape != pos.shape for values in per_positive):
            raise ValueError("columns of different lengths")
        for scores in (pos, neg):
            if scores.dtype.kind not in "fiub" or (scores.dtype.kind == "f" and np.isnan(scores).any()):
                raise ValueError("not scores")
        pool.add(part)
        return pool


def _content(scores: AnyArray) -> str | None:
    """What identifies a batch of scores; None if too few differ."""
    if len(np.unique(scores[:1000])) < _FEWEST_TO_RECOGNISE:
        return None
    return f"{scores.dtype} {hashlib.sha256(scores.tobytes()).hexdigest()}"


def _concatenated(parts: list[AnyArray], among: list[AnyArray]) -> AnyArray:
    """One array in a dtype in which all scores compare exactly; empty parts do not decide it."""
    kinds = [part.dtype for part in among if len(part)]
    if len({*kinds}) <= 1:
        return np.concatenate([part for part in parts if len(part)] or parts[:1])
    dtype = working_dtype(*kinds)
    return np.concatenate([exact(part, dtype) for part in parts])
