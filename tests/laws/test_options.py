"""Options that families share are refused alike, in words, before anything is computed from them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import graphgauge
from graphgauge.core.errors import OptionError
from graphgauge.core.family import BUILT_IN as FAMILIES
from graphgauge.evolution import AdaptiveEvaluator

RNG = np.random.default_rng(0)
GIVEN: dict[str, tuple[Any, ...]] = {
    "ranking": (RNG.random(9), RNG.random((9, 4))),
    "recovery": (np.eye(4, k=1), RNG.random((4, 4))),
    "forecasting": (RNG.random(9), RNG.random(9), RNG.random(9) + 1),
    "explanation": ([],),
    "evolution": (np.arange(6), np.arange(6) % 2),
    "prediction": (np.arange(9) % 2, np.arange(9) % 3 % 2),
}
ASKED = {
    "forecasting": lambda y, mean, std, **options: graphgauge.forecasting.evaluate(y, mean, std=std, **options),
    "generation": lambda **options: graphgauge.generation.evaluate(
        real=np.eye(6, dtype=int), generated=np.eye(6, dtype=int), **options
    ),
    "evolution": AdaptiveEvaluator,  # what `evaluate` hands its options to
}
WRONG: dict[str, tuple[Any, ...]] = {
    "confidence": ("a", None, 0, 1, 95, float("nan")),
    "metrics": (5, [5], [None], [], ["no_such_metric"]),
    "nan": (None, "drop", ["raise"]),
    "seed": ("x", -1, 1.5, True),
    "threads": (0, -3, "a", 1.5),
}
# Options that a family does not have: some draw nothing, asking a model has no threads of its own, and NaN in samples
# and explanations is refused.
DRAW_NOTHING = {(name, "seed") for name in ("ranking", "recovery", "forecasting", "prediction")}
ABSENT = {
    *DRAW_NOTHING,
    ("explanation", "threads"),
    ("explanation", "nan"),
    ("generation", "nan"),
    ("generation", "threads"),
    ("recovery", "threads"),
    ("ranking", "threads"),
    ("forecasting", "threads"),
    ("evolution", "threads"),
    ("prediction", "threads"),
}


@pytest.mark.parametrize("value", [(name, value) for name, values in WRONG.items() for value in values], ids=repr)
@pytest.mark.parametrize("family", FAMILIES)
def test_wrong_options_are_refused(family: str, value: tuple[str, Any]) -> None:
    name, wrong = value
    evaluate = ASKED.get(family, getattr(graphgauge, family).evaluate)
    if (family, name) in ABSENT:
        assert name not in inspect.signature(evaluate).parameters
        return
    with pytest.raises(OptionError, match=name.removesuffix("s")):
        evaluate(*GIVEN.get(family, ()), **{name: wrong})
