"""Logarithmic score and CRPS of a Gaussian forecast in arithmetic that compilers turn into vector instructions.

No library function is called: logarithm, exponential and error function are polynomials, fitted by Chebyshev
interpolation in 50 digits. Relative errors are 4e-16 for the logarithm, 5e-16 for the exponential, 2e-14 for the CRPS.
The loop in `forecast_cells` and the functions here do the same operations in the same order, so a cell has the
same bits from either.
"""

from __future__ import annotations

import numpy as np

from graphgauge.core.types import AnyArray, Floats
from graphgauge.kernels.jit import inlined

# exp(r) for abs(r) <= log(2)/2.
EXP = (
    1.0,
    1.0000000000000067,
    0.5000000000000006,
    0.16666666666554406,
    0.04166666666657314,
    0.008333333385667782,
    0.0013888888932488599,
    0.00019841170270440067,
    2.4801504346997686e-05,
    2.764018079620985e-06,
    2.7626357241447223e-07,
)
# (log(m) - 2f) / f**3 as a polynomial in f**2, where f = (m - 1) / (m + 1) and m is between sqrt(1/2) and sqrt(2).
LOG = (
    0.666666666666667,
    0.39999999999899505,
    0.28571428625975487,
    0.2222221113479508,
    0.18182889125261723,
    0.15331721600556042,
    0.14616449685043406,
)
# sqrt(2/pi) - a·erfcx(a/sqrt(2)) for 0 <= a <= 9 as a polynomial in (26/9)·a/(a + 4) - 1.
TAIL = (
    0.11597907109339267,
    -0.24746734584034075,
    0.23692160428372933,
    -0.1365279366193694,
    0.050563263303573906,
    -0.010608337003281784,
    0.00028339515508232446,
    0.00043386499417437255,
    -5.508539461726415e-05,
    -2.0585347542977965e-05,
    3.352447884528543e-06,
    1.3324696871498996e-06,
    -1.4021135507720875e-07,
    -9.81145640290314e-08,
    -3.319033842624297e-10,
    5.623441248325343e-09,
    6.192787250293683e-10,
)
# Beyond this many standard deviations the CRPS is that of a point forecast, less its constant, to the last bit.
FAR = 9.0
STRETCH, OFFSET = 26 / 9, 4.0
LOG2_E = 1.4426950408889634
# log(2) in two parts, the first short enough that its product with any exponent is exact.
LN2_HIGH, LN2_LOW = 0.6931471805598903, 5.497923018708371e-14
HALF_LOG_2PI = 0.9189385332046728
INVERSE_SQRT_PI = 0.5641895835477563
# Adding and subtracting this rounds to an integer, which is then in the last bits.
ROUNDER = 1.5 * 2.0**52
# Numbers below the first are scaled up by a factor, so that their mantissa uses all bits.
LOWEST_NORMAL, LIFT = 2.0**-1022, 2.0**54
# The bits of 2**52: an integer written into its mantissa is that float plus the integer. It is then subtracted.
INTEGER_BITS = 0x4330000000000000
BIAS, LIFTED_BIAS = 2.0**52 + 1023, 2.0**52 + 1023 + 54
# Added to the bits of a float, it raises the exponent by one if the mantissa is sqrt(2) or more.
SQRT_CARRY = 0x3FF0000000000000 - 0x3FE6A09E667F3BCD
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
MANTISSA = 0x000FFFFFFFFFFFFF


def gaussian_nll(error: Floats, std: Floats, weight: AnyArray | float = 1.0) -> Floats:
    """-log of the normal density, by cell; `std` must be positive. A cell of weight 0 has error 0 and `std` 1.

    >>> gaussian_nll(np.array([0.0, 1.0]), np.array([1.0, 1.0])).round(6)
    array([0.918939, 1.418939])
    """
    z = error / std
    return (logarithm(std) + 0.5 * (z * z)) + HALF_LOG_2PI * weight


def gaussian_crps(error: Floats, std: Floats, weight: AnyArray | float = 1.0) -> Floats:
    """The continuous ranked probability score of a normal distribution, by cell; weights as above.

    >>> gaussian_crps(np.array([0.0, 1.0]), np.array([1.0, 1.0])).round(6)
    array([0.233695, 0.602441])
    """
    near = np.minimum(np.abs(error / std), FAR)
    falling = exponential(-0.5 * (near * near))
    return np.abs(error) + std * weight * (falling * tail(near) - INVERSE_SQRT_PI)


def logarithm(x: Floats) -> Floats:
    """log(x) of positive finite numbers."""
    tiny = x < LOWEST_NORMAL
    bits = (x * np.where(tiny, LIFT, 1.0)).view(np.int64) + SQRT_CARRY
    exponent = ((bits >> 52) | INTEGER_BITS).view(np.float64) - np.where(tiny, LIFTED_BIAS, BIAS)
    mantissa = ((bits & MANTISSA) + SQRT_HALF_BITS).view(np.float64)
    f = (mantissa - 1.0) / (mantissa + 1.0)
    square = f * f
    series = polynomial(LOG, square)
    return exponent * LN2_HIGH + ((2.0 * f + f * (square * series)) + exponent * LN2_LOW)


def exponential(x: Floats) -> Floats:
    """exp(x) for x between -700 and 0."""
    shifted = x * LOG2_E + ROUNDER
    whole = shifted - ROUNDER
    rest = (x - whole * LN2_HIGH) - whole * LN2_LOW
    scale = ((shifted.view(np.int64) + 1023) << 52).view(np.float64)
    return polynomial(EXP, rest) * scale


def tail(near: Floats) -> Floats:
    """sqrt(2/pi) - a·erfcx(a/sqrt(2)) for a between 0 and `FAR`."""
    return polynomial(TAIL, STRETCH * near / (near + OFFSET) - 1.0)


@inlined
def polynomial(coefficients: tuple[float, ...], x: Floats) -> Floats:
    """The polynomial with these coefficients, that of the lowest power first.

    Four terms at a time (Estrin), so that fewer operations wait for each other than in Horner's scheme.
    """
    square = x * x
    fourth = square * square
    first = (len(coefficients) - 1) // 4 * 4
    total = _terms(coefficients, first, len(coefficients) - first, x, square)
    for start in range(first - 4, -1, -4):
        total = total * fourth + _terms(coefficients, start, 4, x, square)
    return total


@inlined
def _terms(coefficients: tuple[float, ...], start: int, count: int, x: Floats, square: Floats) -> Floats:
    """One to four terms, divided by the lowest power."""
    low = coefficients[start] + (coefficients[start + 1] * x if count > 1 else 0.0 * x)
    if count < 3:
        return low
    if count == 3:
        return low + coefficients[start + 2] * square
    return low + (coefficients[start + 2] + coefficients[start + 3] * x) * square
