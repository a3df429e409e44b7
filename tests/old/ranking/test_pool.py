"""One pool of negatives for all positives, as OGB has it: ranks, pooled metrics, streaming, files and refusals."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from graphgauge.core.errors import InputError, OptionError
from graphgauge.old.cli.family import family_command
from graphgauge.old.engines.merge import merge_files
from graphgauge.old.ranking.evaluate import hits_curve
from graphgauge.old.ranking.samples import Ranks
from graphgauge.old.ranking.shared_error import pool_variance
from graphgauge.ranking import RankingState, compare, evaluate, evaluate_files, hits_at_k, mrr, ranks

RNG = np.random.default_rng(5)


def scores(positives=60, negatives=90, levels=40):
    """With ties within and between the two sides."""
    return RNG.integers(5, levels + 5, positives) / 4, RNG.integers(0, levels, negatives) / 4


def ogb_hits(pos, neg, k):
    """`_eval_hits` of OGB's link-prediction evaluator."""
    if len(neg) < k:
        return 1.0
    return float(np.sum(pos > np.sort(neg)[-k]) / len(pos))


def one_by_one(pos, neg):
    return [(sum(n > p for n in neg), sum(n == p for n in neg)) for p in pos]


def facts(evaluation):
    return {key: (result.value, result.interval, result.n) for key, result in evaluation.items()}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.int8])
def test_ranks_among_the_whole_pool(dtype):
    pos, neg = (array.astype(dtype) for array in scores())
    expected = one_by_one(pos.tolist(), neg.tolist())
    for rule, place in {"realistic": 0.5, "optimistic": 0, "pessimistic": 1}.items():
        assert ranks(pos, neg, ties=rule).tolist() == [1 + above + place * beside for above, beside in expected]
    found = evaluate(pos, neg, metrics=["mrr", "hits@5", "mean_rank"], keep="items")
    assert list(zip(found.per_item.greater.tolist(), found.per_item.equal.tolist(), strict=True)) == expected
    middle = np.array([1 + above + beside / 2 for above, beside in expected])
    assert found["mrr"].value == pytest.approx(np.mean(1 / middle), rel=1e-14) == mrr(pos, neg)
    assert found["hits@5"].value == np.mean(middle <= 5) == hits_at_k(pos, neg, k=5)
    assert found["mean_rank"].value == pytest.approx(middle.mean(), rel=1e-14)


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor, list])
def test_a_default_call_gives_the_numbers_of_ogb(kind):
    pos, neg = scores(500, 400)
    found = evaluate(kind(pos), kind(neg), k=[20, 50, 100])
    assert list(found) == ["roc_auc", "average_precision", *(f"pooled_hits@{k}" for k in (20, 50, 100)), "mrr"]
    for k in (20, 50, 100):
        assert found[f"pooled_hits@{k}"].value == ogb_hits(pos, neg, k)
    wins = np.mean([(p > neg).mean() + (p == neg).mean() / 2 for p in pos])
    assert found["roc_auc"].value == pytest.approx(wins, rel=1e-12)
    assert "one pool for all positives" in found["mrr"].conventions["negatives"]
    assert "one pool for all positives" in str(found).replace("\n", " ")


def test_a_pool_smaller_than_k_is_ogbs_one_with_a_warning():
    found = evaluate([0.1, 0.2], [0.9, 0.8], k=20)["pooled_hits@20"]
    assert found.value == ogb_hits(np.array([0.1, 0.2]), np.array([0.9, 0.8]), 20) == 1
    assert "only 2 negatives" in found.warnings[0]


def test_pooled_hits_are_hits_that_lose_ties():
    pos, neg = scores()
    hits = evaluate(pos, neg, metrics=["hits@7"], ties="pessimistic")["hits@7"].value
    assert hits == evaluate(pos, neg, metrics=["pooled_hits@7"])["pooled_hits@7"].value


