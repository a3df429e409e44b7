// Distances between points: Euclidean ones of floats, Hamming distances of packed bits.
#pragma once

#include "bits.hpp"

namespace graphgauge {

// Point i is values[i * depth] to values[(i + 1) * depth - 1]. The squared distance of two points depends on their
// coordinates only, whichever is first and wherever they are, so that equal distances are equal bits.
struct Points {
  const double* values;
  i64 rows, depth;
};

void squared_distances(const Points& rows, const Points& others, double* out, int threads);

// For each of `rows`, the sum of its distances to the others with each code, at sums[row * groups + code]. Codes may
// have any order; it is quicker if equal codes are adjacent.
void group_distances(const Points& rows, const Points& others, const i64* codes, i64 groups, double* sums, int threads);

// For each row the distance of rank k, from 0, among those to all rows including itself: of points squared, of bits
// the number of those that differ. A distance that is NaN is none.
void kth_distances(const Points& rows, i64 k, double* found, int threads);
void kth_distances(const BitRows& rows, i64 k, i32* found, int threads);

// Closed balls around rows and around others. For each of `rows`: the others in its ball, and the balls of others that
// it is in; for each of `others`: the balls of rows that it is in.
struct BallCounts {
  i64 *inside, *reached, *held;
};
void ball_counts(const Points& rows, const double* radii, const Points& others, const double* other_radii,
                 const BallCounts& counts, int threads);
void ball_counts(const BitRows& rows, const i32* radii, const BitRows& others, const i32* other_radii,
                 const BallCounts& counts, int threads);

}  // namespace graphgauge
