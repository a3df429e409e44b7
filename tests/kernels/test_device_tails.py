"""ROC-AUC and average precision of tensors, tested against the host's counts; on CPU tensors, or CUDA where it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphgauge.core.errors import InputError
from graphgauge.kernels import device_tails
from graphgauge.kernels.device_tails import pool_sums
from graphgauge.kernels.tails import average_precision, roc_auc, roc_auc_wins, tail_counts

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ODD = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 1.0, 2.0, -1.0])
SCORES = st.lists(ODD | st.integers(-4, 4).map(float), max_size=40)


@given(pos=SCORES, neg=SCORES, at_once=st.sampled_from([1, 3, 7, 1 << 24]), dtype=st.sampled_from(["f4", "f8", "f2"]))
def test_sums_are_the_hosts(pos: list[float], neg: list[float], at_once: int, dtype: str) -> None:
    arrays = [np.array(scores, dtype) for scores in (pos, neg)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_tails, "_AT_ONCE", at_once)
        found = pool_sums(*(torch.from_numpy(scores).to(DEVICE) for scores in arrays))
    tails = tail_counts(*arrays)
    assert (found.negatives, found.pos_missing, found.neg_missing) == tails[4:]
    assert found.wins == roc_auc_wins(tails)
    np.testing.assert_equal(found.roc_auc, roc_auc(tails))
    np.testing.assert_allclose(found.average_precision, average_precision(tails), rtol=1e-14)


def test_many_scores_in_many_ranges() -> None:
    rng = np.random.default_rng(0)
    pos, neg = rng.normal(0.5, 1, 5_000).astype("f4").round(2), rng.normal(0, 1, 60_000).astype("f4").round(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_tails, "_AT_ONCE", 4_000)
        found = pool_sums(torch.from_numpy(pos).to(DEVICE), torch.from_numpy(neg).to(DEVICE))
    assert found.wins == roc_auc_wins(tail_counts(pos, neg))


def test_integers_beyond_the_floats_are_exact_or_refused() -> None:
    large = torch.tensor([2**53, 2**53 + 1], device=DEVICE)
    assert pool_sums(large[1:], large[:1]).wins == 2
    with pytest.raises(InputError, match="does not compare exactly"):
        pool_sums(large, torch.tensor([0.5], device=DEVICE))
