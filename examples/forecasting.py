"""Is a forecaster's uncertainty what it says? A sweep over its spread, and what a bias does to it.

A calibrated Gaussian forecaster is made, and its standard deviations are multiplied by factors from 0.5 to 2: every
measure of calibration is best at 1. Coverage alone would not tell a forecaster that is wrong on one side from one that
is right, which `calibration_error` does.
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
        found = forecasting.evaluate(truth, mean + bias * std, std=factor * std, metrics=KEYS, by=())
        print(f"{factor:>7}× {bias:>4}σ", *(f"{found[key].value:>18.3f}" for key in KEYS))
    perfect = forecasting.evaluate(truth, mean, std=std, metrics=["ece"])["ece"].chance
    print("ece of perfect forecasters:", ", ".join(f"{item.name} {item.value:.4f}" for item in perfect))


if __name__ == "__main__":
    main()
