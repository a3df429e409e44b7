// Sums over forecasts and truths, by time block and horizon and by node.
#pragma once

#include <bit>
#include <cmath>
#include <limits>
#include <memory>

#include "common.hpp"
#include "gaussian.hpp"

namespace graphgauge {

// Cells (step, horizon, node), one after the other. Step i is number `first` + i in time, and in the block of this
// number over `length`; blocks are longer where sums are by node. Blocks and places count from 0, in their order.
struct Grid {
  i64 steps, horizons, nodes;
  i64 first, length, node_length;

  i64 period() const { return horizons * nodes; }
  i64 block(i64 step) const { return (first + step) / length - first / length; }
  i64 place(i64 step) const { return (first + step) / node_length - first / node_length; }
  i64 blocks() const { return steps ? block(steps - 1) + 1 : 0; }
  i64 places() const { return steps ? place(steps - 1) + 1 : 0; }
  // The step at which a block begins.
  i64 start(i64 block) const { return std::max<i64>((first / length + block) * length - first, 0); }
};

// For each block and group of cells: sums (block, sum, group) as high + low, and counts (block, count, group).
struct Totals {
  double *high, *low;
  i64* counts;
};

// What a cell adds to the sums, with the error e = mean - y.
enum class Term { abs, square, error, y, y2, abs_y, ape, sape, std, var, nll, crps, over };
// The first terms, which are always summed.
constexpr i64 POINTS = 6;
constexpr u32 POINT_TERMS = (1u << POINTS) - 1;

// Truths and forecasts; of those that the mask hides, nothing is seen. std and mask may be null.
template <class T>
struct Forecasts {
  const T *y, *mean, *std;
  const bool* mask;
  // The terms that are summed, as bits: the first POINTS, and those that need a std only where there is one.
  u32 asked;
  // Half-widths of intervals, in standard deviations.
  const double* widths;
  i64 levels;

  bool asks(Term term) const { return asked >> static_cast<int>(term) & 1; }
  i64 sums() const {
    constexpr u32 over = 1u << static_cast<int>(Term::over);
    return std::popcount(asked & (over - 1)) + (asked & over ? levels : 0);
  }
  i64 counts() const { return 3 + levels; }
  // Whether a sum or count, in this order, is not known beforehand.
  bool uses(i64 column) const {
    const bool known[] = {!mask, !asks(Term::ape), !std};
    return column < sums() || column >= sums() + 3 || !known[column - sums()];
  }
};

// Sums that are added up side by side, of so many rows at once: those of a few quantities stay in the nearest cache.
constexpr i64 LANES = 128;
constexpr int TOGETHER = 4;
// Rows of lanes that are added up before they are added to the sums of blocks and nodes.
constexpr i64 ROWS = 64;
// Cells that one chunk reads, nodes that it reads at most, and chunks at most that have sums of the same node.
constexpr i64 NODES = 1024;
constexpr i64 SHARING = 16;
// Sums of a horizon that are kept beside each other until a block ends.
constexpr i64 BESIDE = 32;

// ------------------------------------------------------------------------------------------------------ rows of a tile

// high + low += more + more_low.
GRAPHGAUGE_INLINE void add_pairs(double* __restrict high, double* __restrict low, const double* __restrict more,
                                 const double* __restrict more_low, i64 width) {
  for (i64 i = 0; i < width; i++) {
    const double sum = high[i] + more[i], part = sum - high[i];
    low[i] += more_low[i] + ((high[i] - (sum - part)) + (more[i] - part));
    high[i] = sum;
  }
}

// Rows of cells of the same width, side by side. mask is null if all cells are seen.
template <class T>
struct Quad {
  const T *y[TOGETHER], *mean[TOGETHER], *std[TOGETHER];
  const u8* mask[TOGETHER];
  i64 width;
};

// The same as numbers to compute with. A cell that is hidden is 0, with a std of 1.
struct Rows {
  double seen[TOGETHER][LANES], truth[TOGETHER][LANES], forecast[TOGETHER][LANES], error[TOGETHER][LANES];
  double deviation[TOGETHER][LANES], ratio[TOGETHER][LANES];
  // What takes more than a few operations: the sum over all rows.
  double score[LANES];
};

// How the values of all rows of a lane are added to its sum: one by one, which loses nothing; or first to each other,
// which loses nothing of 24 bits unless they are 2**27 apart, and little of what was rounded before.
enum class Adding { one_by_one, together };
template <class T>
constexpr Adding LINEAR = sizeof(T) == 4 ? Adding::together : Adding::one_by_one;

// high + low += a + b + c + d.
template <Adding How>
GRAPHGAUGE_INLINE void add_four(double& high, double& low, double a, double b, double c, double d) {
  Sum total{high, low};
  if constexpr (How == Adding::together) {
    total.add((a + b) + (c + d));
  } else {
    total.add(a), total.add(b), total.add(c), total.add(d);
  }
  high = total.high, low = total.low;
}

// The sums of some lanes, while they are added up, column by column.
class Tile {
 public:
  explicit Tile(i64 columns) : sums_(2 * columns * LANES) {}
  GRAPHGAUGE_INLINE double* high(i64 column) { return sums_.data() + 2 * column * LANES; }
  GRAPHGAUGE_INLINE double* low(i64 column) { return high(column) + LANES; }
  void clear() { std::fill(sums_.begin(), sums_.end(), 0.0); }

