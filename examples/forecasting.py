"""Is a forecaster calibrated? A sweep over its spread, and the effect of a bias.

The standard deviations of a calibrated Gaussian forecaster are multiplied by factors from 0.5 to 2: every calibration
metric is best at 1. Coverage alone cannot detect a biased forecaster with a wide spread; `calibration_error` can.
"""

from __future__ import annotations

import numpy as np

from graphgauge import forecasting

KEYS = ("coverage_95", "ece", "calibration_error", "crps", "nll")


def main() -> None:
    draw = np.random.default_rng(0)
    shape = (1_000, 4, 10)  # time, horizon, node
    std = draw.uniform(0.5, 2, shape)
    mean = draw.normal(20, 5, shape)
    truth = mean + std * draw.normal(size=shape)
    print(f"{'spread':>8} {'bias':>5}", *(f"{key:>18}" for key in KEYS))
    for factor, bias in ((0.5, 0), (0.8, 0), (1.0, 0), (1.25, 0), (2.0, 0), (1.6, 1.5)):
        found = forecasting.evaluate(truth, mean + bias * std, std=factor * std, metrics=KEYS)
        print(f"{factor:>7}× {bias:>4}σ", *(f"{found[key].value:>18.3f}" for key in KEYS))
    perfect = forecasting.evaluate(truth, mean, std=std, metrics=["ece"])["ece"].references
    print("ece of perfect forecasters:", ", ".join(f"{item.name} {item.value:.4f}" for item in perfect))


if __name__ == "__main__":
    main()
