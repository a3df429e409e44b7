"""What is computed on a CUDA device: equal to the host, and timed against one read of the input.

Run by hand on a machine with a CUDA device: `python benchmarks/gpu.py`, or `make gpu`. `--only matrices,forecasts` runs
some sections, `--small` all of them with little data.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from graphgauge import forecasting, ranking


class Row(NamedTuple):
    """One line of the table; times in seconds. `read` is the time in which the device reads the input once."""

    work: str
    took: float
    read: float


class Device:
    """How fast this device reads, and how long a piece of work takes on it."""

    def __init__(self, small: bool) -> None:
        self.scale = 50 if small else 1
        self.name = f"{torch.cuda.get_device_name()}, torch {torch.__version__}, NumPy {np.__version__}"

    def seconds(self, work: Callable[[], Any], repeats: int = 20) -> float:
        """The median time on the host's clock, until the device is done."""
        times = []
        for _ in range(repeats + 1):
            torch.cuda.synchronize()
            start = time.perf_counter()
            work()
            torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
        return statistics.median(times[1:])

    @cached_property
    def bytes_per_second(self) -> float:
        many = torch.rand(1 << 29, device="cuda")
        return many.nbytes / self.seconds(many.sum)

    def reading(self, *tensors: Any) -> float:
        return float(sum(each.nbytes for each in tensors) / self.bytes_per_second)


def values(evaluation: Any) -> list[float]:
    return [result.value for result in evaluation.values()]


def matrices(device: Device) -> Iterator[Row]:
    """Positives with their negatives."""
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        pos = torch.randn(2000, generator=generator).to(dtype)
        neg = torch.randn(2000, 333, generator=generator).to(dtype)
        valid = torch.rand(2000, 333, generator=generator) < 0.7
        for mask in (None, valid):
            there = None if mask is None else mask.cuda()
            found = ranking.evaluate(pos.cuda(), neg.cuda(), mask=there)
            assert found.to_flat() == ranking.evaluate(pos, neg, mask=mask).to_flat(), dtype
        neg[3, 5] = float("nan")
        dropped = ranking.evaluate(pos.cuda(), neg.cuda(), nan="omit")
        assert dropped.notes == ranking.evaluate(pos, neg, nan="omit").notes, dtype
    for rows, width in ((1_000_000, 100), (100_000, 1000), (5_000, 50_000)):
        pos = torch.rand(rows // device.scale, device="cuda")
        neg = torch.rand(rows // device.scale, width, device="cuda")
        took = device.seconds(lambda pos=pos, neg=neg: values(ranking.evaluate(pos, neg)))
        yield Row(f"ranks, {len(pos):,} × {width:,} float32", took, device.reading(neg))


def functions(device: Device) -> Iterator[Row]:
    """Scores of all entities that a function leaves on the device."""
    rng = np.random.default_rng(0)
    queries, entities = 2000, 200_000 // device.scale
    table = torch.randn(entities, 64, device="cuda")
    asked = torch.randn(queries, 64, device="cuda")
    targets = rng.integers(0, entities, queries)
    known = [rng.integers(0, entities, 50) for _ in range(queries)]

    def score(rows: Any, every: Any) -> Any:
        return torch.round(rows @ every.T, decimals=1)

    few = slice(0, 100)
    found = ranking.rank_all(asked[few], table, targets[few], score=score, known=known[:100], batch=50)
    scores = score(asked[few], table).cpu()
    expected = ranking.rank_all(
        np.arange(100), np.arange(entities), targets[few], score=lambda rows, _: scores[rows], known=known[:100]
    )
    assert values(found.evaluate()) == values(expected.evaluate())
    took = device.seconds(lambda: ranking.rank_all(asked, table, targets, score=score, known=known), 3)
    product = device.seconds(lambda: asked @ table.T, 3)
    yield Row(f"`rank_all` by a function, {queries:,} × {entities:,}; beside it the products alone", took, product)


def forecasts(device: Device) -> Iterator[Row]:
    """Truths, forecasts and their standard deviations."""
    keys = ["mae", "rmse", "coverage", "nll", "crps", "calibration_error"]
    shapes = {"traffic": (40_258, 12, 207), "one series": (100_000_000, 1, 1), "a grid": (1544, 1, 64_800)}
    for name, (full, horizons, nodes) in shapes.items():
        steps = max(10, full // device.scale)
        torch.manual_seed(0)
        mean = torch.randn(steps, horizons, nodes, device="cuda")
        std = torch.rand(steps, horizons, nodes, device="cuda") + 0.5
        y = mean + std * torch.randn(steps, horizons, nodes, device="cuda")
        part = slice(0, max(2, 500_000 // (horizons * nodes)))
        host = forecasting.evaluate(*(each[part].cpu() for each in (y, mean)), std=std[part].cpu(), metrics=keys)
        found = forecasting.evaluate(y[part], mean[part], std=std[part], metrics=keys)
        for key, result in host.items():
            assert abs(found[key].value / result.value - 1) < 1e-6, (name, key, result.value, found[key].value)
        took = device.seconds(
            lambda y=y, mean=mean, std=std: values(forecasting.evaluate(y, mean, std=std, metrics=keys)), 5
        )
        yield Row(f"forecasts, {name}, {steps:,} × {horizons} × {nodes:,}", took, device.reading(y, mean, std))


SECTIONS = {each.__name__: each for each in (matrices, functions, forecasts)}


def shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def line(row: Row) -> str:
    return f"| {row.work} | {shown(row.took)} | {shown(row.read)} | {row.took / row.read:.1f} × |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, separated by commas")
    parser.add_argument("--small", action="store_true", help="a fiftieth of the data: correctness, not speed")
    given = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("no CUDA device, or torch was built without CUDA")
    device = Device(given.small)
    print(f"{device.name}. One sum reads {device.bytes_per_second / 1e12:.2f} TB/s.\n")
    print("| work | time | one read of the input | ratio |\n|---|---|---|---|", flush=True)
    for name in given.only.split(","):
        for row in SECTIONS[name](device):
            print(line(row), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
