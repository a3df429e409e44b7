"""Generators are compared by the values that they have alone, and only if their samples are of one kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.generation.test_compare_samples import dense, of_columns
from tests.generation.toy import described

from graphgauge import generation, stats
from graphgauge.core.errors import InputError
from graphgauge.generation.levels import near_copies

FEW: dict[str, Any] = {"permutations": 19, "resamples": 19}


def energies(real: Any, generated: Any) -> dict[str, float]:
    (found,) = of_columns(real, generated, **FEW)
    return dict(zip((found.first, found.second), found.values, strict=True))


def test_categories_of_different_generators_are_different_columns() -> None:
    """Each generator has the value that it has alone, in any order and with any number of categories."""
    rng = np.random.default_rng(0)
    real, *others = ({"c": rng.choice(list(letters), 100)} for letters in ("ab", "abz", "0ab", "ab", "xyzab"))
    sides = dict(zip("stuv", others, strict=True))
    alone = {
        name: generation.evaluate(**described(real=real, generated=made), metrics=["energy_distance"], **FEW)
        for name, made in sides.items()
    }
    for first in sides:
        for second in sides:
            if first != second:
                found = energies(real, {first: sides[first], second: sides[second]})
                assert found == pytest.approx({name: alone[name]["energy_distance"].value for name in found})


@pytest.mark.parametrize("convention", ["graphgauge", "gran", "spectre", "digress_emd"])
def test_discrepancies_are_those_of_an_evaluation(convention: str) -> None:
    real, made = dense(12, 0.4, 1), dense(25, 0.5, 2)
    keys = ["degree_mmd", "spectral_mmd"]
    alone = generation.evaluate(real=real, generated=made, convention=convention, metrics=keys, **FEW)
    found = generation.compare_samples(real, {"a": made, "b": made[::-1]}, convention=convention, metrics=keys, **FEW)
    assert {one.metric: one.values[0] for one in found} == pytest.approx({key: alone[key].value for key in keys})


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_text_has_the_chosen_confidence(confidence: float) -> None:
    found = generation.compare_samples(
        dense(30, 0.3, 1),
        {"a": dense(20, 0.3, 2), "b": dense(20, 0.38, 3)},
        confidence=confidence,
        permutations=99,
        resamples=19,
    )
    for one in found:
        assert ("no significant difference" in str(one)) == (one.better is None) == (one.p_value > 1 - confidence)


BITS = np.random.default_rng(0).random((20, 6)) < 0.5
TABLE = {"c": np.arange(20.0)}


@pytest.mark.parametrize(
    ("generated", "more", "message"),
    [
        ([BITS, BITS], {}, "expected {name: samples}, found list"),
        ({"a": BITS, "b": dense(12, 0.3, 1)}, {}, "samples of another kind or shape"),
        ({"a": BITS, "b": TABLE}, {}, "the rows of a table are not samples"),
        ({"a": BITS, "b": BITS.reshape(20, 2, 3)}, {}, "samples of another kind or shape"),
        (
            {"a": BITS, "b": BITS},
            {"generated_statistics": {"a": TABLE, "b": {"d": np.arange(20.0)}}},
            "other statistics: c, d",
        ),
        ({"a": BITS, "b": BITS}, {"valid": {"c": np.ones(20)}}, "'c' is missing in valid or in generated"),
        ({"a": BITS, "b": BITS}, {"valid": {"a": np.ones(20)}}, "'b' is missing in valid or in generated"),
        ({"a": BITS, "b": BITS}, {"generated_statistics": {"a": TABLE}}, "'b' is missing in generated_statistics"),
    ],
)
def test_generators_that_cannot_be_compared(generated: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        generation.compare_samples(None, generated, **more)


def test_a_comparison_of_results_names_the_generator_that_copies(tmp_path: Path) -> None:
    """It has the best values, and only its file has the finding."""
    rng = np.random.default_rng(3)

    def blocks(count: int) -> Any:
        return rng.random((count, 40)) < np.repeat([0.2, 0.7], 20)

    train, real = blocks(60), blocks(60)
    sides = {"copies": near_copies(train, rng), "fresh": blocks(60), "random": rng.random((60, 40)) < 0.5}
    for name, made in sides.items():
        found = generation.evaluate(real=real, generated=made, train=train, **FEW)
        found.run = {"method": name, "dataset": "blocks", "seed": 0}
        found.save(tmp_path / f"{name}.json")
    files = [tmp_path / f"{name}.json" for name in sides]
    said = str(stats.compare(files, metric="mmd"))
    assert "[near-copies] in 1 of 1 run of copies" in said
    assert "run of fresh" not in said
    assert "generation.compare_samples" in said
