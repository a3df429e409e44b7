// Tails and quantiles of the normal distribution and of Student's t.
#pragma once

#include <cmath>
#include <iterator>

#include "common.hpp"

namespace graphgauge {

constexpr double EPSILON = std::numeric_limits<double>::epsilon();

// The coefficients rise with the power of x.
template <class Coefficients>
double polynomial(const Coefficients& coefficients, double x) {
  double value = 0;
  for (auto each = std::rbegin(coefficients); each != std::rend(coefficients); ++each) value = value * x + *each;
  return value;
}

// log(gamma(a + 1/2) / gamma(a)), where the difference of two logarithms would lose digits if a is large.
inline double log_gamma_step(double a) {
  if (a < 20) return std::lgamma(a + 0.5) - std::lgamma(a);
  constexpr double series[] = {1.0,           -1.0 / 8,        1.0 / 128,       5.0 / 1024,
                               -21.0 / 32768, -399.0 / 262144, 869.0 / 4194304, 39325.0 / 33554432};
  return 0.5 * std::log(a) + std::log(polynomial(series, 1 / a));
}

// The continued fraction of the incomplete beta function of a and b at x, by Lentz's method.
inline double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  const auto bounded = [](double value) { return std::fabs(value) < tiny ? tiny : value; };
  double numerator = 1, denominator = 1 / bounded(1 - (a + b) * x / (a + 1)), fraction = denominator;
  for (int m = 1; m < 100000; m++) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1;
    for (const double term : {even, odd}) {
      denominator = 1 / bounded(1 + term * denominator);
      numerator = bounded(1 + term / numerator);
      change = numerator * denominator;
      fraction *= change;
    }
    if (std::fabs(change - 1) <= EPSILON) break;
  }
  return fraction;
}

// The density of Student's t.
inline double student_density(double t, double freedom) {
  const double pi = std::acos(-1.0);
  return std::exp(log_gamma_step(freedom / 2) - 0.5 * std::log(freedom * pi) -
                  (freedom + 1) / 2 * std::log1p(t * t / freedom));
}

// The z with P(Z > z) = P(T > t), for many degrees of freedom: to rounding if t is not far out (Hill 1970).
inline double normal_of_student(double t, double freedom) {
  const double a = freedom - 0.5, b = 48 * a * a, y = a * std::log1p(t * t / freedom);
  const double last = (((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y * y + 100 + b);
  return ((last + y + 3) / b + 1) * std::sqrt(y);
}

// P(Z > z).
inline double normal_tail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

// The z with P(Z > z) = tail, for tails from 0 to 1.
// Wichura 1988, algorithm AS 241.
inline double normal_quantile(double tail) {
  constexpr double middle[] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                               1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                               3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr double below_middle[] = {1.0000000000000000000e0,  4.2313330701600911252e+1, 6.8718700749205790830e+2,
                                     5.3941960214247511077e+3, 2.1213794301586595867e+4, 3.9307895800092710610e+4,
                                     2.8729085735721942674e+4, 5.2264952788528545610e+3};
  constexpr double near[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                             3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                             2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double below_near[] = {1.0000000000000000000e0,   2.05319162663775882187e0,  1.67638483018380384940e0,
                                   6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
                                   5.47593808499534494600e-4, 1.05075007164441684324e-9};
  constexpr double far[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                            2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                            2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double below_far[] = {1.0000000000000000000e0,   5.99832206555887937690e-1, 1.36929880922735805310e-1,
                                  1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                                  1.42151175831644588870e-7, 2.04426310338993978564e-15};
  if (!(tail > 0 && tail < 1)) return tail == 0 ? INFINITE : tail == 1 ? -INFINITE : NAN;
  const double shift = 0.5 - tail;
  if (std::fabs(shift) <= 0.425) {
    const double r = 0.180625 - shift * shift;
    return shift * polynomial(middle, r) / polynomial(below_middle, r);
  }
  const double r = std::sqrt(-std::log(shift > 0 ? tail : 1 - tail));
  const double size = r <= 5 ? polynomial(near, r - 1.6) / polynomial(below_near, r - 1.6)
                             : polynomial(far, r - 5) / polynomial(below_far, r - 5);
  return shift > 0 ? size : -size;
}

// P(T > t) with `freedom` > 0 degrees of freedom, whole or not.
// Half the incomplete beta function of freedom / 2 and 1/2 at freedom / (freedom + t^2); its continued fraction
// converges fast on the side of the mean where it is used.
inline double student_tail(double t, double freedom) {
  if (std::isnan(t) || !(freedom > 0)) return NAN;
  if (t < 0) return 1 - student_tail(-t, freedom);
  if (std::isinf(t)) return 0;
  if (std::isinf(freedom)) return normal_tail(t);
  if (freedom > 1000 && t * t < freedom / 10) return normal_tail(normal_of_student(t, freedom));
  const double a = freedom / 2, ratio = t * t / freedom;
  const double x = 1 / (1 + ratio), beyond = ratio / (1 + ratio);
  const double pi = std::acos(-1.0);
  // x^a (1 - x)^(1/2) / beta(a, 1/2)
  const double front = std::exp(log_gamma_step(a) - 0.5 * std::log(pi) - a * std::log1p(ratio)) * std::sqrt(beyond);
  if (x < (a + 1) / (a + 2.5)) return 0.5 * front * beta_fraction(a, 0.5, x) / a;
  return 0.5 - front * beta_fraction(0.5, a, beyond);
}

// The t with P(T > t) = tail, for tails from 0 to 1.
// Newton's method for the logarithm of the tail as a function of that of t, which is nearly straight far out.
inline double student_quantile(double tail, double freedom) {
  if (!(freedom > 0) || std::isnan(tail) || tail < 0 || tail > 1) return NAN;
  if (tail > 0.5) return -student_quantile(1 - tail, freedom);
  if (tail == 0.5) return 0;
  if (tail == 0) return INFINITE;
  if (std::isinf(freedom)) return normal_quantile(tail);
  double t = std::max(normal_quantile(tail), 1e-300);
  for (int step = 0; step < 200; step++) {
    const double reached = student_tail(t, freedom), slope = t * student_density(t, freedom);
    if (t < 1) {  // near the mean the tail itself is straight
      const double next = t + (reached - tail) / (slope / t);
      if (std::fabs(next - t) <= 2 * EPSILON * std::fabs(next)) return next;
      t = next > 0 ? next : t / 2;
      continue;
    }
    const double change = reached / slope * std::log(reached / tail);
    t *= std::exp(std::min(change, 50.0));
    if (std::fabs(change) <= 2 * EPSILON) break;
  }
  return t;
}

}  // namespace graphgauge
