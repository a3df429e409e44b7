"""States: the same bits however the queries are split, files that come back, nothing counted twice."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphgauge.core.archive import read_archive
from graphgauge.core.errors import InputError, OptionError
from graphgauge.ranking.evaluate import evaluate
from graphgauge.ranking.queries import Queries
from graphgauge.ranking.state import BinnedAUC, RankingState

RNG = np.random.default_rng(0)
N, K = 400, 7
POS, NEG = RNG.integers(0, 9, N) / 4, RNG.integers(0, 9, (N, K)) / 4
GROUP = RNG.integers(0, 3, N)
METRICS = ["mrr", "hits@1", "hits@3", "mean_rank", "amri", "adjusted_mrr", "geometric_mean_rank", "median_rank"]


def facts(ev: Any) -> dict[str, Any]:
    kept = {key: (result.value, result.interval, result.n, result.references) for key, result in ev.items()}
    return kept | {axis: grid.to_columns() for axis, grid in ev.breakdowns.items()} | {"conventions": ev.conventions}


def labelled(rows: Any, kind: str) -> dict[str, Any]:
    labels: dict[str, Any] = {"groups": {"g": GROUP[rows]}}
    if kind == "ids":
        labels["ids"] = np.arange(N)[rows] + 1000
    if kind == "weights":
        labels |= {"weights": 1.0 + GROUP[rows], "cluster": (np.arange(N) // 3)[rows]}
    return labels


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["plain", "ids", "weights"]))
def test_64_shards_in_any_order_have_the_same_bits(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    whole = evaluate(POS, NEG, **labelled(slice(None), kind), metrics=METRICS)
    shards = np.array_split(rng.permutation(N), 64)
    states = [
        RankingState(f"{number:02}").update(POS[rows], NEG[rows], **labelled(rows, kind))
        for number, rows in enumerate(shards)
    ]
    merged = []
    for _ in range(2):
        pool = [copy.deepcopy(state) for state in states]
        while len(pool) > 1:  # in any order, and in any tree
            one, other = rng.permutation(len(pool))[:2].tolist()
            pool[one].merge(pool[other])
            del pool[other]
        merged.append(pool[0])
    found = [facts(state.evaluate(metrics=METRICS)) for state in merged]
    assert found[0] == found[1]
    if kind == "weights":
        for key in METRICS:
            assert merged[0].evaluate(metrics=[key])[key].value == pytest.approx(whole[key].value, abs=1e-14)
    else:
        assert found[0] == facts(whole)


def test_equal_contents_are_equal_files(tmp_path: Path) -> None:
    for name, order in (("one", range(8)), ("two", [5, 2, 7, 0, 1, 6, 3, 4])):
        state = RankingState("none")
        for number in order:
            rows = slice(50 * number, 50 * number + 50)
            state.merge(RankingState(str(number)).update(POS[rows], NEG[rows], **labelled(rows, "plain")))
        state.save(tmp_path / f"{name}.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


FORMS: dict[str, Any] = {
    "scores": lambda rows: Queries.from_scores(POS[rows], NEG[rows], groups={"g": GROUP[rows]}),
    "ids": lambda rows: Queries.from_scores(POS[rows], NEG[rows], ids=np.arange(N)[rows]),
    "lists": lambda rows: Queries.from_lists(
        NEG[rows].ravel(), (NEG[rows].ravel() * 4 % 3 == 0).astype(int), np.repeat(np.arange(N)[rows], K)
    ),
    "entities": lambda rows: Queries.from_embeddings(
        scores=NEG[rows], targets=[{int(row) % K, int(row) % 3} for row in np.arange(N)[rows]]
    ),
    "topk": lambda rows: Queries.from_topk(
        np.argsort(-NEG[rows], axis=1, kind="stable")[:, :4], np.arange(N)[rows] % K, n_items=K
    ),
    "triples": lambda rows: Queries.from_triples(
        lambda h, r, t: (h * 3 + r + t * 5) % 11,
        np.stack([np.arange(N)[rows] % 30, GROUP[rows], np.arange(N)[rows] % 29], axis=1),
        entities=30,
    ),
}


@pytest.mark.parametrize("form", [each for each in FORMS if each != "triples"])
def test_saved_states_merge_to_the_whole(form: str, tmp_path: Path) -> None:
    whole = RankingState("a").update(FORMS[form](slice(None))).evaluate()
    parts = []
    for number, rows in enumerate((slice(0, 130), slice(130, None))):
        RankingState(str(number)).update(FORMS[form](rows)).save(tmp_path / f"{number}.npz")
        parts.append(RankingState.load(tmp_path / f"{number}.npz"))
    assert parts[0].n < N
    assert parts[1].merge(parts[0]).n == whole[next(iter(whole))].n
    assert facts(parts[1].evaluate()) == facts(whole)
    assert facts(pickle.loads(pickle.dumps(parts[1])).evaluate()) == facts(whole)
    assert parts[1].compute() == {key: result.value for key, result in whole.items()}
    assert facts(evaluate(FORMS[form](slice(None)))) == facts(whole)


def test_the_two_sides_of_a_triple_are_one_cluster_in_any_batch() -> None:
    """As ids number the triples of a batch, batches of triples are told apart by their labels."""
    counts = [FORMS["triples"](rows).count() for rows in (slice(0, 200), slice(200, None))]
    clusters = [set(part.labels.cluster.tolist()) for part in counts]
    triples = [
        {(row % 30, int(GROUP[row]), row % 29) for row in np.arange(N)[rows].tolist()}
        for rows in (slice(0, 200), slice(200, None))
    ]
    assert len(clusters[0] & clusters[1]) == len(triples[0] & triples[1])
    assert [len(each) for each in clusters] == [len(each) for each in triples]


def test_scores_are_kept_for_pooled_metrics(tmp_path: Path) -> None:
    metrics = ["roc_auc", "average_precision", "mrr"]
    for labels in ({}, {"cluster": np.arange(N) // 3}):
        whole = facts(evaluate(POS, NEG, metrics=metrics, **labels))
        parts = []
        for name, rows in (("a", slice(0, 90)), ("b", slice(90, None))):
            own = {key: values[rows] for key, values in labels.items()}
            state = RankingState(name, pooled=True)
            for half in (slice(0, 40), slice(40, None)):
                mine = {key: values[half] for key, values in own.items()}
                state.update(POS[rows][half], NEG[rows][half], **mine)
            state.save(tmp_path / f"{name}.npz")
            parts.append(RankingState.load(tmp_path / f"{name}.npz"))
        assert facts(parts[1].merge(parts[0]).evaluate(metrics=metrics)) == whole
        with pytest.raises(InputError, match="keeps all scores"):
            RankingState("c").update(POS, NEG, **labels).merge(parts[0])
    with pytest.raises((InputError, OptionError), match="roc_auc"):
        RankingState().update(POS, NEG).evaluate(metrics=["roc_auc"])


def test_one_pool_adds_up(tmp_path: Path) -> None:
    pool = NEG.ravel()
    whole = facts(evaluate(POS, pool))
    state = RankingState("a").update(POS[:100], pool[:50]).update(POS[100:300], pool[50:51])
    other = RankingState("b").update(POS[300:], pool[51:])
    other.save(tmp_path / "b.npz")
    state.merge(RankingState.load(tmp_path / "b.npz"))
    assert state.n == N
    assert facts(state.evaluate()) == whole
    with pytest.raises(InputError, match="one pool for all positives"):
        state.update(POS, NEG)
    with pytest.raises(InputError, match="one pool for all positives"):
        RankingState().update(POS, NEG).merge(state)
    assert facts(state.evaluate()) == whole


def test_nothing_is_counted_twice(tmp_path: Path) -> None:
    state = RankingState("a").update(POS[:100], NEG[:100], ids=np.arange(100))
    with pytest.raises(InputError, match="both states have counted 'a'"):
        state.merge(RankingState("a").update(POS[100:], NEG[100:], ids=np.arange(100, N)))
    with pytest.raises(InputError, match="99 occurs twice"):
        state.update(POS[99:101], NEG[99:101], ids=[99, 100])
    with pytest.raises(InputError, match="7 occurs twice"):
        state.merge(RankingState("b").update(POS[7:8], NEG[7:8], ids=[7]))
    assert state.n == 100
    assert state.shards == ("a",)
    state.save(tmp_path / "a.npz")
    with pytest.raises(InputError, match="both states have counted"):
        state.merge(RankingState.load(tmp_path / "a.npz"))
    with pytest.raises(InputError, match="parts differ in their labels"):
        state.update(POS[100:], NEG[100:])
    assert state.evaluate()["mrr"].value == evaluate(POS[:100], NEG[:100])["mrr"].value
    state.reset()
    with pytest.raises(InputError, match="nothing was counted"):
        state.evaluate()
    # Without names of parts, every state is a part of its own.
    assert RankingState().update(POS, NEG).merge(RankingState().update(POS, NEG)).n == 2 * N
    with pytest.raises(OptionError, match="shard is 3"):
        RankingState(3)  # type: ignore[arg-type]


def test_a_file_is_the_table_of_single_queries(tmp_path: Path) -> None:
    RankingState("a").update(POS, NEG, ids=np.arange(N)[::-1]).save(tmp_path / "a.npz")
    facts_, arrays = read_archive(tmp_path / "a.npz", "ranking")
    assert facts_["parts"] == [["a", N, None]]
    above = (POS[:, None] < NEG).sum(axis=1)
    assert arrays["above"].tolist() == above.tolist()
    assert arrays["ids"].tolist() == list(range(N))[::-1]
    with np.load(tmp_path / "a.npz") as archive:
        changed = {name: archive[name] for name in archive.files}
    np.savez(tmp_path / "b.npz", **{**changed, "above": changed["above"] + 1})
    with pytest.raises(InputError, match="changed after it was written"):
        RankingState.load(tmp_path / "b.npz")


def test_many_queries_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphgauge.ranking.state.SINGLE", 100)
    state = RankingState()
    for rows in np.array_split(np.arange(N), 5):
        state.update(POS[rows], NEG[rows], groups={"g": GROUP[rows]})
    assert len(state.counts().candidates) < N
    assert state.n == N
    assert facts(state.evaluate(metrics=METRICS)) == facts(evaluate(POS, NEG, groups={"g": GROUP}, metrics=METRICS))


def test_so_do_those_of_one_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    np.save(tmp_path / "neg.npy", NEG)
    neg = np.load(tmp_path / "neg.npy", mmap_mode="r")
    groups, expected = {"g": GROUP}, evaluate(POS, NEG, groups={"g": GROUP}, metrics=METRICS)
    monkeypatch.setattr("graphgauge.ranking.queries.SINGLE", 100)
    monkeypatch.setattr("graphgauge.ranking.scores._AT_ONCE", 50 * K)
    queries = Queries.from_scores(POS, neg, groups=groups)
    assert len(queries.count().candidates) < N / 2
    found = evaluate(queries, metrics=METRICS)
    assert facts(found) == facts(expected)
    assert found.per_item is None
    named = evaluate(POS, neg, groups=groups, ids=np.arange(N), metrics=METRICS)  # by name they are kept
    assert named.per_item["mrr"].tolist() == expected.per_item["mrr"].tolist()


def test_a_binned_area_is_within_its_range() -> None:
    rng = np.random.default_rng(1)
    for scale in (1e-6, 1.0, 1e9):
        pos, neg = rng.normal(0.5, 1, 3000) * scale, rng.normal(0, 1, 5000) * scale
        exact = evaluate(pos, neg, metrics=["roc_auc"])["roc_auc"].value
        states = [BinnedAUC().update(pos[part], neg[part]) for part in (slice(0, 999), slice(999, None))]
        state = states[0].merge(states[1])
        result = state.evaluate()["roc_auc"]
        assert result.n == 3000
        assert abs(result.value - exact) <= result.tolerance < 1e-3
        assert state.compute() == result.value
        assert result.warnings[0].startswith("approximate: the exact area is between")
    few = BinnedAUC().update([-1.0, 0.0, np.inf], [-np.inf, -0.0, 2.0])
    assert few.compute() == evaluate([-1.0, 0.0, np.inf], [-np.inf, -0.0, 2.0], metrics=["roc_auc"])["roc_auc"].value
    assert np.isnan(BinnedAUC().update([1.0], []).compute())
    with pytest.raises(InputError, match="NaN"):
        few.update([np.nan], [1.0])
