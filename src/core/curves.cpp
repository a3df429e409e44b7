#include "curves.hpp"

#include <bit>
#include <limits>
#include <numeric>

namespace graphgauge {
namespace {

constexpr i64 CHUNK = i64(1) << 18;
constexpr i64 BLOCK = 256;

#define GRAPHGAUGE_SCORES(T)                                                                       \
  GRAPHGAUGE_CLONES void place_of(const Placing<T>& placing, const T* scores, i64 size, i32* to) { \
    placing.place(scores, size, to);                                                               \
  }
GRAPHGAUGE_EACH_SCORE(GRAPHGAUGE_SCORES)
#undef GRAPHGAUGE_SCORES

}  // namespace

template <class T>
i64 distinct_values(const T* ascending, i64 size, T* values, i64* counts) {
  i64 found = 0;
  for (i64 i = size - 1; i >= 0; i--) {
    if (found && values[found - 1] == ascending[i]) {
      counts[found - 1]++;
    } else {
      values[found] = ascending[i];
      counts[found++] = 1;
    }
  }
  return found;
}

template <class T>
void merged_counts(const T* values, i64 count, const T* ascending, i64 size, i64* greater, i64* equal, int threads) {
  const i64 chunks = std::max<i64>(1, std::min(count, (count + size) / CHUNK));
  parallel(chunks, threads, [&](i64 chunk) {
    const i64 first = count * chunk / chunks, last = count * (chunk + 1) / chunks;
    if (first == last) return;
    i64 below = std::upper_bound(ascending, ascending + size, values[first]) - ascending;  // elements up to the value
    for (i64 i = first; i < last; i++) {
      const T value = values[i];
      while (below > 0 && ascending[below - 1] > value) below--;
      greater[i] = size - below;
      const i64 up_to = below;
      while (below > 0 && ascending[below - 1] == value) below--;
      equal[i] = up_to - below;
    }
  });
}

template <class T>
void Placing<T>::start(const T* rising, i64 count, i64 scores) {
  count_ = count, missing = 0;
  rising_.assign(rising, rising + count);
  cells_.assign(2 * count + 2, 0);
  constexpr i64 per_value = 4, most = i64(1) << 18;
  const i64 size = std::max<i64>(1, std::min({per_value * count, scores, most}));  // no more bins than scores
  if (count) {
    // Without the outermost values: one far outlier would push all others into one bin.
    const i64 margin = count / 64;
    low_ = double(rising[margin]);
    const double width = double(rising[count - 1 - margin]) - low_;
    scale_ = double(size) / width;  // inf, NaN or 0 where all values are one bin's: slow, and still right
  }
  last_ = double(size - 1);
  starts_.assign(size + 1, 0);
  for (i64 i = 0; i < count; i++) starts_[bin_of(double(rising[i]), low_, scale_, last_) + 1]++;
  const auto fullest = static_cast<u64>(*std::max_element(starts_.begin(), starts_.end()));
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  half_ = static_cast<i64>(std::bit_ceil(fullest + 1) / 2);
  using Limits = std::numeric_limits<T>;
  rising_.resize(count + 2 * half_ + 1, Limits::has_infinity ? Limits::infinity() : Limits::max());
}

template <class T>
void Placing<T>::add(const T* scores, i64 size) {
  i32 places[BLOCK];
  for (i64 start = 0; start < size; start += BLOCK) {
    const i64 length = std::min(BLOCK, size - start);
    place_of(*this, scores + start, length, places);
    for (i64 i = 0; i < length; i++) {
      const T score = scores[start + i];
      missing += score != score;
      cells_[2 * i64(places[i]) + (rising_[places[i]] == score)] += score == score;
    }
  }
}

template <class T>
void Placing<T>::add(const Placing& other) {
  for (std::size_t cell = 0; cell < cells_.size(); cell++) cells_[cell] += other.cells_[cell];
  missing += other.missing;
}

template <class T>
void Placing<T>::counts(i64* greater, i64* equal) const {
  for (i64 i = count_ - 1, above = cells_[2 * count_] + cells_[2 * count_ + 1]; i >= 0; i--) {
    greater[i] = above, equal[i] = cells_[2 * i + 1];
    above += cells_[2 * i + 1] + cells_[2 * i];
  }
}

template <class T>
i64 placed_counts(const T* rising, i64 count, const T* scores, i64 size, i64* greater, i64* equal, int threads) {
  Placing<T> all;
  all.start(rising, count, size);
  const Placing<T> empty = all;
  std::mutex lock;
  const i64 chunks = std::max<i64>(1, std::min<i64>(size / CHUNK, 4 * i64(threads)));
  parallel(chunks, threads, [&](i64 chunk) {
    Placing<T> own = empty;
    const i64 first = size * chunk / chunks;
    own.add(scores + first, size * (chunk + 1) / chunks - first);
    const std::lock_guard<std::mutex> hold(lock);
    all.add(own);
  });
  all.counts(greater, equal);
  return all.missing;
}

#define GRAPHGAUGE_SCORES(T)                                                     \
  template class Placing<T>;                                                     \
  template i64 distinct_values<T>(const T*, i64, T*, i64*);                      \
  template void merged_counts<T>(const T*, i64, const T*, i64, i64*, i64*, int); \
  template i64 placed_counts<T>(const T*, i64, const T*, i64, i64*, i64*, int);
GRAPHGAUGE_EACH_SCORE(GRAPHGAUGE_SCORES)
#undef GRAPHGAUGE_SCORES

}  // namespace graphgauge