def test_the_pool_is_not_broadcast():
    """200,000 × 300,000 comparisons would take minutes and 60 GB."""
    rng = np.random.default_rng(0)
    pos, neg = rng.random(200_000, dtype=np.float32), rng.random(300_000, dtype=np.float32)
    found = ranks(pos, neg)
    check = rng.integers(0, len(pos), 20)
    assert found[check].tolist() == [1 + np.sum(neg > p) + np.sum(neg == p) / 2 for p in pos[check]]


# ------------------------------------------------------------------------------------------------- streaming, merging


@pytest.mark.parametrize("cuts", [(20, 50), (0, 90), (60, 0)])
def test_batches_and_merged_states_give_the_bits_of_one_call(cuts, tmp_path):
    pos, neg = scores()
    each = np.arange(len(pos))
    labels = {"groups": {"side": each % 3}, "cluster": each // 2, "ids": each}
    options = {"k": [3, 20], "metrics": ["roc_auc", "average_precision", "pooled_hits", "mrr", "mean_rank"]}
    whole = evaluate(pos, neg, **labels, keep="items", **options)
    first, second = slice(None, cuts[0]), slice(cuts[0], None)

    def part(rows, negatives):
        own = {"groups": {"side": labels["groups"]["side"][rows]}} | {n: labels[n][rows] for n in ("cluster", "ids")}
        return {"pos_scores": pos[rows], "neg_scores": negatives, **own}

    streamed = RankingState(keep="items").update(**part(first, neg[: cuts[1]])).update(**part(second, neg[cuts[1] :]))
    states = [
        RankingState(keep="items").update(**part(rows, negatives))
        for rows, negatives in ((first, neg[: cuts[1]]), (second, neg[cuts[1] :]))
    ]
    for state, name in zip(states, "ab", strict=True):
        state.save(tmp_path / f"{name}.npz")
    loaded = [RankingState.load(tmp_path / f"{name}.npz") for name in "ab"]
    merged = RankingState(keep="items").merge(loaded[0]).merge(loaded[1])
    assert streamed.n == merged.n == len(pos)
    for state in (streamed, merged):
        found = state.evaluate(**options)
        assert facts(found) == facts(whole)
        assert found.by("side").columns.keys() == whole.by("side").columns.keys()
        assert found["mrr"].by("side")["value"].tolist() == whole["mrr"].by("side")["value"].tolist()
        assert found.per_item.greater.tolist() == whole.per_item.greater.tolist()
    with pytest.raises(InputError, match="both states have the shard"):
        merged.merge(loaded[1])


def test_dtypes_of_batches_are_joined_exactly():
    big = np.array([2**53 + 2, 2**53], np.int64)
    state = RankingState().update(big, np.array([2**53 + 1], np.int64))
    assert state.evaluate(metrics=["mean_rank"])["mean_rank"].value == 1.5
    with pytest.raises(InputError, match="2\\*\\*53"):
        state.update([0.5], [0.25]).evaluate()


def test_one_state_has_one_form():
    matrix, pool = RankingState().update([1.0], [[0.5]]), RankingState().update([1.0], [0.5])
    single = RankingState().update(np.array([1.0]), np.array([[0.5, 0.1]]))
    for state, batch in ((matrix, [0.5]), (single, [0.5]), (pool, [[0.5]])):
        with pytest.raises(InputError, match="one pool for all positives"):
            state.update([1.0], batch)
    for one, other in itertools.permutations((matrix, pool, RankingState().update([1.0, 2.0], [[0.5], [0.1]])), 2):
        if one.shares_pool != other.shares_pool:
            with pytest.raises(InputError, match="one pool for all positives"):
                one.merge(other)
    with pytest.raises(InputError, match="the same groups, cluster and ids"):
        RankingState().update([1.0], [0.5], cluster=[0]).update([1.0], [0.5])


def test_an_empty_state_takes_either_form():
    pool = RankingState().update([1.0], [0.5])
    assert RankingState().merge(pool).evaluate()["mrr"].value == 1
    assert pool.merge(RankingState()).evaluate()["mrr"].value == 1
    assert RankingState().update([], []).evaluate()["pooled_hits@10"].reason == "no positives"
    state = RankingState().update([1.0], [])
    state.reset()
    assert state.update([1.0], [[0.5]]).n == 1


# ------------------------------------------------------------------------------------------------------------ NaN


def test_nan_is_refused_or_dropped_and_counted():
    nan = float("nan")
    for pos, neg, where in (([nan, 1.0], [0.5], "pos_scores"), ([1.0], [0.5, nan], "neg_scores")):
        with pytest.raises(InputError, match=f"{where}: 1 of 2 values are NaN"):
            evaluate(pos, neg)
    found = evaluate([nan, 0.7, 0.2], [0.5, nan, 0.1], nan="omit", cluster=[7, 8, 9], metrics=["mean_rank"])
    assert found["mean_rank"].value == 1.5
    assert found["mean_rank"].n == 2
    assert [note.partition(" ")[0] for note in found.notes] == ["1", "1"]
    assert found.conventions["nan"] == "omit"


def test_a_pool_of_nan_alone_drops_every_positive():
    state = RankingState().update([0.5, 0.7], [float("nan")], nan="omit")
    found = state.evaluate()
    assert np.isnan(found["mrr"].value)
    assert found["mrr"].n == 0
    assert np.isnan(found["pooled_hits@10"].value)
    assert any(note.startswith("2 queries dropped: the scores of all their negatives") for note in found.notes)
    later = state.update([0.1], [0.3]).evaluate(metrics=["mean_rank"])  # negatives that came later count for all
    assert later["mean_rank"].value == pytest.approx((1 + 1 + 2) / 3)
    assert not any("all their negatives" in note for note in later.notes)


# ------------------------------------------------------------------------------------------------------- intervals


def test_the_pools_variance_is_the_jackknife_over_its_negatives():
    pos, neg = scores(30, 25, 12)
    for ties in ("realistic", "expected", "pessimistic"):

        def value(pool, ties=ties):
            counted = np.array(one_by_one(pos, pool)).T
            sample = Ranks.of(*counted, np.full(len(pos), len(pool) + 1), ties=ties)
            return sample.reciprocal().mean()

        left_out = np.array([value(np.delete(neg, j)) for j in range(len(neg))])
        by_hand = (len(neg) - 1) / len(neg) * np.sum((left_out - left_out.mean()) ** 2)
        state = RankingState().update(pos, neg)
        assert pool_variance(state.ranks(ties), Ranks.reciprocal)[0] == pytest.approx(by_hand, rel=1e-10)


def test_intervals_include_the_error_of_the_pool():
    """A pool ten times as large leaves a narrower interval, although the positives are the same."""
    rng = np.random.default_rng(3)
    pos = rng.normal(1, 1, 3000)
    widths = []
    for negatives in (200, 20_000):
        found = evaluate(pos, rng.normal(0, 1, negatives), metrics=["roc_auc", "average_precision", "amri", "mrr"])
        widths.append([found[key].interval.high - found[key].interval.low for key in ("roc_auc", "amri")])
        assert found["amri"].interval.over == "positives and negatives"
        assert found["mrr"].interval.over == "positives and negatives"
    assert (np.array(widths[0]) > 2 * np.array(widths[1])).all()


def test_auc_of_unrelated_samples_has_delongs_error():
    from graphgauge.old.ranking.pooled import two_sample_auc_error
    from graphgauge.old.stats.intervals import delong

    pos, neg = scores(40, 70)
    sample = RankingState().update(pos, neg).pool()
    assert two_sample_auc_error(sample)[0] == pytest.approx(delong(pos, neg)[1], rel=1e-12)


def test_clusters_of_positives_widen_the_intervals():
    rng = np.random.default_rng(4)
    pos, neg = np.repeat(rng.normal(1, 1, 100), 10), rng.normal(0, 1, 5000)
    cluster = np.repeat(np.arange(100), 10)
    for key in ("roc_auc", "average_precision", "pooled_hits@50", "geometric_mean_rank"):
        alone, joined = (evaluate(pos, neg, cluster=label, metrics=[key])[key].interval for label in (None, cluster))
        assert joined.high - joined.low > 1.5 * (alone.high - alone.low)


def test_the_figure_has_no_interval_that_ignores_the_pool(tmp_path):
    pos, neg = scores()
    found = evaluate(pos, neg)
    curve = hits_curve(RankingState().update(pos, neg).ranks("realistic"), 0.95)
    assert np.isnan(curve["low"]).all()
    assert curve["value"][-1] == 1
    found.plot(tmp_path / "hits.svg")
    assert (tmp_path / "hits.svg").stat().st_size


def test_two_models_are_compared_on_the_positives_of_a_pool():
    pos, neg = scores(80, 200)
    better, worse = (evaluate(pos + shift, neg, keep="items", k=20) for shift in (1, 0))
    for key in ("pooled_hits@20", "mrr"):
        paired = compare(better.per_item, worse.per_item, key)
        assert paired.mean_difference == pytest.approx(better[key].value - worse[key].value, abs=1e-12)
    own = evaluate(pos, np.tile(neg[:5], (len(pos), 1)), keep="items").per_item
    with pytest.raises(InputError, match="different negatives"):
        compare(own, worse.per_item)
    with pytest.raises(OptionError, match="not a mean over queries"):
        compare(own, own, "pooled_hits@20")


def test_metrics_without_an_interval_say_why():
    pos, neg = scores()
    found = evaluate(pos, neg, metrics=["hits@10", "median_rank"], groups={"g": np.arange(len(pos)) % 2})
    assert "pooled_hits@10" in found["hits@10"].no_interval
    assert "pool" in found["median_rank"].no_interval
    assert "pool" in found["hits@10_macro_g"].no_interval


# ------------------------------------------------------------------------------------------------------------ files


@pytest.fixture
def files(tmp_path):
    pos, neg = scores(50, 80)
    for name, array in {
        "pos": pos,
        "neg": neg,
        "pos-0": pos[:20],
        "pos-1": pos[20:],
        "neg-0": neg[:70],
        "neg-1": neg[70:],
        "copy": neg[70:],
        "rows": np.ones((50, 3)),
    }.items():
        np.save(tmp_path / f"{name}.npy", array)
    return tmp_path, pos, neg


def test_files_of_a_pool(files):
    folder, pos, neg = files
    whole = facts(evaluate(pos, neg, k=[20]))
    for own, pool in ((("pos",), ("neg",)), (("pos-*",), ("neg-0", "neg-1")), (("pos-0", "pos-1"), ("neg",))):
        given = {
            "pos_scores": [folder / f"{name}.npy" for name in own],
            "neg_scores": [folder / f"{name}.npy" for name in pool],
        }
        assert facts(evaluate_files(**given, k=[20])) == whole
    shown = CliRunner().invoke(
        family_command("ranking"), [f"--pos-scores={folder}/pos.npy", f"--neg-scores={folder}/neg.npy", "--k=20,50"]
    )
    assert shown.exit_code == 0, shown.output
    assert "pooled_hits@20" in shown.output


def test_no_file_of_a_pool_counts_twice(files):
    folder, _, _ = files
    with pytest.raises(InputError, match="is given twice"):
        evaluate_files(pos_scores=folder / "pos.npy", neg_scores=[folder / "neg-1.npy", folder / "neg-1.npy"])
    for number in (0, 1):
        evaluate_files(
            pos_scores=folder / f"pos-{number}.npy",
            neg_scores=folder / "neg.npy",
            save_state=folder / f"whole-{number}.npz",
        )
        evaluate_files(
            pos_scores=folder / f"pos-{number}.npy",
            neg_scores=folder / f"neg-{number}.npy",
            save_state=folder / f"part-{number}.npz",
        )
    with pytest.raises(InputError, match="given before, and would count twice"):  # the pool is in both
        merge_files(states=[folder / "whole-0.npz", folder / "whole-1.npz"])
    merged = merge_files(states=[folder / "part-0.npz", folder / "part-1.npz"])
    assert facts(merged) == facts(evaluate_files(pos_scores=folder / "pos.npy", neg_scores=folder / "neg.npy"))


def test_a_pool_takes_no_mask_and_no_matrix_of_positives(files):
    folder, pos, neg = files
    with pytest.raises(OptionError, match="the form with one pool of negatives does not take mask"):
        evaluate(pos, neg, mask=np.ones(len(neg), bool))
    with pytest.raises(OptionError, match="does not take mask"):
        evaluate_files(pos_scores=folder / "pos.npy", neg_scores=folder / "neg.npy", mask=folder / "rows.npy")
    with pytest.raises(InputError, match="pos_scores"):
        evaluate_files(pos_scores=folder / "rows.npy", neg_scores=folder / "neg.npy")
    with pytest.raises(InputError, match=r"groups\['g'\]: expected shape \(50\)"):
        evaluate(pos, neg, groups={"g": np.zeros(80, int)})


def test_blocks_of_dask_arrays():
    dask_array = pytest.importorskip("dask.array")
    from graphgauge.old.engines import dask

    pos, neg = scores(50, 80)
    side = np.arange(50) % 2
    whole = evaluate(pos, neg, groups={"side": side}, k=[20])
    blocks = dask_array.from_array(pos, chunks=20), dask_array.from_array(neg, chunks=30)
    assert facts(dask.evaluate("ranking", *blocks, groups={"side": side}, k=[20])) == facts(whole)


def test_a_damaged_state_is_refused(tmp_path: Path):
    from graphgauge.old.core.state import load_state, save_state

    RankingState().update([1.0, 2.0], [0.5], cluster=[0, 1]).save(tmp_path / "state.npz")
    kind, given, arrays = load_state(tmp_path / "state.npz")
    for change in ({"pool_cluster": np.array([0])}, {"pool_neg": np.array([np.nan])}, {"pool_pos": np.array([["a"]])}):
        save_state(tmp_path / "damaged.npz", kind, given, arrays | change)
        with pytest.raises(InputError, match="damaged"):
            RankingState.load(tmp_path / "damaged.npz")


def test_a_pool_that_is_given_with_every_batch_is_refused(tmp_path):
    pos, pool = np.random.default_rng(3).normal(size=40), np.random.default_rng(4).normal(size=30)
    state = RankingState().update(pos[:20], pool)
    with pytest.raises(InputError, match="30 negatives were given before"):
        state.update(pos[20:], pool)
    state.update(pos[20:], [])
    assert state.evaluate(k=[5])["pooled_hits@5"].value == evaluate(pos, pool, k=[5])["pooled_hits@5"].value
    split = RankingState().update(pos[:5], pool[:10]).update(pos[5:9], pool[10:])
    split.save(tmp_path / "split.npz")
    for first in (split, RankingState.load(tmp_path / "split.npz")):
        with pytest.raises(InputError, match="given before"):
            first.merge(RankingState().update(pos[9:], pool))
        with pytest.raises(InputError, match="given before"):
            RankingState().update(pos[9:], pool).merge(first)
        assert first.n == 9  # nothing was counted
    # Few or constant scores may be alike by chance.
    saturated = RankingState().update(pos[:20], np.zeros(50)).update(pos[20:], np.zeros(50))
    assert saturated.evaluate(metrics=["mean_rank"])["mean_rank"].value == pytest.approx(1 + 100 * np.mean(pos < 0))
