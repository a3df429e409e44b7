"""Columns, categories, missing values, and answers about conditions are read without loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.generation.toy import described

from graphgauge import generation
from graphgauge.core.errors import InputError
from graphgauge.generation.table import SampleTable

UNIQUE = "overall_uniqueness_ratio"
RNG = np.random.default_rng(0)
BITS = RNG.random((60, 6)) < 0.5
NORMAL = RNG.normal(size=24)


def value(key: str, **given: Any) -> float:
    return generation.evaluate(metrics=[key], resamples=9, permutations=9, **given)[key].value


def test_numbers_that_rounding_makes_equal_are_not_compared() -> None:
    large, other = np.full(20, 2**60), np.full(20, 2**60 + 1)
    given = described(real={"s": large}, generated={"s": other})
    with pytest.raises(
        InputError, match=r"statistics\['s'\]: 20 of 20 whole numbers are too large.*1152921504606846977"
    ):
        SampleTable.of(**given)
    exact = described(real={"s": large}, generated={"s": np.full(20, 2**60 + 2**20)})
    assert value("wasserstein_s", **exact) == 2**20


def test_columns_with_the_same_name_as_text_are_refused() -> None:
    twice = {1: np.zeros(60), "1": np.arange(60)}
    with pytest.raises(InputError, match="two columns are called '1'"):
        SampleTable.of(real=BITS, statistics=twice)


def test_numbers_that_are_declared_categories_have_no_distances() -> None:
    pandas = pytest.importorskip("pandas")
    real, made = (pandas.DataFrame({"a": pandas.Categorical(values)}) for values in ([1, 2] * 10, [1, 5] * 10))
    columns = {"statistics": real, "generated_statistics": made}
    assert value("wasserstein_a", real=BITS[:20], generated=BITS[:20], **columns) == 0.5


def test_missing_entries_are_one_category() -> None:
    pandas = pytest.importorskip("pandas")
    text = pandas.DataFrame({"a": pandas.array(["x", None] * 10, dtype="string")})
    for missing in (pandas.NA, pandas.NaT, None, np.nan):
        other = pandas.DataFrame({"a": np.array(["x", missing] * 10, object)})
        columns = {"statistics": text, "generated_statistics": other}
        assert value("wasserstein_a", real=BITS[:20], generated=BITS[:20], **columns) == 0


def test_training_samples_of_no_known_condition_are_refused() -> None:
    given = {"generated": BITS[:40], "conditions": ["a", "b"] * 20, "train": BITS[:40]}
    with pytest.raises(InputError, match="no training sample has a condition of the real or generated ones: A, B"):
        SampleTable.of(**given, train_conditions=["A", "B"] * 20)
    assert SampleTable.of(**given, train_conditions=["A", "b"] * 20).train_codes.tolist() == [-1, 1] * 20


def test_no_valid_sample_is_a_count_of_zero() -> None:
    assert value("total_valid", generated=BITS, valid=np.zeros(60)) == 0


# ------------------------------------------------------------------------------------------- answers of a classifier


ASKED = np.repeat([1, 2, 3], 20)
GIVEN = np.minimum(ASKED, 2)  # right about two of three conditions


@pytest.mark.parametrize(
    ("conditions", "predicted", "labels"),
    [
        (ASKED, GIVEN, None),
        (ASKED, GIVEN.astype(float), None),
        (ASKED * 7 - 20, GIVEN * 7 - 20, None),
        (ASKED - 1, GIVEN - 1, ["a", "b", "c"]),
        (np.array(list("abc"))[ASKED - 1], GIVEN - 1, ["a", "b", "c"]),
        (np.array(list("abc"))[ASKED - 1], np.array(list("abc"))[GIVEN - 1], None),
        (ASKED.astype(str), GIVEN.astype(str), None),
        (ASKED.astype(str), GIVEN, None),
    ],
)
def test_predictions_name_conditions_as_conditions_do(conditions: Any, predicted: Any, labels: Any) -> None:
    given = {"generated": BITS, "conditions": conditions, "predicted": predicted, "labels": labels}
    judged = {"classifier_labels": predicted, "classifier_predicted": predicted}
    assert value("overall_exact_accuracy", **given) == pytest.approx(2 / 3)
    table = SampleTable.of(**given, **judged)
    assert table.predicted.tolist() == table.classifier_labels.tolist() == (GIVEN - 1).tolist()


def test_predictions_of_saved_tables_are_the_same(tmp_path: Any) -> None:
    table = SampleTable.of(generated=BITS, conditions=ASKED, predicted=GIVEN)
    table.save(tmp_path / "table.npz")
    assert SampleTable.load(tmp_path / "table.npz").predicted.tolist() == table.predicted.tolist()


@pytest.mark.parametrize("predicted", [GIVEN - 1, GIVEN + 1.5, [*GIVEN.astype(str).tolist()[:-1], "x"]])
def test_predictions_of_unknown_conditions_are_refused(predicted: Any) -> None:
    with pytest.raises(InputError, match=r"predicted: unknown conditions .*Known: 1, 2, 3"):
        SampleTable.of(generated=BITS, conditions=ASKED, predicted=predicted)


def test_a_value_like_that_of_real_samples_is_not_called_repetitive() -> None:
    def bits(count: int) -> Any:
        """One of forty ages and one of two cities."""
        age, city = rng.integers(20, 60, count), rng.choice([0, 1], count)
        return np.unpackbits(np.column_stack([age, city]).astype(np.uint8), axis=1)

    rng = np.random.default_rng(0)
    found = generation.evaluate(real=bits(150), generated=bits(200), metrics=[UNIQUE], resamples=99)
    level = next(level for level in found[UNIQUE].levels if level.name == "perfect")
    assert found[UNIQUE].value < 0.5 < level.value  # at fewer samples, so they cannot be compared
    text = " ".join(str(found).split())
    assert "missed by real samples too: as many distinct samples as real ones have" in text
    assert "repeats itself" not in text
    assert f"{level.own:.4f} with so many samples: perfect {level.value:.4f}" in text
    (row,) = [line for line in str(found).splitlines() if line.strip().startswith(f"{UNIQUE} ")][:1]
    assert f"{level.value:.4f}" not in row
