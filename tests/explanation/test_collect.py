"""Asking a model: each mask once, in batches, checked, and nothing finished is lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
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


# --------------------------------------------------------------------------------------------------- masks


def test_rows_are_the_distinct_masks_and_one_per_event_for_the_check() -> None:
    model = Weighted(0)
    explanations = random_explanations(0, 20) + random_explanations(0, 20, "two")
    table = ex.collect(model, explanations)
    for row in table:
        assert len(np.unique(row.masks, axis=0)) == len(row.masks)
    assert model.rows == table.masks + 20
    asked = model.rows
    ex.evaluate(table, explainer="one", metrics=SIX)
    assert model.rows == asked


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


def test_levels_that_fall_on_one_count_are_asked_once() -> None:
    explanation = ex.Explanation(path_of(4), [4, 3, 2, 1])
    few = ex.collect(Weighted(0), [explanation], sparsity_levels=(0.2, 0.25, 0.3), random=1)
    one = ex.collect(Weighted(0), [explanation], sparsity_levels=(0.25,), random=1)
    assert few.masks == one.masks
    evaluation = ex.evaluate(few, metrics=["fidelity_drop", "sparsity"])
    assert evaluation["fidelity_drop@0.2"].value == evaluation["fidelity_drop@0.3"].value
    assert evaluation["sparsity@0.2"].value == 0.75  # as achieved, not as asked


def test_explainers_that_agree_share_their_masks() -> None:
    context = path_of(30)
    importance = np.arange(30.0)
    alone = ex.collect(Weighted(0), [ex.Explanation(context, importance, "a")])
    both = ex.collect(
        Weighted(0), [ex.Explanation(context, importance, "a"), ex.Explanation(context, 2 * importance, "b")]
    )
    assert both.masks == alone.masks


# ------------------------------------------------------------------------------------------------- batches


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


def test_a_large_event_is_split() -> None:
    model = Weighted(0)
    table = ex.collect(model, [ex.Explanation(path_of(50), np.arange(50.0))], batch_edges=500)
    assert model.calls == -(-table.masks // 10) + 1  # the last of the first batch is checked


class Dependent:
    """Answers that depend on what else is in the batch, as of a layer that normalises over it."""

    model_output = "logit"

    def __init__(self, noise: float = 0.0) -> None:
        self.sizes: list[int] = []
        self._rng, self._noise = np.random.default_rng(0), noise

    def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
        self.sizes.append(len(masks))
        kept = masks.sum(1) - masks.sum(1).mean() / 2 + self._noise * self._rng.normal(size=len(masks))
        return np.stack([kept, -kept], 1)


def test_a_model_that_is_not_batch_invariant_is_asked_mask_by_mask() -> None:
    explanations = random_explanations(1, 5)
    model = Dependent()
    table = ex.collect(model, explanations)
    assert set(model.sizes[1:]) == {1}
    singly = ex.collect(Dependent(), explanations, batch_edges=1)
    same_values(ex.evaluate(table), ex.evaluate(singly))
    assert "answers-do-not-repeat" not in {each.check for each in ex.evaluate(table).findings}


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


def test_a_model_that_draws_lots_is_named() -> None:
    table = ex.collect(Dependent(noise=1.0), random_explanations(1, 3))
    (finding,) = [each for each in ex.evaluate(table).findings if each.check == "answers-do-not-repeat"]
    assert "evaluation mode" in finding.remedy


# ------------------------------------------------------------------------------------------- wrong answers


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


def test_an_answer_that_cannot_be_read_is_the_models() -> None:
    class Broken:
        def __array__(self, *arguments: Any, **options: Any) -> Any:
            raise RuntimeError("released")

    with pytest.raises(InputError, match=r"model Fixed\.predict: raised RuntimeError: released"):
        ex.collect(Fixed(lambda rows: Broken()), random_explanations(0, 2))


def test_what_cannot_be_asked() -> None:
    with pytest.raises(InputError, match=r"model: is missing\. Only metrics of the edges, such as truth_auc"):
        ex.collect(None, random_explanations(0, 1))
    for wrong in (5, "model"):
        with pytest.raises(InputError, match=f"model: {type(wrong).__name__} has neither predict nor"):
            ex.collect(wrong, random_explanations(0, 1))
    with pytest.raises(InputError, match=r"model: Fixed is a class\. Pass an instance of it"):
        ex.collect(Fixed, random_explanations(0, 1), model_output="logit")
    for explanations in (None, 5, path_of(3), "run.jsonl"):
        with pytest.raises(InputError, match=f"expected Explanation objects, found {type(explanations).__name__}"):
            ex.collect(Weighted(0), explanations)


@pytest.mark.parametrize(
    "wrong",
    [
        {"metrics": ["fidelity_plus"]},
        {"metrics": ["fidelity_drop@2"]},
        {"protocol": "pyg"},
        {"label_threshold": 2},
        {"score": "mean"},
        {"delta_t": 0},
        {"explainer": "absent"},
        {"batch_edges": 0},
    ],
)
def test_wrong_options_are_said_before_the_model_is_asked(wrong: dict[str, Any]) -> None:
    model = Weighted(0)
    with pytest.raises(OptionError):
        ex.evaluate(model, random_explanations(0, 2), **wrong)
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


def test_a_different_number_of_classes_is_refused() -> None:
    class Moody:
        model_output, calls = "logit", 0

        def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> Any:
            self.calls += 1
            return np.zeros((len(masks), 2 + (self.calls > 2)))

    with pytest.raises(InputError, match="3 outputs per mask, but 2 before"):
        ex.collect(Moody(), random_explanations(0, 2))


# ------------------------------------------------------------------------------------------------ NaN, empty


def test_nan_importance_raises_or_is_left_out_and_counted() -> None:
    explanations = random_explanations(2, 4)
    spoiled = explanations[1].importance.copy()
    spoiled[1] = np.nan
    explanations[1] = ex.Explanation(explanations[1].context, spoiled, "one")
    with pytest.raises(
        InputError, match=r"importance: 1 of \d+ values are NaN, the first at index 1. It comes from 'one'"
    ):
        ex.collect(Weighted(2), explanations)
    table = ex.collect(Weighted(2), explanations, nan="omit")
    assert [row.id for row in table] == ["e0", "e2", "e3"]
    assert ex.evaluate(table).conventions["nan"] == "raise: 1 explanations with NaN were left out"


def test_a_model_that_answers_nan_loses_those_events_only() -> None:
    class Sometimes(Weighted):
        def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> Any:
            answers = super().predict(subgraph, target, masks)
            if subgraph is explanations[2].context.subgraph:
                answers[-1] = np.nan
            return answers

    explanations = random_explanations(2, 4)
    with pytest.raises(InputError, match=r"answers of the model, event 'e2': [12] of"):
        ex.collect(Sometimes(2), explanations)
    table = ex.collect(Sometimes(2), explanations, nan="omit", batch_edges=60)
    assert [row.id for row in table] == ["e0", "e1", "e3"]
    assert "1 events were left out, because the model answered NaN" in table.notes


def test_nan_in_answers_of_the_wrong_shape_is_an_error_all_the_same() -> None:
    for shape in ((2, 2), (0,)):
        with pytest.raises(InputError, match="shape"):
            ex.collect(Fixed(lambda rows, s=shape: np.full((rows, *s), np.nan)), random_explanations(0, 2), nan="omit")


def test_numbers_of_numpy_are_numbers() -> None:
    given: Any = {"random": np.int64(2), "seed": np.int32(3), "batch_edges": np.int64(50)}
    table = ex.collect(Weighted(0), random_explanations(0, 2), **given)
    same_values(
        ex.evaluate(table), ex.evaluate(Weighted(0), random_explanations(0, 2), random=2, seed=3, batch_edges=50)
    )
    assert type(table.settings.seed) is int  # and so it can be stored


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


def test_events_without_a_value_are_counted() -> None:
    contexts = [
        ex.Context(ex.Subgraph([[0], [1]], candidates=[]), event="none"),
        path_of(3, "three"),
        path_of(4, "four"),
    ]
    said = [ex.Explanation(context, np.arange(len(context.subgraph))) for context in contexts]
    drop = ex.evaluate(Weighted(0), said, metrics=["fidelity_drop@0.1"])["fidelity_drop@0.1"]
    assert drop.n == 2
    assert drop.warnings[0] == "1 of 3 events have no value (no candidate edges)"


def test_nothing_to_explain() -> None:
    evaluation = ex.evaluate(Weighted(0), [])
    assert evaluation["acc_auc"].reason == "no events"


# ---------------------------------------------------------------------------------------------- the journal


def test_a_second_run_asks_nothing_again(tmp_path: Path) -> None:
    explanations, path = random_explanations(4, 8), tmp_path / "run.jsonl"
    first, second = Weighted(4), Weighted(4)
    whole = ex.collect(first, explanations, path=path)
    again = ex.collect(second, explanations, path=path)
    assert second.rows == 0
    same_values(ex.evaluate(again), ex.evaluate(whole))
    assert len(path.read_text().splitlines()) == 9


def test_an_unfinished_line_is_cut_off_and_asked_again(tmp_path: Path) -> None:
    explanations, path = random_explanations(4, 6), tmp_path / "run.jsonl"
    expected = ex.evaluate(ex.collect(Weighted(4), explanations, path=path))
    content = path.read_bytes()
    path.write_bytes(content[:-40])
    read = ex.read_table(path)
    assert len(read) == 5
    assert "the last line of the file is incomplete and was left out" in read.notes
    model = Weighted(4)
    resumed = ex.collect(model, explanations, path=path)
    assert model.rows == len(resumed.events[-1].masks) + 1
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
    [("folder.jsonl", "cannot be written"), ("nul\0.jsonl", "cannot be written"), (5, "expected a path, found int")],
)
def test_files_that_cannot_be_appended_to(tmp_path: Path, name: Any, message: str) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError, match=message):
        ex.collect(Weighted(0), random_explanations(0, 1), path=tmp_path / name if isinstance(name, str) else name)


def test_an_exception_in_the_model_keeps_what_was_finished(tmp_path: Path) -> None:
    class Breaks(Weighted):
        def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> Any:
            if self.calls == 6:  # two calls per event
                raise RuntimeError("out of memory")
            return super().predict(subgraph, target, masks)

    path = tmp_path / "run.jsonl"
    with pytest.raises(
        InputError, match=r"event 'e3', model Breaks\.predict: raised RuntimeError: out of memory"
    ) as caught:
        ex.collect(Breaks(4), random_explanations(4, 6), path=path)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert len(ex.read_table(path)) == 3


SLOW = """
import sys, time
sys.path.insert(0, {root!r})
from tests.explanation.brute import Weighted, random_explanations
from graphgauge import explanation as ex

