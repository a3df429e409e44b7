"""The grammar of gates, and what passes them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.core.gates import Gate
from graphgauge.core.result import Evaluation, Interval, Result
from graphgauge.study.judge import GateVerdict


def evaluation(value: float = 0.5, interval: Interval | None = None) -> Evaluation:
    facts: dict[str, Any] = {"n": 4, "unit": "query", "direction": "higher", "bounds": (0, 1), "interval": interval}
    keys = ("mrr", "hits@10", "f1_at_1.0e", "coverage_95", "mrr_macro_side")
    return Evaluation("ranking", [Result(key, key, value, no_interval="one query", **facts) for key in keys])


@pytest.mark.parametrize(
    ("text", "key", "bound", "sign", "limit"),
    [
        ("mrr >= 0.7", "mrr", None, ">=", 0.7),
        ("mrr>=0.7", "mrr", None, ">=", 0.7),
        ("  mrr.low   >  .5 ", "mrr", "low", ">", 0.5),
        ("mrr.high<1e-3", "mrr", "high", "<", 1e-3),
        ("hits@10 == 1", "hits@10", None, "==", 1.0),
        ("hits@10.low != -inf", "hits@10", "low", "!=", -math.inf),
        ("f1_at_1.0e <= 5", "f1_at_1.0e", None, "<=", 5.0),
        ("f1_at_1.0e.high <= 5", "f1_at_1.0e", "high", "<=", 5.0),
    ],
)
def test_grammar(text: str, key: str, bound: str | None, sign: str, limit: float) -> None:
    gate = Gate.parse(text)
    assert (gate.key, gate.bound, gate.sign, gate.limit) == (key, bound, sign, limit)
    assert gate.text == text.strip()


@pytest.mark.parametrize(
    "text",
    ["", "mrr", "mrr >=", ">= 0.5", "mrr => 0.5", "mrr = 0.5", "mrr >== 0.5", "mrr >= high", "mrr >= 0.5 and more",
     "m r >= 1", "mrr >= nan", "mrr != nan", "mrr >= 0.5, hits@1 > 0", "mrr >= 0,5", "mrr <> 3", "mrr >= >= 3"],
)  # fmt: skip
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(OptionError, match="cannot be read") as caught:
        Gate.parse(text)
    assert "mrr.low >= 0.7" in str(caught.value)


@pytest.mark.parametrize(
    ("sign", "passed"),
    [(">=", (False, True, True)), ("<=", (True, True, False)), (">", (False, False, True)), ("<", (True, False, False)),
     ("==", (False, True, False)), ("!=", (True, False, True))],
)  # fmt: skip
def test_signs(sign: str, passed: tuple[bool, ...]) -> None:
    gate = Gate.parse(f"mrr {sign} 0.5")
    assert tuple(gate.check(evaluation(value)).passed for value in (0.4, 0.5, 0.6)) == passed


@pytest.mark.parametrize("sign", [">=", "<=", ">", "<", "==", "!="])
def test_nan_passes_no_gate(sign: str) -> None:
    outcome = Gate.parse(f"mrr {sign} 0.5").check(evaluation(math.nan))
    assert not outcome.passed


def test_bounds_are_the_intervals() -> None:
    ev = evaluation(0.5, Interval(0.4, 0.6, 0.95, "t", "queries"))
    assert Gate.parse("mrr.low >= 0.4").check(ev).passed
    assert not Gate.parse("mrr.high < 0.6").check(ev).passed
    assert str(Gate.parse("mrr.low > 0.4").check(ev)) == "gate failed: mrr.low > 0.4 (found 0.4)"
    with pytest.raises(InputError, match="mrr has no interval"):
        Gate.parse("mrr.low > 0").check(evaluation())


@pytest.mark.parametrize("limit", ["1", "0.7", "0.123456789", "-2.5", "1e-9", "12345678", "0.1"])
@pytest.mark.parametrize("sign", [">=", "<=", ">", "<", "==", "!="])
def test_the_value_that_is_printed_shows_why_a_gate_holds_or_not(sign: str, limit: str) -> None:
    gate, edge = Gate.parse(f"mrr {sign} {limit}"), float(limit)
    near = [edge, *(math.nextafter(edge, end) for end in (-math.inf, math.inf))]
    near += [edge * (1 + step * 10.0**-digits) for digits in range(1, 17) for step in (-1, 1)]
    for value in near:
        found = gate.check(evaluation(value))
        printed = float(str(found).rpartition("found ")[2].rstrip(")"))
        assert gate.check(evaluation(printed)).passed == found.passed, (value, str(found))
        verdict = GateVerdict(gate.text, {}, found.passed, found.found)
        printed = float(str(verdict).rpartition("found ")[2].rstrip(")"))
        assert gate.check(evaluation(printed)).passed == found.passed, (value, str(verdict))


def test_no_more_digits_than_it_takes() -> None:
    gate = Gate.parse("mrr >= 1")
    assert str(gate.check(evaluation(0.99999968))) == "gate failed: mrr >= 1 (found 0.9999997)"
    assert str(gate.check(evaluation(2 / 3))) == "gate failed: mrr >= 1 (found 0.666667)"
    assert str(gate.check(evaluation(math.nan))) == "gate failed: mrr >= 1 (found nan)"


def test_unknown_keys_suggest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'mrr'"):
        Gate.parse("mmr > 0").check(evaluation())
