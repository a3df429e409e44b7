"""The grammar of gates, and what passes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.contracts import toy

from graphgauge import Evaluation, Gate, Interval, Reference, Result, ranking
from graphgauge.core.errors import InputError, OptionError, UnknownNameError


def evaluation(value: float = 0.5, interval: Interval | None = None) -> Evaluation:
    facts: dict[str, Any] = {"n": 4, "unit": "query", "direction": "higher", "bounds": (0, 1), "interval": interval}
    keys = ("mrr", "hits@10", "f1_at_1.0e", "coverage_95", "mrr_macro_side")
    results = [Result(key=key, metric=key, value=value, no_interval="one query", **facts) for key in keys]
    return Evaluation("ranking", results)


@pytest.mark.parametrize(
    ("text", "key", "end", "sign", "limit"),
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
def test_grammar(text: str, key: str, end: str | None, sign: str, limit: float) -> None:
    gate = Gate.parse(text)
    assert (gate.key, gate.end, gate.sign, gate.limit) == (key, end, sign, limit)
    assert gate.text == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mrr",
        "mrr >=",
        ">= 0.5",
        "mrr => 0.5",
        "mrr = 0.5",
        "mrr >== 0.5",
        "mrr >= high",
        "mrr >= 0.5 and more",
        "m r >= 1",
        "mrr >= nan",
        "mrr != nan",
        "mrr >= 0.5, hits@1 > 0",
        "mrr >= 0,5",
        "mrr <> 3",
        "mrr >= >= 3",
    ],
)
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(OptionError, match="cannot be read") as caught:
        Gate.parse(text)
    assert "mrr.low >= 0.7" in str(caught.value)


@pytest.mark.parametrize(
    ("sign", "passed"),
    [
        (">=", (False, True, True)),
        ("<=", (True, True, False)),
        (">", (False, False, True)),
        ("<", (True, False, False)),
        ("==", (False, True, False)),
        ("!=", (True, False, True)),
    ],
)
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
    assert str(Gate.parse("mrr.low > 0.4").check(ev)) == "gate failed: mrr.low > 0.4 (it is 0.4 against 0.4)"
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
        printed = float(str(found).rpartition("it is ")[2].partition(" ")[0])
        assert gate.check(evaluation(printed)).passed == found.passed, (value, str(found))


def test_no_more_digits_than_it_takes() -> None:
    gate = Gate.parse("mrr >= 1")
    assert str(gate.check(evaluation(0.99999968))) == "gate failed: mrr >= 1 (it is 0.9999997 against 1)"
    assert str(gate.check(evaluation(2 / 3))) == "gate failed: mrr >= 1 (it is 0.666667 against 1)"
    assert str(gate.check(evaluation(math.nan))) == "gate failed: mrr >= 1 (it is – against 1)"


def test_unknown_keys_suggest() -> None:
    with pytest.raises(OptionError, match="Did you mean 'mrr'"):
        Gate.parse("mmr > 0").check(evaluation())


# ------------------------------------------------------------- levels and groups


def leveled(value: float, interval: Interval | None = None, **levels: Any) -> Evaluation:
    references = tuple(Reference(name, level, kind) for name, (level, kind) in levels.items())
    facts: dict[str, Any] = {"n": 4, "unit": "query", "direction": "higher", "bounds": (0, 1), "interval": interval}
    return Evaluation("ranking", [Result(key="mrr", metric="mrr", value=value, references=references, **facts)])


def test_a_level_is_the_one_that_is_hardest_to_pass() -> None:
    chance = {"a": (0.2, "chance"), "b": (0.3, "chance"), "c": (0.6, "baseline"), "d": (0.9, "ideal")}
    ev = leveled(0.5, Interval(0.25, 0.7, 0.95, "t", "queries"), **chance)
    for text, holds in (
        ("mrr > chance", True),
        ("mrr.low > chance", False),
        ("mrr.low < chance", False),
        ("mrr.high >= baseline", True),
        ("mrr >= baseline", False),
        ("mrr < ideal", True),
    ):
        assert bool(ev.gate(text)) is holds, text
    assert str(ev.gate("mrr.low > chance")) == "gate failed: mrr.low > chance (it is 0.25 against 0.3)"
    with pytest.raises(InputError, match="mrr has no level of chance"):
        leveled(0.5).gate("mrr > chance")
    with pytest.raises(InputError, match="several levels"):
        ev.gate("mrr == chance")


def test_the_digits_show_why_a_level_is_passed() -> None:
    outcome = leveled(0.30000000004, a=(0.3, "chance")).gate("mrr > chance")
    assert outcome
    assert "it is 0.30000000004 against 0.3" in str(outcome)


@pytest.fixture(scope="module")
def grouped() -> Evaluation:
    rng = np.random.default_rng(0)
    labels = np.array(["treats", "has part", "a=b"])[np.arange(90) % 3]
    pos = rng.normal(1, 1, 90) - (labels == "has part")
    return ranking.evaluate(pos, rng.normal(0, 1, (90, 9)), groups={"relation": labels, "year": np.arange(90) // 45})


def test_groups_are_those_of_the_breakdown(grouped: Evaluation) -> None:
    table = grouped.by("relation")
    for row, label in enumerate(table["relation"]):
        for bound in ("", ".low", ".high"):
            value = float(table[f"mrr{bound}"][row])
            assert grouped.gate(f"mrr[relation={label}]{bound} >= {value!r}")
            assert not grouped.gate(f"mrr[relation={label}]{bound} > {value!r}")
    assert grouped.gate(f"mrr[year=1] >= {float(grouped.by('year')['mrr'][1])!r}")
    with pytest.raises(InputError, match=r"unknown relation 'treat'.*Did you mean 'treats'"):
        grouped.gate("mrr[relation=treat] > 0")
    with pytest.raises(UnknownNameError, match="unknown axis 'side'"):
        grouped.gate("mrr[side] > 0")
    with pytest.raises(OptionError, match="groups have no level of chance"):
        grouped.gate("mrr[relation=treats] > chance")


def test_every_group_must_pass_and_the_worst_is_named(grouped: Evaluation) -> None:
    table = grouped.by("relation")
    worst, best = int(table["mrr.low"].argmin()), int(table["mrr"].argmax())
    low = grouped.gate("mrr[relation].low > 0.99")
    assert (low.value, low.group) == (table["mrr.low"][worst], f"relation={table['relation'][worst]}")
    high = grouped.gate("mrr[relation] <= 0.01")
    assert (high.value, high.group) == (table["mrr"][best], f"relation={table['relation'][best]}")
    assert grouped.gate("mrr[relation] > 0")
    assert f"for relation={table['relation'][worst]})" in str(low)


@pytest.mark.parametrize(
    "text",
    [
        "mrr[] > 0",
        "mrr[relation=x > 0",
        "mrr[relation]low > 0",
        "[relation=x] > 0",
        "mrr > chances",
        "mrr[relation=x][side=y] >",
    ],
)
def test_what_is_no_group_cannot_be_read(text: str) -> None:
    with pytest.raises(OptionError, match="cannot be read"):
        Gate.parse(text)


def test_a_metric_that_was_not_computed_is_no_unknown_name() -> None:
    found = ranking.evaluate([1.0, 2.0], [[0.0, 3.0], [1.0, 1.0]], metrics=["mrr"])
    with pytest.raises(InputError, match="It was not computed: name it"):
        found.gate("hits@10 > 0")


# ------------------------------------------------------------- means of which not all items were read


@pytest.mark.parametrize(("limit", "verdict"), [(0.1, "passed"), (0.5, "undecided"), (0.99, "failed")])
def test_a_mean_of_which_not_all_was_read_is_decided_by_its_whole_interval(limit: float, verdict: str) -> None:
    whole = toy.evaluate(np.array([1, 2, 2, 5, 9, 1, 4, 3]))
    partial = Evaluation("toy", whole.values(), options={"until": {"complete": False, "read": 8, "of": 100}})
    outcome = partial.gate(f"hits@3 > {limit}")
    assert outcome.verdict == verdict
    assert ("after 8 of 100 items" in str(outcome)) == (verdict == "undecided")
