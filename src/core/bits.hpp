// Rows of bits, packed into 64-bit words.
#pragma once

#include "common.hpp"

namespace graphgauge {

// Row i is words[i * width] to words[(i + 1) * width - 1].
struct BitRows {
  const u64* words;
  i64 rows, width;
  const u64* operator[](i64 row) const { return words + row * width; }
};

// The bits in which `row` differs from each of `count` rows.
void differing_bits(const u64* row, const u64* others, i64 count, i64 width, i32* found);

// For each row, the sum over later rows of (length - 2 * differing bits)²: of the squared products of vectors of ±1.
void squared_products(const BitRows& rows, i64 length, i64* sums, int threads);

// Pairs of rows with the same number of bits in both and in either, as both << 32 | either, which rises, and how many.
struct Common {
  std::vector<u64> cells;
  std::vector<i64> pairs;
};

// All pairs of rows, and for each row the sum of its Jaccard similarities to the others, in units of 2**-40: integers,
// whose sum does not depend on the order. Rows without bits are alike.
Common common_bits(const BitRows& rows, i64* similar, int threads);

}  // namespace graphgauge
