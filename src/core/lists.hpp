// Where the positives of candidate lists stand, without sorting the lists.
#pragma once

#include <type_traits>

#include "common.hpp"
#include "curves.hpp"
#include "keys.hpp"

namespace graphgauge {

// Up to this many distinct scores of positives, comparing all candidates with each is faster than placing each.
constexpr i64 FEW = 24;

// Lists that one thread takes together, with about CHUNK candidates.
inline std::vector<i64> chunks_of(const i64* offsets, i64 lists) {
  std::vector<i64> starts{0};
  for (i64 list = 1; list <= lists; list++) {
    if (offsets[list] - offsets[starts.back()] >= CHUNK || list == lists) starts.push_back(list);
  }
  return starts;
}

template <class T>
GRAPHGAUGE_INLINE void compare(const T* rising, i64 count, const T* scores, i64 size, i64* greater, i64* equal) {
  using Counter = std::conditional_t<sizeof(T) == 8, i64, i32>;
  constexpr i64 counted = i64(1) << 13;  // scores that stay in the nearest cache
  std::fill_n(greater, count, 0), std::fill_n(equal, count, 0);
  for (i64 start = 0; start < size; start += counted) {
    for (i64 level = 0; level < count; level++) {
      Counter more = 0, same = 0;
      for (i64 i = start; i < std::min(size, start + counted); i++) {
        more += scores[i] > rising[level], same += scores[i] == rising[level];
      }
      greater[level] += more, equal[level] += same;
    }
  }
}

#define GRAPHGAUGE_SCORES(T)                                                                                           \
  GRAPHGAUGE_CLONES void compare_of(const T* rising, i64 count, const T* scores, i64 size, i64* greater, i64* equal) { \
    compare(rising, count, scores, size, greater, equal);                                                              \
  }
GRAPHGAUGE_EACH_SCORE(GRAPHGAUGE_SCORES)
#undef GRAPHGAUGE_SCORES

// List q has the candidates scores[offsets[q]] to scores[offsets[q + 1] - 1], none of them NaN. Its positives, places
// in `scores`, are positive[first[q]] to positive[first[q + 1] - 1]. They are put in order, best first, those with the
// same score as they were; for each, the candidates with a higher score and with the same, itself among them.
template <class T>
void list_places(const T* scores, const i64* offsets, const i64* first, i64 lists, i64* positive, i64* ahead, i64* tied,
                 int threads) {
  const std::vector<i64> starts = chunks_of(offsets, lists);
  parallel(i64(starts.size()) - 1, threads, [&](i64 chunk) {
    std::vector<Entry<T>> own, spare;
    Placing<T> placing;
    std::vector<T> rising;
    std::vector<i64> given, greater, equal;
    for (i64 list = starts[chunk]; list < starts[chunk + 1]; list++) {
      const i64 count = first[list + 1] - first[list];
      if (!count) continue;
      own.resize(count), given.resize(count);
      for (i64 i = 0; i < count; i++) {
        given[i] = positive[first[list] + i];
        own[i] = {static_cast<decltype(own[i].key)>(~rising_key(scores[given[i]])), static_cast<u32>(i)};
      }
      sort_by_key<8>(own, spare);
      rising.clear();
      for (i64 i = count - 1; i >= 0; i--) {
        if (i + 1 == count || own[i].key != own[i + 1].key) rising.push_back(scores[given[own[i].number]]);
      }
      i64 level = i64(rising.size());
      greater.resize(level), equal.resize(level);
      const T* candidates = scores + offsets[list];
      const i64 size = offsets[list + 1] - offsets[list];
      if (level <= FEW) {
        compare_of(rising.data(), level, candidates, size, greater.data(), equal.data());
      } else {
        placing.start(rising.data(), level, size);
        placing.add(candidates, size);
        placing.counts(greater.data(), equal.data());
      }
      for (i64 i = 0; i < count; i++) {
        if (!i || own[i].key != own[i - 1].key) level--;
        positive[first[list] + i] = given[own[i].number];
        ahead[first[list] + i] = greater[level];
        tied[first[list] + i] = equal[level];
      }
    }
  });
}

}  // namespace graphgauge