  // Add value(row, lane) of all rows.
  template <Adding How, class Value>
  GRAPHGAUGE_INLINE void add(i64 column, i64 width, const Value& value) {
    double *high = this->high(column), *low = this->low(column);
    for (i64 i = 0; i < width; i++) add_four<How>(high[i], low[i], value(0, i), value(1, i), value(2, i), value(3, i));
  }
  // Add what was added up over the rows.
  GRAPHGAUGE_INLINE void add_scores(i64 column, i64 width, const double* score) {
    double *high = this->high(column), *low = this->low(column);
    for (i64 i = 0; i < width; i++) {
      Sum total{high[i], low[i]};
      total.add(score[i]);
      high[i] = total.high, low[i] = total.low;
    }
  }
  // Add whole numbers, which are exact.
  template <class Value>
  GRAPHGAUGE_INLINE void count(i64 column, i64 width, const Value& value) {
    double* high = this->high(column);
    for (i64 i = 0; i < width; i++) high[i] += (value(0, i) + value(1, i)) + (value(2, i) + value(3, i));
  }

 private:
  std::vector<double> sums_;
};

// What is added for a cell of some rows: its truth y, forecast f, error e and std s; `half` is a half-width.
#define GRAPHGAUGE_VALUE(Name, value)                                                   \
  struct Name {                                                                         \
    const Rows& rows;                                                                   \
    double half = 0;                                                                    \
    GRAPHGAUGE_INLINE double operator()(int row, i64 i) const {                         \
      [[maybe_unused]] const double y = rows.truth[row][i], f = rows.forecast[row][i];  \
      [[maybe_unused]] const double e = rows.error[row][i], s = rows.deviation[row][i]; \
      [[maybe_unused]] const double seen = rows.seen[row][i];                           \
      return value;                                                                     \
    }                                                                                   \
  };
GRAPHGAUGE_VALUE(Nonzero, y != 0 ? 1.0 : 0.0)
GRAPHGAUGE_VALUE(Ape, std::fabs(e) / (y != 0 ? std::fabs(y) : INFINITE))
GRAPHGAUGE_VALUE(Sape, 2 * std::fabs(e) / (std::fabs(y) + std::fabs(f) > 0 ? std::fabs(y) + std::fabs(f) : 1.0))
GRAPHGAUGE_VALUE(Bad, s > 0 && s < INFINITE ? 0.0 : 1.0)
GRAPHGAUGE_VALUE(Std, s* seen)
GRAPHGAUGE_VALUE(Var, (s * seen) * (s * seen))
GRAPHGAUGE_VALUE(Inside, std::fabs(e) <= half * s ? seen : 0.0)
GRAPHGAUGE_VALUE(Over, std::fabs(e) - half * s <= 0 ? 0.0 : std::fabs(e) - half * s)
#undef GRAPHGAUGE_VALUE

GRAPHGAUGE_INLINE void gaussian_nll(Rows& rows, i64 width) {
  const auto &std = rows.deviation, &z = rows.ratio, &seen = rows.seen;
  for (i64 i = 0; i < width; i++) {
    const double squares = (z[0][i] * z[0][i] + z[1][i] * z[1][i]) + (z[2][i] * z[2][i] + z[3][i] * z[3][i]);
    const double cells = (seen[0][i] + seen[1][i]) + (seen[2][i] + seen[3][i]);
    rows.score[i] = (logarithm(std[0][i], std[1][i], std[2][i], std[3][i]) + 0.5 * squares) + HALF_LOG_2PI * cells;
  }
}

GRAPHGAUGE_INLINE void gaussian_crps(Rows& rows, i64 width) {
  double near[LANES], falling[LANES];
  std::fill_n(rows.score, width, 0.0);
  for (int row = 0; row < TOGETHER; row++) {
    const double *ratio = rows.ratio[row], *error = rows.error[row], *std = rows.deviation[row], *seen = rows.seen[row];
    for (i64 i = 0; i < width; i++) {
      const double away = std::fabs(ratio[i]);
      near[i] = away > FAR ? FAR : away;
      falling[i] = exponential(-0.5 * (near[i] * near[i]));
    }
    for (i64 i = 0; i < width; i++) {
      const double tail = polynomial(TAIL, 26.0 / 9.0 * near[i] / (near[i] + 4) - 1);
      rows.score[i] += std::fabs(error[i]) + std[i] * seen[i] * (falling[i] * tail - INVERSE_SQRT_PI);
    }
  }
}

// The bits of a number where it is seen, of another where it is hidden.
template <class T>
GRAPHGAUGE_INLINE T shown(T value, u8 seen, T otherwise) {
  using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
  const Bits kept = Bits(0) - Bits(seen);
  return std::bit_cast<T>((std::bit_cast<Bits>(value) & kept) | (std::bit_cast<Bits>(otherwise) & ~kept));
}

template <bool MASKED, class T>
GRAPHGAUGE_INLINE double number(const T* from, [[maybe_unused]] const u8* mask, i64 i, T otherwise) {
  if constexpr (MASKED) return static_cast<double>(shown(from[i], mask[i], otherwise));
  return static_cast<double>(from[i]);
}

// Read one row, and what else is asked for: forecasts or standard deviations.
template <bool MASKED, class T>
GRAPHGAUGE_INLINE void read_row(const Quad<T>& cells, int row, bool forecasts, Rows& rows) {
  const T* __restrict y = cells.y[row];
  const T* __restrict mean = cells.mean[row];
  const T* __restrict std = cells.std[row];
  const u8* __restrict mask = cells.mask[row];
  double* __restrict truth = rows.truth[row];
  double* __restrict error = rows.error[row];
  double* __restrict seen = rows.seen[row];
  double* __restrict ratio = rows.ratio[row];
  double* __restrict forecast = rows.forecast[row];
  double* __restrict deviation = rows.deviation[row];
  const i64 width = cells.width;
  // The processor does not foresee so many rows: what comes next in these is fetched.
  for (i64 i = 0; i < width; i += 64 / sizeof(T)) GRAPHGAUGE_AHEAD(y + width + i), GRAPHGAUGE_AHEAD(mean + width + i);
  for (i64 i = 0; i < width; i++) {
    const double value = number<MASKED>(y, mask, i, T(0));
    truth[i] = value, error[i] = number<MASKED>(mean, mask, i, T(0)) - value;
  }
  for (i64 i = 0; i < width && forecasts; i++) forecast[i] = number<MASKED>(mean, mask, i, T(0));
  if (!std) return;
  for (i64 i = 0; i < width; i++) {
    const double spread = number<MASKED>(std, mask, i, T(1));
    deviation[i] = spread, ratio[i] = error[i] / spread;
    seen[i] = MASKED ? static_cast<double>(static_cast<i32>(mask[i])) : 1.0;
  }
}

// The sums of the first POINTS terms, which are made in one pass, each with high and low parts of all lanes.
template <class T>
GRAPHGAUGE_INLINE void add_points(const Rows& rows, i64 width, double* __restrict sums) {
  constexpr Adding EXACT = Adding::one_by_one;
  double(*to)[2][LANES] = reinterpret_cast<double(*)[2][LANES]>(sums);
  for (i64 i = 0; i < width; i++) {
    const double a = rows.truth[0][i], b = rows.truth[1][i], c = rows.truth[2][i], d = rows.truth[3][i];
    const double e = rows.error[0][i], f = rows.error[1][i], g = rows.error[2][i], h = rows.error[3][i];
    add_four<LINEAR<T>>(to[0][0][i], to[0][1][i], std::fabs(e), std::fabs(f), std::fabs(g), std::fabs(h));
    add_four<EXACT>(to[1][0][i], to[1][1][i], e * e, f * f, g * g, h * h);
    add_four<LINEAR<T>>(to[2][0][i], to[2][1][i], e, f, g, h);
    add_four<LINEAR<T>>(to[3][0][i], to[3][1][i], a, b, c, d);
    add_four<EXACT>(to[4][0][i], to[4][1][i], a * a, b * b, c * c, d * d);
    if constexpr (sizeof(T) > 4) {  // squares of floats are exact; those of doubles are not
      to[4][1][i] +=
          (std::fma(a, a, -(a * a)) + std::fma(b, b, -(b * b))) + (std::fma(c, c, -(c * c)) + std::fma(d, d, -(d * d)));
    }
    add_four<LINEAR<T>>(to[5][0][i], to[5][1][i], std::fabs(a), std::fabs(b), std::fabs(c), std::fabs(d));
  }
}

// The sums that are asked for, then the counts.
template <class T>
GRAPHGAUGE_INLINE void add_forecasts(const Forecasts<T>& of, const Quad<T>& cells, Rows& rows, Tile& tile) {
  const i64 width = cells.width;
  i64 sum = POINTS, count = of.sums();
  for (int row = 0; row < TOGETHER; row++) {
    if (cells.mask[0]) {
      read_row<true>(cells, row, of.asks(Term::sape), rows);
    } else {
      read_row<false>(cells, row, of.asks(Term::sape), rows);
    }
  }
  add_points<T>(rows, width, tile.high(0));
  if (of.mask) tile.count(count, width, [&](int row, i64 i) { return double(i32(cells.mask[row][i])); });
  count++;
  if (of.asks(Term::ape)) {
    tile.count(count, width, Nonzero{rows});
    tile.add<Adding::together>(sum++, width, Ape{rows});
  }
  count++;
  if (of.asks(Term::sape)) tile.add<Adding::together>(sum++, width, Sape{rows});
  if (!of.std) return;
  tile.count(count++, width, Bad{rows});
  if (of.asks(Term::std)) tile.add<LINEAR<T>>(sum++, width, Std{rows});
  if (of.asks(Term::var)) tile.add<Adding::one_by_one>(sum++, width, Var{rows});
  if (of.asks(Term::nll)) {
    gaussian_nll(rows, width);
    tile.add_scores(sum++, width, rows.score);
  }
  if (of.asks(Term::crps)) {
    gaussian_crps(rows, width);
    tile.add_scores(sum++, width, rows.score);
  }
  for (i64 level = 0; level < of.levels; level++) {
    tile.count(count++, width, Inside{rows, of.widths[level]});
    if (of.asks(Term::over)) tile.add<Adding::one_by_one>(sum++, width, Over{rows, of.widths[level]});
  }
}

// Rows of `width` cells, the first from `start` on, each `apart` cells behind the one before.
template <class T>
Quad<T> whole_rows(const Forecasts<T>& of, i64 start, i64 apart, i64 width) {
  Quad<T> cells{{}, {}, {}, {}, width};
  for (i64 k = 0, at = start; k < TOGETHER; k++, at += apart) {
    cells.y[k] = of.y + at, cells.mean[k] = of.mean + at, cells.std[k] = of.std ? of.std + at : nullptr;
    cells.mask[k] = of.mask ? reinterpret_cast<const u8*>(of.mask) + at : nullptr;
  }
  return cells;
}

// The same where only `left` cells of all rows together are there, copied; the others are hidden.
template <class T>
struct Copies {
  T y[TOGETHER][LANES] = {}, mean[TOGETHER][LANES] = {}, std[TOGETHER][LANES] = {};
  u8 mask[TOGETHER][LANES] = {};

