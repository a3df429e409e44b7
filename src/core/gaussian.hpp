// What the scores of a normal forecast are computed from, in loops that become vector instructions.
#pragma once

#include <bit>
#include <limits>

#include "common.hpp"

namespace graphgauge {

// Polynomials, fitted by Chebyshev interpolation in 50 digits, in loops that become vector instructions. Relative
// errors are 4e-16 for the logarithm, 5e-16 for the exponential, 2e-14 for the CRPS.

// exp(r) for abs(r) <= log(2)/2.
constexpr double EXPONENTIAL[] = {
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
};
// (log(m) - 2f) / f**3 as a polynomial in f**2, where f = (m - 1) / (m + 1) and m is between sqrt(1/2) and sqrt(2).
constexpr double LOGARITHM[] = {
    0.666666666666667,   0.39999999999899505, 0.28571428625975487, 0.2222221113479508,
    0.18182889125261723, 0.15331721600556042, 0.14616449685043406,
};
// sqrt(2/pi) - a erfcx(a/sqrt(2)) for 0 <= a <= FAR as a polynomial in (26/9) a/(a + 4) - 1.
constexpr double TAIL[] = {
    0.11597907109339267,     -0.24746734584034075,    0.23692160428372933,    -0.1365279366193694,
    0.050563263303573906,    -0.010608337003281784,   0.00028339515508232446, 0.00043386499417437255,
    -5.508539461726415e-05,  -2.0585347542977965e-05, 3.352447884528543e-06,  1.3324696871498996e-06,
    -1.4021135507720875e-07, -9.81145640290314e-08,   -3.319033842624297e-10, 5.623441248325343e-09,
    6.192787250293683e-10,
};
// From here on the CRPS is that of a point forecast, less its constant, to the last bit.
constexpr double FAR = 9;
constexpr double LOG2_E = 1.4426950408889634, HALF_LOG_2PI = 0.9189385332046728, INVERSE_SQRT_PI = 0.5641895835477563;
// log(2) in two parts, the first short enough that its product with any exponent is exact.
constexpr double LN2_HIGH = 0.6931471805598903, LN2_LOW = 5.497923018708371e-14;
// Adding and subtracting this rounds to an integer, which is then in the last bits.
constexpr double ROUNDER = 0x1.8p52;

// Four terms at a time, so that fewer operations wait for each other than in Horner's scheme.
template <std::size_t N>
GRAPHGAUGE_INLINE double polynomial(const double (&c)[N], double x) {
  constexpr std::size_t first = (N - 1) / 4 * 4, more = N - first;
  const double square = x * x, fourth = square * square;
  double total = c[first];
  if constexpr (more > 1) total += c[first + 1] * x;
  if constexpr (more == 3) total += c[first + 2] * square;
  if constexpr (more == 4) total += (c[first + 2] + c[first + 3] * x) * square;
  for (std::size_t k = first; k > 0; k -= 4) {
    total = total * fourth + ((c[k - 4] + c[k - 3] * x) + (c[k - 2] + c[k - 1] * x) * square);
  }
  return total;
}

// x = mantissa * 2**exponent for positive finite numbers; the mantissa is between sqrt(1/2) and sqrt(2).
GRAPHGAUGE_INLINE double mantissa_of(double x, double& exponent) {
  const bool tiny = x < std::numeric_limits<double>::min();
  // The exponent rises by one where the mantissa is sqrt(2) or more; it becomes a float as the last bits of 2**52.
  const u64 bits = std::bit_cast<u64>(x * (tiny ? 0x1p54 : 1.0)) + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD);
  exponent += std::bit_cast<double>(bits >> 52 | 0x4330000000000000) - 0x1p52 - (tiny ? 1077.0 : 1023.0);
  return std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD);
}

// The logarithm of the product of four positive finite numbers.
GRAPHGAUGE_INLINE double logarithm(double a, double b, double c, double d) {
  double exponent = 0;
  const double product =
      (mantissa_of(a, exponent) * mantissa_of(b, exponent)) * (mantissa_of(c, exponent) * mantissa_of(d, exponent));
  const double mantissa = mantissa_of(product, exponent);
  const double f = (mantissa - 1) / (mantissa + 1), square = f * f;
  return exponent * LN2_HIGH + ((2 * f + f * (square * polynomial(LOGARITHM, square))) + exponent * LN2_LOW);
}

// exp(x) for x between -700 and 0.
GRAPHGAUGE_INLINE double exponential(double x) {
  const double shifted = x * LOG2_E + ROUNDER, whole = shifted - ROUNDER;
  const double rest = (x - whole * LN2_HIGH) - whole * LN2_LOW;
  return polynomial(EXPONENTIAL, rest) * std::bit_cast<double>((std::bit_cast<u64>(shifted) + 1023) << 52);
}

}  // namespace graphgauge
