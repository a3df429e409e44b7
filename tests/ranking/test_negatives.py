"""Negatives: never a known positive, distinct, as likely as declared, recorded, and the same for every method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import rankdata

from graphgauge.core.errors import InputError
from graphgauge.ranking.candidates import best_ranks
from graphgauge.ranking.negative_sampling import AMONG, SAMPLERS, SIDES, Negatives, negatives

TEMPORAL = ("historical", "inductive")


@st.composite
def designs(draw: st.DrawFn) -> dict[str, Any]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    nodes, relations = draw(st.integers(2, 25)), draw(st.integers(0, 3))

    def edges(length: int) -> np.ndarray:
        ends = rng.integers(0, nodes, (length, 2))
        middle = rng.integers(0, max(relations, 1), (length, 1))
        return np.hstack([ends[:, :1], middle, ends[:, 1:]]) if relations else ends

    sampler = draw(st.sampled_from(SAMPLERS))
    among = draw(st.sampled_from(AMONG))
    test = edges(draw(st.integers(1, 30)))
    train = edges(draw(st.sampled_from([0, 5, 60, 300])))
    options: dict[str, Any] = {"nodes": nodes, "among": among, "side": draw(st.sampled_from(SIDES))}
    options |= {"directed": draw(st.booleans()), "seed": draw(st.integers(0, 99))}
    if among == "type":
        options["types"] = rng.integers(0, 3, nodes)
    if sampler != "uniform":
        options["history"] = train
    if sampler in TEMPORAL:
        options |= {"times": rng.integers(0, 4, len(test)), "ratio": draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))}
    else:
        options["known"] = [train]
    return {"edges": test, "sampler": sampler, "k": draw(st.integers(1, 30)), **options}


def positives_of(design: dict[str, Any], row: int) -> set[tuple[int, ...]]:
    """The edges that are known to be true for a query, by definition."""
    test = [tuple(edge) for edge in design["edges"].tolist()]
    if "times" in design:
        known = [edge for edge, time in zip(test, design["times"], strict=True) if time == design["times"][row]]
    else:
        known = test + [tuple(edge) for edge in design["known"][0].tolist()]
    if not design["directed"]:
        known += [(edge[-1], *edge[1:-1], edge[0]) for edge in known]
    return set(known)


def candidates_of(design: dict[str, Any], row: int, end: int) -> set[int]:
    """The nodes that may replace one end (0 or -1) of an edge, by definition."""
    edge = design["edges"][row]
    nodes = set(range(design["nodes"]))
    if design["among"] == "type":
        nodes = {node for node in nodes if design["types"][node] == design["types"][edge[end]]}
    if design["among"] == "range":
        seen = np.concatenate([design["edges"], *design.get("known", []), design.get("history", design["edges"][:0])])
        if not design["directed"]:
            seen = np.concatenate([seen, np.hstack([seen[:, -1:], seen[:, 1:-1], seen[:, :1]])])
        same = seen[seen[:, 1] == edge[1]] if len(edge) == 3 else seen
        nodes = set(same[:, end].tolist())
    allowed = set()
    for node in nodes:
        changed = edge.copy()
        changed[end] = node
        if tuple(changed.tolist()) not in positives_of(design, row) and changed[0] != changed[-1]:
            allowed.add(node)
    return allowed


def special_to(design: dict[str, Any], row: int, end: int) -> set[int]:
    """The nodes of which only a share is drawn, by definition: those met before, or in the edges alone."""
    if design["sampler"] not in TEMPORAL:
        return set()
    past = {tuple(edge) for edge in design["history"].tolist()}
    if not design["directed"]:
        past |= {(edge[-1], *edge[1:-1], edge[0]) for edge in past}
    chosen = past
    if design["sampler"] == "inductive":
        chosen = {tuple(edge) for edge in design["edges"].tolist()}
        if not design["directed"]:
            chosen |= {(edge[-1], *edge[1:-1], edge[0]) for edge in chosen}
        chosen -= past
    fixed = design["edges"][row].tolist()
    fixed.pop(end)
    return {edge[end] for edge in chosen if list(edge[1:] if end == 0 else edge[:-1]) == fixed}


@given(designs())
def test_negatives_are_distinct_possible_and_as_many_as_there_are(design: dict[str, Any]) -> None:
    found = negatives(**design)
    k = design["k"]
    assert found.nodes.shape == found.mask.shape == (len(design["edges"]), k)
    assert found.heads == {"tail": 0, "head": k, "both": k // 2}[design["side"]]
    whole = found.corrupted
    for row, edge in enumerate(design["edges"]):
        for end, columns in ((-1, slice(0, k - found.heads)), (0, slice(k - found.heads, k))):
            drawn = found.nodes[row, columns][found.mask[row, columns]].tolist()
            allowed = candidates_of(design, row, end)
            width = columns.stop - columns.start
            special = allowed & special_to(design, row, end)
            share = min(int(width * design.get("ratio", 0)), len(special))
            assert len(set(drawn)) == len(drawn) == share + min(width - share, len(allowed - special))
            assert len(special.intersection(drawn)) == share
            assert set(drawn) <= allowed
            assert (found.nodes[row, columns][~found.mask[row, columns]] == edge[end]).all()
            other = 0 if end == -1 else -1
            assert (whole[row, columns, other] == edge[other]).all()
            assert (whole[row, columns, end] == found.nodes[row, columns]).all()


@given(designs())
def test_a_seed_repeats_and_the_order_of_known_edges_does_not_matter(design: dict[str, Any]) -> None:
    first = negatives(**design)
    again = dict(design)
    for name in ("known", "history"):
        if name in again:
            parts = again[name] if name == "known" else [again[name]]
            turned = [np.concatenate([part[::-1], part[:3]]) for part in parts]
            again[name] = turned if name == "known" else turned[0]
    if design["sampler"] == "degree":  # repeated edges count
        again["history"] = design["history"][::-1]
    assert first.digest == negatives(**again).digest


def test_every_candidate_is_as_likely() -> None:
    edges, known = np.tile([0, 1], (20_000, 1)), [np.array([[0, 2], [0, 7], [3, 4]])]
    found = negatives(edges, k=3, known=known, nodes=12)
    counts = np.bincount(found.nodes.ravel(), minlength=12)
    assert counts[[0, 1, 2, 7]].sum() == 0
    # Of 8 candidates 3 are drawn. Their counts have variance n·p·(1 − p) and covariance as in simple random sampling.
    inclusion, n = 3 / 8, len(edges)
    statistic = ((counts[counts > 0] - n * inclusion) ** 2).sum() / (n * inclusion * (1 - inclusion)) * 7 / 8
    assert len(counts[counts > 0]) == 8
    assert 0.001 < stats.chi2.sf(statistic, 7) < 0.999


def test_degree_matched_negatives_are_uniform_on_the_level_of_the_answer() -> None:
    # Degrees: nodes 1–4 have 1, nodes 5–10 have 4 to 7, node 0 many.
    history = np.array([[0, node] for node in (1, 2, 3, 4)] + [[0, node] for node in range(5, 11) for _ in range(4)])
    edges = np.tile([[11, 5]], (10_000, 1))
    found = negatives(edges, "degree", k=2, history=history, nodes=12)
    counts = np.bincount(found.nodes.ravel(), minlength=12)
    assert set(np.flatnonzero(counts)) == {6, 7, 8, 9, 10}
    assert stats.chisquare(counts[6:11]).pvalue > 0.001
    wider = negatives(edges[:3], "degree", k=9, history=history, nodes=12)
    assert wider.mask.all()


def test_popularity_no_longer_ranks() -> None:
    rng = np.random.default_rng(0)
    weight = 1 / np.arange(1, 2001)
    tails = rng.choice(2000, (30_000,), p=weight / weight.sum())
    edges = np.stack([rng.integers(2000, 4000, 30_000), tails], axis=1)
    train, test = edges[:25_000], edges[25_000:27_000]
    degree = np.bincount(train.ravel(), minlength=4000).astype(float)
    values = {}
    for sampler in ("uniform", "degree"):
        history = train if sampler == "degree" else None
        drawn = negatives(test, sampler, k=10, known=train, history=history, nodes=4000)
        own, others = degree[test[:, 1]], degree[drawn.nodes]
        rank = 1 + (others > own[:, None]).sum(axis=1) + (others == own[:, None]).sum(axis=1) / 2
        chance = (1 / np.arange(1, 12)).mean()
        values[sampler] = ((1 / rank).mean() - chance) / (1 - chance)
    assert values["uniform"] > 0.6
    assert values["degree"] < values["uniform"] / 2


def test_historical_negatives_are_those_of_tgb() -> None:
    """Up to half from the history of the same source, no positive of the same time; the others are not from there."""
    rng = np.random.default_rng(1)
    history = np.stack([rng.integers(0, 30, 400), rng.integers(30, 90, 400)], axis=1)
    edges = np.stack([rng.integers(0, 30, 200), rng.integers(30, 90, 200)], axis=1)
    times = rng.integers(0, 20, 200)
    found = negatives(edges, "historical", k=20, history=history, times=times, nodes=90, among="range")
    for row, (source, _) in enumerate(edges):
        now = set(edges[(edges[:, 0] == source) & (times == times[row]), 1])
        past = set(history[history[:, 0] == source, 1])
        drawn = set(found.nodes[row][found.mask[row]])
        assert len(drawn & past) == min(10, len(past - now))
        assert not drawn & now
    new = negatives(edges, "inductive", k=20, history=history, times=times, nodes=90)
    for row, (source, _) in enumerate(edges):
        now = set(edges[(edges[:, 0] == source) & (times == times[row]), 1])
        past = set(history[history[:, 0] == source, 1])
        met = set(edges[edges[:, 0] == source, 1]) - past
        assert len(set(new.nodes[row][new.mask[row]]) & met) == min(10, len(met - now))


# -------------------------------------------------------------------- HeaRT


def published_ranks(row: np.ndarray) -> np.ndarray:
    """Ranks of one node's scores as HeaRT defines them: 0 after all positive scores, excluded (-1) last."""
    above = row > 0
    ranks = np.zeros(len(row))
    most = 0
    if above.any():
        ascending = rankdata(row[above], method="min")
        ranks[above] = ascending.max() - ascending + 1
        most = int(ranks[above].max())
    ranks[row == 0], ranks[row < 0] = most + 1, most + 2
    return ranks


