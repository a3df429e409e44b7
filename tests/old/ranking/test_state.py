"""The mergeable state: batches, shards, files, and what it refuses."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge import ranking
from graphgauge.core.errors import InputError
from graphgauge.kernels.histogram import Histogram
from graphgauge.old.core.state import load_state
from graphgauge.ranking import RankingState

RANDOM = np.random.default_rng(0)
POS, NEG = RANDOM.integers(0, 6, 30).astype(float), RANDOM.integers(0, 5, (30, 4)).astype(float)
SIDE, TEXT, CLUSTER = np.arange(30) % 3, np.array(["x", "yy", "z"])[np.arange(30) % 3], np.arange(30) // 2
FLAT = {"scores": NEG.ravel(), "labels": NEG.ravel() > 2, "queries": np.repeat(np.arange(30), 4)}


def rows(part: slice, **per_query: np.ndarray) -> dict[str, Any]:
    return {"pos_scores": POS[part], "neg_scores": NEG[part]} | {name: v[part] for name, v in per_query.items()}


def assert_equal(found: ranking.RankingState, expected: ranking.RankingState, **options: Any) -> None:
    a, b = found.evaluate(**options), expected.evaluate(**options)
    assert a.to_dict() | {"receipt": None} == b.to_dict() | {"receipt": None}


# --------------------------------------------------------------------- in batches


def test_any_batches_make_one_state() -> None:
    whole = RankingState().update(POS, NEG)
    parts = RankingState()
    for start in range(0, 30, 7):
        parts.update(POS[start : start + 7], NEG[start : start + 7])
    singles = RankingState()
    for row in range(30):
        singles.update(POS[row : row + 1], NEG[row : row + 1])
    assert whole.n == parts.n == singles.n == 30
    assert_equal(parts, whole)
    assert_equal(singles, whole)
    assert whole.compute()["mrr"].value == whole.evaluate()["mrr"].value


def test_a_batch_may_come_in_any_form() -> None:
    state = RankingState().update(POS[:10], NEG[:10])
    state.update(POS[10:20], NEG[10:20], mask=np.ones((10, 4), bool))
    state.update(POS[20:], NEG[20:].ravel(), offsets=np.arange(11) * 4)
    assert_equal(state, RankingState().update(POS, NEG))


def test_counts_from_elsewhere() -> None:
    above, beside = (POS[:, None] < NEG).sum(axis=1), (POS[:, None] == NEG).sum(axis=1)
    state = RankingState().update_counts(above, beside, np.full(30, 5))
    assert_equal(state, RankingState().update(POS, NEG))
    with pytest.raises(InputError, match="below 0"):
        RankingState().update_counts([-1], [0], [5])
    with pytest.raises(InputError, match="than candidates"):
        RankingState().update_counts([3], [2], [5])


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (([0, 1], [0], [5, 5]), r"equal: expected shape \(2\), found \(1,\)"),
        (([0, 1], [0, 0], [5]), r"candidates: expected shape \(2\), found \(1,\)"),
        (([[0, 1]], [[0, 0]], [[5, 5]]), r"greater: expected shape \(any\), found \(1, 2\)"),
        ((0, 0, 5), r"greater: expected shape \(any\), found \(\)"),
        (([0.5], [0], [5]), "greater: expected integers, found float64"),
    ],
)
def test_counts_are_one_integer_a_query(counts: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RankingState().update_counts(*counts)


def test_a_single_query_with_nan_goes_the_long_way() -> None:
    state = RankingState()
    with pytest.raises(InputError, match=r"1 of 4 values are NaN, the first at index \(0, 2\)"):
        state.update(np.ones(1), np.array([[0, 1, np.nan, 2]]))
    assert state.n == 0
    state.update(np.ones(1), np.array([[0, 1, np.nan, 2]]), nan="omit")
    state.update(np.array([np.nan]), np.ones((1, 4)), nan="omit")
    assert (state.n, state.dropped_candidates, state.dropped_queries) == (1, 1, 1)
    assert state.evaluate()["mean_rank"].value == 2.5


@pytest.mark.parametrize(
    ("pos", "neg"),
    [
        (np.ones(1), np.array(3.0)),
        (np.array(1.0), np.ones((1, 4))),
        (np.ones(4), np.ones((1, 9))),
        (np.ones(1), np.ones((1, 2, 2))),
        (np.array(["a"]), np.array([["b"]])),
        (np.array([1j]), np.array([[1j]])),
        (np.ones(1, np.longdouble), np.ones((1, 2), np.longdouble)),
        (np.array([object()]), np.array([[object()]])),
    ],
)
def test_wrong_shapes_and_types_of_one_query(pos: np.ndarray, neg: np.ndarray) -> None:
    with pytest.raises(InputError):
        RankingState().update(pos, neg)


def test_layouts_do_not_mix() -> None:
    plain = {"pos_scores": np.ones(1), "neg_scores": np.zeros((1, 2))}
    flat = {"scores": [1, 0], "labels": [1, 0], "queries": [0, 0]}
    forms = [
        plain,
        plain | {"groups": {"side": [0]}},
        plain | {"groups": {"other": [0]}},
        plain | {"cluster": [0]},
        flat,
        flat | {"groups": {"side": [0, 0]}},
    ]
    for first in forms:
        for form in forms:
            state = RankingState().update(**first)
            second = form | {"queries": [1, 1]} if "queries" in form else form  # a query comes once
            if first is form:
                assert state.update(**second).n == 2
                continue
            before = state.evaluate().to_dict()["results"]
            with pytest.raises(InputError, match="Give every batch in the same form"):
                state.update(**second)
            with pytest.raises(InputError, match="Give every batch in the same form"):
                state.merge(RankingState().update(**second))
            assert state.evaluate().to_dict()["results"] == before  # what failed left no trace


def test_text_and_integer_labels_do_not_mix() -> None:
    numbers = RankingState().update(**rows(slice(0, 9)), groups={"side": SIDE[:9]})
    words = RankingState().update(**rows(slice(9, 30)), groups={"side": TEXT[9:]})
    with pytest.raises(InputError, match="text labels and integer labels in group 'side'"):
        numbers.update(**rows(slice(9, 30)), groups={"side": TEXT[9:]})
    with pytest.raises(InputError, match="text labels and integer labels in group 'side'"):
        numbers.merge(words)
    assert numbers.evaluate()["mrr"].n == 9
    both = RankingState().update(**rows(slice(0, 9)), groups={"side": SIDE[:9], "text": TEXT[:9]})
    with pytest.raises(InputError, match="text labels and integer labels in group 'text'"):
        both.update(**rows(slice(9, 30)), groups={"side": SIDE[9:] + 7, "text": SIDE[9:]})
    assert both.labels("side").tolist() == [0, 1, 2]  # what failed left no trace
    assert words.merge(RankingState().update(**rows(slice(0, 9)), groups={"side": TEXT[:9]})).n == 30


def test_labels_sort_whatever_came_first() -> None:
    state = RankingState()
    for part in (slice(15, 30), slice(0, 15)):
        state.update(**rows(part), groups={"side": TEXT[part]})
    whole = RankingState().update(POS, NEG, groups={"side": TEXT})
    assert state.labels("side").tolist() == ["x", "yy", "z"]
    assert_equal(state, whole)


# ------------------------------------------------------------------------- shards


def test_nothing_counts_twice() -> None:
    state = RankingState().update(POS, NEG)
    with pytest.raises(InputError, match="both states have the shard"):
        state.merge(state)
    copy = RankingState()
    copy.merge(state)
    with pytest.raises(InputError, match="both states have the shard"):
        copy.merge(state)
    assert copy.n == 30
    named = RankingState(shard="part 1").update(POS, NEG)
    with pytest.raises(InputError, match="'part 1'"):
        named.merge(RankingState(shard="part 1").update(POS, NEG))
    assert named.merge(RankingState(shard="part 2").update(POS, NEG)).n == 60


def test_a_saved_shard_is_still_the_same(tmp_path: Path) -> None:
    state = RankingState().update(POS, NEG)
    state.save(tmp_path / "a.npz")
    with pytest.raises(InputError, match="both states have the shard"):
        state.merge(RankingState.load(tmp_path / "a.npz"))
    loaded = RankingState.load(tmp_path / "a.npz").update(POS, NEG)  # goes on counting as a part of its own
    assert loaded.n == 60


def test_unlike_states_do_not_merge() -> None:
    with pytest.raises(InputError, match="pooled scores or items"):
        RankingState().merge(RankingState(pooled=True))
    with pytest.raises(InputError, match="pooled scores or items"):
        RankingState(keep="items").merge(RankingState())
    with pytest.raises(TypeError, match="cannot merge dict"):
        RankingState().merge({})  # type: ignore[arg-type]


def test_an_unused_state_keeps_its_groups_open() -> None:
    state = RankingState().merge(RankingState())
    state.update(POS, NEG, groups={"side": SIDE})
    assert state.axes == ("side",)


# -------------------------------------------------------------------------- files


def everything(tmp_path: Path) -> list[RankingState]:
    states = [
        RankingState(),
        RankingState().update(POS, NEG),
        RankingState(keep="items").update(POS, NEG, cluster=CLUSTER, ids=[f"q{i}" for i in range(30)]),
        RankingState(pooled=True, keep="items").update(POS, NEG, groups={"a/b": TEXT, "c": SIDE}, cluster=CLUSTER),
        RankingState().update(**FLAT, groups={"side": np.repeat(SIDE, 4)}),
        RankingState().update(**FLAT, cluster=np.repeat(CLUSTER, 4)),
        RankingState(pooled=True).update(np.r_[np.nan, POS], np.r_[NEG[:1], NEG], nan="omit"),
    ]
    for number, state in enumerate(states):
        state.save(tmp_path / f"{number}.npz")
    return states


def test_saved_and_loaded(tmp_path: Path) -> None:
    for number, state in enumerate(everything(tmp_path)):
        loaded = RankingState.load(tmp_path / f"{number}.npz")
        metrics = ["mrr", "roc_auc", "average_precision", "pooled_hits@3"] if state.pooled else None
        assert_equal(loaded, state, metrics=metrics)
        assert loaded.evaluate(metrics=metrics).notes == state.evaluate(metrics=metrics).notes
        if state.keep:
            for name, column in state.items().columns().items():
                assert loaded.items().columns()[name].tolist() == column.tolist()
        more = RankingState(pooled=state.pooled, keep=state.keep)
        assert_equal(more.merge(loaded), state, metrics=metrics)


def test_a_loaded_state_keeps_what_it_is_merged_with(tmp_path: Path) -> None:
    RankingState(keep="items").save(tmp_path / "empty.npz")
    state = RankingState.load(tmp_path / "empty.npz")
    state.merge(RankingState(keep="items").update(POS, NEG, cluster=CLUSTER))
    assert state.items().cluster.tolist() == CLUSTER.tolist()


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """Cut short or changed in any place, a file is refused or, where the change does not matter, read as it was."""
    everything(tmp_path)
    rng = np.random.default_rng(1)
    for number in range(7):
        good = (tmp_path / f"{number}.npz").read_bytes()
        expected = RankingState.load(tmp_path / f"{number}.npz").n
        path = tmp_path / "damaged.npz"
        for _ in range(60):
            data = bytearray(good[: rng.integers(len(good))] if rng.random() < 0.3 else good)
            for place in rng.integers(0, max(len(data), 1), 3)[: len(data)]:
                data[place] ^= 1 << rng.integers(8)
            path.write_bytes(data)
            with contextlib.suppress(InputError):
                assert RankingState.load(path).n == expected


def rewritten(path: Path, change: Any) -> None:
    """Save again with `change(facts, arrays)` applied: a whole archive with wrong content."""
    with np.load(path) as archive:
        arrays = dict(archive)
    facts = json.loads(arrays.pop("header").tobytes())
    change(facts, arrays)
    header = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez(path, header=header, **arrays)


CHANGES: dict[str, Any] = {
    "no facts": lambda facts, arrays: facts.clear(),
    "another kind": lambda facts, arrays: facts.update(state="graphgauge/recovery/2"),
    "an earlier version": lambda facts, arrays: facts.update(state="graphgauge/ranking/1"),
    "a later version": lambda facts, arrays: facts.update(state="graphgauge/ranking/3"),
    "labels as a list": lambda facts, arrays: facts.update(labels=[]),
    "labels missing": lambda facts, arrays: facts.update(labels={"a/b": ["x"], "c": []}),
    "axes as a number": lambda facts, arrays: facts.update(axes=3),
    "dropped as text": lambda facts, arrays: facts.update(dropped="x"),
    "unknown keep": lambda facts, arrays: facts.update(keep="everything"),
    "clusters forgotten": lambda facts, arrays: facts.update(clusters=None),
    "negative count": lambda facts, arrays: arrays["cells"].__setitem__((-1, 0), -1),
    "negative rank": lambda facts, arrays: arrays["cells"].__setitem__((-4, 0), -1),
    "more above than candidates": lambda facts, arrays: arrays["cells"].__setitem__((-4, 0), 99),
    "label out of range": lambda facts, arrays: arrays["cells"].__setitem__((0, 0), 99),
    "float cells": lambda facts, arrays: arrays.update(cells=arrays["cells"] / 2),
    "flat cells": lambda facts, arrays: arrays.update(cells=arrays["cells"][0]),
    "no cells": lambda facts, arrays: arrays.pop("cells"),
    "short pool": lambda facts, arrays: arrays.update(neg=arrays["neg"][:-1]),
    "no pool": lambda facts, arrays: arrays.pop("pos"),
    "items of different lengths": lambda facts, arrays: arrays.update(item_ids=arrays["item_ids"][:-1]),
    "no ids": lambda facts, arrays: arrays.pop("item_ids"),
    "unknown item column": lambda facts, arrays: arrays.update(item_other=arrays["item_ids"]),
}


def test_a_state_of_another_format_says_which_and_what_to_do(tmp_path: Path) -> None:
    everything(tmp_path)
    rewritten(tmp_path / "3.npz", CHANGES["an earlier version"])
    with pytest.raises(InputError, match=r"format 1; this version reads format 2.*Count the data again"):
        RankingState.load(tmp_path / "3.npz")


@pytest.mark.parametrize("change", CHANGES)
def test_whole_files_with_wrong_content_are_refused(tmp_path: Path, change: str) -> None:
    everything(tmp_path)
    path = tmp_path / "3.npz"
    rewritten(path, lambda facts, arrays: None)
    assert RankingState.load(path).n == 30
    rewritten(path, CHANGES[change])
    with pytest.raises(InputError) as caught:
        RankingState.load(path)
    assert str(path) in str(caught.value)


def test_what_is_no_state_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with pytest.raises(InputError, match="no such file"):
        RankingState.load(path)
    with pytest.raises(InputError, match="not a saved graphgauge state"):
        RankingState.load(tmp_path)
    np.save(tmp_path / "x.npy", POS)
    for content in (b"", b"text", (tmp_path / "x.npy").read_bytes()):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not a saved graphgauge state"):
            RankingState.load(path)
    for header in (b"[1]", b"[]", b"3", b"{", b"[" * 10**5, b'{"state": 3}', b'{"state": "a"}'):
        np.savez(path, header=np.frombuffer(header, np.uint8))
        with pytest.raises(InputError, match="not a saved graphgauge state"):
            RankingState.load(path)


def test_nothing_is_ever_unpickled(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (tmp_path / "hacked").touch, ()

    path = tmp_path / "x.npz"
    np.savez(path, header=np.array([Evil()], dtype=object))
    with pytest.raises(InputError, match="not a saved graphgauge state"):
        load_state(path)
    stream = io.BytesIO()
    np.save(stream, np.array([Evil()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", stream.getvalue())
    with pytest.raises(InputError, match="not a saved graphgauge state"):
        RankingState.load(path)
    assert not (tmp_path / "hacked").exists()


# ------------------------------------------------------------------------- memory


def test_memory_is_that_of_the_histogram() -> None:
    state = RankingState()
    rng = np.random.default_rng(2)
    for _ in range(20):
        state.update(rng.random(20_000).astype(np.float32), rng.random((20_000, 5)).astype(np.float32))
    _, counts = state._cells.cells()
    assert len(counts) <= 6 * 7 // 2
    assert counts.sum() == 400_000


def test_counts_that_are_folded_often_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Histogram, "FOLD_AT", 100)
    rng = np.random.default_rng(0)
    pos, neg = rng.integers(0, 4, 5000), rng.integers(0, 4, (5000, 3))
    labels: dict[str, Any] = {"cluster": rng.integers(0, 3000, 5000), "groups": {"side": rng.integers(0, 3, 5000)}}
    expected = RankingState().update(pos, neg, **labels)

    def part(start: int, stop: int, state: RankingState) -> RankingState:
        for low in range(start, stop, 50):
            here = slice(low, low + 50)
            groups = {"side": labels["groups"]["side"][here]}
            state.update(pos[here], neg[here], cluster=labels["cluster"][here], groups=groups)
        return state

    state = part(0, 5000, RankingState())
    assert state.n == 5000
    assert_equal(state, expected)
    assert state.n == 5000
    halves = [part(0, 2000, RankingState()), part(2000, 5000, RankingState())]
    stream = io.BytesIO()
    halves[1].save(stream)
    stream.seek(0)
    assert_equal(halves[0].merge(RankingState.load(stream)), expected)
    # More can be counted after it was evaluated, and copies are independent.
    copied = copy.deepcopy(state)
    state.update(pos[:7], neg[:7], cluster=np.arange(7), groups={"side": np.arange(7)})
    assert (copied.n, state.n) == (5000, 5007)
    assert_equal(copied, expected)


def test_reset_forgets() -> None:
    state = RankingState(pooled=True, keep="items").update(POS, NEG, cluster=CLUSTER, groups={"side": SIDE})
    state.reset()
    assert state.n == 0
    assert state.axes == ()
    assert len(state.items()) == 0
    state.update(np.r_[np.nan, POS], np.r_[NEG[:1], NEG], nan="omit")
    assert state.items().ids.tolist() == list(range(1, 31))


# ----------------------------------------------------------------- what is refused


def test_the_two_forms_exclude_each_other() -> None:
    both = {"pos_scores": POS, "neg_scores": NEG}
    for extra in ({"labels": [1]}, {"queries": [0]}, FLAT):
        with pytest.raises(InputError, match="does not take"):
            RankingState().update(**both, **extra)
    for extra in ({"mask": np.ones((30, 4), bool)}, {"offsets": [0, 1]}, {"ids": [1]}, {"pos_scores": POS}):
        with pytest.raises(InputError, match="does not take"):
            RankingState().update(**FLAT, **extra)
    for missing in ({}, {"pos_scores": POS}, {"neg_scores": NEG}, {"scores": POS}, {"scores": POS, "labels": SIDE}):
        with pytest.raises(InputError, match=r"not given|nothing to evaluate"):
            RankingState().update(**missing)


def test_clusters_are_integers() -> None:
    with pytest.raises(InputError, match="Number the clusters"):
        RankingState().update(POS, NEG, cluster=TEXT)
    with pytest.raises(InputError, match="cluster"):
        RankingState().update(POS, NEG, cluster=CLUSTER[:-1])


# ------------------------------------------------------------- a query in two parts

SPLIT = [
    {"scores": [0.9, 0.8], "labels": [1, 0], "queries": [0, 0]},
    {"scores": [0.95, 0.1], "labels": [0, 0], "queries": [0, 0]},
]
JOINED = {name: [*SPLIT[0][name], *SPLIT[1][name]] for name in SPLIT[0]}


def named(batch: dict[str, Any], names: Any) -> dict[str, Any]:
    return batch | {"queries": [names(query) for query in batch["queries"]]}


@pytest.mark.parametrize("names", [int, str, lambda query: query + 2**62, lambda query: query - 5])
def test_a_query_in_two_parts_is_refused_wherever_they_meet(names: Any, tmp_path: Path) -> None:
    """Divided, its positive would be ranked among half of its negatives: MRR 1 where it is 1/2."""
    first, second = (named(batch, names) for batch in SPLIT)
    assert RankingState().update(**named(JOINED, names)).evaluate()["mrr"].value == 0.5
    state = RankingState().update(**first)
    before = state.evaluate().to_dict()["results"]
    with pytest.raises(InputError, match=f"query {names(0)} has candidates in an earlier part"):
        state.update(**second)
    other = RankingState().update(**second)
    other.save(tmp_path / "other.npz")
    state.save(tmp_path / "state.npz")
    for one in (state, RankingState.load(tmp_path / "state.npz"), RankingState().merge(state)):
        for two in (other, RankingState.load(tmp_path / "other.npz")):
            with pytest.raises(InputError, match="has candidates in an earlier part"):
                one.merge(two)
            assert one.evaluate().to_dict()["results"] == before  # what failed left no trace
    assert state.update(**second | {"queries": [names(7)] * 2, "labels": [1, 0]}).n == 2


def test_a_query_that_was_dropped_does_not_come_back() -> None:
    state = RankingState().update(scores=[np.nan, 0.1], labels=[1, 0], queries=[3, 3], nan="omit")
    with pytest.raises(InputError, match="query 3"):
        state.update(scores=[0.5, 0.1], labels=[1, 0], queries=[3, 3])


def test_query_ids_in_any_portions() -> None:
    """One at a time, and against what a set says."""
    rng = np.random.default_rng(0)
    state, known = RankingState(), set()
    for query in rng.integers(0, 60, 120).tolist():
        batch = {"scores": [1.0, 0.0], "labels": [1, 0], "queries": [query] * 2}
        if query in known:
            with pytest.raises(InputError, match=f"query {query} "):
                state.update(**batch)
        else:
            state.update(**batch)
            known.add(query)
    assert state.n == len(known)
    with pytest.raises(InputError, match="text ids and integer ids"):
        state.update(scores=[1.0, 0.0], labels=[1, 0], queries=["a", "a"])


def test_a_failed_update_takes_no_numbers() -> None:
    state = RankingState(keep="items").update(POS[:3], NEG[:3])
    with pytest.raises(InputError):
        state.update(POS[3:6], NEG[3:6], cluster=[0, 1])
    assert state.update(POS[3:6], NEG[3:6]).items().ids.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("keep", [None, "items"])
@pytest.mark.parametrize(
    ("first", "again"), [([3, 0, 7, 5], [9, 5]), (["d", "a", "z", "c"], ["b", "z"]), (["b", "a", "d", "c"], ["a", "e"])]
)
def test_an_id_counts_once_in_all_batches_and_states(first: list[Any], again: list[Any], keep: str | None) -> None:
    """In any order, of any kind, whether items are kept or not."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(6, 1)), rng.normal(size=(6, 3))
    state = RankingState(keep=keep).update(scores[0][:4, 0], scores[1][:4], ids=first)
    with pytest.raises(InputError, match="was counted before"):
        state.update(scores[0][4:, 0], scores[1][4:], ids=again)
    other = RankingState(keep=keep).update(scores[0][4:, 0], scores[1][4:], ids=again)
    with pytest.raises(InputError, match="was counted before"):
        state.merge(other)
    assert state.n == 4
    new = [f"{name}!" if isinstance(name, str) else name + 100 for name in again]
    assert state.update(scores[0][4:, 0], scores[1][4:], ids=new).n == 6
