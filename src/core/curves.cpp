#include "curves.hpp"

#include <bit>
#include <limits>
#include <numeric>

namespace graphgauge {
namespace {

constexpr i64 CHUNK = i64(1) << 18;
constexpr i64 BLOCK = 256;

// Bins of equal width over values that rise strictly. A score is compared only with the values of its bin, without a
// branch: all scores take as many steps as the fullest bin needs, and values after a bin are greater than its scores.
template <class T>
class Bins {
 public:
  // There are no more bins than scores to be placed.
  Bins(const T* rising, i64 count, i64 scores) : rising_(rising, rising + count) {
    constexpr i64 per_value = 4, most = i64(1) << 18;
    const i64 size = std::max<i64>(1, std::min({per_value * count, scores, most}));
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
    rising_.resize(count + 2 * half_ + 1, std::numeric_limits<T>::max());
    if constexpr (std::numeric_limits<T>::has_infinity) {
      std::fill(rising_.begin() + count, rising_.end(), std::numeric_limits<T>::infinity());
    }
  }

  // For each score, the number of values that are less; anything for NaN.
  GRAPHGAUGE_INLINE void place(const T* scores, i64 size, i32* places) const {
    const i32* starts = starts_.data();
    const T* rising = rising_.data();
    const double low = low_, scale = scale_, last = last_;
    for (i64 i = 0; i < size; i++) places[i] = bin_of(double(scores[i]), low, scale, last);
    for (i64 i = 0; i < size; i++) places[i] = starts[places[i]];
    for (i64 half = half_; half > 0; half /= 2) {
      const auto step = static_cast<i32>(half);
      for (i64 i = 0; i < size; i++) places[i] += rising[places[i] + step - 1] < scores[i] ? step : 0;
    }
  }

  const T* rising() const { return rising_.data(); }

 private:
  static GRAPHGAUGE_INLINE i32 bin_of(double score, double low, double scale, double last) {
    const double position = (score - low) * scale;
    const double reached = position > 0 ? position : 0;  // NaN is in the first bin
    return static_cast<i32>(reached < last ? reached : last);
  }

  std::vector<T> rising_;
  double low_ = 0, scale_ = 0, last_ = 0;
  i64 half_ = 0;
  std::vector<i32> starts_;  // the values of bin b are starts[b] to starts[b + 1] - 1
};

#define GRAPHGAUGE_SCORES(T)                                                                     \
  GRAPHGAUGE_CLONES void place_of(const Bins<T>& bins, const T* scores, i64 size, i32* places) { \
    bins.place(scores, size, places);                                                            \
  }
GRAPHGAUGE_SCORES(float)
GRAPHGAUGE_SCORES(double)
GRAPHGAUGE_SCORES(i32)
GRAPHGAUGE_SCORES(i64)
GRAPHGAUGE_SCORES(u64)
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
i64 placed_counts(const T* rising, i64 count, const T* scores, i64 size, i64* greater, i64* equal, int threads) {
  const Bins bins(rising, count, size);
  // Cell 2i + 1 counts the scores equal to rising[i], cell 2i those in the gap before it; the last two, those above
  // all.
  std::vector<i64> cells(2 * count + 2, 0);
  i64 missing = 0;
  std::mutex lock;
  const i64 chunks = std::max<i64>(1, std::min<i64>(size / CHUNK, 4 * i64(threads)));
  parallel(chunks, threads, [&](i64 chunk) {
    std::vector<i64> own(cells.size(), 0);
    i64 own_missing = 0;
    const i64 last = size * (chunk + 1) / chunks;
    i32 places[BLOCK];
    for (i64 start = size * chunk / chunks; start < last; start += BLOCK) {
      const i64 length = std::min(BLOCK, last - start);
      place_of(bins, scores + start, length, places);
      for (i64 i = 0; i < length; i++) {
        const T score = scores[start + i];
        own_missing += score != score;
        own[2 * i64(places[i]) + (bins.rising()[places[i]] == score)] += score == score;
      }
    }
    const std::lock_guard<std::mutex> hold(lock);
    for (std::size_t cell = 0; cell < cells.size(); cell++) cells[cell] += own[cell];
    missing += own_missing;
  });
  for (i64 i = count - 1, above = cells[2 * count] + cells[2 * count + 1]; i >= 0; i--) {
    greater[i] = above;
    equal[i] = cells[2 * i + 1];
    above += cells[2 * i + 1] + cells[2 * i];
  }
  return missing;
}

#define GRAPHGAUGE_SCORES(T)                                                     \
  template i64 distinct_values<T>(const T*, i64, T*, i64*);                      \
  template void merged_counts<T>(const T*, i64, const T*, i64, i64*, i64*, int); \
  template i64 placed_counts<T>(const T*, i64, const T*, i64, i64*, i64*, int);
GRAPHGAUGE_SCORES(float)
GRAPHGAUGE_SCORES(double)
GRAPHGAUGE_SCORES(i32)
GRAPHGAUGE_SCORES(i64)
GRAPHGAUGE_SCORES(u64)
#undef GRAPHGAUGE_SCORES

}  // namespace graphgauge
