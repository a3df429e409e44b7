#include "ensembles.hpp"

#include <cmath>
#include <limits>
#include <mutex>

namespace graphgauge {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// Cells that are handled side by side, in all and in a chunk for a thread; more members than this are sorted singly.
constexpr i64 LANES = 32;
constexpr i64 CHUNK = 256;
constexpr i64 MANY = 1024;
// Standardised truths that are placed side by side, and equal steps between the outermost edges of bins.
constexpr i64 WIDTH = 128;
constexpr i64 STEPS = 1024;

// ----------------------------------------------------------------------------------------------- truths among members

struct Pair {
  i32 low, high;
};

// The comparisons that sort any `count` numbers (Batcher's odd-even merge sort, Knuth 5.2.2 M).
std::vector<Pair> sorting_network(i64 count) {
  std::vector<Pair> pairs;
  i64 top = 1;
  while (2 * top < count) top *= 2;
  for (i64 p = top; p > 0; p /= 2) {
    i64 q = top, r = 0, d = p;
    while (true) {
      for (i64 i = 0; i + d < count; i++) {
        if ((i & p) == r) pairs.push_back({i32(i), i32(i + d)});
      }
      if (q == p) break;
      d = q - p, q /= 2, r = p;
    }
  }
  return pairs;
}

// Some cells, side by side: sorted[member * LANES + cell].
template <class T>
GRAPHGAUGE_INLINE void sort_lanes(const std::vector<Pair>& network, T* sorted) {
  for (const Pair& pair : network) {
    T *__restrict low = sorted + pair.low * LANES, *__restrict high = sorted + pair.high * LANES;
    for (i64 i = 0; i < LANES; i++) {
      const T one = low[i], two = high[i];
      low[i] = two < one ? two : one;
      high[i] = two < one ? one : two;
    }
  }
}

template <class T>
GRAPHGAUGE_INLINE void score_lanes(const T* sorted, const double* y, i64 count, double* away, double* apart) {
  double sum[LANES] = {}, spread[LANES] = {};
  for (i64 k = 0; k < count; k++) {
    const double factor = double(2 * k - (count - 1));  // how many are below a member less how many are above
    for (i64 i = 0; i < LANES; i++) {
      const double distance = double(sorted[k * LANES + i]) - y[i];
      sum[i] += std::fabs(distance);
      spread[i] += factor * distance;
    }
  }
  const double members = double(count);
  for (i64 i = 0; i < LANES; i++) away[i] = sum[i] / members, apart[i] = spread[i];
}

GRAPHGAUGE_CLONES void sort_and_score(const std::vector<Pair>& network, float* sorted, const double* y, i64 count,
                                      double* away, double* apart) {
  sort_lanes(network, sorted);
  score_lanes(sorted, y, count, away, apart);
}
GRAPHGAUGE_CLONES void sort_and_score(const std::vector<Pair>& network, double* sorted, const double* y, i64 count,
                                      double* away, double* apart) {
  sort_lanes(network, sorted);
  score_lanes(sorted, y, count, away, apart);
}

// f(first cell, number of cells) for chunks of cells.
template <class F>
void in_chunks(i64 cells, int threads, F&& f) {
  parallel((cells + CHUNK - 1) / CHUNK, threads,
           [&](i64 chunk) { f(chunk * CHUNK, std::min(CHUNK, cells - chunk * CHUNK)); });
}

// ------------------------------------------------------------------------------------------- truths in a distribution

// Edges, and for equal steps from the first to the last the first edge that a number of that step may not exceed.
struct Edges {
  std::vector<double> edges;
  std::vector<i32> starts;
  double low, scale;
  i64 looks = 0;  // how many edges it may exceed from there on

  Edges(const double* given, i64 count) : edges(given, given + count), starts(STEPS + 1), low(given[0]) {
    const double span = given[count - 1] - low;
    scale = span > 0 ? STEPS / span : 1.0;
    for (i64 step = 0; step <= STEPS; step++) {  // a step earlier and later, because of rounding
      const double first = low + double(step - 1) / scale, last = low + double(step + 2) / scale;
      starts[step] = i32(std::lower_bound(given, given + count, first) - given);
      const i64 end = step == STEPS ? count : std::upper_bound(given, given + count, last) - given;
      looks = std::max(looks, end - starts[step]);
    }
    edges.push_back(INFINITE);
  }
};

template <class T>
GRAPHGAUGE_INLINE void bin_row(const Forecasts<T>& of, i64 cell, i64 width, const Edges& edges, i32* bins) {
  double z[WIDTH];
  const T *y = of.y + cell, *mean = of.mean + cell, *std = of.std + cell;
  for (i64 i = 0; i < width; i++) {
    const double score = (double(y[i]) - double(mean[i])) / double(std[i]);
    z[i] = score == score ? score : INFINITE;
  }
  const double low = edges.low, scale = edges.scale;
  for (i64 i = 0; i < width; i++) {
    const double position = (z[i] - low) * scale;
    bins[i] = static_cast<i32>(position > 0 ? (position < STEPS ? position : double(STEPS)) : 0.0);
  }
  const i32* starts = edges.starts.data();
  const double* sorted = edges.edges.data();
  for (i64 i = 0; i < width; i++) bins[i] = starts[bins[i]];
  for (i64 look = 0; look < edges.looks; look++) {
    for (i64 i = 0; i < width; i++) bins[i] += sorted[bins[i]] < z[i];
  }
}
GRAPHGAUGE_CLONES void bins_of(const Forecasts<float>& of, i64 cell, i64 width, const Edges& edges, i32* bins) {
  bin_row(of, cell, width, edges, bins);
}
GRAPHGAUGE_CLONES void bins_of(const Forecasts<double>& of, i64 cell, i64 width, const Edges& edges, i32* bins) {
  bin_row(of, cell, width, edges, bins);
}

}  // namespace

