"""Asking a model: each mask once, in batches, checked, and nothing finished is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.explanation.brute import Weighted, random_explanations

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError, OptionError

SIX = ("fidelity_drop", "fidelity_keep", "fidelity_best", "fidelity_tempme", "acc_auc", "cohesiveness")


def path_of(edges: int, event: Any = 0) -> ex.Context:
    return ex.Context(ex.Subgraph([range(edges), range(1, edges + 1)], times=range(edges)), event=event)


def same_values(one: Any, other: Any) -> None:
    np.testing.assert_equal(
        {key: result.value for key, result in one.items()}, {key: result.value for key, result in other.items()}
    )


def test_one_mask_set_serves_every_metric() -> None:
    """100 edges: 6 levels kept and dropped, 16 shares of the sweep of which 3 are levels, the whole and the empty.

    Of all metrics the other sweeps drop 15 shares, of which 3 are levels, and keep 15 shares but the whole.
    """
    explanation = ex.Explanation(path_of(100), np.random.default_rng(0).random(100))
    table = ex.collect(Weighted(0), [explanation], random=1)
    own = 6 + 6 + (15 - 3) + 2
    random = 6 + 6 + (15 - 3)
    assert table.masks == own + random
    every = ex.collect(Weighted(0), [explanation], random=1, metrics="all")
    assert every.masks == own + random + 2 * ((15 - 3) + 15)


def test_no_mask_is_asked_twice_for_any_number_of_explainers_and_metrics() -> None:
    """Counted at the model: every call's masks, by event; one per event is the check."""
    asked: dict[Any, list[bytes]] = {}

    class Counting(Weighted):
        def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
            asked.setdefault(id(subgraph), []).extend(mask.tobytes() for mask in masks)
            return super().predict(subgraph, target, masks)

    said = [one for name in ("one", "two", "three") for one in random_explanations(0, 12, name)]
    shared = {one.context.event: one.context for one in said}
    rng = np.random.default_rng(0)
    said = [ex.Explanation(shared[o.context.event], rng.random(len(o.importance)), o.explainer) for o in said]
    table = ex.collect(Counting(0), said, metrics="all")
    assert len(asked) == 12
    for keys in asked.values():
        assert len(keys) == len({*keys}) + 1
    assert sum(map(len, asked.values())) == table.masks + 12
    for name in table.explainers:
        ex.evaluate(table, explainer=name, metrics="all")
    assert sum(map(len, asked.values())) == table.masks + 12


@pytest.mark.parametrize("budget", [1, 25, 200, 30_000])
def test_the_budget_changes_calls_and_nothing_else(budget: int) -> None:
    explanations = random_explanations(3, 10)
    expected = ex.evaluate(ex.collect(Weighted(3), explanations))
    model = Weighted(3)
    sizes: list[int] = []
    predict = model.predict

    def counted(subgraph: Any, target: Any, masks: Any) -> Any:
        sizes.append(len(masks) * subgraph.edges)
        return predict(subgraph, target, masks)

    model.predict = counted  # type: ignore[method-assign]
    table = ex.collect(model, explanations, batch_edges=budget)
    same_values(ex.evaluate(table), expected)
    assert model.rows == table.masks + 10  # one mask of each event is checked
    assert max(sizes) <= max(budget, max(one.context.subgraph.edges for one in explanations))
    if budget == 30_000:
        assert model.calls == 20  # half of them are checks


class Tainted:
    """Depends on the rest of the batch, from a number of rows on: on the largest of its graphs."""

    model_output = "logit"

    def __init__(self, least: int) -> None:
        self._least = least

    def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
        rows = masks.sum(1).astype(float)
        kept = rows - (rows.max() / 2 if len(rows) >= self._least else rows / 2)
        return np.stack([kept, -kept], 1)


@pytest.mark.parametrize("least", [2, 5, 12])
@pytest.mark.parametrize("budget", [60, 200, 700, 1010, 30_000])
def test_no_answer_of_a_noticed_event_is_from_a_batch(budget: int, least: int) -> None:
    """Events of 20 edges that need several batches, whose last ones may be single masks."""
    rng = np.random.default_rng(0)
    explanations = [ex.Explanation(path_of(20, event), rng.random(20)) for event in range(4)]
    table = ex.collect(Tainted(least), explanations, batch_edges=budget)
    singly = ex.collect(Tainted(10**9), explanations)
    for one, other in zip(table, singly, strict=True):
        np.testing.assert_array_equal(one.outputs, other.outputs)


