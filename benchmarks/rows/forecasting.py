"""Errors, scores and calibration of forecasts."""

from __future__ import annotations

from benchmarks.harness import READ, Row, Work, faster, first, memory, warm

SETUP = "from graphgauge import forecasting as F"
CELLS = "y = r.random({0}, dtype='f4').astype('{1}'); f = (y + .1).astype('{1}'); m = r.random({0}, dtype='f4') > .1"
GAUSSIAN = "f = r.normal(size={0}); d = np.exp2(2 * r.random({0}) - 1); y = f + d * r.normal(size={0})"
SCIPY = (
    "u = (y - f) / d; w = np.exp(-.5 * u * u) / np.sqrt(2 * np.pi); c = ndtr(u); (np.abs(u) < 1.96).mean(), "
    "(d * (u * (2 * c - 1) + 2 * w - 1 / np.sqrt(np.pi))).mean(), (.5 * u * u + np.log(d)).mean()"
)
LINES = Work("np.abs(y - f)[m].mean(); np.sqrt(((y - f)[m] ** 2).mean())")


def masked(dtype: str) -> Row:
    return Row(
        f"masked MAE and RMSE with intervals, 2000 × 12 × 200 {dtype}",
        CELLS.format("(2000, 12, 200)", dtype),
        Work("e = F.evaluate(y, f, mask=m); e['mae'].value, e['mae'].interval, e['rmse'].value", SETUP),
        {"NumPy": LINES},
        "y, f, m",
        (first(0.6, "NumPy"), warm(0.5, "NumPy")),
    )


def hundred_million(dtype: str, reads: float) -> Row:
    return Row(
        f"errors of 100M cells {dtype}",
        CELLS.format("(41_700, 12, 200)", dtype),
        Work("F.evaluate(y, f, metrics=['mae', 'rmse'])", SETUP),
        read="y, f",
        limits=(warm(reads, READ), memory(64)),
    )


ROWS = (
    masked("f4"),
    masked("f8"),
    hundred_million("f4", 4),
    hundred_million("f8", 2.5),
    Row(
        "Gaussian CRPS, NLL, coverage and PIT, 2000 × 12 × 200 f8",
        GAUSSIAN.format("(2000, 12, 200)"),
        Work("F.evaluate(y, f, std=d, metrics=['crps', 'nll', 'coverage_95', 'calibration_error'])", SETUP),
        {"SciPy": Work(SCIPY, "from scipy.special import ndtr")},
        "y, f, d",
        (faster(2, "SciPy"), warm(10, READ)),
    ),
    Row(
        "MAE, RMSE, bias, R² by node, 250 × 1 × 64,800 f4",
        CELLS.format("(250, 1, 64_800)", "f4"),
        Work("F.evaluate(y, f, metrics=['mae', 'rmse', 'bias', 'r2'])", SETUP),
        {
            "NumPy": Work(
                "e = f - y; a, s = np.abs(e), np.square(e); a.mean(), s.mean(), e.mean(), "
                "np.square(y - y.mean()).mean(), [v.mean(axis=(0, 1)) for v in (a, s, e)]"
            )
        },
        "y, f",
        (warm(1, "NumPy"), memory(194)),
    ),
    Row(
        "CRPS of ensembles of 50, 1000 × 12 × 20 f8",
        "y = r.normal(size=(1000, 12, 20)); s = r.normal(size=(1000, 12, 20, 50))",
        Work("F.evaluate(y, samples=s, metrics=['crps'])", SETUP),
        {
            "scoringrules": Work(
                "crps_ensemble(y, s, backend='numpy').mean()", "from scoringrules import crps_ensemble"
            ),
            "its numba": Work("crps_ensemble(y, s, backend='numba').mean()", "from scoringrules import crps_ensemble"),
        },
        "s",
        (faster(5, "scoringrules"),),
    ),
    Row(
        "evaluate 10 × 24 × 5",
        CELLS.format("(10, 24, 5)", "f8"),
        Work("F.evaluate(y, f)", SETUP),
        limits=(first(0.015), warm(0.003)),
    ),
)
