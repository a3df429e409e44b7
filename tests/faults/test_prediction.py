"""Faults of prediction that odd inputs showed, each with a test of its kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge import evaluate_files, evolution, forecasting, original, prediction, ranking, stats
from graphgauge.cli.app import cli
from graphgauge.core.errors import GraphgaugeError, InputError
from graphgauge.io.tables import read_labels

RNG = np.random.default_rng(5)


def test_weighted_items_are_compared_by_their_weighted_means() -> None:
    """The difference of two models is that of their values, weights included."""
    truth, weights = RNG.integers(0, 2, 80), RNG.choice([0.1, 1.0, 9.0], 80)
    one, two = (
        prediction.evaluate(truth, np.where(RNG.random(80) < share, 1 - truth, truth), weights=weights)
        for share in (0.2, 0.4)
    )
    compared = stats.compare({"one": one, "two": two}, metric="accuracy", over="items")
    expected = one["accuracy"].value - two["accuracy"].value
    assert abs(compared.pairs[0].difference) == pytest.approx(abs(expected), abs=1e-10)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.uint8, np.uint64])
def test_labels_of_narrow_types_are_the_same_classes(dtype: Any) -> None:
    """The distance of two labels may be beyond their type: int8 holds −100 and 100, and not 200."""
    low, high = max(np.iinfo(dtype).min, -100), 100
    truth, labels = np.array([low, high, high], dtype), np.array([low, low, high], dtype)
    found = prediction.evaluate(truth, labels, task="multiclass")
    assert found["accuracy"].value == pytest.approx(2 / 3)
    assert found.by("class")["class"].tolist() == [str(low), str(high)]


@pytest.mark.parametrize("scale", [1e-150, 1e-80, 1.0, 1e80, 1e150])
def test_intervals_of_errors_do_not_depend_on_the_unit(scale: float) -> None:
    truth, predicted = RNG.normal(size=(2, 30))
    plain = prediction.evaluate(truth, predicted, task="regression", metrics=["mae", "rmse"])
    scaled = prediction.evaluate(scale * truth, scale * predicted, task="regression", metrics=["mae", "rmse"])
    for key in plain:
        interval, expected = scaled[key].interval, plain[key].interval
        assert interval is not None
        assert expected is not None
        assert interval.low == pytest.approx(scale * expected.low, rel=1e-9)
        assert interval.high == pytest.approx(scale * expected.high, rel=1e-9)


def test_intervals_do_not_depend_on_the_unit_of_weights() -> None:
    """Weights that add up to 1, as shares do, promise as much as the same ones in other units."""
    truth, predicted = RNG.integers(0, 2, (2, 40))
    scores, weights = RNG.random(40), RNG.choice([1.0, 2.0, 5.0], 40)
    one, other = (
        prediction.evaluate(truth, predicted, scores=scores, weights=weights * unit) for unit in (1, 1 / weights.sum())
    )
    for key in one:
        interval, expected = other[key].interval, one[key].interval
        assert interval is not None
        assert expected is not None
        assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_nothing_to_measure_has_no_value_and_empty_tables() -> None:
    none: list[int] = []
    for task in ("binary", "multiclass"):
        found = prediction.evaluate(none, none, task=task, groups={"part": none}, weights=none)
        assert all(np.isnan(result.value) and result.reason for result in found.values())
        assert len(found.by("part")) == 0
    found = prediction.evaluate(np.zeros((0, 2)), np.zeros((0, 2)), task="regression", groups={"part": none})
    assert all(np.isnan(result.value) for result in found.values())


@pytest.mark.filterwarnings("error")
def test_items_without_weight_are_nothing_to_measure() -> None:
    """A group, or a task, of which all items have the weight 0 has no value; and classes count items, not weights."""
    truth, predicted, weights = [1.5, 0.0, 1.0, 2.0], [1.0, 0.0, 1.0, 4.0], [0, 0, 1, 3]
    found = prediction.evaluate(truth, predicted, task="regression", weights=weights, groups={"part": [0, 0, 1, 1]})
    assert found["mae"].value == 1.5
    assert np.isnan(found.by("part")["mae"][0])
    assert found.by("part")["mae"][1] == 1.5
    several = [[0, 1], [1, 0], [np.nan, 1], [np.nan, 0]]
    found = prediction.evaluate(several, np.ones((4, 2)), task="regression", weights=[0, 0, 1, 1], nan="omit")
    assert found["mae"].value == 0.5
    found = prediction.evaluate([0, 1, 1], [0, 1, 0], weights=[1e-9, 2.6, 1e9])
    assert found.by("class")["n"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (([0, 1, 2],), {"scores": [0.1, 0.2, 0.3], "task": "multiclass"}, "scores: has one number per item"),
        (([0, 1],), {"scores": np.zeros((2, 2, 2))}, r"scores: has shape \(2, 2, 2\)"),
        ((0, 1), {}, r"y_true: has shape \(\)"),
        (([1e300, 0.0], [1e300, 0.0]), {"task": "multiclass"}, "labels are not whole, such as 1e\\+300"),
        (([np.inf, 0.0], [1.0, 0.0]), {"task": "multiclass"}, "labels are not whole, such as inf"),
        (([0, 1], [0, 1]), {"groups": [0, 1]}, "groups: expected labels under a name"),
        (([0, 1], [0, 1]), {"groups": {"class": [0, 1]}}, "a group cannot be named 'class'"),
        (([0, 1], [0, 1]), {"groups": {"n": [0, 1]}}, "a group cannot be named 'n'"),
        (([0, 1], [0, 1]), {"groups": {"accuracy": [0, 1]}}, "a group cannot be named 'accuracy'"),
        (([0, 1], [0, 1]), {"ids": ["a", "a"]}, "ids: a name occurs twice"),
        (([0, 1], [0, 1]), {"weights": [0, 0]}, "weights: expected 2 numbers that are not negative, and not all 0"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(
    arguments: tuple[Any, ...], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(GraphgaugeError, match=said):
        prediction.evaluate(*arguments, **options)


def test_scores_beyond_the_range_of_squares_are_no_crash() -> None:
    with np.errstate(all="ignore"):
        found = prediction.evaluate([1e200, 2e200, 0.0], [1e200, 1e200, 0.0], task="regression")
    assert found["mae"].value == pytest.approx(1e200 / 3)


def test_edges_name_nodes_that_exist() -> None:
    with pytest.raises(InputError):
        prediction.by_degree([[0, 1]], -1)


RAGGED = [1, [2]]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: prediction.evaluate(None, [0, 1]), "y_true: expected a 1-D array of integer or text labels"),
        (lambda: prediction.evaluate(RAGGED, [0, 1]), "y_true: rows of different lengths"),
        (lambda: prediction.by_degree([[0, 1]], 2.5), "n must be a whole number"),
        (lambda: ranking.Queries.from_topk(RAGGED, [0, 1]), "indices: a list is not flat"),
        (lambda: ranking.Queries.from_topk([[0]], [[0]], names=[]), "there are no names"),
        (lambda: ranking.Queries.from_triples((np.eye(3), np.eye(3)), RAGGED, score="l2"), "test: rows of different"),
        (lambda: ranking.negatives(None), "edges: are missing"),
        (lambda: ranking.negatives(RAGGED), "edges: rows of different lengths"),
        (lambda: ranking.evaluate_until([0.5], within={"mrr": 0.1}), "queries: found list, not a Queries"),
        (lambda: evolution.from_events(RAGGED, [1, 2], [0, 1], embeddings=np.eye(3)), "source: rows of different"),
        (lambda: evolution.from_events([0], [1], 0, embeddings=np.eye(3)), r"cycle: has shape \(\)"),
        (lambda: evolution.from_events([0, 1], [1], [0, 1], embeddings=np.eye(3)), r"target: has shape \(1,\)"),
        (lambda: evolution.from_events([0, 1], [1, 2], [0, 1], embeddings=3.0), "embeddings: expected shape"),
        (lambda: evolution.from_events([0, 1], [1, 2], [0, 7], embeddings={0: np.eye(3)}), "has no array for cycle 7"),
        (lambda: forecasting.coverage([1.0, 2.0], [0.0, 0.0, 0.0], [1.0, 2.0], level=0.9), "low: has shape"),
    ],
)
def test_arguments_of_another_shape_are_refused_in_every_family(call: Any, said: str) -> None:
    with pytest.raises(GraphgaugeError, match=said):
        call()


def test_protocols_leave_out_unlabelled_items_and_refuse_missing_scores() -> None:
    truth, scores = np.array([0, 1, np.nan, 1, 0]), np.array([0.1, 0.9, np.nan, 0.4, 0.6])
    assert prediction.evaluate(truth, scores=scores, protocol="ogbg-molhiv")["roc_auc"].value == 0.75
    scores[3] = np.nan
    for shape in ((5,), (5, 1)):
        with pytest.raises(InputError, match=r"scores: 1 of 5 values are NaN, the first at index.*3.*Repair the model"):
            prediction.evaluate(truth.reshape(shape), scores=scores.reshape(shape), protocol="ogbg-molhiv")
    with pytest.raises(InputError, match="nan is 'raise', and the protocol ogbg-molhiv has 'omit'"):
        prediction.evaluate(truth, scores=scores, nan="raise", protocol="ogbg-molhiv")


def test_protocols_fix_the_task() -> None:
    truth = [0.0, 1.0, 2.0, np.nan]
    predicted = [0.0, 1.0, 1.0, 1.0]
    assert prediction.evaluate(truth, predicted, protocol="ogbn-papers100M")["accuracy"].value == pytest.approx(2 / 3)
    found = prediction.evaluate(truth, predicted, protocol="ogbg-molesol")
    assert found["rmse"].value == pytest.approx(3**-0.5)
    with pytest.raises(InputError, match="One column per task"):
        prediction.evaluate([0, 1, 2], scores=np.eye(3), protocol="ogbg-molhiv")


def test_fractions_in_several_columns_are_targets() -> None:
    assert prediction.evaluate([[0.5, 2.0]], [[0.0, 1.0]])["mae"].value == 0.75


def test_other_truths_are_not_compared(tmp_path: Path) -> None:
    """Receipts name the true labels as the family does, so that files with other labels are told apart."""
    runs = []
    for seed in range(2):
        for method in ("one", "two"):
            truth, labels = tmp_path / f"{method}.npy", tmp_path / "labels.npy"
            np.save(truth, np.arange(40) % (2 if method == "one" else 3) % 2)
            np.save(labels, np.arange(40) % 2)
            found = evaluate_files("prediction", true=str(truth), pred=str(labels))
            runs.append(found.named(method=method, seed=seed))
    with pytest.raises(InputError, match="different truths"):
        stats.compare(runs, metric="accuracy")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("label\n0\n1\n1\n", [0, 1, 1]),
        ("0\n1\n1\n", [0, 1, 1]),
        ("1.5\n2.5\n", [1.5, 2.5]),
        ("a,b\n1,0\n0,1\n", [[1, 0], [0, 1]]),
        ("id\n007\n008\n", ["007", "008"]),
        ("ham\nspam\nham\n", ["ham", "spam", "ham"]),
    ],
)
def test_a_header_is_no_label(text: str, labels: list[Any], tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(text)
    assert read_labels("labels.csv", tmp_path).tolist() == labels


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("label\nham\nspam\nham\n", "'label' may be a name or a header. Write names as .txt"),
        (",label\n0,1\n1,0\n", "the first column numbers the rows. Write it without an index"),
        ("0,1.5\n1,2.5\n2,0.5\n", "the first column numbers the rows"),
        ("\n", "contains no labels"),
    ],
)
def test_columns_that_may_be_read_in_two_ways_are_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        read_labels("labels.csv", tmp_path)


def test_the_strongest_level_of_chance_is_shown() -> None:
    """The one that a gate compares with."""
    found = prediction.evaluate([0] * 6 + [1, 2], [0] * 8)["f1_macro"]
    assert found.chance is not None
    assert found.chance.value == max(each.value for each in found.references)
    assert found.chance.name == "random labels"


def test_labels_of_a_command_line_are_numbers_where_those_of_files_are(tmp_path: Path) -> None:
    truth, labels = tmp_path / "truth.csv", tmp_path / "labels.csv"
    truth.write_text("label\n0\n1\n1\n0\n")
    labels.write_text("label\n0\n1\n0\n0\n")
    found = evaluate_files("prediction", true=str(truth), pred=str(labels), positive="0")
    assert found.conventions["positive"] == "0"
    assert found["precision"].value == pytest.approx(2 / 3)


def test_bins_are_in_their_order() -> None:
    labels = ["16–31", "2–3", "isolated", "1", "0.25–0.5", "0–0.25"]
    found = prediction.evaluate([0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 0, 0], groups={"bin": labels})
    table = found.by("bin")
    assert table["bin"].tolist() == ["0–0.25", "0.25–0.5", "1", "2–3", "16–31", "isolated"]
    assert table["accuracy"].tolist() == [0, 1, 1, 1, 1, 1]


def test_gates_on_classes_need_no_metric_of_the_whole(tmp_path: Path) -> None:
    np.save(tmp_path / "true.npy", [0, 1, 2, 2])
    np.save(tmp_path / "pred.npy", [0, 1, 2, 1])
    words = ["prediction", "--true", str(tmp_path / "true.npy"), "--pred", str(tmp_path / "pred.npy"), "--gate"]
    assert CliRunner().invoke(cli, [*words, "f1[class=2] >= 0.6"]).exit_code == 0
    assert CliRunner().invoke(cli, [*words, "f1[class=2] >= 0.7"]).exit_code == 1


@pytest.mark.filterwarnings("error")
def test_levels_and_errors_of_values_without_spread() -> None:
    equal = prediction.evaluate([1.3] * 4, [1.0, 2.0, 1.0, 1.0], task="regression")["rmse"].chance
    assert equal is not None
    assert equal.value == 0
    found = prediction.evaluate([0, 1, 2, 0], scores=np.eye(3)[[0, 1, 2, 1]], probabilities=True, metrics="all")
    assert found["log_loss"].value == np.inf


def test_the_node_that_does_not_exist_is_named() -> None:
    with pytest.raises(InputError, match="has a node -1 of 3"):
        prediction.by_degree([[0, -1], [1, 2]], 3)


def test_original_errors_say_which_arrays_they_take() -> None:
    with pytest.raises(InputError, match=r"y_true: has 1 dimension. Arrays are \(windows, horizons, nodes\)"):
        original.compute_mae_rmse(np.zeros(4), np.ones(4))
    assert original.compute_mae_rmse(np.zeros((4, 2)), np.ones((4, 2)))["mae_per_node"].tolist() == [1, 1]


@pytest.mark.parametrize("names", [np.arange(3), np.array(["a", "b", "c"]), np.array([0.5, 1.5, 2.5])])
def test_items_of_other_truths_are_not_compared(names: Any) -> None:
    truth, other = RNG.integers(0, 3, (2, 60))
    metric = "mae" if names.dtype.kind == "f" else "accuracy"
    one, same = (prediction.evaluate(names[truth], names[labels]) for labels in (truth, other))
    assert stats.compare({"one": one, "two": same}, metric=metric, over="items").pairs
    two = prediction.evaluate(names[other], names[truth])
    with pytest.raises(InputError, match="items have other truths"):
        stats.compare({"one": one, "two": two}, metric=metric, over="items")
    if metric == "mae":  # a prediction that is missing is no other truth
        part = prediction.evaluate(names[truth], np.where(np.arange(60) < 3, np.nan, names[truth]), nan="omit")
        assert stats.compare({"one": one, "two": part}, metric=metric, over="items").pairs


def test_a_bare_zero_above_decimals_is_a_header(tmp_path: Path) -> None:
    """Data frames write it above a column without a name."""
    (tmp_path / "labels.csv").write_text("0\n0.0\n\n1.0\n2.5\n")
    assert read_labels("labels.csv", tmp_path).tolist() == [0, 1, 2.5]
    (tmp_path / "labels.csv").write_text("0\n1.5\n2\n")
    assert read_labels("labels.csv", tmp_path).tolist() == [0, 1.5, 2]


def test_a_bare_zero_above_whole_numbers_is_settled_by_the_other_files(tmp_path: Path) -> None:
    truth, labels, scores = RNG.integers(0, 2, 40), RNG.integers(0, 2, 40), RNG.random(40)
    names = {each: str(tmp_path / f"{each}.csv") for each in ("true", "pred", "scores")}
    for (name, path), values in zip(names.items(), (truth, labels, scores), strict=True):
        Path(path).write_text("\n".join(["0", *map(str, values.tolist())]) + "\n")
        np.save(tmp_path / f"{name}.npy", values)
    expected = prediction.evaluate(truth, labels, scores=scores)
    for binary in names:
        found = evaluate_files("prediction", **names | {binary: str(tmp_path / f"{binary}.npy")})
        assert {key: each.value for key, each in found.items()} == {key: each.value for key, each in expected.items()}
    for given in (names, {name: names[name] for name in ("true", "pred")}):
        with pytest.raises(InputError, match=r"begin with 0, which may be a header.*Name the columns: pandas\.Series"):
            evaluate_files("prediction", **given)
    Path(names["pred"]).write_text("\n".join(["0", *map(str, labels[1:].tolist())]) + "\n")
    found = evaluate_files("prediction", true=names["true"], pred=names["pred"])
    assert found["accuracy"].value == pytest.approx(np.mean(truth == np.r_[0, labels[1:]]), abs=1e-15)


def test_classes_that_only_the_prediction_has_are_classes() -> None:
    found = prediction.evaluate([0, 1, 1, 0], [0, 1, 2, 0])
    assert (found.conventions["task"], found["accuracy"].value) == ("multiclass", 0.75)
    for truth, predicted, options in (
        ([0, 1, 1], [0, 1, 2], {"positive": 1}),
        ([0, 1, 1], [0.0, 1.0, 2.0], {}),
        (["a", "b", "c"], ["a", "b", "c"], {"task": "binary"}),
    ):
        with pytest.raises(InputError, match=r'have 3 classes. Pass task="multiclass", and no positive='):
            prediction.evaluate(truth, predicted, **options)


def test_labels_in_one_column_are_labels() -> None:
    """OGB's `data.y` is (n, 1)."""
    column = np.array([[0], [0], [1], [1]])
    edges = [[0, 1], [1, 2], [2, 3]]
    assert prediction.by_homophily(edges, column).tolist() == prediction.by_homophily(edges, column[:, 0]).tolist()
    found = prediction.evaluate(
        column, [0, 1, 1, 1], cluster=column, groups={"part": column}, ids=[["a"], ["b"], ["c"], ["d"]]
    )
    assert found.by("part")["n"].tolist() == [2, 2]
    assert prediction.evaluate([["a"], ["b"]], ["a", "a"])["accuracy"].value == 0.5


