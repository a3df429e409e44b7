"""A result behaves as its number, an evaluation as a mapping, and both carry the rest."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphgauge import Evaluation, Grid, Interval, Reference, Result
from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.core.evaluation import Run
from graphgauge.core.extras import need


def result(key: str = "mrr", value: float = 0.5, **facts: object) -> Result:
    given = {"metric": key, "n": 4, "unit": "query", "direction": "higher", "bounds": (0, 1)} | facts
    return Result(key=key, value=value, **given)  # type: ignore[arg-type]


INTERVAL = Interval(0.4, 0.6, 0.95, "t", "queries")
TABLE = Grid(
    {
        "side": np.array(["h", "t"]),
        "n": np.array([3, 1]),
        "mrr": np.array([0.25, math.nan]),
        "mrr.low": np.array([0.1, math.nan]),
        "mrr.high": np.array([0.4, math.nan]),
    },
)


def evaluation(**facts: object) -> Evaluation:
    results = [
        result(interval=INTERVAL, references=(Reference("constant scorer", 0.18),), section="ranks"),
        result("auc", math.nan, n=0, reason="no negatives", section="pool"),
    ]
    given: dict[str, object] = {"breakdowns": {"side": TABLE}, "skipped": {"sid": "needs gadjid"}, **facts}
    return Evaluation("ranking", results, **given)  # type: ignore[arg-type]


# -------------------------------------------------------------------------- Result


def test_a_result_is_its_number() -> None:
    half = result()
    assert float(half) == 0.5
    assert f"{half:.4f}" == "0.5000"
    assert f"{half:>8.2%}" == "  50.00%"
    assert half == 0.5 == half
    assert half != 0.4
    assert not half != 0.5  # noqa: SIM202, the operator is meant
    assert half < 1
    assert half <= 0.5 <= half
    assert half > np.float32(0.25)
    assert half <= 0.6
    assert half < result(value=0.75)
    assert max(result(value=0.1), half) is half
    assert np.isclose(float(half), 0.5)
    assert half != "0.5"
    assert hash(half) == hash(0.5)
    assert {half: 1}[0.5] == 1


def test_a_nan_result_is_below_and_above_nothing() -> None:
    undefined = result(value=math.nan)
    assert not undefined.defined
    assert not undefined < 1
    assert not undefined >= 0
    assert undefined != undefined


def test_interval_unpacks() -> None:
    low, high = INTERVAL
    assert (low, high) == (0.4, 0.6)
    assert 0.5 in INTERVAL
    assert 0.7 not in INTERVAL


def test_results_are_frozen() -> None:
    with pytest.raises(AttributeError):
        result().value = 1  # type: ignore[misc]
    with pytest.raises(AttributeError):
        INTERVAL.low = 0  # type: ignore[misc]


# ---------------------------------------------------------------------- Evaluation


def test_an_evaluation_is_a_read_only_mapping() -> None:
    ev = evaluation()
    assert list(ev) == ["mrr", "auc"]
    assert len(ev) == 2
    assert "mrr" in ev
    assert "sid" not in ev
    assert ev.get("mrr") == 0.5
    assert ev.get("sid") is None
    assert ev.get("nope", 3) == 3
    assert dict(ev)["mrr"] is ev["mrr"]
    with pytest.raises(KeyError):
        ev["nope"]
    with pytest.raises(UnknownNameError, match="Did you mean 'mrr'"):
        ev["mmr"]
    with pytest.raises(InputError, match="sid was skipped: needs gadjid"):
        ev["sid"]
    with pytest.raises(TypeError):
        ev["mrr"] = 1  # type: ignore[index]


def test_sections() -> None:
    ev = evaluation()
    assert ev.sections == ("ranks", "pool")
    assert list(ev.section("pool")) == ["auc"]
    with pytest.raises(UnknownNameError, match="section"):
        ev.section("poll")


def test_flat_form() -> None:
    flat = evaluation().to_flat()
    assert list(flat) == ["mrr", "auc", "mrr_per_side"]
    assert flat["mrr"] == 0.5
    assert math.isnan(flat["auc"])
    assert flat["mrr_per_side"][0] == 0.25


def test_frame() -> None:
    frame = evaluation().to_frame()
    assert frame["key"].tolist() == ["mrr", "auc"]
    assert frame["low"].tolist()[0] == 0.4
    assert math.isnan(frame["low"][1])
    assert TABLE.to_frame()["side"].tolist() == ["h", "t"]
    assert need("pandas", "").DataFrame is type(frame)


def test_text_and_html_carry_what_matters() -> None:
    ev = evaluation(run=Run(method="<b>x</b>", dataset="d"))
    text = str(ev)
    for part in (
        "mrr",
        "0.5000",
        "0.4000",
        "0.6000",
        "0.1800",
        "no negatives",
        "sid",
    ):
        assert part in text
    assert "<b>x</b>" not in ev._repr_html_()
    assert "&lt;b&gt;" in ev._repr_html_()
    assert repr(ev) == "<Evaluation ranking: mrr=0.5, auc=nan>"


def test_a_perfect_generator_is_not_chance():
    levels = (Reference("constant", 0.3), Reference("random", 0.2), Reference("perfect", 0.99, "ideal"))
    assert result(references=levels).chance == levels[1]
    assert result(references=levels[2:]).chance == levels[2]
    assert result().chance is None
