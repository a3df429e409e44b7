// Sums over forecasts and truths, by time block and horizon and by node.
#pragma once

#include <bit>

#include "common.hpp"

namespace graphgauge {

// Cells (blocks, steps, horizons, nodes), one after the other. Blocks of the same place share the sums by node; places
// are 0, 1, 2 and so on, never fall, and no step is larger than 1.
struct Grid {
  i64 blocks, steps, horizons, nodes;
  const i64* place;

  i64 period() const { return horizons * nodes; }
  i64 places() const { return blocks ? place[blocks - 1] + 1 : 0; }
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
};

// Each sum that is asked for, in the order of the terms, `over` once for each half-width: by how much the truth is
// outside of the interval. The counts: cells; those with a truth other than 0, if `ape` is asked for; those whose std
// is not positive and finite; for each half-width those inside of the interval.
template <class T>
void error_sums(const Forecasts<T>& of, const Grid& grid, const Totals& by_horizon, const Totals& by_node, int threads);

// Adds to `by_horizon` (block, horizon, bin) and `by_node` (node, bin) the cells by the number of edges below
// (y - mean) / std; NaN is above all. The edges rise.
template <class T>
void add_positions(const Forecasts<T>& of, const Grid& grid, const double* edges, i64 count, i64* by_horizon,
                   i32* by_node);

// Sums of `rows` rows of `count` values by group, as high + low: (row, group).
void grouped_sums(const double* values, i64 rows, const i64* group, i64 count, i64 groups, double* high, double* low);

}  // namespace graphgauge
