"""Triton kernels compiled for a GPU that is not there, as they would be when started with these arguments."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import KernelInterface

_TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"


class Compiled(NamedTuple):
    """A kernel by its name: the registers of a thread, and the bytes that did not fit into them."""

    name: str
    registers: int
    spilled: int
    instructions: tuple[str, ...]


class _Absent:
    """What Triton asks of a device before it compiles for it."""

    def __init__(self, capability: int) -> None:
        self._target = GPUTarget("cuda", capability, 32)

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return self._target.arch  # what is compiled is remembered by it

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")


@contextmanager
def compiling(capability: int) -> Iterator[list[Compiled]]:
    """While it is entered, kernels that are started are compiled and noted instead, for devices of this capability."""
    found: list[Compiled] = []

    def started(kernel: Any, grid: Any) -> Any:
        return lambda *args, **named: found.append(_noted(kernel.run(*args, grid=grid, warmup=True, **named)))

    usual, before = KernelInterface.__getitem__, driver._active
    driver.set_active(_Absent(capability))
    KernelInterface.__getitem__ = started
    try:
        yield found
    finally:
        KernelInterface.__getitem__ = usual
        driver._active = before


def _noted(kernel: Any) -> Compiled:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(kernel.asm["cubin"])
        file.flush()
        usage, code = (
            subprocess.run([_TOOLS / "cuobjdump", option, file.name], capture_output=True, text=True, check=True).stdout
            for option in ("-res-usage", "-sass")
        )
    numbers = re.search(r"REG:(\d+) STACK:(\d+)", usage)
    assert numbers is not None, usage
    instructions = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(.*?);", code, re.MULTILINE)
    return Compiled(kernel.metadata.name, int(numbers[1]), int(numbers[2]), tuple(instructions))
