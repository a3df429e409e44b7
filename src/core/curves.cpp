#include "curves.hpp"

#include "bins.hpp"

namespace graphgauge {
namespace {

constexpr i64 CHUNK = i64(1) << 18;

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
      const i64 place = bins.place(score);
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