template <class T>
void member_scores(const T* y, const T* members, i64 cells, i64 count, const MemberScores& to, int threads) {
  const std::vector<Pair> network = count <= MANY ? sorting_network(count) : std::vector<Pair>();
  in_chunks(cells, threads, [&](i64 begin, i64 some) {
    std::vector<T> sorted(count * LANES), one(count);
    for (i64 first = begin; first < begin + some; first += LANES) {
      const i64 width = std::min(LANES, begin + some - first);
      double truth[LANES] = {}, away[LANES], apart[LANES];
      for (i64 i = 0; i < LANES; i++) {  // the last cell fills lanes without one
        const i64 cell = first + std::min(i, width - 1);
        const T* of_cell = members + cell * count;
        truth[i] = double(y[cell]);
        if (count > MANY) {
          std::copy_n(of_cell, count, one.begin());
          std::sort(one.begin(), one.end(), [](T a, T b) { return a < b || (a == a && b != b); });
          of_cell = one.data();
        }
        for (i64 k = 0; k < count; k++) sorted[k * LANES + i] = of_cell[k];
      }
      sort_and_score(network, sorted.data(), truth, count, away, apart);
      std::copy_n(away, width, to.away + first);
      std::copy_n(apart, width, to.apart + first);
      for (i64 place = 0; place < to.place_count; place++) {
        const i64 before = std::min(i64(to.places[place] + 1e-9), count - 2);
        const double rest = to.places[place] - double(before);
        for (i64 i = 0; i < width; i++) {
          const double low = sorted[before * LANES + i], high = sorted[(before + 1) * LANES + i];
          to.quantiles[place * cells + first + i] = low + rest * (high - low);
        }
      }
    }
  });
}

template <class T>
void add_positions(const Forecasts<T>& of, const Grid& grid, const double* edges, i64 count, i64* by_horizon,
                   i32* by_node, int threads) {
  const Edges sorted(edges, count);
  const i64 bins = count + 1, size = grid.blocks() * grid.horizons * bins;
  // Threads have nodes of their own, and add up what they count by horizon for themselves.
  const i64 chunks = std::clamp<i64>(grid.nodes / 32, 1, 16);
  std::mutex lock;
  by_thread(chunks, threads, [&](auto next) {
    std::vector<i64> counted(size);
    i32 places[WIDTH];
    for (i64 chunk; (chunk = next()) < chunks;) {
      const i64 first = grid.nodes * chunk / chunks, last = grid.nodes * (chunk + 1) / chunks;
      for (i64 row = 0; row < grid.steps * grid.horizons; row++) {
        const i64 group = grid.block(row / grid.horizons) * grid.horizons + row % grid.horizons;
        i64* counts = counted.data() + group * bins;
        for (i64 start = first; start < last; start += WIDTH) {
          const i64 width = std::min(WIDTH, last - start), cell = row * grid.nodes + start;
          bins_of(of, cell, width, sorted, places);
          for (i64 i = 0; i < width; i++) {
            if (of.mask && !of.mask[cell + i]) continue;
            counts[places[i]]++;
            by_node[(start + i) * bins + places[i]]++;
          }
        }
      }
    }
    const std::lock_guard<std::mutex> hold(lock);
    for (i64 i = 0; i < size; i++) by_horizon[i] += counted[i];
  });
}

#define GRAPHGAUGE_FLOATS(T)                                                                                    \
  template void member_scores<T>(const T*, const T*, i64, i64, const MemberScores&, int);                       \
  template void add_positions<T>(const Forecasts<T>&, const Grid&, const double*, i64, i64*, i32*, int);
GRAPHGAUGE_FLOATS(float)
GRAPHGAUGE_FLOATS(double)
#undef GRAPHGAUGE_FLOATS

}  // namespace graphgauge