@pytest.mark.parametrize("missing", [None, float("nan")])
@pytest.mark.parametrize(
    "wrap", [list, lambda names: np.array(names, object), lambda names: [[each] for each in names]]
)
def test_names_may_be_missing(missing: Any, wrap: Any) -> None:
    truth, labels = wrap(["a", missing, "b", "b"]), wrap(["a", "b", "a", missing])
    found = prediction.evaluate(truth, labels, nan="omit")
    assert found.conventions["nan"] == "omitted 1 unlabelled, 1 unpredicted"
    assert (found["accuracy"].value, found["accuracy"].n) == (0.5, 2)
    with pytest.raises(InputError, match=r'y_true: 1 of 4 values are NaN, the first at index 1. Pass nan="omit"'):
        prediction.evaluate(truth, labels)


def test_two_edges_may_be_rows_or_columns() -> None:
    with pytest.raises(InputError, match=r"edges: may have its two edges in rows or in columns. Pass both directions"):
        prediction.by_degree([[0, 1], [2, 3]], 4)
    assert prediction.by_degree([[0, 2, 1, 3], [2, 0, 3, 1]], 4).tolist() == ["1"] * 4
    assert prediction.by_degree([[0, 1], [1, 2]], 3).tolist() == ["1", "2–3", "1"]


def test_one_task_of_a_benchmark_is_binary() -> None:
    found = prediction.evaluate([[0], [1], [1]], scores=[[0.1], [0.4], [0.3]], protocol="ogbg-molhiv")
    assert found.conventions["task"] == "binary"
