// Two samples of scores against each other: what ROC curves, precision-recall curves and pooled ranks are counted from.
#pragma once

#include "common.hpp"

namespace graphgauge {

// The distinct values of `ascending`, highest first, and how often each occurs. Returns how many there are.
template <class T>
i64 distinct_values(const T* ascending, i64 size, T* values, i64* counts);

// For each of `values`, which fall strictly: the elements of `ascending` that are greater and that are equal.
template <class T>
void merged_counts(const T* values, i64 count, const T* ascending, i64 size, i64* greater, i64* equal, int threads);

// The same for scores in any order, for values that rise strictly and are few: each score is placed among the values
// instead of being sorted. Returns how many scores are NaN, which are not counted.
template <class T>
i64 placed_counts(const T* rising, i64 count, const T* scores, i64 size, i64* greater, i64* equal, int threads);

// Scores counted by their place among values that rise strictly. Values are in bins of equal width; a score is compared
// only with the values of its bin, without a branch: all scores take as many steps as the fullest bin needs, and values
// after a bin are greater than its scores.
template <class T>
class Placing {
 public:
  i64 missing = 0;  // scores that are NaN

  // Begin again, with memory that is there; about so many scores will be added.
  void start(const T* rising, i64 count, i64 scores);
  void add(const T* scores, i64 size);
  void add(const Placing& other);
  // For each value, the scores above it and those equal to it.
  void counts(i64* greater, i64* equal) const;

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

}  // namespace graphgauge
