// Adjacency matrices as bits, and the states of their node pairs.
#pragma once

#include "common.hpp"

namespace graphgauge {

// Which kinds of cells a matrix has: those of `anywhere` are looked for in all cells, the others not on the diagonal of
// its first `loopless` rows, where row i has its diagonal cell in column i % d.
enum CellKind : u8 { IS_EDGE = 1, IS_NAN = 2, IS_NEGATIVE = 4, IS_WEIGHTED_EDGE = 8 };
struct CellKinds {
  u8 anywhere = 0, counted = 0;
};

// Bit j % 64 of words[i * ((d + 63) / 64) + j / 64] says whether values[i * d + j] is an edge: above `high`, below
// `low`, or NaN if nan_is_edge.
template <class T>
CellKinds cell_bits(const T* values, i64 rows, i64 d, i64 loopless, double low, double high, bool nan_is_edge,
                    u64* words, int threads);

// For each of `graphs` matrices of d rows of bits, 20 counts. The first 16: of pairs i < j by state, the true cell (i,
// j) plus twice the predicted one plus 4 and 8 times those of (j, i); state 0 is left out. The last four: of loops by
// the true cell plus twice the predicted one.
void pair_states(const u64* truth, const u64* prediction, i64 graphs, i64 d, i64* counts, int threads);

}  // namespace graphgauge
