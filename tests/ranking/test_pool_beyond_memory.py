"""Pooled scores that take more than `max_memory`: bounds contain the exact values, which reading again finds."""

import json
from itertools import permutations

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.metrics import average_precision_score, roc_auc_score

from graphgauge.cli.family import family_command
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.result import Evaluation
from graphgauge.core.schema import SCHEMA_FILE
from graphgauge.core.text import guaranteed_text
from graphgauge.engines.merge import merge_files
from graphgauge.ranking import RankingState, evaluate, evaluate_files

POOLED = ["roc_auc", "average_precision", "pooled_hits@20"]
# The fewest cells, 1024.
LITTLE = 1 << 12


def scores(positives=300, negatives=4000, width=None, dtype=np.float32):
    rng = np.random.default_rng(7)
    shape = negatives if width is None else (positives, width)
    return rng.normal(1, 1, positives).astype(dtype), rng.normal(0, 1, shape).astype(dtype)


def require_within(found, truth):
    assert found["roc_auc"].guaranteed is not None
    for key in POOLED:
        low, high = found[key].guaranteed or (found[key].value,) * 2
        assert low <= truth[key].value <= high
        assert low <= found[key].value <= high
        assert high - low < 0.02


def require_same(found, truth, keys=POOLED):
    assert [found[key].value for key in keys] == [truth[key].value for key in keys]
    assert all(found[key].guaranteed is None for key in keys)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_one_pool_has_bounds_and_intervals(dtype):
    pos, neg = scores(dtype=dtype)
    truth = evaluate(pos, neg, metrics=POOLED)
    found = evaluate(pos, neg, metrics=POOLED, max_memory=LITTLE)
    if dtype == np.float16:  # as many cells as different scores are within the limit or nearly so
        assert found["roc_auc"].value == pytest.approx(truth["roc_auc"].value, abs=1e-3)
    else:
        require_within(found, truth)
    for key in POOLED:
        one, other = found[key].interval, truth[key].interval
        assert one.method == other.method
        assert [*one] == pytest.approx([*other], abs=0.02)
        # An interval has room for both: what is not known about this data, and about other data.
        assert one.low <= (found[key].guaranteed or (1.0,))[0]
        assert found[key].chance == truth[key].chance
        assert found[key].n == truth[key].n


def test_the_exact_interval_is_that_of_kept_scores():
    pos, neg = scores()
    state = RankingState(max_memory=LITTLE).update(pos, neg)
    state.read_again(lambda: [pos], lambda: [neg])
    found, truth = state.evaluate(metrics=POOLED), evaluate(pos, neg, metrics=POOLED)
    require_same(found, truth)
    for key in POOLED:
        assert [*found[key].interval] == pytest.approx([*truth[key].interval], rel=1e-9)


def test_enough_memory_keeps_the_scores():
    pos, neg = scores()
    size = pos.nbytes + neg.nbytes
    for most in (size, None):
        assert not RankingState(max_memory=most).update(pos, neg).counts_pool
    assert RankingState(max_memory=size - 1).update(pos, neg).counts_pool
    kept = evaluate(pos, neg, max_memory=size)
    assert kept["mrr"].value == evaluate(pos, neg)["mrr"].value
    assert kept["roc_auc"].guaranteed is None


def test_few_different_scores_are_exact_in_one_pass():
    pos, neg = (np.round(side, 1) for side in scores())
    found = evaluate(pos, neg, metrics=POOLED, max_memory=LITTLE)
    require_same(found, evaluate(pos, neg, metrics=POOLED))
    labels = np.repeat([1, 0], [len(pos), len(neg)])
    every = np.concatenate([pos, neg])
    assert found["roc_auc"].value == pytest.approx(roc_auc_score(labels, every), rel=1e-12)
    assert found["average_precision"].value == pytest.approx(average_precision_score(labels, every), rel=1e-12)


def test_parts_in_any_order_have_the_same_bits(tmp_path):
    pos, neg = scores()
    whole = RankingState(max_memory=LITTLE).update(pos, neg).evaluate(metrics=POOLED)
    cut = [(slice(0, 50), slice(0, 300)), (slice(50, 51), slice(300, 3000)), (slice(51, None), slice(3000, None))]
    for number, order in enumerate(permutations(cut)):
        parts = [RankingState(max_memory=LITTLE).update(pos[p], neg[n]) for p, n in order]
        for part in parts:
            part.save(tmp_path / "part.npz")
            loaded = RankingState.load(tmp_path / "part.npz")
            part = part if number % 2 else loaded
        merged = RankingState(max_memory=LITTLE)
        for part in parts:
            merged.merge(part)
        found = merged.evaluate(metrics=POOLED)
        assert [found[key].guaranteed for key in POOLED] == [whole[key].guaranteed for key in POOLED]
        assert [found[key].value for key in POOLED] == [whole[key].value for key in POOLED]