class Fixed:
    def __init__(self, answer: Any, output: str = "logit") -> None:
        self._answer, self.model_output = answer, output

    def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> Any:
        return self._answer(len(masks))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda rows: np.zeros((rows + 1, 2)), r"shape \(\d+, 2\) for \d+ masks"),
        (lambda rows: np.zeros((rows, 2, 2)), r"shape \(\d+, 2, 2\)"),
        (lambda rows: np.zeros((rows, 0)), r"shape \(\d+, 0\)"),
        (lambda rows: 0.5, r"shape \(\)"),
        (lambda rows: np.full((rows, 2), np.nan), "values are NaN, the first at index"),
        (lambda rows: np.full((rows, 2), np.inf), "infinite logits"),
        (lambda rows: ["yes"] * rows, "expected numbers"),
    ],
)
def test_answers_that_are_none(answer: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        ex.collect(Fixed(answer), random_explanations(0, 2))
    assert "Fixed.predict, answers of the model, event 'e0'" in str(caught.value)


class Raises:
    """A model that has one method, which fails."""

    model_output = "probability"

    def __init__(self, method: str, error: Exception) -> None:
        self._error = error
        setattr(self, method, self._fails)

    def _fails(self, *arguments: Any) -> Any:
        raise self._error


@pytest.mark.parametrize("method", ["predict", "predict_proba_with_mask"])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("two\n lines"), "ValueError: two lines"),
        (KeyError("age"), "KeyError: 'age'"),
        (AssertionError(), "AssertionError"),
    ],
)
def test_what_a_model_raises_is_one_paragraph_that_names_it(method: str, error: Exception, said: str) -> None:
    with pytest.raises(InputError) as caught:
        ex.collect(Raises(method, error), random_explanations(0, 2))
    expected = f"model Raises.{method}: raised {said}. Run it alone; --debug shows the traceback."
    assert str(caught.value).removeprefix("event 'e0', ") == expected
    assert caught.value.__cause__ is error
    assert caught.value.exit_code == 3


def test_what_cannot_be_asked() -> None:
    with pytest.raises(InputError, match=r"model: is missing\. Only metrics of the edges, such as truth_auc"):
        ex.collect(None, random_explanations(0, 1))
    for wrong in (5, "model"):
        with pytest.raises(InputError, match=f"model: {type(wrong).__name__} has neither predict nor"):
            ex.collect(wrong, random_explanations(0, 1))
    for explanations in (None, 5, path_of(3), "run.jsonl"):
        with pytest.raises(InputError, match=f"expected Explanation objects, found {type(explanations).__name__}"):
            ex.collect(Weighted(0), explanations)


def test_wrong_options_are_said_before_the_model_is_asked() -> None:
    wrong: dict[str, Any] = {"protocol": "pyg", "label_threshold": 2, "score": "mean", "delta_t": 0}
    wrong |= {"explainer": "absent", "batch_edges": 0, "metrics": ["fidelity_drop@2"]}
    model = Weighted(0)
    for name, value in wrong.items():
        with pytest.raises(OptionError):
            ex.evaluate(model, random_explanations(0, 2), **{name: value})
    assert model.rows == 0


def test_logits_declared_as_probabilities_are_refused() -> None:
    with pytest.raises(InputError, match=r'3 is not a probability. For logits, pass model_output="logit"'):
        ex.collect(Fixed(lambda rows: np.full(rows, 3.0), "probability"), random_explanations(0, 2))
    with pytest.raises(InputError, match=r"sum to 1\.4"):
        ex.collect(Fixed(lambda rows: np.full((rows, 2), 0.7), "probability"), random_explanations(0, 2))


def test_probabilities_declared_as_logits_are_noticed() -> None:
    honest = ex.evaluate(Weighted(0, 3, "probability"), random_explanations(0, 4))
    assert "probabilities-as-logits" not in [finding.check for finding in honest.findings]
    for columns in (1, 2):

        def answer(rows: int, columns: int = columns) -> Any:
            return np.tile([0.3, 0.7], (rows, 1))[:, -columns:]

        evaluation = ex.evaluate(Fixed(answer), random_explanations(0, 4))
        assert "probabilities-as-logits" in [finding.check for finding in evaluation.findings]


