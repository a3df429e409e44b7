from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from graphgauge import forecasting
from graphgauge.core.errors import OptionError

PANELS = ("PIT histogram", "reliability", "spread and error", "error by horizon", "error by node")


def drawn(steps: int = 60, horizons: int = 3, nodes: int = 4) -> dict[str, Any]:
    random = np.random.default_rng(0)
    shape = (steps, horizons, nodes)
    std = np.exp(random.normal(0, 0.3, shape))
    mean = random.normal(10, 3, shape)
    return {"y_true": mean + std * random.standard_normal(shape), "y_pred": mean, "std": std}


def texts(path: Path) -> list[str]:
    return ["".join(element.itertext()) for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def titles(path: Path) -> list[str]:
    return [text for text in texts(path) if text in PANELS]


def test_a_gaussian_forecast_has_all_panels(tmp_path: Path) -> None:
    forecasting.evaluate(**drawn()).plot(tmp_path / "f.svg")
    assert titles(tmp_path / "f.svg") == list(PANELS)


def test_equal_forecasts_give_equal_files(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        forecasting.evaluate(**drawn()).plot(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_point_forecast_has_its_errors(tmp_path: Path) -> None:
    cells = drawn()
    del cells["std"]
    forecasting.evaluate(**cells).plot(tmp_path / "f.svg")
    assert titles(tmp_path / "f.svg") == ["error by horizon", "error by node"]


@pytest.mark.parametrize(
    ("shape", "shown"),
    [((60, 1, 4), PANELS[:3] + PANELS[4:]), ((60, 3, 1), PANELS[:4]), ((60, 1, 1), PANELS[:3]), ((60, 2, 45), PANELS)],
)
def test_panels_without_a_comparison_are_left_out(
    shape: tuple[int, int, int], shown: tuple[str, ...], tmp_path: Path
) -> None:
    forecasting.evaluate(**drawn(*shape)).plot(tmp_path / "f.svg")
    assert titles(tmp_path / "f.svg") == list(shown)


def test_a_point_forecast_of_one_series(tmp_path: Path) -> None:
    cells = drawn(60, 1, 1)
    del cells["std"]
    forecasting.evaluate(**cells).plot(tmp_path / "f.svg")
    assert {"error", "RMSE", "MAE"} <= set(texts(tmp_path / "f.svg"))


def test_quantiles_and_samples(tmp_path: Path) -> None:
    cells = drawn()
    std = cells.pop("std")
    levels = (0.1, 0.25, 0.5, 0.75, 0.9)
    steps = np.array([-1.2816, -0.6745, 0.0, 0.6745, 1.2816])
    quantiles = cells["y_pred"][..., np.newaxis] + std[..., np.newaxis] * steps
    forecasting.evaluate(**cells, quantiles=quantiles, levels=levels).plot(tmp_path / "q.svg")
    assert "reliability" in titles(tmp_path / "q.svg")
    random = np.random.default_rng(1)
    samples = cells["y_pred"][..., np.newaxis] + std[..., np.newaxis] * random.standard_normal((60, 3, 4, 20))
    forecasting.evaluate(**cells, samples=samples).plot(tmp_path / "s.svg")
    assert "PIT histogram" in titles(tmp_path / "s.svg")


def test_a_node_without_cells_and_a_constant_spread(tmp_path: Path) -> None:
    cells = drawn()
    cells["std"] = np.full(cells["std"].shape, 1.5)
    mask = np.ones(cells["std"].shape, bool)
    mask[..., 2] = False
    forecasting.evaluate(**cells, mask=mask).plot(tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes()[:4] == b"\x89PNG"


def test_markup_in_names_is_text(tmp_path: Path) -> None:
    cells = drawn(60, 2, 3)
    names = ["<script>alert(1)</script>", "$x^2$", "b"]
    forecasting.evaluate(**cells, nodes=names).plot(tmp_path / "f.svg")
    assert "<script" not in (tmp_path / "f.svg").read_text()
    assert "$x^2$" in texts(tmp_path / "f.svg")


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="figures cannot be written"):
        forecasting.evaluate(**drawn()).plot(tmp_path / "f.gif")