@pytest.mark.parametrize("pooled", ["matrix", "pool"])
def test_saved_states_merge_by_the_command(tmp_path, pooled):
    pos, neg = scores(width=None if pooled == "pool" else 12)
    half = slice(0, len(pos) // 2), slice(len(pos) // 2, None)
    cut = [(pos[part], neg[part]) for part in half]
    if pooled == "pool":
        cut = [(pos[half[0]], neg[:1000]), (pos[half[1]], neg[1000:])]
    for number, (p, n) in enumerate(cut):
        np.save(tmp_path / f"pos{number}.npy", p)
        np.save(tmp_path / f"neg{number}.npy", n)
        evaluate_files(
            pos_scores=tmp_path / f"pos{number}.npy",
            neg_scores=tmp_path / f"neg{number}.npy",
            metrics=POOLED,
            max_memory=LITTLE,
            save_state=tmp_path / f"{number}.npz",
        )
    found = merge_files(states=[tmp_path / "0.npz", tmp_path / "1.npz"], metrics=POOLED)
    require_within(found, evaluate(pos, neg, metrics=POOLED))
    with pytest.raises(InputError, match="Merge each part once"):
        merge_files(states=[tmp_path / "0.npz", tmp_path / "0.npz"])


def test_a_counted_part_merges_with_a_kept_one():
    pos, neg = scores()
    truth = evaluate(pos, neg, metrics=POOLED)
    for first, second in ((None, LITTLE), (LITTLE, None)):
        one = RankingState(max_memory=first).update(pos[:200], neg[:2000])
        other = RankingState(max_memory=second).update(pos[200:], neg[2000:])
        require_within(one.merge(other).evaluate(metrics=POOLED), truth)


def test_negatives_that_come_again_are_refused_after_counting():
    pos, neg = scores()
    state = RankingState(max_memory=LITTLE).update(pos[:100], neg)
    assert state.counts_pool
    with pytest.raises(InputError, match="count twice"):
        state.update(pos[100:], neg)
    other = RankingState(max_memory=LITTLE).update(pos[100:], neg)
    with pytest.raises(InputError, match="count twice"):
        state.merge(other)


def test_labels_of_positives_need_their_scores():
    pos, neg = scores()
    grouped = evaluate(pos, neg, groups={"half": np.arange(len(pos)) % 2}, max_memory=LITTLE)
    assert grouped["roc_auc"].guaranteed is None
    state = RankingState(max_memory=LITTLE).update(pos, neg)
    with pytest.raises(InputError, match="counted instead of kept"):
        state.update(pos[:3], [], groups={"half": [0, 1, 0]})


def test_ranks_are_not_counted_in_cells():
    pos, neg = scores()
    found = evaluate(pos, neg, k=20, max_memory=LITTLE)
    assert [*found] == POOLED
    with pytest.raises(OptionError, match="mrr"):
        evaluate(pos, neg, metrics=["mrr"], max_memory=LITTLE)


@pytest.mark.parametrize("nan", ["raise", "omit"])
@pytest.mark.parametrize("masked", [False, True])
def test_a_matrix_of_negatives(tmp_path, nan, masked):
    pos, neg = scores(width=15)
    inputs = {"pos_scores": pos, "neg_scores": neg}
    if nan == "omit":
        pos[3] = neg[5, 2] = np.nan
        neg[7] = np.nan
    if masked:
        inputs["mask"] = np.random.default_rng(2).random(neg.shape) < 0.8
    for name, array in inputs.items():
        np.save(tmp_path / f"{name}.npy", array)
    files = {name: tmp_path / f"{name}.npy" for name in inputs}
    asked = {"metrics": ["mrr", *POOLED], "nan": nan}
    truth = evaluate(**inputs, **asked)
    found = evaluate_files(**files, **asked, max_memory=LITTLE)
    require_within(found, truth)
    assert found["mrr"].value == truth["mrr"].value
    assert "err together" in found["roc_auc"].no_interval
    require_same(evaluate_files(**files, **asked, max_memory=LITTLE, exact_pool=True), truth, ["mrr", *POOLED])


def test_ragged_and_flat_queries():
    pos, neg = scores(width=15)
    offsets = np.arange(0, neg.size + 1, 15)
    truth = evaluate(pos, neg.reshape(-1), offsets=offsets, metrics=POOLED)
    require_within(evaluate(pos, neg.reshape(-1), offsets=offsets, metrics=POOLED, max_memory=LITTLE), truth)
    flat = {
        "scores": np.column_stack([pos, neg]).reshape(-1),
        "labels": np.tile([1] + [0] * 15, len(pos)),
        "queries": np.repeat(np.arange(len(pos)), 16),
    }
    require_within(evaluate(**flat, metrics=POOLED, max_memory=LITTLE), truth)


def test_files_are_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("graphgauge.ranking.from_files._BLOCK_BYTES", 512)
    pos, neg = scores()
    neg[512:1024] = neg[:512]  # blocks with the same content
    for number, part in enumerate(np.array_split(neg, 3)):
        np.save(tmp_path / f"neg{number}.npy", part)
    np.save(tmp_path / "pos.npy", pos)
    files = {"pos_scores": tmp_path / "pos.npy", "neg_scores": str(tmp_path / "neg*.npy"), "metrics": POOLED}
    truth = evaluate(pos, neg, metrics=POOLED)
    require_within(evaluate_files(**files, max_memory=LITTLE), truth)
    require_same(evaluate_files(**files, max_memory=LITTLE, exact_pool=True), truth)
    pos[77] = np.nan
    np.save(tmp_path / "pos.npy", pos)
    with pytest.raises(InputError, match="NaN"):
        evaluate_files(**files, max_memory=LITTLE)
    omitted = evaluate_files(**files, max_memory=LITTLE, exact_pool=True, nan="omit")
    require_same(omitted, evaluate(np.delete(pos, 77), neg, metrics=POOLED))


def test_the_command_states_the_guarantee_and_its_file_has_it(tmp_path):
    pos, neg = scores()
    np.save(tmp_path / "pos.npy", pos)
    np.save(tmp_path / "neg.npy", neg)
    given = ["--pos-scores", str(tmp_path / "pos.npy"), "--neg-scores", str(tmp_path / "neg.npy")]
    saved = tmp_path / "result.json"
    ran = CliRunner().invoke(family_command("ranking"), [*given, "--max-memory", str(LITTLE), "--output", str(saved)])
    assert ran.exit_code == 0, ran.output
    assert "guaranteed on this data: roc_auc 0." in " ".join(ran.output.split())
    content = json.loads(saved.read_text())
    jsonschema.validate(content, json.loads(SCHEMA_FILE.read_text()))
    found, loaded = evaluate(pos, neg, max_memory=LITTLE), Evaluation.load(saved)
    assert loaded["roc_auc"].guaranteed == found["roc_auc"].guaranteed
    refused = CliRunner().invoke(family_command("ranking"), [*given, "--exact-pool"])
    assert isinstance(refused.exception, OptionError)
    assert "--exact-pool needs --max-memory" in str(refused.exception)


def test_the_stated_error_includes_rounding():
    pos, neg = scores()
    for size in (LITTLE, 1 << 18):
        state = RankingState(max_memory=LITTLE).update(pos, neg)
        state.max_memory = size
        for key in ("roc_auc", "average_precision"):
            result = state.evaluate(metrics=POOLED)[key]
            shown, wrong = map(float, guaranteed_text(result).split(" ± "))
            low, high = result.guaranteed
            assert shown - wrong <= low
            assert high <= shown + wrong


def test_scores_that_floats_cannot_tell_apart_are_refused_before_they_are_counted():
    state = RankingState(max_memory=1)
    with pytest.raises(InputError, match=r"2\*\*53"):
        state.update(np.array([2**60]), np.arange(5))
    assert state.n == 0


def test_a_gate_between_the_bounds_is_undecided():
    pos, neg = scores()
    found = evaluate(pos, neg, metrics=POOLED, max_memory=LITTLE)
    low, high = found["roc_auc"].guaranteed
    for gate in (f"roc_auc >= {(low + high) / 2!r}", f"roc_auc < {(low + high) / 2!r}", f"roc_auc == {low!r}"):
        outcome = found.gate(gate)
        assert not outcome.passed
        assert "only known to be between" in (outcome.undecided or "")
    assert found.gate(f"roc_auc >= {low!r}").passed
    assert found.gate(f"roc_auc > {high!r}").undecided is None
    assert not found.gate(f"roc_auc > {high!r}").passed
