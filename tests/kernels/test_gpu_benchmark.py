"""The benchmark of CUDA devices, with little data on the simulated one: it is run where device time is short."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from benchmarks import gpu


@pytest.mark.parametrize("section", ["matrices", "functions", "forecasts"])
def test_values_are_those_of_the_host(section: str, simulated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        "synchronize": lambda: None,
        "empty_cache": lambda: None,
        "get_device_name": lambda: "simulated",
    }
    for name, value in known.items():
        monkeypatch.setattr(torch.cuda, name, value)
    seconds = gpu.Device.seconds
    monkeypatch.setattr(gpu.Device, "seconds", lambda self, work, *_: seconds(self, work, 1))
    device = gpu.Device(small=True)
    device.scale = 2500
    device.bytes_per_second = 4e12  # in place of a measurement
    rows = [gpu.line(row) for row in gpu.SECTIONS[section](device)]
    assert rows
    assert all(row.count(" | ") == 3 for row in rows)
