"""Scores of ensembles, against the definitions: sorted members, distances of all pairs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import graphgauge
from graphgauge import forecasting
from graphgauge.forecasting import totals

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@DTYPES
@pytest.mark.parametrize(
    ("cells", "count"), [(0, 2), (1, 2), (5, 3), (300, 10), (17, 50), (300, 64), (3, 257), (2, 1500)]
)
def test_ensembles(cells, count, dtype):
    rng = np.random.default_rng(count)
    members = rng.choice([-0.0, 0.0, 1.5, *rng.standard_normal(count)], (cells, count)).astype(dtype)
    y = rng.choice([0.0, 1.5, 0.3], cells).astype(dtype)
    members.flags.writeable = y.flags.writeable = False
    crps, fair, ends = totals.ensemble_scores(SimpleNamespace(y=y, members=members), [0.5, 0.9])
    for cell in range(cells):
        own = sorted(members[cell].tolist())
        away = sum(abs(member - float(y[cell])) for member in own) / count
        pairs = np.abs(np.subtract.outer(own, own)).sum() / 2
        assert crps[cell] == pytest.approx(away - pairs / count**2, rel=1e-12, abs=1e-14)
        assert fair[cell] == pytest.approx(away - pairs / (count * (count - 1)), rel=1e-12, abs=1e-13)
        for level, (low, high) in ends.items():
            for share, found in (((1 - level) / 2, low[cell]), ((1 + level) / 2, high[cell])):
                place = min(max(share * (count + 1) - 1, 0.0), count - 1.0)
                before = min(int(place + 1e-9), count - 2)
                expected = own[before] + (place - before) * (own[before + 1] - own[before])
                assert found == pytest.approx(expected, rel=1e-14, abs=1e-15)


@DTYPES
def test_ensembles_have_the_same_scores_on_any_number_of_threads(dtype):
    rng = np.random.default_rng(1)
    y, members = rng.random((100, 5, 100)).astype(dtype), rng.random((100, 5, 100, 50)).astype(dtype)
    found = []
    for count in (1, 2, 5):
        with graphgauge.threads(count):
            evaluation = forecasting.evaluate(y, samples=members, metrics="all")
            found.append([each.value for each in evaluation.values()] + evaluation.by("node")["crps"].tolist())
    assert found[0] == found[1] == found[2]


@DTYPES
def test_ensembles_show_what_is_no_number(dtype):
    members = np.random.default_rng(0).random((4, 1100)).astype(dtype)
    members[1, 2], members[2, 0] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        crps, *_ = totals.ensemble_scores(SimpleNamespace(y=np.zeros(4, dtype), members=members), [])
    assert np.isfinite(crps).tolist() == [True, False, False, True]