def test_what_the_model_returns_has_to_be_said_once() -> None:
    class Silent:
        def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> Any:
            return np.zeros((len(masks), 2))

    with pytest.raises(OptionError, match="model_output is missing"):
        ex.collect(Silent(), random_explanations(0, 1))
    assert ex.collect(Silent(), random_explanations(0, 1), model_output="logit").settings.model_output == "logit"
    with pytest.raises(OptionError, match="but the model has model_output='logit'"):
        ex.collect(Weighted(0), random_explanations(0, 1), model_output="probability")
    with pytest.raises(InputError, match="neither predict nor predict_proba_with_mask"):
        ex.collect(object(), random_explanations(0, 1), model_output="logit")


def test_nan_is_refused_and_named() -> None:
    class Sometimes(Weighted):
        def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> Any:
            answers = super().predict(subgraph, target, masks)
            if subgraph is explanations[2].context.subgraph:
                answers[-1] = np.nan
            return answers

    explanations = random_explanations(2, 4)
    with pytest.raises(InputError, match=r"answers of the model, event 'e2': [12] of"):
        ex.collect(Sometimes(2), explanations)
    spoiled = explanations[1].importance.copy()
    spoiled[1] = np.nan
    explanations[1] = ex.Explanation(explanations[1].context, spoiled, "one")
    with pytest.raises(
        InputError, match=r"importance: 1 of \d+ values are NaN, the first at index 1. It comes from 'one'"
    ):
        ex.collect(Weighted(2), explanations)


def test_no_candidates_and_one() -> None:
    nothing = ex.Context(ex.Subgraph([[0], [1]], candidates=[], times=[1]), event="none")
    one = ex.Context(ex.Subgraph([[0], [1]], times=[1]), event="one")
    evaluation = ex.evaluate(Weighted(0), [ex.Explanation(nothing, []), ex.Explanation(one, [0.3])], metrics="all")
    drop = evaluation["fidelity_drop@0.1"]
    assert drop.n == 1
    assert "1 of 2 events have no value (no candidate edges)" in drop.warnings[0]
    assert evaluation["cohesiveness@0.1"].reason == "no times, all times equal, or fewer than two edges"
    assert evaluation["fidelity_keep@0.5"].value == 0  # the one edge is the whole graph
    alone = ex.evaluate(Weighted(0), [ex.Explanation(nothing, [])], metrics="all")
    assert all(result.n == 0 and result.reason for result in alone.values())


def test_a_second_run_asks_one_mask_again(tmp_path: Path) -> None:
    explanations, path = random_explanations(4, 8), tmp_path / "run.jsonl"
    first, second = Weighted(4), Weighted(4)
    whole = ex.collect(first, explanations, path=path)
    again = ex.collect(second, explanations, path=path)
    assert second.rows == 1
    same_values(ex.evaluate(again), ex.evaluate(whole))
    assert len(path.read_text().splitlines()) == 9


def test_an_unfinished_line_is_cut_off_and_asked_again(tmp_path: Path) -> None:
    explanations, path = random_explanations(4, 6), tmp_path / "run.jsonl"
    expected = ex.evaluate(ex.collect(Weighted(4), explanations, path=path))
    content = path.read_bytes()
    path.write_bytes(content[:-40])
    read = ex.read_table(path)
    assert len(read) == 5
    model = Weighted(4)
    resumed = ex.collect(model, explanations, path=path)
    assert model.rows == len(resumed.events[-1].masks) + 2  # one of it and one of the file a second time
    same_values(ex.evaluate(resumed), expected)
    assert path.read_bytes() == content


def test_a_line_that_lacks_only_its_end_counts(tmp_path: Path) -> None:
    explanations, path = random_explanations(4, 3), tmp_path / "run.jsonl"
    ex.collect(Weighted(4), explanations, path=path)
    path.write_bytes(path.read_bytes()[:-1])
    model = Weighted(4)
    assert len(ex.collect(model, [*explanations, *random_explanations(9, 4)[3:]], path=path)) == 4
    assert len(ex.read_table(path)) == 4


