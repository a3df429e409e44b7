// Truths among the members of an ensemble, and in normal distributions.
#pragma once

#include "forecast.hpp"

namespace graphgauge {

// Adds to `by_horizon` (block, horizon, bin) and `by_node` (node, bin) the cells by the number of edges below
// (y - mean) / std; NaN is above all. The edges rise.
template <class T>
void add_positions(const Forecasts<T>& of, const Grid& grid, const double* edges, i64 count, i64* by_horizon,
                   i32* by_node, int threads);

// Members are (cell, member), `count` of each cell. Of each cell: the mean distance of a member to the truth, the sum of the distances of all pairs of members, and the
// sorted members at `places`, interpolated between two of them: (place, cell).
struct MemberScores {
  double *away, *apart;
  const double* places;
  i64 place_count;
  double* quantiles;
};
template <class T>
void member_scores(const T* y, const T* members, i64 cells, i64 count, const MemberScores& to, int threads);

}  // namespace graphgauge
