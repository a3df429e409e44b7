"""The grammar of gates, and what passes them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old import ranking
from graphgauge.old.core.family import BUILT_IN, family
from graphgauge.old.core.fields import read_all
from graphgauge.old.core.gates import Gate
from graphgauge.old.core.metric import metrics
from graphgauge.old.core.result import Chance, Evaluation, Interval, Result


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


def test_no_more_digits_than_it_takes() -> None:
    gate = Gate.parse("mrr >= 1")
    assert str(gate.check(evaluation(0.99999968))) == "gate failed: mrr >= 1 (found 0.9999997)"
    assert str(gate.check(evaluation(2 / 3))) == "gate failed: mrr >= 1 (found 0.666667)"
    assert str(gate.check(evaluation(math.nan))) == "gate failed: mrr >= 1 (found nan)"


def test_unknown_keys_suggest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'mrr'"):
        Gate.parse("mmr > 0").check(evaluation())


# ------------------------------------------------------------- levels and groups


def leveled(value: float, interval: Interval | None = None, **levels: Any) -> Evaluation:
    chance = tuple(Chance(name, level, kind) for name, (level, kind) in levels.items())
    facts: dict[str, Any] = {"n": 4, "unit": "query", "direction": "higher", "bounds": (0, 1), "interval": interval}
    return Evaluation("ranking", [Result("mrr", "mrr", value, chance=chance, **facts)])


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
    assert str(ev.gate("mrr.low > chance")) == "gate failed: mrr.low > chance (found 0.25 against 0.3)"
    with pytest.raises(InputError, match="mrr has no level of chance"):
        leveled(0.5).gate("mrr > chance")
    with pytest.raises(InputError, match="several levels"):
        ev.gate("mrr == chance")


def test_the_digits_show_why_a_level_is_passed() -> None:
    outcome = leveled(0.30000000004, a=(0.3, "chance")).gate("mrr > chance")
    assert outcome
    assert "found 0.30000000004 against 0.3" in str(outcome)


@pytest.fixture(scope="module")
def grouped() -> Evaluation:
    rng = np.random.default_rng(0)
    labels = np.array(["treats", "has part", "a=b"])[np.arange(90) % 3]
    pos = rng.normal(1, 1, 90) - (labels == "has part")
    return ranking.evaluate(pos, rng.normal(0, 1, (90, 9)), groups={"relation": labels, "year": np.arange(90) // 45})


def test_groups_are_those_of_the_breakdown(grouped: Evaluation) -> None:
    table = grouped["mrr"].by("relation")
    for row, label in enumerate(table["relation"]):
        for bound, column in (("", "value"), (".low", "low"), (".high", "high")):
            value = float(table[column][row])
            assert grouped.gate(f"mrr[relation={label}]{bound} >= {value!r}")
            assert not grouped.gate(f"mrr[relation={label}]{bound} > {value!r}")
    assert grouped.gate(f"mrr[year=1] >= {float(grouped['mrr'].by('year')['value'][1])!r}")
    with pytest.raises(InputError, match=r"unknown relation 'treat'.*Did you mean 'treats'"):
        grouped.gate("mrr[relation=treat] > 0")
    with pytest.raises(UnknownNameError, match="unknown axis 'side'"):
        grouped.gate("mrr[side] > 0")
    with pytest.raises(OptionError, match="groups have no level of chance"):
        grouped.gate("mrr[relation=treats] > chance")


def test_every_group_must_pass_and_the_worst_is_named(grouped: Evaluation) -> None:
    table = grouped["mrr"].by("relation")
    worst, best = int(table["low"].argmin()), int(table["value"].argmax())
    low = grouped.gate("mrr[relation].low > 0.99")
    assert (low.found, low.group) == (table["low"][worst], f"relation={table['relation'][worst]}")
    high = grouped.gate("mrr[relation] <= 0.01")
    assert (high.found, high.group) == (table["value"][best], f"relation={table['relation'][best]}")
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


# ------------------------------------------------------------- before the run


def planned(text: str, **options: Any) -> None:
    declared = family("ranking")
    values = read_all(declared.fields, {"pos_scores": ["p.npy"], "neg_scores": ["n.npy"], **options})
    Gate.parse(text).require_planned(declared, values, declared.check(values))


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("mrr > 0", {"metrics": "hits@10"}, "mrr is not computed: metrics is hits@10. Name mrr there, too."),
        ("hits@50 > 0", {}, "hits@50 is not computed: k is 1, 3, 10. Add 50 to k."),
        ("hits@3 > 0", {"metrics": "hits@10"}, "hits@3 is not computed: metrics has hits@10"),
        ("hits@3 > 0", {"metrics": "hits", "k": "1"}, "hits@3 is not computed: k is 1"),
        ("roc_auc > 0", {}, "roc_auc is computed only if it is asked for. Name it in metrics."),
        ("recall@10 > 0", {"metrics": "recall@10"}, "recall@10 is not computed from the form with positives"),
        ("mmr > 0", {}, "unknown metric 'mmr'. Did you mean 'mrr'"),
        ("mrr[relation=treats] > 0", {}, "there are no groups 'relation': there are none"),
        ("mrr[relation] > 0", {"groups": {"side": "s.npy"}}, "they are side"),
        ("mrr_macro_relation > 0", {"groups": {"side": "s.npy"}}, "no groups 'relation'"),
    ],
)
def test_what_will_not_be_computed_is_refused_before_the_run(text: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError) as raised:
        planned(text, **options)
    assert said in str(raised.value)
    assert repr(text) in str(raised.value)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metrics": ["mrr", "hits@7"]},
        {"metrics": ["roc_auc", "pooled_hits@3", "hits"], "k": [2, 50]},
        {"groups": {"relation": np.arange(30) % 3, "side": np.arange(30) % 2}},
    ],
)
def test_whatever_is_computed_is_planned(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    computed = ranking.evaluate(rng.normal(1, 1, 30), rng.normal(0, 1, (30, 60)), **options)
    files = dict(options) | ({"groups": dict.fromkeys(options["groups"], "g.npy")} if "groups" in options else {})
    for key in computed:
        planned(f"{key} > 0", **files)


def test_forms_with_metrics_of_their_own_are_planned(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {
        "p": rng.normal(1, 1, 30),
        "n": rng.normal(size=60),
        "m": rng.normal(size=(30, 60)),
        "lists": np.tile(np.arange(5), (30, 1)),
        "right": rng.integers(0, 8, 30),
    }
    for name, values in arrays.items():
        np.save(tmp_path / f"{name}.npy", values)
    path = {name: str(tmp_path / f"{name}.npy") for name in arrays}
    pool, matrix = ({"pos_scores": [path["p"]], "neg_scores": [path[name]]} for name in ("n", "m"))
    lists = {"pos_scores": [], "neg_scores": [], "topk": path["lists"], "targets": path["right"], "k": [3]}
    for options in (pool, matrix, lists):
        for key in ranking.evaluate_files(**options):
            planned(f"{key} > 0", **options)
    for key, options in (("hits@10", pool), ("roc_auc", matrix), ("mrr", lists), ("mrr_first", lists)):
        with pytest.raises(OptionError, match=f"{key} is computed only if it is asked for"):
            planned(f"{key} > 0", **options)


@pytest.mark.parametrize("name", BUILT_IN)
def test_default_metrics_of_every_family_are_planned(name: str) -> None:
    declared = family(name)
    values = {key: field.default for key, field in declared.fields.items()}
    for metric in metrics(name):
        gate = Gate.parse(f"{metric.key_of(**metric.params)} > 0")
        if metric.default:
            gate.require_planned(declared, values)
        else:
            with pytest.raises(OptionError, match="only if it is asked for"):
                gate.require_planned(declared, values)
            gate.require_planned(declared, values | {"metrics": (gate.key,)})


def test_a_metric_that_was_not_computed_is_no_unknown_name() -> None:
    found = ranking.evaluate([1.0, 2.0], [[0.0, 3.0], [1.0, 1.0]], metrics=["mrr"])
    with pytest.raises(InputError, match=r"hits@10 was not computed"):
        found.gate("hits@10 > 0")
