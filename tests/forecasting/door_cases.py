"""Cases of the doors to forecasting."""

import numpy as np
from tests.doors.declared import Case

RNG = np.random.default_rng(0)
Y = RNG.normal(10, 2, (40, 2, 3)).round(2)
MEAN = Y + RNG.normal(size=Y.shape)
QUANTILES = np.sort(MEAN[..., None] + RNG.normal(size=(*Y.shape, 3)), axis=-1)
TABLE = {
    "unique_id": np.repeat(["a", "b"], 40),
    "ds": np.tile(np.arange(40), 2),
    "y": Y[:, 0, :2].T.ravel(),
    "Naive": MEAN[:, 0, :2].T.ravel(),
}
CASES = [
    Case("forecasting", "", {"true": Y, "pred": MEAN, "std": np.ones(Y.shape)}),
    Case(
        "forecasting",
        "",
        {"true": Y, "pred": MEAN, "scores": {"own": np.abs(MEAN)}, "mask": Y > 8, "weights": [1.0, 2, 3]},
        {"metrics": "all", "null_value": 9.0, "null_tolerance": 0.5},
    ),
    Case("forecasting", "", {"true": Y, "quantiles": QUANTILES}, {"levels": (0.1, 0.5, 0.9)}),
    Case("forecasting", "", {"true": Y, "samples": QUANTILES}, {"coverage": (0.5,), "nan": "omit"}),
    Case("forecasting", "", {"true": Y[:, 0], "pred": MEAN[:, 0], "history": Y[:9, 1]}, {"axes": ("time", "node")}),
    Case("forecasting", "table", {"table": TABLE}, {"model": "Naive"}),
    Case(
        "forecasting",
        "table",
        {
            "table": {"sensor": TABLE["unique_id"], "t": TABLE["ds"], "truth": TABLE["y"], "mean": TABLE["Naive"]},
            "history": {"sensor": TABLE["unique_id"], "t": TABLE["ds"] - 40, "truth": TABLE["y"] + 1},
        },
        {"id": "sensor", "time": "t", "y": "truth", "pred": "mean", "metrics": ("mase", "rmse"), "season": 2},
    ),
]
