"""Checks of rankings: of the counts of an evaluation, and of edges and negatives that only an audit knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError
from graphgauge.core.finding import check
from graphgauge.core.result import Result
from graphgauge.core.types import AnyArray, Mask
from graphgauge.ranking.counts import Counts
from graphgauge.ranking.evaluate import mrr
from graphgauge.ranking.samples import Pooled, Ranks
from graphgauge.ranking.sets import Edges

Evidence = dict[str, Any] | None
# Below these shares of queries a fault does not change a number printed with three digits.
_SEEN, _FEW, _SOME = 0.001, 0.01, 0.05
# Two relations are inverse if this share of the pairs of one is reversed in the other.
_INVERSE = 0.8
# If more than half of the edges repeat another, they are events, and a past event is not a known positive.
_EVENTS = 0.5


@check(
    "lowest-scores",
    family="ranking",
    message="{count} negatives have the score −inf: if they are meant to be left out, they still count as candidates, "
    "in chance levels and adjusted metrics",
    remedy='Pass minus_inf="exclude" with the scores, or leave filtered candidates out.',
)
def lowest_scores(counts: Counts) -> Evidence:
    """Candidates with the score −inf, which look like filtered ones."""
    return {"count": counts.met.lowest} if counts.met.lowest else None


@check(
    "tied-scores",
    family="ranking",
    message="{share:.1%} of the queries have negatives tied with their positive: MRR is {pessimistic:.4f} or "
    "{optimistic:.4f}, depending on who wins ties",
    remedy='Report ties="expected" or both bounds, and find out why scores collide (saturation, rounding, float16).',
)
def tied_scores(ranks: Ranks) -> Evidence:
    """Ties decide the number: MRR changes by more than 0.01 with the tie rule."""
    if not ranks.equal.any():
        return None
    optimistic, pessimistic = (
        float(each.mean(each.reciprocal)[0]) for each in (ranks.under("optimistic"), ranks.under("pessimistic"))
    )
    if optimistic - pessimistic <= 0.01:
        return None
    return {"share": _share(ranks, ranks.equal > 0), "optimistic": optimistic, "pessimistic": pessimistic}


@check(
    "no-negatives",
    family="ranking",
    message="{share:.1%} of the right answers have no wrong one to be compared with ({count} in all): they rank first "
    "with any model",
    remedy="Leave these queries out, or give them negatives: a rank among one candidate says nothing.",
)
def no_negatives(ranks: Ranks) -> Evidence:
    """A right answer is its only candidate, and ranks first with any model."""
    alone = ranks.candidates == 1
    return {"share": _share(ranks, alone), "count": int(ranks.items[alone].sum())} if alone.any() else None


@check(
    "cutoff-above-candidates",
    family="ranking",
    message="{key} counts {share:.1%} of the queries as hits regardless of the model: they have no more than k = "
    "{candidates} candidates",
    remedy="Choose a k well below the number of candidates, or rank among more of them.",
)
def cutoff_above_candidates(ranks: Ranks, results: Mapping[str, Result]) -> Evidence:
    """A cut-off is at or above the number of candidates of many queries."""
    hits = {key: each.params["k"] for key, each in results.items() if each.metric == "hits"}
    shares = {key: _share(ranks, ranks.candidates <= k) for key, k in hits.items() if k >= ranks.fewest_candidates}
    key = max(shares, key=shares.__getitem__, default="")
    if not key or not shares[key] >= _SOME:
        return None
    return {"key": key, "share": shares[key], "candidates": hits[key]}


@check(
    "left-out",
    family="ranking",
    severity="note",
    message="{what}",
    remedy="The results describe the others only; find out why scores or answers are missing.",
)
def left_out(counts: Counts) -> Evidence:
    """Queries or candidates were left out: their scores are NaN, or they have no right answer."""
    met = counts.met
    kinds = {
        "queries with a right answer whose score is NaN": met.unscored,
        "queries whose wrong answers all have the score NaN": met.emptied,
        "queries without a right answer": met.unanswered,
        "candidates with the score NaN": met.missing,
        "known items in lists": met.passed_over,
        "empty places of lists": met.unfilled,
    }
    said = [f"{number:,} {kind}" for kind, number in kinds.items() if number]
    return {"what": "left out: " + ", ".join(said)} if said else None


@check(
    "imbalance-hidden-by-auc",
    family="ranking",
    message="ROC-AUC is {auc:.3f} and average precision {ap:.3f} with {ratio:.0f} negatives per positive: half of the "
    "positives can only be found among {false:.0f} times as many negatives",
    remedy="Report average precision next to ROC-AUC, and Hits@K at the K that users would act on.",
)
def imbalance_hidden_by_auc(pooled: Pooled, results: Mapping[str, Result]) -> Evidence:
    """ROC-AUC is high although precision is low, because there are many negatives."""
    if "roc_auc" not in results or "average_precision" not in results:
        return None
    auc, ap = results["roc_auc"].value, results["average_precision"].value
    ratio = len(pooled.neg) / max(len(pooled.pos), 1)
    if not (auc >= 0.9 and ap <= 0.5 and ratio >= 20):
        return None
    above = float((pooled.neg >= np.median(pooled.pos)).sum())
    return {"auc": auc, "ap": ap, "ratio": ratio, "false": above / (len(pooled.pos) / 2)}


def _share(ranks: Ranks, which: Mask) -> float:
    return float(ranks.mean(which)[0])


# ---- what only an audit knows


@check(
    "seen-in-training",
    family="ranking",
    severity="error",
    message="of {n} test edges {same:.1%} are in the training edges, {turned:.1%} reversed and "
    "{inverse:.1%} under an inverse relation",
    remedy="Remove these edges from the test set, or report them separately: memorising the training set answers them.",
)
def seen_in_training(test_edges: Any, train_edges: Any) -> Evidence:
    """Test edges were seen in training, as given, reversed, or under an inverse relation."""
    test, train = Edges.all_of(test_edges=test_edges, train_edges=train_edges).values()
    if not len(test) or not len(train):
        return None
    same = test.among(train)
    turned = test.reversed.among(train) & ~same & (test.head != test.tail)
    inverse = _through_inverse(test, train) & ~same & ~turned
    shares = {"same": float(same.mean()), "turned": float(turned.mean()), "inverse": float(inverse.mean())}
    if shares["same"] < _SEEN and shares["turned"] + shares["inverse"] < _SOME:
        return None
    return {"n": len(test), **shares}


def _through_inverse(test: Edges, train: Edges) -> Mask:
    """Which test triples are in training with head and tail exchanged, under an inverse relation."""
    seen = np.zeros(len(test), bool)
    by_relation = {each: train.take(train.relation == each) for each in np.unique(train.relation).tolist()}
    for relation, pairs in by_relation.items():
        mine = test.relation == relation
        for other, partner in by_relation.items() if mine.any() else ():
            if other != relation and pairs.turned(other).among(partner).mean() >= _INVERSE:
                seen[mine] |= test.take(mine).turned(other).among(partner)
    return seen


@check(
    "duplicated-queries",
    family="ranking",
    message="{share:.1%} of the {n} test edges repeat another one: such edges count several times, and "
    "intervals are too narrow",
    remedy="Ask each query once, or pass cluster= so that repetitions count as one.",
)
def duplicated_queries(test_edges: Any) -> Evidence:
    """The same query is asked several times."""
    test = Edges.of(test_edges, "test_edges")
    return {"share": test.repeats, "n": len(test)} if test.repeats >= _FEW else None


@check(
    "known-positives-as-negatives",
    family="ranking",
    severity="error",
    message="{share:.1%} of the queries have a true edge among their negatives ({count} in all, and {turned} that are "
    "true in the other direction): a model that knows it is penalised",
    remedy="Filter the negatives by all known edges (training, validation, test).",
)
def known_positives_as_negatives(
    test_edges: Any, neg_targets: Any, train_edges: Any = None, known_edges: Any = None
) -> Evidence:
    """Negatives are edges that are known to be true."""
    true, turned = _true(neg_targets, test_edges, train_edges, known_edges)
    return _of_queries(true, turned=int(turned.sum()))


@check(
    "reversed-positives-as-negatives",
    family="ranking",
    message="{share:.1%} of the queries have a negative that is a true edge in the other direction ({count} in all)",
    remedy="If edges have no direction, draw negatives with directed=False; otherwise this is as it should be.",
)
def reversed_positives_as_negatives(
    test_edges: Any, neg_targets: Any, train_edges: Any = None, known_edges: Any = None
) -> Evidence:
    """Negatives are true edges if direction is left out of account."""
    return _of_queries(_true(neg_targets, test_edges, train_edges, known_edges)[1])


def _of_queries(negatives: Mask, **more: Any) -> Evidence:
    """How many negatives these are, and the share of queries that have one."""
    share = float(negatives.any(axis=1).mean()) if len(negatives) else 0.0
    return {"share": share, "count": int(negatives.sum()), **more} if share >= _FEW else None


def _true(neg_targets: Any, test_edges: Any, train_edges: Any, known_edges: Any) -> tuple[Mask, Mask]:
    """Which negatives are known edges, and which are only if they are turned around; none if edges are events."""
    lists = list(Edges.all_of(test_edges=test_edges, train_edges=train_edges, known_edges=known_edges).values())
    test, targets = lists[0], _targets(neg_targets, len(lists[0]))
    if any(each.repeats > _EVENTS for each in lists):
        return np.zeros(targets.shape, bool), np.zeros(targets.shape, bool)
    width, known = targets.shape[1], Edges.joined(lists)
    asked = Edges(np.repeat(test.head, width), np.repeat(test.relation, width), targets.reshape(-1))
    true = asked.among(known)
    turned = asked.reversed.among(known) & ~true
    return true.reshape(targets.shape), turned.reshape(targets.shape)


@check(
    "easy-negatives",
    family="ranking",
    message="ranking the candidates by how often they occur in training gives MRR {heuristic:.3f}, the model "
    "{model:.3f} [{low:.3f}, {high:.3f}]: these negatives require no more than a count",
    remedy="Draw negatives that are as frequent as the positives, from history, or hard ones (`graphgauge ranking "
    "negatives --sampler degree`, historical or heart), and report the count next to the model.",
    costly=True,
)
def easy_negatives(results: Mapping[str, Result], test_edges: Any, train_edges: Any, neg_targets: Any) -> Evidence:
    """A degree heuristic, which ignores the pairs, ranks as well as the model."""
    test, train = Edges.all_of(test_edges=test_edges, train_edges=train_edges).values()
    targets = _targets(neg_targets, len(test))
    result = results.get("mrr")
    if result is None or result.interval is None:
        return None
    nodes = 1 + max(int(ids.max(initial=0)) for ids in (test.tail, targets, train.head, train.tail))
    degree = np.bincount(np.concatenate([train.head, train.tail]), minlength=nodes)
    heuristic = mrr(degree[test.tail], degree[targets], ties="expected")
    if heuristic < result.interval.low:
        return None
    return {"heuristic": heuristic, "model": result.value, "low": result.interval.low, "high": result.interval.high}


def _targets(neg_targets: Any, queries: int) -> AnyArray:
    targets = as_numeric(neg_targets, "neg_targets")
    if targets.ndim != 2 or len(targets) != queries or targets.dtype.kind not in "iu":
        what = f"expected whole numbers of shape ({queries}, k), found {targets.dtype} {targets.shape}"
        raise InputError(what, where="neg_targets", fix="One row of tails per test edge.")
    if targets.size and targets.min() < 0:
        raise InputError(f"names the node {targets.min()}", where="neg_targets", fix="Number nodes from 0.")
    return targets.astype(np.int64, copy=False)
