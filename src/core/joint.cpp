#include "joint.hpp"

#include <cmath>
#include <limits>

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

// abs(one - other)^power of `width` members, added up.
GRAPHGAUGE_CLONES double summed_gaps(const double* one, const double* other, i64 width, double power, double* gaps) {
  double total = 0;
  for (i64 i = 0; i < width; i++) gaps[i] = std::fabs(one[i] - other[i]);
  if (power == 0.5) {
    for (i64 i = 0; i < width; i++) gaps[i] = std::sqrt(gaps[i]);
  } else {
    for (i64 i = 0; i < width; i++) gaps[i] = std::pow(gaps[i], power);
  }
  for (i64 i = 0; i < width; i++) total += gaps[i];
  return total;
}

}  // namespace

void energy_scores(const Ensembles& of, double* scores, int threads) {
  const i64 size = of.components * of.count;
  parallel(of.vectors, threads, [&](i64 vector) {
    std::vector<double> squares(AT_ONCE * of.count), turned;
    const double* members = of.members + vector * size;
    if (of.shifts) {
      turned.resize(size);
      for (i64 component = 0; component < of.components; component++) {
        const double* row = members + component * of.count;
        std::rotate_copy(row, row + of.shifts[vector * of.components + component], row + of.count,
                         turned.data() + component * of.count);
      }
      members = turned.data();
    }
    scores[vector] = energy_score(of.y + vector * of.components, members, of.components, of.count, squares.data());
  });
}

void variogram_scores(const Ensembles& of, const bool* seen, const i64* pairs, i64 number, double power, double* scores,
                      int threads) {
  parallel(of.vectors, threads, [&](i64 vector) {
    std::vector<double> gaps(of.count);
    const i64 row = vector * of.components;
    double total = 0;
    i64 used = 0;
    for (i64 pair = 0; pair < number; pair++) {
      const i64 left = row + pairs[2 * pair], right = row + pairs[2 * pair + 1];
      if (!seen[left] || !seen[right]) continue;
      const double *one = of.members + left * of.count, *other = of.members + right * of.count;
      // Only the shift between the two matters.
      const i64 shift = of.shifts ? (of.shifts[right] - of.shifts[left] + of.count) % of.count : 0;
      const i64 before = of.count - shift;
      const double sum = summed_gaps(one, other + shift, before, power, gaps.data()) +
                         summed_gaps(one + before, other, shift, power, gaps.data());
      const double away = std::pow(std::fabs(of.y[left] - of.y[right]), power) - sum / double(of.count);
      total += away * away;
      used++;
    }
    scores[vector] = used ? total / double(used) : std::numeric_limits<double>::quiet_NaN();
  });
}

}  // namespace graphgauge
