"""The forecasting family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphgauge.core.errors import OptionError
from graphgauge.old.core.family import BUILT_IN, Family, Split, TruthInputs
from graphgauge.old.core.forms import Form, Shown

_WITH_ARRAYS = ("mask", "axes", "start", "pred")
POINT = Form("a point forecast", needs=("true", "pred"), takes=_WITH_ARRAYS)
GAUSSIAN = Form("a forecast with std", needs=("true", "pred", "std"), takes=(*_WITH_ARRAYS, "coverage", "bins"))
QUANTILES = Form("a forecast of quantiles", needs=("true", "quantiles"), takes=(*_WITH_ARRAYS, "levels", "coverage"))
SAMPLES = Form("a forecast of samples", needs=("true", "samples"), takes=(*_WITH_ARRAYS, "coverage", "graph"))
TABLE = Form("a table", needs=("table",), takes=("coverage", "bins", "columns", "model"))
ARRAYS = (POINT, GAUSSIAN, QUANTILES, SAMPLES)
# Found when the table is opened.
TABLE_OF_POINTS = Form("a table without a column std", needs=("table",))
# Options that need another one.
_BESIDE = {"start": "save_state", "season": "naive"}


def _refuse(values: Mapping[str, Any], shown: Shown) -> None:
    kinds = [name for name in ("std", "quantiles", "samples") if values[name]]
    if len(kinds) > 1:
        raise OptionError(f"{' and '.join(map(shown, kinds))} are given", fix="A forecast is one of them.")
    for name, other in _BESIDE.items():
        if values[name] is not None and values[other] is None:
            raise OptionError(f"{shown(name)} needs {shown(other)}", fix="Pass both, or leave it out.")
    if values["horizons"] is not None and "horizon" not in values["by"]:
        raise OptionError(f"{shown('horizons')} needs {shown('by')} horizon", fix="Pass both, or leave it out.")


FAMILY = Family(
    "forecasting",
    line=BUILT_IN["forecasting"],
    question="How far are forecasts from the truth, and is their uncertainty right?",
    headlines=("mae", "rmse", "crps"),
    package="graphgauge.forecasting",
    forms=(*ARRAYS, TABLE),
    columns=("mae", "rmse", "crps", "pinball", "coverage_95", "mape"),
    truths={"true": TruthInputs(("true", "mask"), ("naive", "weights", "graph"))},
    state="graphgauge.forecasting.state:ForecastState",
    along=("y_true", "y_pred", "std", "quantiles", "samples", "mask"),
    example={
        "true": "forecasting/data/{seed}/true.npy",
        "pred": "forecasting/{method}/{seed}/mean.npy",
        "std": "forecasting/{method}/{seed}/std.npy",
    },
    refuse=_refuse,
    references=("zero forecast", "mean of the truth"),
    splits=(
        Split("a table", ("table",), why="its rows may have any order", instead="Write arrays in shards of time."),
        Split("arrays of several files", ("true",), into="shards of time"),
    ),
)
