"""Cases of the door to prediction."""

import numpy as np
from tests.doors.declared import Case

RNG = np.random.default_rng(0)
TRUE = RNG.integers(0, 3, 60)
SCORES = RNG.normal(size=(60, 3)) + np.eye(3)[TRUE]
HALF = np.where(np.arange(60) < 30, "first", "second")
CASES = [
    Case("prediction", "", {"true": TRUE, "pred": SCORES.argmax(axis=1)}, {"metrics": "all"}),
    Case("prediction", "", {"true": TRUE, "scores": SCORES, "groups": {"half": HALF}, "cluster": np.arange(60) // 2}),
    Case(
        "prediction",
        "",
        {"true": np.array(["ham", "spam", "ham"]), "pred": np.array(["ham", "spam", "spam"])},
        {"positive": "spam"},
    ),
]
