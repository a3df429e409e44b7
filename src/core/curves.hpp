// Two samples of scores against each other: what ROC curves, precision-recall curves and pooled ranks are counted from.
#pragma once

#include <bit>
#include <limits>
#include <numeric>

#include "common.hpp"

namespace graphgauge {

// Scores that are placed side by side.
constexpr i64 BLOCK = 256;

// Scores counted by their place among values that rise strictly. Values are in bins of equal width; a score is compared
// only with the values of its bin, without a branch: all scores take as many steps as the fullest bin needs, and values
// after a bin are greater than its scores.
template <class T>
class Placing {
 public:
  i64 missing = 0;  // scores that are NaN

  // Begin again, with memory that is there; about so many scores will be added.
  void start(const T* rising, i64 count, i64 scores) {
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

  void add(const T* scores, i64 size) {
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

  void add(const Placing& other) {
    for (std::size_t cell = 0; cell < cells_.size(); cell++) cells_[cell] += other.cells_[cell];
    missing += other.missing;
  }

  // For each value, the scores above it and those equal to it.
  void counts(i64* greater, i64* equal) const {
    for (i64 i = count_ - 1, above = cells_[2 * count_] + cells_[2 * count_ + 1]; i >= 0; i--) {
      greater[i] = above, equal[i] = cells_[2 * i + 1];
      above += cells_[2 * i + 1] + cells_[2 * i];
    }
  }

  // For each score, the number of values that are less; anything for NaN.
  GRAPHGAUGE_INLINE void place(const T* scores, i64 size, i32* to) const {
    const i32* starts = starts_.data();
    const T* rising = rising_.data();
    const double low = low_, scale = scale_, last = last_;
    for (i64 i = 0; i < size; i++) to[i] = bin_of(double(scores[i]), low, scale, last);
    for (i64 i = 0; i < size; i++) to[i] = starts[to[i]];
    for (i64 half = half_; half > 0; half /= 2) {
      const auto step = static_cast<i32>(half);
      for (i64 i = 0; i < size; i++) to[i] += rising[to[i] + step - 1] < scores[i] ? step : 0;
    }
  }

 private:
  static GRAPHGAUGE_INLINE i32 bin_of(double score, double low, double scale, double last) {
    const double position = (score - low) * scale;
    const double reached = position > 0 ? position : 0;  // NaN is in the first bin
    return static_cast<i32>(reached < last ? reached : last);
  }

  std::vector<T> rising_;  // followed by values above all
  double low_ = 0, scale_ = 0, last_ = 0;
  i64 count_ = 0, half_ = 0;
  std::vector<i32> starts_;  // the values of bin b are starts[b] to starts[b + 1] - 1
  // Cell 2i + 1 counts the scores equal to value i, cell 2i those in the gap before it; the last two, those above all.
  std::vector<i64> cells_;
};

#define GRAPHGAUGE_SCORES(T)                                                                       \
  GRAPHGAUGE_CLONES void place_of(const Placing<T>& placing, const T* scores, i64 size, i32* to) { \
    placing.place(scores, size, to);                                                               \
  }
GRAPHGAUGE_EACH_SCORE(GRAPHGAUGE_SCORES)
#undef GRAPHGAUGE_SCORES

// For each of `values`, which fall strictly: the elements of `ascending` that are greater and that are equal.
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

// The same for scores in any order, for values that rise strictly and are few: each score is placed among the values
// instead of being sorted. Returns how many scores are NaN, which are not counted.
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

}  // namespace graphgauge
