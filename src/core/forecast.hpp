// Sums over forecasts and truths, by time block and horizon and by node.
#pragma once

#include <bit>

#include "common.hpp"

namespace graphgauge {

// Cells (step, horizon, node), one after the other. Step i is number `first` + i in time, and in the block of this
// number over `length`; blocks are longer where sums are by node. Blocks and places count from 0, in their order.
struct Grid {
  i64 steps, horizons, nodes;
  i64 first, length, node_length;

  i64 period() const { return horizons * nodes; }
  i64 block(i64 step) const { return (first + step) / length - first / length; }
  i64 place(i64 step) const { return (first + step) / node_length - first / node_length; }
  i64 blocks() const { return steps ? block(steps - 1) + 1 : 0; }
  i64 places() const { return steps ? place(steps - 1) + 1 : 0; }
  // The step at which a block begins.
  i64 start(i64 block) const { return std::max<i64>((first / length + block) * length - first, 0); }
};

// For each block and group of cells: sums (block, sum, group) as high + low, and counts (block, count, group).
struct Totals {
  double *high, *low;
  i64* counts;
};

// What a cell adds to the sums, with the error e = mean - y.
enum class Term { abs, square, error, y, y2, abs_y, ape, sape, std, var, nll, crps, over };

// Truths and forecasts; of those that the mask hides, nothing is seen. std and mask may be null.
template <class T>
struct Forecasts {
  const T *y, *mean, *std;
  const bool* mask;
  // The terms that are summed, as bits; those that need a std only where there is one.
  u32 asked;
  // Half-widths of intervals, in standard deviations.
  const double* widths;
  i64 levels;

  bool asks(Term term) const { return asked >> static_cast<int>(term) & 1; }
  i64 sums() const {
    constexpr u32 over = 1u << static_cast<int>(Term::over);
    return std::popcount(asked & (over - 1)) + (asked & over ? levels : 0);
  }
  i64 counts() const { return 3 + levels; }
  // Whether a sum or count, in this order, is not known beforehand.
  bool uses(i64 column) const {
    const bool known[] = {!mask, !asks(Term::ape), !std};
    return column < sums() || column >= sums() + 3 || !known[column - sums()];
  }
};

// Each sum that is asked for, in the order of the terms, `over` once for each half-width: by how much the truth is
// outside of the interval. The counts: cells; those with a truth other than 0, if `ape` is asked for; those whose std
// is not positive and finite; for each half-width those inside of the interval.
template <class T>
void error_sums(const Forecasts<T>& of, const Grid& grid, const Totals& by_horizon, const Totals& by_node, int threads);

// Sums of `rows` rows of `count` values by group, as high + low: (row, group).
void grouped_sums(const double* values, i64 rows, const i64* group, i64 count, i64 groups, double* high, double* low);

}  // namespace graphgauge
