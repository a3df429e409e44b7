"""Whether the order of explainers survives the way of masking."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import graphgauge

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError, OptionError


class Added:
    """The first half of the edges supports the answer; without any edge of the second half it turns round."""

    model_output = "logit"

    def __init__(self, turns: bool) -> None:
        self.turns = turns

    def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
        half = len(subgraph) // 2
        logit = masks[:, :half].sum(1) * target["weight"] / half
        return np.where(self.turns & ~masks[:, half:].any(1), -3.0, logit)


def explanations(events: int = 30) -> list[ex.Explanation]:
    rng = np.random.default_rng(0)
    found = []
    for event in range(events):
        subgraph = ex.Subgraph(np.array([np.arange(10), np.arange(1, 11)]))
        context = ex.Context(subgraph, {"weight": float(rng.uniform(1, 3))}, event)
        first = np.where(np.arange(10) < 5, 1.0, 0.0) + rng.random(10) / 10
        found += [ex.Explanation(context, first, "first"), ex.Explanation(context, 1.1 - first, "second")]
    return found


def test_an_order_that_depends_on_the_way_of_masking() -> None:
    said = explanations()
    plain, turned = (ex.collect(Added(turns), said, levels=[0.5]) for turns in (False, True))
    found = ex.orders({"plain": plain, "turned": turned}, "fidelity_drop@0.5")
    assert found.orders == {
        "plain": ["first", "random explainer", "second"],
        "turned": ["second", "first", "random explainer"],
    }
    assert found.survives is False
    assert "second is above first" in str(found) or "first is above second by plain" in str(found)
    assert str(found).endswith("The order of explainers depends on the way of masking.")
    assert found.swaps[0].reversed
    assert max(found.swaps[0].p_values) < 0.05


def test_an_order_that_survives_robust_fidelity() -> None:
    table = ex.collect(Added(False), explanations(), levels=[0.5], metrics=["fidelity_drop", "robust_delta"])
    found = ex.orders(table, ["fidelity_drop@0.5", "robust_delta@0.5"])
    assert found.survives is True
    assert found.orders["robust_delta@0.5"] == ["first", "random explainer", "second"]
    assert found.verdict == "The order of explainers is the same in both ways of masking."
    kept = ex.collect(Added(False), explanations(), levels=[0.5])
    both = ex.orders(kept, ["fidelity_drop@0.5", "fidelity_keep@0.5", "insertion_auc"], random=False)
    assert both.survives is True  # lower is better in one of them
    assert both.orders["fidelity_keep@0.5"] == ["first", "second"]


def test_places_that_change_by_chance_are_not_decided() -> None:
    said = explanations(6)
    rng = np.random.default_rng(1)
    guesses = [ex.Explanation(one.context, rng.random(10), one.explainer) for one in said]
    joined = ex.collect(Added(False), guesses, levels=[0.1, 0.2, 0.3, 0.5])
    found = ex.orders(joined, [f"fidelity_drop@{level}" for level in (0.1, 0.2, 0.3, 0.5)])
    assert found.survives is not False
    for swap in found.swaps:
        assert "not decided" in str(swap)


def test_what_cannot_be_compared_is_refused() -> None:
    table = ex.collect(Added(False), explanations(4), levels=[0.5])
    fewer = ex.collect(Added(False), explanations(3), levels=[0.5])
    with pytest.raises(OptionError, match="one table and one metric"):
        ex.orders(table, "fidelity_drop@0.5")
    with pytest.raises(InputError, match="event 3 is not in both 'a' and 'b'"):
        ex.orders({"a": table, "b": fewer}, "fidelity_drop@0.5")


def test_tables_of_other_explanations_are_refused() -> None:
    said = explanations(4)
    one = ex.collect(Added(False), said, levels=[0.5])
    named = [ex.Explanation(each.context, each.importance, each.explainer + "'") for each in said]
    changed = [ex.Explanation(each.context, each.importance[::-1], each.explainer) for each in said]
    fewer = [each for each in said if each.explainer == "first" or each.context.event != 2]
    for others, message in (
        (named, "explainer 'first' is not in both"),
        (said[::2], "explainer 'second' is not"),
        (changed, "event 0 has other explanations in 'b'"),
        (fewer, "event 2 has other explanations"),
    ):
        with pytest.raises(InputError, match=message):
            ex.orders({"a": one, "b": ex.collect(Added(True), others, levels=[0.5])}, "fidelity_drop@0.5")
    only = ex.collect(Added(True), said[::2], levels=[0.5])
    found = ex.orders({"a": one, "b": only}, "fidelity_drop@0.5", explainers=["first"])
    assert set(found.orders["a"]) == {"first", "random explainer"}


def test_orders_on_the_command_line_and_in_a_study(tmp_path: Path) -> None:
    """The same verdict as the library's, from stored results with the values of single events."""
    keys = ["fidelity_drop@0.5", "fidelity_keep@0.5"]
    table = ex.collect(Added(True), explanations(), levels=[0.5])
    library = ex.orders(table, keys, random=False)
    table.save(tmp_path / "answers.jsonl")
    (tmp_path / "study.toml").write_text(f"""
schema = 1
name = "orders"
results = "results"

[[evaluate]]
family = "explanation"
methods = ["first", "second"]
datasets = ["events"]
seeds = [0]
table = "answers.jsonl"
explainer = "{{method}}"
metrics = {keys}
keep = "items"

[[compare]]
metric = "{keys[0]}"
also = ["{keys[1]}"]
over = "items"
""")
    ran = graphgauge("run", tmp_path / "study.toml")
    assert ran.returncode == 0, ran.stderr
    (stored,) = (tmp_path / "results" / "comparisons").glob("*.json")
    options = ["--metric", keys[0], "--over", "items", "--format", "json"]
    said = graphgauge("compare", tmp_path / "results", *options, "--also", keys[1])
    assert said.returncode == 0, said.stderr
    for content in (json.loads(stored.read_text()), json.loads(said.stdout)):
        assert content["notes"][-1] == library.verdict.replace("explainers", "methods").replace(
            "way of masking", "metric"
        ).replace("ways of masking", "metrics")
        assert any(note.startswith(f"{keys[1]}: ") for note in content["notes"])
    alone = graphgauge("compare", tmp_path / "results", "--metric", keys[0], "--also", keys[1])
    assert alone.returncode == 2
    assert "--also compares orders over items" in alone.stderr
