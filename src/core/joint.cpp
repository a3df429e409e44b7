#include "joint.hpp"

#include <cmath>

namespace graphgauge {
namespace {

// Members whose distances to later ones are computed at once.
constexpr i64 AT_ONCE = 4;

// The distances of all members from `from` on to a point, added up.
GRAPHGAUGE_INLINE double summed_roots(double* squares, i64 from, i64 count) {
  double total = 0;
  for (i64 j = from; j < count; j++) squares[j] = std::sqrt(squares[j]);
  for (i64 j = from; j < count; j++) total += squares[j];
  return total;
}

GRAPHGAUGE_CLONES double energy_score(const double* y, const double* members, i64 components, i64 count,
                                      double* squares) {
  double away = 0, apart = 0;
  std::fill(squares, squares + count, 0.0);
  for (i64 component = 0; component < components; component++) {
    const double* others = members + component * count;
    const double truth = y[component];
    for (i64 j = 0; j < count; j++) squares[j] += (others[j] - truth) * (others[j] - truth);
  }
  away = summed_roots(squares, 0, count);
  double *first = squares, *second = first + count, *third = second + count, *fourth = third + count;
  for (i64 i = 0; i + 1 < count; i += AT_ONCE) {
    std::fill(squares, squares + AT_ONCE * count, 0.0);
    for (i64 component = 0; component < components; component++) {
      const double* others = members + component * count;
      double own[AT_ONCE];
      for (i64 k = 0; k < AT_ONCE; k++) own[k] = others[std::min(i + k, count - 1)];
      for (i64 j = i; j < count; j++) {
        const double other = others[j];
        first[j] += (other - own[0]) * (other - own[0]);
        second[j] += (other - own[1]) * (other - own[1]);
        third[j] += (other - own[2]) * (other - own[2]);
        fourth[j] += (other - own[3]) * (other - own[3]);
      }
    }
    for (i64 k = 0; k < AT_ONCE && i + k < count; k++) apart += summed_roots(squares + k * count, i + k, count);
  }
  return away / double(count) - apart / (double(count) * double(count));
}

}  // namespace

void energy_scores(const double* y, const double* members, i64 vectors, i64 components, i64 count, double* scores,
                   int threads) {
  parallel(vectors, threads, [&](i64 vector) {
    std::vector<double> squares(AT_ONCE * count);
    scores[vector] =
        energy_score(y + vector * components, members + vector * components * count, components, count, squares.data());
  });
}

}  // namespace graphgauge
