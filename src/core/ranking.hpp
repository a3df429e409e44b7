// Where positives stand among their negatives: the counts behind every rank.
#pragma once

#include "common.hpp"

namespace graphgauge {

// IEEE half precision, by its bits.
struct half {
  u16 bits;
};

// For each row: the negatives greater than the positive, equal to it, NaN, -inf, and all. NaN is in no other count but
// the last.
struct RankCounts {
  i32 *greater, *equal, *missing, *lowest, *all;
};

// Row i has the negatives neg[i * k] to neg[(i + 1) * k - 1]; with a mask, those of them whose mask is not 0.
template <class T>
void rank_counts(const T* pos, const T* neg, const u8* mask, i64 rows, i64 k, const RankCounts& counts, int threads);

// Row i has the negatives values[offsets[i]] to values[offsets[i + 1] - 1].
template <class T>
void ragged_rank_counts(const T* pos, const T* values, const i64* offsets, i64 rows, const RankCounts& counts,
                        int threads);

}  // namespace graphgauge
