#include "curves.hpp"

#include <numeric>

namespace graphgauge {
namespace {

constexpr i64 CHUNK = i64(1) << 18;

// Bins of equal width over the values: a score is compared only with the values of its bin.
struct Bins {
  double low = 0, scale = 0;
  std::vector<i32> starts;  // the values of bin b are starts[b] to starts[b + 1] - 1

  GRAPHGAUGE_INLINE i64 of(double score) const {
    const double position = (score - low) * scale;
    const auto last = static_cast<i64>(starts.size()) - 2;
    return position > 0 ? (position >= double(last) ? last : static_cast<i64>(position)) : 0;  // NaN is in the first
  }

  template <class T>
  static Bins over(const T* rising, i64 count) {
    constexpr i64 per_value = 16, most = i64(1) << 18;
    Bins bins;
    const i64 size = std::clamp<i64>(per_value * count, 1, most);
    if (count) {
      // Without the outermost values: one far outlier would push all others into one bin.
      const i64 margin = count / 64;
      bins.low = double(rising[margin]);
      const double width = double(rising[count - 1 - margin]) - bins.low;
      bins.scale = double(size) / width;  // inf, NaN or 0 where all values are one bin's: slow, and still right
    }
    bins.starts.assign(size + 1, 0);
    for (i64 i = 0; i < count; i++) bins.starts[bins.of(double(rising[i])) + 1]++;
    std::partial_sum(bins.starts.begin(), bins.starts.end(), bins.starts.begin());
    return bins;
  }
};

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
  const Bins bins = Bins::over(rising, count);
  // Cell 2i + 1 counts the scores equal to rising[i], cell 2i those in the gap before it.
  std::vector<i64> cells(2 * count + 1, 0);
  i64 missing = 0;
  std::mutex lock;
  const i64 chunks = std::max<i64>(1, std::min<i64>(size / CHUNK, 4 * i64(threads)));
  parallel(chunks, threads, [&](i64 chunk) {
    std::vector<i64> own(cells.size(), 0);
    i64 own_missing = 0;
    for (i64 i = size * chunk / chunks; i < size * (chunk + 1) / chunks; i++) {
      const T score = scores[i];
      const i64 bin = bins.of(double(score));
      const i64 place = std::lower_bound(rising + bins.starts[bin], rising + bins.starts[bin + 1], score) - rising;
      if (score != score) {
        own_missing++;
      } else {
        own[2 * place + (place < count && rising[place] == score)]++;
      }
    }
    const std::lock_guard<std::mutex> hold(lock);
    for (std::size_t cell = 0; cell < cells.size(); cell++) cells[cell] += own[cell];
    missing += own_missing;
  });
  for (i64 i = count - 1, above = cells[2 * count]; i >= 0; i--) {
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
