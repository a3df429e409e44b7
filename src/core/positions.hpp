// Where truths lie in normal distributions: among quantiles of the standard one.
#pragma once

#include "curves.hpp"
#include "forecast.hpp"

namespace graphgauge {

// Truths that are placed side by side.
constexpr i64 PLACED = 128;

// The number of values below (y - mean) / std of each cell; NaN is above all.
template <class T>
GRAPHGAUGE_INLINE void place_row(const Forecasts<T>& of, i64 cell, i64 width, const Placing<double>& placing,
                                 i32* places) {
  double z[PLACED];
  const T *y = of.y + cell, *mean = of.mean + cell, *std = of.std + cell;
  for (i64 i = 0; i < width; i++) {
    const double score = (double(y[i]) - double(mean[i])) / double(std[i]);
    z[i] = score == score ? score : INFINITE;
  }
  placing.place(z, width, places);
}
#define GRAPHGAUGE_FORECASTS(T)                                                                                 \
  GRAPHGAUGE_CLONES void places_of(const Forecasts<T>& of, i64 cell, i64 width, const Placing<double>& placing, \
                                   i32* places) {                                                               \
    place_row(of, cell, width, placing, places);                                                                \
  }
GRAPHGAUGE_FORECASTS(float)
GRAPHGAUGE_FORECASTS(double)
#undef GRAPHGAUGE_FORECASTS

// Adds to `by_horizon` (block, horizon, bin) and `by_node` (node, bin) the cells by the number of edges below
// (y - mean) / std; NaN is above all. The edges rise.
template <class T>
void add_positions(const Forecasts<T>& of, const Grid& grid, const double* edges, i64 count, i64* by_horizon,
                   i32* by_node, int threads) {
  Placing<double> placing;
  placing.start(edges, count, grid.steps * grid.period());
  const i64 bins = count + 1, size = grid.blocks() * grid.horizons * bins;
  // Threads have nodes of their own, and add up what they count by horizon for themselves.
  const i64 chunks = std::clamp<i64>(grid.nodes / 32, 1, 16);
  std::mutex lock;
  by_thread(chunks, threads, [&](auto next) {
    std::vector<i64> counted(size);
    i32 places[PLACED];
    for (i64 chunk; (chunk = next()) < chunks;) {
      const i64 first = grid.nodes * chunk / chunks, last = grid.nodes * (chunk + 1) / chunks;
      for (i64 row = 0; row < grid.steps * grid.horizons; row++) {
        const i64 group = grid.block(row / grid.horizons) * grid.horizons + row % grid.horizons;
        i64* counts = counted.data() + group * bins;
        for (i64 start = first; start < last; start += PLACED) {
          const i64 width = std::min(PLACED, last - start), cell = row * grid.nodes + start;
          places_of(of, cell, width, placing, places);
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

}  // namespace graphgauge