def test_other_settings_or_explanations_do_not_mix(tmp_path: Path) -> None:
    explanations, path = random_explanations(4, 3), tmp_path / "run.jsonl"
    ex.collect(Weighted(4), explanations, path=path)
    with pytest.raises(InputError, match="different settings: levels"):
        ex.collect(Weighted(4), explanations, path=path, sparsity_levels=(0.1,))
    with pytest.raises(InputError, match="different settings: model_output, asked"):
        ex.collect(None, explanations, path=path, metrics=["truth_auc"])
    changed = [ex.Explanation(one.context, -one.importance - 1, "one") for one in explanations]
    with pytest.raises(InputError, match="event 'e0': has another importance by 'one' already"):
        ex.collect(Weighted(4), changed, path=path)
    subgraph = explanations[0].context.subgraph
    turned = ex.Context(ex.Subgraph(subgraph.edge_index[::-1], candidates=subgraph.candidates), event="e0")
    with pytest.raises(InputError, match="event 'e0' has two different subgraphs"):
        ex.collect(Weighted(4), [ex.Explanation(turned, explanations[0].importance, "one")], path=path)
    with pytest.raises(InputError, match="unknown file ending"):
        ex.collect(Weighted(4), explanations, path=tmp_path / "run.parquet")


@pytest.mark.parametrize(
    ("name", "message"),
    [("folder.jsonl", "cannot be written"), ("nul\0.jsonl", "cannot be written")],
)
def test_files_that_cannot_be_appended_to(tmp_path: Path, name: Any, message: str) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError, match=message):
        ex.collect(Weighted(0), random_explanations(0, 1), path=tmp_path / name if isinstance(name, str) else name)


def test_a_model_may_write_into_its_masks() -> None:
    class Scribbler(Weighted):
        def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
            answer = super().predict(subgraph, target, masks)
            masks[:] = False
            return answer

    explanations = random_explanations(6)
    same_values(ex.evaluate(Scribbler(6), explanations), ex.evaluate(Weighted(6), explanations))


@pytest.mark.parametrize("changed", ["target", "label", "truth", "ids"])
def test_a_file_is_not_continued_with_another_question(tmp_path: Path, changed: str) -> None:
    path, one = tmp_path / "run.jsonl", random_explanations(6, 1)[0]
    one = replace(one, context=replace(one.context, label=1))
    graph, context = one.context.subgraph, one.context
    ex.collect(Weighted(6), [one], path=path)
    facts: dict[str, Any] = {"target": context.target, "label": context.label, "truth": context.truth}
    if changed == "ids":
        graph = replace(graph, ids=graph.ids + 1)
    else:
        facts[changed] = {"target": 99, "label": 0, "truth": ~context.truth}[changed]
    other = ex.Explanation(ex.Context(graph, event=context.event, **facts), one.importance, one.explainer)
    with pytest.raises(InputError, match="has two different"):
        ex.collect(Weighted(6), [other], path=path)
    again = ex.Explanation(context, one.importance, one.explainer, elapsed=9.0)
    assert len(ex.collect(Weighted(6), [again], path=path)) == 1


def test_one_event_is_one_question() -> None:
    context = path_of(4)
    other = ex.Context(context.subgraph, target=1, event=0)
    explanations = [ex.Explanation(context, [1, 2, 3, 4], "one"), ex.Explanation(other, [1, 2, 3, 4], "two")]
    with pytest.raises(InputError, match="two different subgraphs or targets"):
        ex.collect(Weighted(0), explanations)


def test_a_different_number_of_classes_within_an_event_is_refused(tmp_path: Path) -> None:
    class Moody:
        model_output = "logit"

        def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> Any:
            return np.zeros((len(masks), 2 + (len(masks) < 5)))

    with pytest.raises(InputError, match="3 outputs per mask, but 2 before"):
        ex.collect(Moody(), [ex.Explanation(path_of(12), range(12))], batch_edges=60)
    path = tmp_path / "run.jsonl"
    ex.collect(Weighted(0), random_explanations(0, 3)[:2], path=path)
    with pytest.raises(InputError, match="4 outputs per mask, but 2 before"):
        ex.collect(Weighted(0, 4), random_explanations(0, 3), path=path)
    assert len(ex.read_table(path)) == 2


def test_progress_is_told_event_by_event(tmp_path: Path) -> None:
    told: list[Any] = []
    explanations, path = random_explanations(0, 5), tmp_path / "run.jsonl"
    ex.collect(Weighted(0), explanations[:2], path=path)
    ex.collect(Weighted(0), explanations, path=path, progress=lambda *news: told.append(news))
    assert told == [("asking the model", done, 5) for done in (3, 4, 5)]
