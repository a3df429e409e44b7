// Where truths lie within normal forecasts, and errors by predicted standard deviation.
#pragma once

#include "common.hpp"

namespace graphgauge {

// Cells (steps, horizons, nodes) in time blocks of equal length. The mask may be null; std is anything.
template <class T>
struct NormalForecasts {
  const T *y, *mean, *std;
  const bool* mask;
  i64 steps, horizons, nodes, blocks;
};

// Adds to `by_horizon` (block, horizon, bin) and `by_node` (node, bin) the cells by the number of edges below
// (y - mean) / std; NaN is above all. The edges rise.
template <class T>
void add_positions(const NormalForecasts<T>& of, const double* edges, i64 count, i64* by_horizon, i32* by_node);

// Keys of standard deviations: the leading bits of positive finite doubles.
constexpr int KEY_SHIFT = 42;

// Of the cells of a horizon, for each key from `lowest` on: the sums of e^2, std^2, std^4 and 1, then the low parts of
// these sums.
template <class T>
void sums_by_key(const NormalForecasts<T>& of, i64 horizon, i64 lowest, i64 keys, double* sums);

// Ranges of standard deviations: 16 to each doubling, from 2**-32 to 2**32; what is outside counts in the outermost.
constexpr i64 RANGES = 1024;

// The sums of e^2 - std^2, (block, range).
template <class T>
void excess_by_block(const NormalForecasts<T>& of, double* high, double* low);

}  // namespace graphgauge
