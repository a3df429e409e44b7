// Where numbers fall among few others, without a search through all of them.
#pragma once

#include <numeric>

#include "common.hpp"

namespace graphgauge {

// Bins of equal width over values that rise strictly: a score is compared only with the values of its bin.
template <class T>
class Bins {
 public:
  // There are no more bins than scores to be placed.
  Bins(const T* rising, i64 count, i64 scores) : rising_(rising) {
    constexpr i64 per_value = 16, most = i64(1) << 18;
    const i64 size = std::max<i64>(1, std::min({per_value * count, scores, most}));
    if (count) {
      // Without the outermost values: one far outlier would push all others into one bin.
      const i64 margin = count / 64;
      low_ = double(rising[margin]);
      const double width = double(rising[count - 1 - margin]) - low_;
      scale_ = double(size) / width;  // inf, NaN or 0 where all values are one bin's: slow, and still right
    }
    last_ = size - 1;
    starts_.assign(size + 1, 0);
    for (i64 i = 0; i < count; i++) starts_[of(rising[i]) + 1]++;
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  }

  // How many values are less than the score; anything for NaN.
  GRAPHGAUGE_INLINE i64 place(T score) const {
    const i64 bin = of(score);
    i64 first = starts_[bin], last = starts_[bin + 1];
    while (first < last) {
      const i64 middle = (first + last) / 2;
      if (rising_[middle] < score) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }

 private:
  GRAPHGAUGE_INLINE i64 of(T score) const {
    const double position = (double(score) - low_) * scale_;
    return position > 0 ? (position >= double(last_) ? last_ : static_cast<i64>(position)) : 0;  // NaN is in the first
  }

  const T* rising_;
  double low_ = 0, scale_ = 0;
  i64 last_;
  std::vector<i32> starts_;  // the values of bin b are starts[b] to starts[b + 1] - 1
};

}  // namespace graphgauge
