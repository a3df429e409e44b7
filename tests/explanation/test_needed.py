"""What a model is asked: the masks that metrics need, nothing twice, and watched throughout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.explanation.brute import Weighted, random_explanations

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.registry import metrics as registered
from graphgauge.explanation.declared import MASKS

EDGES = ["truth_auc", "truth_precision@0.2", "truth_recall@k=2", "cohesiveness@0.3", "sparsity@0.1", "elapsed"]


def test_masks_are_declared_for_all_metrics() -> None:
    assert {*MASKS} == {entry.name for entry in registered("explanation")}
    assert all(bool(masks) == (not {"answers", "robust"}.isdisjoint(entry.needs)) for entry, masks in declared())


def declared() -> Any:
    return ((entry, MASKS[entry.name]) for entry in registered("explanation"))


@pytest.mark.parametrize("entry", registered("explanation"), ids=lambda entry: entry.name)
def test_each_metric_has_all_masks_that_it_needs(entry: Any) -> None:
    """Alone it has the same value and levels as with all masks."""
    said = [
        *random_explanations(1, 6),
        *(ex.Explanation(one.context, -one.importance, "one", seed=1) for one in random_explanations(1, 6)),
    ]
    every = [each.key for each in registered("explanation")]
    asked: dict[str, Any] = {"sparsity_levels": (0.2, 0.5), "random": 2}
    whole = ex.evaluate(ex.collect(Weighted(1), said, metrics=every, **asked), metrics=[entry.key])
    model = Weighted(1)
    alone = ex.evaluate(model, said, metrics=[entry.key], **asked)
    assert (model.rows == 0) == (not MASKS[entry.name])
    for key, result in alone.items():
        assert result.value == pytest.approx(whole[key].value, nan_ok=True)
        assert [each.value for each in result.references] == [each.value for each in whole[key].references]


def test_metrics_of_edges_need_no_model() -> None:
    said = random_explanations(2, 8)
    expected = ex.evaluate(ex.collect(Weighted(2), said), metrics=["truth_auc"])
    found = ex.evaluate(None, said, metrics=EDGES, random=0)
    assert found["truth_auc"].value == expected["truth_auc"].value
    assert "model_output" not in found.conventions
    with pytest.raises(InputError, match=r"model: is missing"):
        ex.evaluate(None, said)
    with pytest.raises(InputError, match=r"model: is missing"):
        ex.evaluate(None, said, metrics=["truth_auc", "fidelity_drop@0.1"])


def test_a_table_without_answers_is_a_table(tmp_path: Path) -> None:
    ex.collect(None, random_explanations(2, 4), metrics=["truth_auc"], path=tmp_path / "run.jsonl")
    table = ex.read_table(tmp_path / "run.jsonl")
    assert table.masks == 0
    assert ex.evaluate(table)["truth_auc"].n >= 3
    with pytest.raises(OptionError, match=r"fidelity_drop@\{level\} needs answers"):
        ex.evaluate(table, metrics=["fidelity_drop"])


def test_named_levels_are_the_levels() -> None:
    model = Weighted(3)
    found = ex.evaluate(model, random_explanations(3, 5), metrics=["fidelity_drop@0.37", "label_flip_drop@k=3"])
    assert {*found} == {"fidelity_drop@0.37", "label_flip_drop@k=3"}
    assert model.rows < 5 * (2 + 4 * 2 + 1) + 1  # whole, empty, two counts of four orders, one for the check
    assert ex.evaluate(model, random_explanations(3, 5), metrics=["necessity_auc"]).options["levels"][0] == "0.05"


def test_masks_that_were_not_asked_for_are_named() -> None:
    table = ex.collect(Weighted(3), random_explanations(3, 5), metrics=["fidelity_drop"])
    assert table.settings.asked == ("drop",)
    assert {"sufficiency_auc", "acc_auc"} <= {*ex.evaluate(table).skipped}
    with pytest.raises(InputError, match="the model was not asked about masks of the kind keep"):
        ex.evaluate(table, metrics=["fidelity_keep@0.1"])
    with pytest.raises(OptionError, match=r"robust_drop@{level} needs robust"):
        ex.evaluate(table, metrics=["robust_drop"])


def test_no_random_explainer() -> None:
    found = ex.evaluate(Weighted(3), random_explanations(3, 8), random=0, metrics="all")
    assert [each.name for each in found["fidelity_drop@0.1"].references] == ["empty explanation"]
    assert found["fidelity_drop.signed@0.1"].interpretation is None
    assert found["truth_precision@0.1"].interpretation is None


def test_level_zero_is_nothing() -> None:
    found = ex.evaluate(Weighted(3), random_explanations(3, 8), sparsity_levels=(0, 0.5), topk=[0], metrics="all")
    assert found["fidelity_drop@0"] == found["fidelity_drop@k=0"] == 0
    assert found["fidelity_keep@0"].value == found["fidelity_keep@0"].references[0].value  # the empty explanation
    assert not found["cohesiveness@0"].defined


class TurnsRandom(Weighted):
    """Dropout that is switched on in the middle of a run."""

    def __init__(self, after: int) -> None:
        super().__init__(0)
        self.after, self.noise = after, np.random.default_rng(0)

    def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> Any:
        answers = super().predict(subgraph, target, masks)
        return answers + (self.noise.normal(size=answers.shape) if self.calls > self.after else 0)


class OneByOne:
    model_output = "logit"

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict_proba_with_mask(self, subgraph: Any, target: Any, edge_mask: Any) -> Any:
        return self.model.predict(subgraph, target, np.array([edge_mask], bool))[0]


@pytest.mark.parametrize(
    ("after", "how"),
    [(after, how) for how in ("predict", "one") for after in (0, 1, 5)] + [(25, "predict"), (200, "one")],
)
def test_a_model_that_turns_random_is_noticed(after: int, how: str) -> None:
    model: Any = TurnsRandom(after)
    said = random_explanations(0, 20)
    table = ex.collect(OneByOne(model) if how == "one" else model, said, batch_edges=200)
    apart = [event.apart > 1e-4 for event in table]
    assert any(apart)
    assert after <= 5 or not apart[0]
    (finding,) = [each for each in ex.evaluate(table).findings if each.check == "answers-do-not-repeat"]
    assert finding.evidence["events"] == sum(apart)
    assert finding.severity == "error"


def values(table: Any, explainer: str) -> dict[str, float]:
    return {key: result.value for key, result in ex.evaluate(table, explainer=explainer).items()}


def test_explainers_and_levels_are_added_without_asking_again(tmp_path: Path) -> None:
    one, two = random_explanations(5, 6), random_explanations(5, 6, "two")
    two = [ex.Explanation(a.context, -b.importance, "two") for a, b in zip(one, two, strict=True)]

    def collected(said: Any, **options: Any) -> tuple[Any, int]:
        model = Weighted(5)
        return ex.collect(model, said, path=tmp_path / "run.jsonl", **options), model.rows

    first, _ = collected(one, sparsity_levels=(0.2,))
    both, asked = collected(two, sparsity_levels=(0.2,))
    assert both.explainers == ["one", "two"]
    assert asked == 1 + both.masks - first.masks + sum(
        len(a.masks) > len(b.masks) for a, b in zip(both, first, strict=True)
    )
    wider, more = collected([*one, *two], sparsity_levels=(0.2, 0.6), topk=[2], random=5)
    assert more < wider.masks
    expected = ex.collect(Weighted(5), [*one, *two], sparsity_levels=(0.2, 0.6), topk=[2], random=5)
    for name in ("one", "two"):
        assert values(wider, name) == pytest.approx(values(expected, name), nan_ok=True)
    assert collected([*one, *two], sparsity_levels=(0.2, 0.6), topk=[2], random=5)[1] == 1
    again = ex.read_table(tmp_path / "run.jsonl")
    assert values(again, "two") == pytest.approx(values(expected, "two"), nan_ok=True)
    assert again.settings == expected.settings
    with pytest.raises(InputError, match=r"different settings: .*levels can be added, but not left out"):
        collected(one, sparsity_levels=(0.2,))


def test_a_run_that_stops_while_levels_are_added_goes_on(tmp_path: Path) -> None:
    said, path = random_explanations(5, 6), tmp_path / "run.jsonl"
    ex.collect(Weighted(5), said, sparsity_levels=(0.2,), path=path)
    before = path.read_text()
    ex.collect(Weighted(5), said, sparsity_levels=(0.2, 0.5), path=path)
    lines = path.read_text()[len(before) :].splitlines(keepends=True)
    assert json.loads(lines[0])["settings"]["levels"] == [0.2, 0.5]
    path.write_text(before + "".join(lines[:3]) + lines[3][:40])
    model = Weighted(5)
    table = ex.collect(model, said, sparsity_levels=(0.2, 0.5), path=path)
    assert 0 < model.rows < table.masks
    assert values(table, "one") == values(ex.collect(Weighted(5), said, sparsity_levels=(0.2, 0.5)), "one")


def test_other_importances_under_the_same_name_are_refused(tmp_path: Path) -> None:
    said, path = random_explanations(5, 3), tmp_path / "run.jsonl"
    ex.collect(Weighted(5), said, path=path)
    other = [ex.Explanation(one.context, one.importance + np.arange(len(one.importance)), "one") for one in said]
    with pytest.raises(InputError, match="has another importance by 'one' already"):
        ex.collect(Weighted(5), other, path=path)