class Slow(Weighted):
    def predict(self, *arguments):
        time.sleep(0.05)
        return super().predict(*arguments)

ex.collect(Slow(4), random_explanations(4, 200), path={path!r})
"""


def test_a_killed_run_loses_no_finished_event(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    code = SLOW.format(root=str(Path(__file__).parents[2]), path=str(path))
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and (not path.exists() or path.read_bytes().count(b"\n") < 8):
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    finished = path.read_bytes().count(b"\n") - 1
    assert 7 <= finished < 200
    model = Weighted(4)
    table = ex.collect(model, random_explanations(4, 200), path=path)
    assert len(table) == 200
    assert model.rows == sum(len(row.masks) for row in table.events[finished:]) + 200 - finished
    same_values(ex.evaluate(table), ex.evaluate(ex.collect(Weighted(4), random_explanations(4, 200))))


def test_what_was_left_out_stands_in_the_file(tmp_path: Path) -> None:
    explanations, path = random_explanations(2, 4), tmp_path / "run.jsonl"
    explanations[0] = ex.Explanation(explanations[0].context, explanations[0].importance * np.nan, "one")
    ex.collect(Weighted(2), explanations, nan="omit", path=path)
    ex.collect(Weighted(2), explanations, nan="omit", path=path)
    assert ex.read_table(path).notes == ("1 explanations with NaN were left out",)
    assert sum("note" in json.loads(line) for line in path.read_text().splitlines()) == 1


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
    with pytest.raises(InputError, match="once as a number and once as text"):
        ex.collect(Weighted(0), [ex.Explanation(path_of(4, event), [1, 2, 3, 4]) for event in (1, "1")])


def test_a_different_number_of_classes_within_an_event_is_refused(tmp_path: Path) -> None:
    class Moody:
        model_output = "logit"

        def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> Any:
            return np.zeros((len(masks), 2 + (len(masks) < 5)))

    for nan in ("raise", "omit"):
        with pytest.raises(InputError, match="3 outputs per mask, but 2 before"):
            ex.collect(Moody(), [ex.Explanation(path_of(12), range(12))], batch_edges=60, nan=nan)
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


@pytest.mark.parametrize("wrong", [["k=5"], True, [True], [None], [float("nan")], [-1], 1.5])
def test_levels_that_are_none(wrong: Any) -> None:
    for name in ("sparsity_levels", "topk"):
        with pytest.raises(OptionError, match=f"{name} must be"):
            ex.collect(Weighted(0), random_explanations(0, 1), **{name: wrong})