  Quad<T> rows(const Forecasts<T>& of, i64 start, i64 apart, i64 width, i64 left) {
    Quad<T> cells{{}, {}, {}, {}, width};
    for (i64 k = 0, at = start; k < TOGETHER; k++, at += apart, left -= width) {
      const i64 there = std::clamp<i64>(left, 0, width);
      if (there) std::copy_n(of.y + at, there, y[k]), std::copy_n(of.mean + at, there, mean[k]);
      if (there && of.std) std::copy_n(of.std + at, there, std[k]);
      for (i64 i = 0; i < width; i++) mask[k][i] = i < there && (!of.mask || of.mask[at + i]);
      cells.y[k] = y[k], cells.mean[k] = mean[k], cells.std[k] = of.std ? std[k] : nullptr, cells.mask[k] = mask[k];
    }
    return cells;
  }
};

// Clones cannot be templates.
GRAPHGAUGE_CLONES void add_cells(const Forecasts<float>& of, const Quad<float>& cells, Rows& rows, Tile& tile) {
  add_forecasts(of, cells, rows, tile);
}
GRAPHGAUGE_CLONES void add_cells(const Forecasts<double>& of, const Quad<double>& cells, Rows& rows, Tile& tile) {
  add_forecasts(of, cells, rows, tile);
}

// ------------------------------------------------------------------------------------- tiles, and chunks for threads

// Some steps and nodes of a grid, and their sums.
struct Chunk {
  i64 first_step, last_step, first_node, last_node;
  i64 first_block, first_place, nodes;
  std::vector<Sum> by_horizon;
  std::vector<double> node_high, node_low;
};

// The lanes of a tile: `copies` of some nodes of some horizons.
struct Lanes {
  i64 copies, horizons, nodes;
};

// Add up parts of some length until they are at most `most`; the sums are those of the first parts.
GRAPHGAUGE_INLINE i64 halved(double* high, double* low, i64 parts, i64 length, i64 most) {
  for (i64 rest; parts > most; parts = rest) {
    rest = parts > 16 ? (parts + 15) / 16 * 8 : (parts + 1) / 2;
    add_pairs(high, low, high + rest * length, low + rest * length, (parts - rest) * length);
  }
  return parts;
}

// Add a sum of some lanes to those of their nodes, and to BESIDE sums of each of their horizons; the lanes are lost.
GRAPHGAUGE_CLONES void fold_sum(const Lanes& lanes, double* high, double* low, double* node_high, double* node_low,
                                double* horizon_high, double* horizon_low) {
  halved(high, low, lanes.copies, lanes.horizons * lanes.nodes, 1);
  for (i64 h = 0; h < lanes.horizons; h++, high += lanes.nodes, low += lanes.nodes) {
    add_pairs(node_high, node_low, high, low, lanes.nodes);
    const i64 parts = halved(high, low, lanes.nodes, 1, BESIDE);
    add_pairs(horizon_high + h * BESIDE, horizon_low + h * BESIDE, high, low, parts);
  }
}

template <i64 Parts>
GRAPHGAUGE_INLINE void fold_parts(double* high, double* low) {
  if constexpr (Parts > 1) {
    add_pairs(high, low, high + Parts / 2, low + Parts / 2, Parts / 2);
    fold_parts<Parts / 2>(high, low);
  }
}

// Add BESIDE sums of each of some groups to the sum of that group; they are 0 then.
GRAPHGAUGE_CLONES void fold_beside(double* high, double* low, Sum* sums, i64 groups) {
  for (i64 group = 0; group < groups; group++, high += BESIDE, low += BESIDE) {
    fold_parts<BESIDE>(high, low);
    sums[group].add(Sum{*high, *low});
    std::fill_n(high, BESIDE, 0.0);
    std::fill_n(low, BESIDE, 0.0);
  }
}

template <class T>
void add_chunk(const Forecasts<T>& of, const Grid& grid, Chunk& chunk) {
  const i64 columns = of.sums() + of.counts(), period = grid.period();
  chunk.first_block = grid.block(chunk.first_step), chunk.first_place = grid.place(chunk.first_step);
  chunk.nodes = chunk.last_node - chunk.first_node;
  const i64 blocks = grid.block(chunk.last_step - 1) - chunk.first_block + 1;
  chunk.by_horizon.resize(blocks * columns * grid.horizons);
  chunk.node_high.resize((grid.place(chunk.last_step - 1) - chunk.first_place + 1) * columns * chunk.nodes);
  chunk.node_low.resize(chunk.node_high.size());
  std::vector<double> horizon_high(columns * grid.horizons * BESIDE), horizon_low(horizon_high.size());
  std::vector<i64> used;
  for (i64 k = 0; k < columns; k++) {
    if (of.uses(k)) used.push_back(k);
  }
  Tile tile(columns);
  const auto rows = std::make_unique<Rows>();
  Copies<T> edges;
  const i64 horizons = std::clamp<i64>(LANES / grid.nodes, 1, grid.horizons);
  // Tiles of about the same width, in whole vectors.
  const i64 tiles = (chunk.nodes + LANES - 1) / LANES, wide = (chunk.nodes + 8 * tiles - 1) / (8 * tiles) * 8;
  i64 stop;
  for (i64 step = chunk.first_step; step < chunk.last_step; step = stop) {
    const i64 block = grid.block(step) - chunk.first_block, place = grid.place(step) - chunk.first_place;
    const i64 block_end = std::min(chunk.last_step, grid.start(grid.block(step) + 1));
    i64 copies = 1;
    while (2 * copies * period <= LANES && 2 * copies <= block_end - step) copies *= 2;
    stop = std::min(block_end, step + ROWS * copies);
    for (i64 h = 0; h < grid.horizons; h += horizons) {
      for (i64 node = chunk.first_node; node < chunk.last_node; node += wide) {
        const Lanes lanes{copies, std::min(horizons, grid.horizons - h), std::min(wide, chunk.last_node - node)};
        const i64 lane = h * grid.nodes + node, cells = lanes.horizons * lanes.nodes;
        tile.clear();
        for (i64 row = step; row < stop; row += TOGETHER * copies) {
          const i64 start = row * period + lane, apart = copies * period, width = std::min(copies, stop - row) * cells;
          const bool whole = row + TOGETHER * copies <= stop;
          const Quad<T> four =
              whole ? whole_rows(of, start, apart, width) : edges.rows(of, start, apart, width, (stop - row) * cells);
          add_cells(of, four, *rows, tile);
        }
        for (const i64 k : used) {
          const i64 to = (place * columns + k) * chunk.nodes + node - chunk.first_node;
          const i64 beside = (k * grid.horizons + h) * BESIDE;
          fold_sum(lanes, tile.high(k), tile.low(k), &chunk.node_high[to], &chunk.node_low[to], &horizon_high[beside],
                   &horizon_low[beside]);
        }
      }
    }
    if (stop < block_end) continue;
    Sum* of_block = chunk.by_horizon.data() + block * columns * grid.horizons;
    fold_beside(horizon_high.data(), horizon_low.data(), of_block, columns * grid.horizons);
  }
}

// What the low parts have collected goes into the high ones; counts are exact without it.
inline void hand_out(const std::vector<Sum>& totals, i64 sums, i64 counts, i64 groups, const Totals& to) {
  for (i64 i = 0; i < i64(totals.size()); i++) {
    const i64 row = i / (groups * (sums + counts)), column = i / groups % (sums + counts), group = i % groups;
    if (column >= sums) {
      to.counts[(row * counts + column - sums) * groups + group] = static_cast<i64>(totals[i].high);
      continue;
    }
    const i64 at = (row * sums + column) * groups + group;
    const Sum carried = totals[i].carried();
    to.high[at] = carried.high, to.low[at] = carried.low;
  }
}

// Each sum that is asked for, in the order of the terms, `over` once for each half-width: by how much the truth is
// outside of the interval. The counts: cells; those with a truth other than 0, if `ape` is asked for; those whose std
// is not positive and finite; for each half-width those inside of the interval.
// The chunks depend on the grid alone.
template <class T>
void error_sums(const Forecasts<T>& of, const Grid& grid, const Totals& by_horizon, const Totals& by_node,
                int threads) {
  const i64 columns = of.sums() + of.counts(), cells = grid.steps * grid.period();
  std::vector<Sum> horizons(grid.blocks() * columns * grid.horizons), nodes(grid.places() * columns * grid.nodes);
  const i64 across = (grid.nodes + NODES - 1) / NODES;
  const i64 along = cells ? std::min({grid.steps, cells / (across * CHUNK) + 1, SHARING / across + 1}) : 0;
  std::vector<Chunk> chunks(across * along);
  const auto bound = [&](i64 i) {  // where blocks begin, if there are enough
    if (grid.blocks() < along) return grid.steps * i / along;
    return i < along ? grid.start(grid.blocks() * i / along) : grid.steps;
  };
  parallel(across * along, threads, [&](i64 number) {
    const i64 i = number / across, j = number % across;
    Chunk& chunk = chunks[number];
    chunk.first_step = bound(i), chunk.last_step = bound(i + 1);
    chunk.first_node = grid.nodes * j / across, chunk.last_node = grid.nodes * (j + 1) / across;
    add_chunk(of, grid, chunk);
  });
  for (const Chunk& chunk : chunks) {
    Sum* of_horizons = horizons.data() + chunk.first_block * columns * grid.horizons;
    for (std::size_t i = 0; i < chunk.by_horizon.size(); i++) of_horizons[i].add(chunk.by_horizon[i]);
    for (i64 row = 0; row < i64(chunk.node_high.size()) / chunk.nodes; row++) {  // of one column of one place
      Sum* of_nodes = &nodes[(chunk.first_place * columns + row) * grid.nodes + chunk.first_node];
      const double *high = &chunk.node_high[row * chunk.nodes], *low = &chunk.node_low[row * chunk.nodes];
      for (i64 node = 0; node < chunk.nodes; node++) of_nodes[node].add(Sum{high[node], low[node]});
    }
  }
  hand_out(horizons, of.sums(), of.counts(), grid.horizons, by_horizon);
  hand_out(nodes, of.sums(), of.counts(), grid.nodes, by_node);
  for (i64 block = 0; block < grid.blocks() && !of.mask; block++) {  // all cells count
    const i64 start = std::max<i64>(grid.start(block), 0), steps = std::min(grid.steps, grid.start(block + 1)) - start;
    std::fill_n(by_horizon.counts + block * of.counts() * grid.horizons, grid.horizons, steps * grid.nodes);
    i64* of_nodes = by_node.counts + grid.place(start) * of.counts() * grid.nodes;
    for (i64 node = 0; node < grid.nodes; node++) of_nodes[node] += steps * grid.horizons;
  }
}

// Sums of `rows` rows of `count` values by group, as high + low: (row, group).
inline void grouped_sums(const double* values, i64 rows, const i64* group, i64 count, i64 groups, double* high,
                         double* low) {
  std::vector<Sum> totals(rows ? groups : 0);
  for (i64 row = 0; row < rows; row++, values += count, high += groups, low += groups) {
    std::fill(totals.begin(), totals.end(), Sum());
    for (i64 i = 0; i < count; i++) totals[group[i]].add(values[i]);
    for (i64 i = 0; i < groups; i++) {
      const Sum carried = totals[i].carried();
      high[i] = carried.high, low[i] = carried.low;
    }
  }
}

}  // namespace graphgauge
