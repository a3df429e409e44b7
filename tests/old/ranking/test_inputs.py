"""What goes in: shapes, types and NaN, each refused with its name; and counting on a device."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from graphgauge import ranking
from graphgauge.core.errors import InputError, OptionError
from graphgauge.kernels.counting import row_counts
from graphgauge.kernels.device import device_counts
from graphgauge.old.ranking.evaluate import POSITIVES_AND_QUERIES

POS, NEG = np.array([1.0, 2.0]), np.array([[0.0, 3.0, 1.0], [5.0, 2.0, 2.0]])
FLAT = {"scores": [1.0, 0.0], "labels": [1, 0], "queries": [0, 0]}


@pytest.mark.parametrize(
    ("pos", "neg", "options", "where", "what"),
    [
        (np.ones(4), np.ones((1, 9)), {}, "neg_scores", "expected shape (4, any), found (1, 9)"),
        (np.ones((4, 1)), np.ones((4, 9)), {}, "pos_scores", "expected shape (any), found (4, 1)"),
        (POS, [[1.0], [1.0, 2.0]], {}, "neg_scores", "rows of different lengths"),
        (POS, [["a"], ["b"]], {}, "neg_scores", "expected numbers, found values of type <U1"),
        ([None, 1.0], NEG, {}, "pos_scores", "expected numbers, found Python objects"),
        (POS.astype("M8[s]"), NEG, {}, "pos_scores", "expected numbers, found values of type datetime64[s]"),
        (POS, NEG + 0j, {}, "neg_scores", "expected numbers, found values of type complex128"),
        (POS, NEG.astype(np.longdouble), {}, "neg_scores", "expected numbers, found values of type"),
        (POS, np.ma.masked_array(NEG), {}, "neg_scores", "found a masked array"),
        (POS, NEG, {"mask": np.ones((2, 2), bool)}, "mask", "expected shape (2, 3), found (2, 2)"),
        (POS, NEG, {"mask": np.ones((2, 3))}, "mask", "expected booleans, found float64"),
        (POS, NEG.ravel(), {"offsets": [0, 3]}, "offsets", "expected shape (3), found (2"),
        (POS, NEG.ravel(), {"offsets": [0, 3, 5]}, "offsets", "offsets must rise from 0 to 6"),
        (POS, NEG.ravel(), {"offsets": [0, 7, 6]}, "offsets", "offsets must rise from 0 to 6"),
        (POS, NEG.ravel(), {"offsets": [1, 3, 6]}, "offsets", "offsets must rise from 0 to 6"),
        (POS, NEG.ravel(), {"offsets": [0.0, 3.0, 6.0]}, "offsets", "expected integers, found float64"),
        (POS, NEG, {"offsets": [0, 3, 6]}, "neg_scores", "expected shape (any), found (2, 3)"),
        (POS, NEG.ravel(), {"offsets": [0, 3, 6], "mask": np.ones(6, bool)}, None, "offsets and mask exclude"),
    ],
)
def test_wrong_input_is_named(pos: object, neg: object, options: dict, where: str | None, what: str) -> None:
    with pytest.raises(InputError) as caught:
        ranking.evaluate(pos, neg, **options)
    assert caught.value.where == where
    assert caught.value.what.startswith(what)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"scores": [[1.0, 0.0]]}, "scores"),
        ({"labels": [1, -1]}, "labels"),
        ({"labels": [1.0, np.inf]}, "labels"),
        ({"labels": [1.0, np.nan]}, "labels"),
        ({"labels": [1]}, "labels"),
        ({"labels": ["1", "0"]}, "labels"),
        ({"queries": [0]}, "queries"),
        ({"queries": [0.0, 1.0]}, "queries"),
    ],
)
def test_wrong_flat_input_is_named(change: dict, where: str) -> None:
    with pytest.raises(InputError) as caught:
        ranking.evaluate(**FLAT | change)
    assert caught.value.where == where


@pytest.mark.parametrize(
    ("pos", "neg", "options", "message"),
    [
        ([1.0, np.nan], NEG, {}, "pos_scores: 1 of 2 values are NaN, the first at index 1."),
        (POS, [[0, np.nan, 1], [np.nan, 2, 2]], {}, "neg_scores: 2 of 6 values are NaN, the first at index (0, 1)."),
        (POS, [0, 1, np.nan], {"offsets": [0, 1, 3]}, "neg_scores: 1 of 3 values are NaN, the first at index 2."),
        (
            POS,
            [[0, np.nan], [np.nan, 2]],
            {"mask": [[True, False], [True, True]]},
            "neg_scores: 1 of 3 values are NaN, the first at index (1, 0).",
        ),
    ],
)
def test_nan_is_counted_and_placed(pos: object, neg: object, options: dict, message: str) -> None:
    for function in (ranking.evaluate, ranking.mrr, ranking.hits_at_k, ranking.ranks):
        with pytest.raises(InputError) as caught:
            function(pos, neg, **options)
        assert str(caught.value).startswith(message)
        assert 'nan="omit"' in str(caught.value)


def test_pooled_functions_refuse_nan_and_matrices() -> None:
    for function in (ranking.roc_auc, ranking.average_precision):
        with pytest.raises(InputError, match="neg_scores: 1 of 2 values are NaN, the first at index 0"):
            function([1.0], [np.nan, 0.0])
        with pytest.raises(InputError, match="pos_scores: 1 of 1 values are NaN"):
            function([np.nan], [0.0])
        with pytest.raises(InputError, match="neg_scores"):
            function(POS, NEG)
        assert np.isnan(function([], [1.0]))
        assert np.isnan(function([1.0], []))


def test_a_nan_positive_drops_its_whole_list() -> None:
    """Had only the candidate been dropped, its absence would make recall better."""
    evaluation = ranking.evaluate(
        scores=[5.0, np.nan, 1.0, 1.0, 0.0, np.nan],
        labels=[1, 1, 0, 1, 0, 0],
        queries=[0, 0, 0, 1, 1, 1],
        nan="omit",
        k=1,
        metrics=["recall", "mrr"],
        groups={"g": ["a", "a", "a", "b", "b", "b"]},
    )
    assert evaluation["recall@1"].n == evaluation["mrr"].n == 1
    assert evaluation.by("g")["g"].tolist() == ["b"]
    assert evaluation.notes == (
        POSITIVES_AND_QUERIES,
        "1 queries dropped: their positive's score is NaN",
        "1 candidates dropped: their score is NaN",
    )


NAN = np.nan
# Two queries: the second one's only negatives are NaN, so that nothing is left to rank it among.
EMPTIED: dict[str, dict[str, Any]] = {
    "matrix": {"pos_scores": [1.0, 1.0], "neg_scores": [[2.0, NAN], [NAN, NAN]]},
    "masked": {
        "pos_scores": [1.0, 1.0],
        "neg_scores": [[2.0, NAN, 0.0], [NAN, NAN, 0.0]],
        "mask": [[True, True, False]] * 2,
    },
    "ragged": {"pos_scores": [1.0, 1.0], "neg_scores": [2.0, NAN, NAN], "offsets": [0, 2, 3]},
    "flat": {"scores": [1.0, 2.0, NAN, 1.0, NAN], "labels": [1, 0, 0, 1, 0], "queries": [0, 0, 0, 1, 1]},
}
DROPPED = (
    "1 queries dropped: the scores of all their negatives are NaN",
    "1 candidates dropped: their score is NaN",
)


@pytest.mark.parametrize("form", EMPTIED)
def test_a_query_without_any_negative_left_is_dropped_and_counted(form: str, tmp_path: Path) -> None:
    """It is never rank 1."""
    inputs = EMPTIED[form]
    inputs = {name: np.array(value) for name, value in inputs.items()}
    evaluation = ranking.evaluate(**inputs, nan="omit", k=1)
    assert (evaluation["mrr"].value, evaluation["mrr"].n, evaluation["hits@1"].value) == (0.5, 1, 0.0)
    own = (POSITIVES_AND_QUERIES,) if form == "flat" else ()
    assert evaluation.notes == own + DROPPED
    assert evaluation.conventions["nan"] == "omit"
    with pytest.raises(InputError, match="NaN"):
        ranking.evaluate(**inputs)
    state = ranking.RankingState().update(**inputs, nan="omit")
    state.save(tmp_path / "state.npz")
    merged = ranking.RankingState().merge(ranking.RankingState.load(tmp_path / "state.npz"))
    assert merged.evaluate().notes == own + DROPPED
    if form != "flat":
        assert ranking.mrr(**inputs, nan="omit") == 0.5
        kept = ranking.evaluate(**inputs, nan="omit", keep="items", metrics=["mrr", "roc_auc", "pooled_hits@1"])
        assert kept.per_item.ids.tolist() == [0]
        # One positive, below the one negative that is left.
        assert (kept["roc_auc"].value, kept["pooled_hits@1"].value, kept["roc_auc"].n) == (0.0, 0.0, 1)


def test_one_query_without_any_negative_left() -> None:
    """The short way for single queries, and nothing left at all."""
    state = ranking.RankingState().update(np.array([1.0]), np.array([[NAN, NAN]]), nan="omit")
    assert (state.n, state.emptied_queries) == (0, 1)
    assert np.isnan(state.evaluate()["mrr"].value)


def test_a_query_that_never_had_a_negative_stays() -> None:
    for inputs in (
        {"pos_scores": [1.0], "neg_scores": [], "offsets": [0, 0]},
        {"pos_scores": [1.0], "neg_scores": [[NAN]], "mask": [[False]]},
        {"scores": [1.0], "labels": [1], "queries": [0]},
    ):
        evaluation = ranking.evaluate(**inputs, nan="omit")
        own = (POSITIVES_AND_QUERIES,) if "queries" in inputs else ()
        assert (evaluation["mrr"].value, evaluation["mrr"].n, evaluation.notes) == (1.0, 1, own)


def test_counts_of_tensors_leave_emptied_queries_to_the_same_rule() -> None:
    pos, neg = torch.tensor([1.0, 1.0]), torch.tensor([[2.0, NAN], [NAN, NAN]])
    assert device_counts(pos, neg).missing.tolist() == row_counts(pos.numpy(), neg.numpy()).missing.tolist() == [1, 2]


def test_tensors_of_long_integers_beside_floats_are_refused_as_on_the_host() -> None:
    big = torch.tensor([[2**53 + 1]])
    with pytest.raises(InputError, match=r"beyond ±2\*\*53"):
        device_counts(torch.tensor([float(2**53)], dtype=torch.float64), big)
    assert device_counts(big[0] - 1, big).greater.tolist() == [1]


def test_infinities_are_ordinary_scores() -> None:
    inf = np.inf
    assert ranking.ranks([inf, -inf, 0.0], [[inf, 1.0], [-inf, 1.0], [-inf, inf]]).tolist() == [1.5, 2.5, 2.0]


def test_types_are_never_narrowed() -> None:
    """A difference that float32 cannot see is a difference."""
    pos, neg = np.array([1.0]), np.array([[1.0 + 1e-12]])
    assert ranking.ranks(pos, neg).tolist() == [2]
    assert ranking.ranks(pos + 1e-12, neg.astype(np.float32)).tolist() == [1]
    assert ranking.ranks(np.array([2**53 + 1]), np.array([[2**53, 2**53 + 2]])).tolist() == [2]
    assert ranking.roc_auc(np.array([2**53 + 1]), np.array([2**53])) == 1
    assert ranking.mrr(np.array([True]), np.array([[False, True]])) == pytest.approx(1 / 1.5)
    with pytest.raises(ValueError, match=r"2\*\*53"):
        ranking.mrr(np.array([0.5, 0.5]), np.array([[2**53 + 1], [3]]))


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("convert", [torch.Tensor.to_sparse, torch.Tensor.to_sparse_csr, lambda tensor: tensor + 0j])
def test_tensors_without_plain_numbers_are_refused(convert: Callable[[torch.Tensor], torch.Tensor]) -> None:
    with pytest.raises(InputError, match="expected a dense real tensor"):
        ranking.mrr(torch.ones(2), convert(torch.eye(2)))


# ------------------------------------------------------------------------- device


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")
def test_cuda_is_counted_on_its_device() -> None:
    rng = np.random.default_rng(0)
    pos, neg = rng.integers(0, 5, 50).astype(np.float32), rng.integers(0, 5, (50, 9)).astype(np.float32)
    found = ranking.evaluate(torch.tensor(pos).cuda(), torch.tensor(neg).cuda())
    np.testing.assert_equal(found.to_flat(), ranking.evaluate(pos, neg).to_flat())  # one of them is NaN
    with pytest.raises(InputError, match=r"first at index \(0, 0\)"):
        ranking.evaluate(torch.ones(1).cuda(), torch.full((1, 2), torch.nan).cuda())


@pytest.mark.parametrize("groups", [[0, 1], np.arange(2), {1: [0, 1]}, "relation"])
def test_groups_are_labels_under_names(groups: object) -> None:
    with pytest.raises(InputError, match=r'groups: expected labels under a name. For example {"relation": labels}'):
        ranking.evaluate(POS, NEG, groups=groups)
    with pytest.raises(InputError, match="groups: expected labels under a name"):
        ranking.evaluate(**FLAT, groups=groups)


def test_one_pool_repeated_for_every_positive_is_no_matrix_of_negatives() -> None:
    rng = np.random.default_rng(0)
    pos, pool = rng.normal(1, 1, 40), rng.normal(0, 1, 300)
    for repeated in (np.broadcast_to(pool, (40, 300)), torch.as_tensor(pool).expand(40, 300)):
        for key in ("roc_auc", "average_precision", "pooled_hits@20"):
            with pytest.raises(InputError, match="one row repeated 40 times"):
                ranking.evaluate(pos, repeated, metrics=[key])
        ranking.evaluate(pos, repeated)  # ranks against the whole pool are what they seem
    assert ranking.evaluate(pos, pool)["roc_auc"].value == ranking.roc_auc(pos, pool) == np.mean(pos[:, None] > pool)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch means to replace both
    NESTED = torch.nested.nested_tensor([torch.ones(2), torch.ones(1)])
    QUANTIZED = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
ODD_TENSORS = {
    "a nested tensor": NESTED,
    "a quantized tensor": QUANTIZED,
    "on the meta device": torch.ones(3, device="meta"),
    "a sparse tensor": torch.ones(3).to_sparse(),
    "complex64": torch.ones(3) * 1j,
}


@pytest.mark.parametrize("words", ODD_TENSORS)
def test_tensors_without_plain_numbers_are_refused_in_words(words: str) -> None:
    odd, plain = ODD_TENSORS[words], np.ones((3, 4))
    for given in (
        {"pos_scores": odd, "neg_scores": plain},
        {"pos_scores": np.ones(3), "neg_scores": odd},
        {"pos_scores": np.ones(3), "neg_scores": plain, "groups": {"g": odd}},
        {"pos_scores": np.ones(3), "neg_scores": plain, "cluster": odd},
    ):
        with pytest.raises(InputError, match=words):
            ranking.evaluate(**given)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.bfloat16])
def test_narrow_floats_are_widened_exactly(dtype: torch.dtype) -> None:
    neg = torch.tensor([[0.5, 1.5], [3.0, 2.0]]).to(dtype)
    assert ranking.ranks(torch.tensor([1.0, 1.0]).to(dtype), neg).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("name", ["", "n", "value", "low", "high", "mrr", "mrr.low", "hits@3.high"])
def test_a_group_cannot_have_the_name_of_a_column(name: str) -> None:
    with pytest.raises(OptionError, match=f"a group cannot be named '{name}'"):
        ranking.evaluate(POS, NEG, groups={name: np.zeros(len(POS), int)})


@pytest.mark.parametrize("k", [2**63, 2**70, [1, 2**63], np.uint64(2**63)])
def test_cut_offs_beyond_any_count_are_refused(k: object) -> None:
    with pytest.raises(OptionError, match="k must be a whole number from 1 to"):
        ranking.evaluate(POS, NEG, k=k)
    with pytest.raises(OptionError, match="k must be a whole number from 1 to"):
        ranking.evaluate(POS, NEG, metrics=[f"hits@{2**63}"])