@given(st.integers(0, 2**32 - 1))
def test_the_best_rank_is_that_of_heart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    owners = [rng.integers(0, 4, (2, rng.integers(1, 9))).astype(float) for _ in range(4)]
    merged = [np.concatenate([scores[row] for scores in owners]) for row in (0, 1)]
    owner = np.repeat(np.arange(4), [scores.shape[1] for scores in owners])
    expected = [np.min([published_ranks(scores[0]), published_ranks(scores[1])], axis=0) for scores in owners]
    assert best_ranks(owner, merged).tolist() == np.concatenate(expected).tolist()


def test_hard_negatives_are_those_of_heart() -> None:
    rng = np.random.default_rng(3)
    nodes, k = 60, 16
    train = rng.integers(0, nodes, (150, 2))
    train = train[train[:, 0] != train[:, 1]]
    test = rng.integers(0, nodes, (40, 2))
    test = test[test[:, 0] != test[:, 1]]
    matrix = np.zeros((nodes, nodes))
    matrix[train[:, 0], train[:, 1]] = matrix[train[:, 1], train[:, 0]] = 1
    degree = matrix.sum(axis=1)
    allocation = np.round(matrix @ (matrix / np.maximum(degree, 1)[:, None]), 12)
    step = matrix / np.maximum(degree, 1)[:, None]
    # The exact PageRank: the approximate one orders nodes alike, except those it does not reach.
    walk = 0.15 * np.linalg.inv(np.eye(nodes) - 0.85 * step)
    found = negatives(test, "heart", k=k, known=train, history=train, nodes=nodes, side="both", directed=False)
    agree = total = 0
    for row, edge in enumerate(test):
        for fixed, columns in ((edge[0], slice(0, k // 2)), (edge[1], slice(k // 2, k))):
            known = matrix[fixed].astype(bool)
            for pair in test:
                known[pair[1 - int(pair[1] == fixed)]] |= fixed in pair
            known[fixed] = True
            scores = [np.where(known, -1, allocation[fixed]), np.where(known, -1, walk[fixed])]
            rank = np.min([published_ranks(each) for each in scores], axis=0)
            drawn = found.nodes[row, columns]
            assert not known[drawn].any()
            agree += int((np.sort(rank[drawn]) <= np.sort(rank)[k // 2 - 1] * 1.3 + 1).sum())
            total += k // 2
    assert agree / total > 0.97


def test_nodes_without_any_score_fill_up_at_random() -> None:
    train = np.array([[0, 1], [1, 2], [0, 3], [3, 4]])
    edges = np.tile([[0, 5]], (6000, 1))
    found = negatives(edges, "heart", k=4, known=train, history=train, nodes=12)
    counts = np.bincount(found.nodes.ravel(), minlength=12)
    assert counts[[2, 4]].tolist() == [6000, 6000]  # the only nodes near 0 that are no neighbours
    assert counts[[0, 1, 3, 5]].sum() == 0
    assert stats.chisquare(counts[6:]).pvalue > 0.001


# -------------------------------------------------------------------- edge cases, records


def test_a_node_connected_to_all_has_no_negatives() -> None:
    known = np.array([[0, tail] for tail in range(5)])
    found = negatives([[0, 1], [1, 2]], k=3, known=known, nodes=5)
    assert found.mask.tolist() == [[False] * 3, [True] * 3]
    assert found.nodes[0].tolist() == [1, 1, 1]
    assert found.short == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sampler": "heart"}, "heart negatives need history"),
        ({"sampler": "historical", "history": [[0, 1]]}, "need times"),
        ({"times": [0, 1], "known": [[0, 1]]}, "known edges do not go with times"),
        ({"among": "type"}, "needs types"),
        ({"types": [0] * 4}, "types are used by"),
        ({"among": "type", "types": [0] * 3}, "types"),
        ({"nodes": 3}, "the node 3 occurs"),
        ({"k": 0}, "k must be"),
        ({"ratio": 2}, "ratio"),
        ({"sampler": "hearts"}, "Did you mean 'heart'"),
        ({"known": [[0, 1, 2]]}, "pairs and triples are mixed"),
        ({"edges": [[0, -1]]}, "names the node -1"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        negatives(**{"edges": [[0, 1], [2, 3]], **options})


def drawn(seed: int = 0, k: int = 20) -> Negatives:
    rng = np.random.default_rng(5)
    return negatives(rng.integers(0, 40, (30, 2)), k=k, nodes=40, seed=seed)


def test_a_file_carries_its_record_and_cannot_be_changed(tmp_path: Path) -> None:
    found = drawn()
    found.save(tmp_path / "n.npz")
    back = Negatives.load(tmp_path / "n.npz")
    assert str(back) == str(found)
    assert back.record == found.record
    with np.load(tmp_path / "n.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["nodes"] = arrays["nodes"].copy()
    arrays["nodes"][0, 0] += 1
    np.savez(tmp_path / "changed.npz", **arrays)
    with pytest.raises(InputError, match="changed after it was written"):
        Negatives.load(tmp_path / "changed.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(InputError, match="not an archive"):
        Negatives.load(tmp_path / "other.npz")
