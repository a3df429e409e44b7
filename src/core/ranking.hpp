// Where positives stand among their negatives: the counts behind every rank.
#pragma once

#include <limits>
#include <ranges>
#include <type_traits>

#include "common.hpp"

namespace graphgauge {

// Row i has the negatives values[begin(i)] to values[begin(i + 1) - 1]: k each, or by offsets. With a mask, those of
// them whose mask is not 0.
template <class T>
struct Negatives {
  const T* values;
  const i64* offsets;
  const u8* mask;
  i64 k;
  GRAPHGAUGE_INLINE i64 begin(i64 row) const { return offsets ? offsets[row] : row * k; }
};

// For each row: the negatives greater than the positive, equal to it, NaN, -inf, and all. NaN is in no other count but
// the last.
struct RankCounts {
  i32 *greater, *equal, *missing, *lowest, *all;
};

// Elements that one counter counts: counters are as wide as the scores, so that a vector has as many of both.
constexpr i64 COUNTED = i64(1) << 14;

// Halves are compared as integers that rise with them; both zeros are 0, and NaN is above 0x7c00 in size.
GRAPHGAUGE_INLINE std::int16_t key_of(half value) {
  const auto sign = static_cast<std::int16_t>(static_cast<std::int16_t>(value.bits) >> 15);
  return static_cast<std::int16_t>(((value.bits & 0x7fff) ^ sign) - sign);
}
template <class T>
GRAPHGAUGE_INLINE T key_of(T value) {
  return value;
}

template <class T>
struct Order {
  using Key = T;
  using Counter = std::conditional_t<sizeof(T) == 8, i64, i32>;
  static constexpr bool floats = std::is_floating_point_v<T>;
  static constexpr Key lowest() { return -std::numeric_limits<Key>::infinity(); }
  static GRAPHGAUGE_INLINE bool is_number(Key key) { return key == key; }
  // Whether a score is above the positive's; or below it, and above the lowest.
  static GRAPHGAUGE_INLINE bool above(Key key, Key positive) { return key > positive; }
  static GRAPHGAUGE_INLINE bool below(Key key, Key positive) { return (key < positive) & (!floats || key > lowest()); }
};
template <>
struct Order<half> {
  using Key = std::int16_t;
  using Counter = std::int16_t;
  static constexpr bool floats = true;
  static constexpr Key lowest() { return -0x7c00; }
  static constexpr Key highest() { return 0x7c00; }
  static GRAPHGAUGE_INLINE bool is_number(Key key) { return key >= lowest() && key <= highest(); }
  // NaN has a key outside of all numbers: each is one comparison without signs, of the distance from an end.
  static GRAPHGAUGE_INLINE bool above(Key key, Key positive) {
    return static_cast<u16>(highest() - key) < static_cast<u16>(highest() - positive);
  }
  static GRAPHGAUGE_INLINE bool below(Key key, Key positive) {
    return static_cast<u16>(key - lowest() - 1) < static_cast<u16>(std::max<int>(positive - lowest() - 1, 0));
  }
};

// Two comparisons decide all but ties, NaN and -inf; a row that has any is read again, while it is in the cache.
template <class T, bool MASKED>
GRAPHGAUGE_INLINE void count_row(const T* row, const u8* mask, i64 k, T positive, i64 at, const RankCounts& out) {
  using Rules = Order<T>;
  using Counter = typename Rules::Counter;
  const auto reference = key_of(positive);
  i64 greater = 0, less = 0, equal = 0, missing = 0, lowest = 0, valid = MASKED ? 0 : k;
  const bool comparable = !Rules::floats || Rules::is_number(reference);
  for (i64 start = 0; start < k; start += COUNTED) {
    const i64 stop = std::min(k, start + COUNTED);
    Counter above = 0, below = 0, used = 0;
    for (i64 i = start; i < stop; i++) {
      const auto key = key_of(row[i]);
      const Counter on = MASKED ? Counter(mask[i] != 0) : Counter(1);
      above += Counter(Rules::above(key, reference)) & on;
      below += Counter(Rules::below(key, reference)) & on;
      if constexpr (MASKED) used += on;
    }
    greater += above, less += below;
    if constexpr (MASKED) valid += used;
  }
  if (!comparable) greater = less = 0;
  if (greater + less != valid) {
    for (i64 start = 0; start < k; start += COUNTED) {
      const i64 stop = std::min(k, start + COUNTED);
      Counter same = 0, nan = 0, low = 0;
      for (i64 i = start; i < stop; i++) {
        const auto key = key_of(row[i]);
        const Counter on = MASKED ? Counter(mask[i] != 0) : Counter(1);
        same += Counter(key == reference) & on;
        if constexpr (Rules::floats) {
          nan += Counter(!Rules::is_number(key)) & on;
          low += Counter(key == Rules::lowest()) & on;
        }
      }
      equal += same, missing += nan, lowest += low;
    }
    if (!comparable) equal = 0;
  }
  out.greater[at] = static_cast<i32>(greater), out.equal[at] = static_cast<i32>(equal);
  out.missing[at] = static_cast<i32>(missing), out.lowest[at] = static_cast<i32>(lowest);
  out.all[at] = static_cast<i32>(valid);
}

template <class T>
GRAPHGAUGE_INLINE void count_rows(const T* pos, const Negatives<T>& negatives, i64 first, i64 last,
                                  const RankCounts& out) {
  for (i64 i = first; i < last; i++) {
    const i64 begin = negatives.begin(i), size = negatives.begin(i + 1) - begin;
    if (negatives.mask) {
      count_row<T, true>(negatives.values + begin, negatives.mask + begin, size, pos[i], i, out);
    } else {
      count_row<T, false>(negatives.values + begin, nullptr, size, pos[i], i, out);
    }
  }
}

// Clones cannot be templates: one function for each type of score.
#define GRAPHGAUGE_SCORES(T)                                                                       \
  GRAPHGAUGE_CLONES void rows_of(const T* pos, const Negatives<T>& negatives, i64 first, i64 last, \
                                 const RankCounts& out) {                                          \
    count_rows(pos, negatives, first, last, out);                                                  \
  }
GRAPHGAUGE_SCORES(half)
GRAPHGAUGE_EACH_SCORE(GRAPHGAUGE_SCORES)
#undef GRAPHGAUGE_SCORES

template <class T>
void rank_counts(const T* pos, const Negatives<T>& negatives, i64 rows, const RankCounts& counts, int threads) {
  const i64 before = negatives.begin(0), size = negatives.begin(rows) - before, chunks = size / CHUNK + 1;
  const auto start = [&](i64 chunk) {  // the first row with values of this chunk, which have about the same number
    const auto earlier = [&](i64 row) { return negatives.begin(row) - before < size * chunk / chunks; };
    return chunk < chunks ? *std::ranges::partition_point(std::views::iota(i64(0), rows), earlier) : rows;
  };
  parallel(chunks, threads, [&](i64 chunk) { rows_of(pos, negatives, start(chunk), start(chunk + 1), counts); });
}

}  // namespace graphgauge
