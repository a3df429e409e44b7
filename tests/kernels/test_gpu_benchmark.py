"""The benchmark of CUDA devices, with little data on the simulated one: it is run where device time is short."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from benchmarks import gpu


class Clock:
    """An event of a device."""

    def __init__(self, enable_timing: bool = True) -> None:
        self._at = 0.0

    def record(self) -> None:
        self._at = time.perf_counter()

    def elapsed_time(self, later: Clock) -> float:
        return (later._at - self._at) * 1e3


@pytest.mark.parametrize("section", ["counts", "flat", "forecasts", "pools", "distances", "pairs"])
def test_values_are_those_of_the_host(section: str, simulated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        "Event": Clock,
        "synchronize": lambda: None,
        "empty_cache": lambda: None,
        "memory_allocated": lambda: 0,
        "reset_peak_memory_stats": lambda: None,
        "max_memory_allocated": lambda: 0,
        "get_device_name": lambda: "simulated",
    }
    for name, value in known.items():
        monkeypatch.setattr(torch.cuda, name, value)
    events, seconds = gpu.Device.events, gpu.Device.seconds
    monkeypatch.setattr(gpu.Device, "events", lambda self, work, *_: events(self, work, 1, 1))
    monkeypatch.setattr(gpu.Device, "seconds", lambda self, work, *_: seconds(self, work, 1))
    device = gpu.Device(small=True)
    device.scale = 2500
    device.bytes_per_second = 4e12  # in place of a measurement
    rows = [gpu.line(row) for row in gpu.SECTIONS[section](device)]
    assert rows
    assert all(row.count(" | ") == 6 for row in rows)
