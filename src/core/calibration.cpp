#include "calibration.hpp"

#include <bit>
#include <limits>

namespace graphgauge {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr i64 AT_ONCE = 512;
// Equal steps between the outermost edges, to find the approximate bin of a number.
constexpr i64 STEPS = 1024;

template <class T>
GRAPHGAUGE_INLINE void standardize(const NormalForecasts<T>& of, i64 cell, i64 width, double low, double scale,
                                   double* z, i32* near) {
  for (i64 i = 0; i < width; i++) {
    const double score = (double(of.y[cell + i]) - double(of.mean[cell + i])) / double(of.std[cell + i]);
    z[i] = score == score ? score : INFINITE;
  }
  for (i64 i = 0; i < width; i++) {
    const double position = (z[i] - low) * scale;
    near[i] = static_cast<i32>(position > 0 ? (position < STEPS ? position : double(STEPS)) : 0.0);
  }
}
GRAPHGAUGE_CLONES void scores_of(const NormalForecasts<float>& of, i64 cell, i64 width, double low, double scale,
                                 double* z, i32* near) {
  standardize(of, cell, width, low, scale, z, near);
}
GRAPHGAUGE_CLONES void scores_of(const NormalForecasts<double>& of, i64 cell, i64 width, double low, double scale,
                                 double* z, i32* near) {
  standardize(of, cell, width, low, scale, z, near);
}

void finish(double& high, double& low) {
  Sum sum{high, 0};
  sum.add(low);
  high = sum.high, low = sum.low;
}

GRAPHGAUGE_INLINE void add(double value, double& high, double& low) {
  Sum sum{high, low};
  sum.add(value);
  high = sum.high, low = sum.low;
}

}  // namespace

template <class T>
void add_positions(const NormalForecasts<T>& of, const double* edges, i64 count, i64* by_horizon, i32* by_node) {
  const double low = edges[0], span = edges[count - 1] - edges[0], scale = span > 0 ? STEPS / span : 1.0;
  // The first edge that a number of this step may not exceed; one step earlier, because of rounding.
  std::vector<i64> starts(STEPS + 1);
  for (i64 step = 0; step <= STEPS; step++) {
    starts[step] = std::lower_bound(edges, edges + count, low + double(step - 1) / scale) - edges;
  }
  const i64 bins = count + 1;
  double z[AT_ONCE];
  i32 near[AT_ONCE];
  for (i64 row = 0; row < of.steps * of.horizons; row++) {
    const i64 block = row / of.horizons * of.blocks / of.steps;
    i64* counts = by_horizon + (block * of.horizons + row % of.horizons) * bins;
    for (i64 start = 0; start < of.nodes; start += AT_ONCE) {
      const i64 width = std::min(AT_ONCE, of.nodes - start), cell = row * of.nodes + start;
      scores_of(of, cell, width, low, scale, z, near);
      for (i64 i = 0; i < width; i++) {
        if (of.mask && !of.mask[cell + i]) continue;
        i64 bin = starts[near[i]];
        while (bin < count && edges[bin] < z[i]) bin++;
        counts[bin]++;
        by_node[(start + i) * bins + bin]++;
      }
    }
  }
}

template <class T>
void sums_by_key(const NormalForecasts<T>& of, i64 horizon, i64 lowest, i64 keys, double* sums) {
  std::fill(sums, sums + 8 * keys, 0.0);
  for (i64 step = 0; step < of.steps; step++) {
    const i64 row = (step * of.horizons + horizon) * of.nodes;
    for (i64 cell = row; cell < row + of.nodes; cell++) {
      const double std = of.std[cell], error = double(of.mean[cell]) - double(of.y[cell]), var = std * std;
      const i64 key = (std::bit_cast<i64>(std) >> KEY_SHIFT) - lowest;
      if (key < 0 || key >= keys || (of.mask && !of.mask[cell])) continue;
      double* of_key = sums + 8 * key;
      add(error * error, of_key[0], of_key[4]);
      add(var, of_key[1], of_key[5]);
      add(var * var, of_key[2], of_key[6]);
      of_key[3]++;
    }
  }
  for (i64 key = 0; key < keys; key++) {
    for (i64 k = 8 * key; k < 8 * key + 3; k++) finish(sums[k], sums[k + 4]);
  }
}

template <class T>
void excess_by_block(const NormalForecasts<T>& of, double* high, double* low) {
  constexpr i64 first = (1023 - 32) * 16;
  std::fill(high, high + of.blocks * RANGES, 0.0);
  std::fill(low, low + of.blocks * RANGES, 0.0);
  const i64 period = of.horizons * of.nodes;
  for (i64 step = 0; step < of.steps; step++) {
    const i64 block = step * of.blocks / of.steps * RANGES;
    for (i64 cell = step * period; cell < (step + 1) * period; cell++) {
      const double std = of.std[cell], error = double(of.mean[cell]) - double(of.y[cell]);
      if ((of.mask && !of.mask[cell]) || !(std > 0 && std < INFINITE)) continue;
      const i64 at = block + std::clamp<i64>((std::bit_cast<i64>(std) >> 48) - first, 0, RANGES - 1);
      add(error * error - std * std, high[at], low[at]);
    }
  }
  for (i64 i = 0; i < of.blocks * RANGES; i++) finish(high[i], low[i]);
}

#define GRAPHGAUGE_FLOATS(T)                                                                 \
  template void add_positions<T>(const NormalForecasts<T>&, const double*, i64, i64*, i32*); \
  template void sums_by_key<T>(const NormalForecasts<T>&, i64, i64, i64, double*);           \
  template void excess_by_block<T>(const NormalForecasts<T>&, double*, double*);
GRAPHGAUGE_FLOATS(float)
GRAPHGAUGE_FLOATS(double)
#undef GRAPHGAUGE_FLOATS

}  // namespace graphgauge
