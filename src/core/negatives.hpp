// Negatives: distinct draws, and the nodes near a node.
#pragma once

#include "common.hpp"

namespace graphgauge {

// Row i draws take[i] of the places start[i] to stop[i] - 1 that are not among its excluded ones, taken[first[i]] to
// taken[last[i] - 1], which rise. One number of `uniform`, from 0 to below 1, is used for each; rows of both matrices
// have `width` columns.
struct Draws {
  i64 rows, width;
  const i64 *start, *stop, *taken, *first, *last, *take;
  const double* uniform;
};
void draw_distinct(const Draws& draws, i64* out, int threads);

// Approximate PageRank of a walk that returns to `source` with probability `restart`, by pushing probability along
// edges (Andersen, Chung and Lang 2006) until less than `limit` times its degree is left at each node.
struct Near {
  std::vector<i64> nodes;
  std::vector<double> values;
};
std::vector<Near> push_pagerank(const i64* offsets, const i64* neighbours, i64 nodes, const i64* sources, i64 count,
                                double restart, double limit, int threads);

}  // namespace graphgauge
