"""float16 to float32: NumPy converts one number at a time, several times slower than the scores are compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels.jit import kernel

Halves = NDArray[np.float16]
Singles = NDArray[np.float32]


def singles(halves: Halves) -> Singles:
    """The same values in float32, in a new array.

    >>> singles(np.array([0.5, -np.inf], np.float16))
    array([ 0.5, -inf], dtype=float32)
    """
    halves = np.ascontiguousarray(halves)
    widened = np.empty(halves.shape, np.float32)
    flat = widened.reshape(-1)
    bits = halves.reshape(-1).view(np.uint16)
    _widen.implementation(halves.size)(bits, flat.view(np.uint32), flat)
    return widened


def _widen_twin(bits: NDArray[np.uint16], words: NDArray[np.uint32], widened: Singles) -> None:
    widened[:] = bits.view(np.float16)


@kernel(twin=_widen_twin)
def _widen(bits: NDArray[np.uint16], words: NDArray[np.uint32], widened: Singles) -> None:
    """Write the bits of normal numbers, infinities and NaN to `words`, then the rest to the same memory as floats."""
    some_left = False
    for index in range(bits.size):
        half = np.uint32(bits[index])
        magnitude = half & np.uint32(0x7FFF)
        # The exponent is rebiased from 15 to 127, and by as much again for infinity or NaN.
        rebias = np.uint32(0x70000000) if magnitude >= np.uint32(0x7C00) else np.uint32(0x38000000)
        words[index] = (half & np.uint32(0x8000)) << np.uint32(16) | (magnitude << np.uint32(13)) + rebias
        if magnitude < np.uint32(0x0400):
            some_left = True
    if some_left:
        for index in range(bits.size):
            magnitude = bits[index] & np.uint16(0x7FFF)
            if magnitude < np.uint16(0x0400):
                size = np.float32(magnitude) * np.float32(2.0**-24)
                widened[index] = -size if bits[index] & np.uint16(0x8000) else size
