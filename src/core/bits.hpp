// Rows of bits, packed into 64-bit words.
#pragma once

#include <bit>

#include "common.hpp"

namespace graphgauge {

// Row i is words[i * width] to words[(i + 1) * width - 1].
struct BitRows {
  const u64* words;
  i64 rows, width;
  const u64* operator[](i64 row) const { return words + row * width; }
};

// Pairs of rows with the same number of bits in both and in either, as both << 32 | either, which rises, and how many.
struct Common {
  std::vector<u64> cells;
  std::vector<i64> pairs;
};

// Rows that are compared with each other while both are in the cache.
constexpr i64 ROWS = 16, OTHERS = 256;

template <bool SHARED>
GRAPHGAUGE_INLINE void count_bits(const u64* row, const u64* others, i64 count, i64 width, i32* found) {
  for (i64 other = 0; other < count; other++) {
    const u64* words = others + other * width;
    i32 even = 0, odd = 0;  // two chains of additions
    for (i64 word = 0; word + 1 < width; word += 2) {
      even += std::popcount(SHARED ? row[word] & words[word] : row[word] ^ words[word]);
      odd += std::popcount(SHARED ? row[word + 1] & words[word + 1] : row[word + 1] ^ words[word + 1]);
    }
    if (width % 2)
      even += std::popcount(SHARED ? row[width - 1] & words[width - 1] : row[width - 1] ^ words[width - 1]);
    found[other] = even + odd;
  }
}

GRAPHGAUGE_CLONES void shared_of(const u64* row, const u64* others, i64 count, i64 width, i32* found) {
  count_bits<true>(row, others, count, width, found);
}

GRAPHGAUGE_CLONES void ratios_of(const i32* shared, i32 size, const i32* sizes, i64 count, double* ratios) {
  for (i64 other = 0; other < count; other++) {
    const i32 either = size + sizes[other] - shared[other], none = either == 0;
    ratios[other] = double(shared[other] + none) / double(either + none);
  }
}

// Adds the ratios in units of 2**-40, rounded, to the sums of both rows: the last bits of a number from 2**52 to 2**53
// are those of an integer.
GRAPHGAUGE_CLONES i64 add_rounded(const double* ratios, i64 count, i64* sums) {
  constexpr double UNIT = double(i64(1) << 40), WHOLE = double(i64(1) << 52);
  i64 total = 0;
  for (i64 other = 0; other < count; other++) {
    const i64 rounded = std::bit_cast<i64>(ratios[other] * UNIT + WHOLE) - std::bit_cast<i64>(WHOLE);
    sums[other] += rounded, total += rounded;
  }
  return total;
}

inline std::vector<i32> sizes_of(const BitRows& rows) {
  const std::vector<u64> full(rows.width, ~u64(0));
  std::vector<i32> sizes(rows.rows);
  shared_of(full.data(), rows.words, rows.rows, rows.width, sizes.data());
  return sizes;
}

// How often each cell occurs: a hash table that doubles. No cell has all bits set.
class Tally {
 public:
  Tally() { resize(i64(1) << 12); }
  GRAPHGAUGE_INLINE void add(u64 cell, i64 times) {
    u64 place = (cell * 0x9E3779B97F4A7C15u) >> shift_;
    while (cells_[place] != cell && cells_[place] != NONE) place = (place + 1) & (cells_.size() - 1);
    times_[place] += times;
    if (cells_[place] == NONE) {
      cells_[place] = cell;
      if (++used_ > i64(cells_.size()) / 2) grow();
    }
  }
  template <class F>
  void each(F&& f) const {
    for (std::size_t place = 0; place < cells_.size(); place++) {
      if (cells_[place] != NONE) f(cells_[place], times_[place]);
    }
  }

 private:
  static constexpr u64 NONE = ~u64(0);
  void resize(i64 size) {
    cells_.assign(size, NONE), times_.assign(size, 0);
    used_ = 0, shift_ = 64 - std::countr_zero(u64(size));
  }
  void grow() {
    const Tally old = *this;
    resize(2 * i64(cells_.size()));
    old.each([&](u64 cell, i64 times) { add(cell, times); });
  }
  std::vector<u64> cells_;
  std::vector<i64> times_;
  i64 used_;
  int shift_;
};

// The bits in which `row` differs from each of `count` rows.
GRAPHGAUGE_CLONES void differing_bits(const u64* row, const u64* others, i64 count, i64 width, i32* found) {
  count_bits<false>(row, others, count, width, found);
}

// All pairs of rows, and for each row the sum of its Jaccard similarities to the others, in units of 2**-40: integers,
// whose sum does not depend on the order. Rows without bits are alike.
inline Common common_bits(const BitRows& rows, i64* similar, int threads) {
  const i64 n = rows.rows, blocks = (n + ROWS - 1) / ROWS;
  const std::vector<i32> sizes = sizes_of(rows);
  Tally tally;
  std::fill(similar, similar + n, 0);
  std::mutex lock;
  by_thread(blocks, threads, [&](auto&& next) {
    Tally own;
    std::vector<i64> sums(n);
    i32 shared[OTHERS];
    double ratios[OTHERS];
    for (i64 block; (block = next()) < blocks;) {
      for (i64 start = block * ROWS; start < n; start += OTHERS) {
        for (i64 row = block * ROWS; row < std::min(n, (block + 1) * ROWS); row++) {
          const i64 first = std::max(start, row + 1), count = std::min(n, start + OTHERS) - first;
          shared_of(rows[row], rows[first], count, rows.width, shared);
          ratios_of(shared, sizes[row], sizes.data() + first, count, ratios);
          sums[row] += add_rounded(ratios, count, sums.data() + first);
          for (i64 other = 0; other < count; other++) {
            own.add(u64(shared[other]) << 32 | u64(sizes[row] + sizes[first + other] - shared[other]), 1);
          }
        }
      }
    }
    const std::lock_guard<std::mutex> hold(lock);
    own.each([&](u64 cell, i64 times) { tally.add(cell, times); });
    for (i64 row = 0; row < n; row++) similar[row] += sums[row];
  });
  std::vector<std::pair<u64, i64>> found;
  tally.each([&](u64 cell, i64 times) { found.emplace_back(cell, times); });
  std::sort(found.begin(), found.end());
  Common common;
  for (const auto& [cell, times] : found) common.cells.push_back(cell), common.pairs.push_back(times);
  return common;
}

}  // namespace graphgauge
