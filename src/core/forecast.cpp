#include "forecast.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <memory>

namespace graphgauge {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// Sums that are added up side by side: those of a few quantities stay in the nearest cache.
constexpr i64 LANES = 256;
// Rows of lanes that are added up before they are added to the sums of blocks and nodes.
constexpr i64 ROWS = 16;
// Cells that one chunk reads, nodes that it reads at most, and chunks at most that have sums of the same node.
constexpr i64 CHUNK = i64(1) << 18;
constexpr i64 NODES = 1024;
constexpr i64 SHARING = 16;
// Equal steps between the outermost edges of bins, to find the approximate bin of a number.
constexpr i64 STEPS = 1024;

// ----------------------------------------------------------------------------------------- scores of a normal forecast
// Polynomials, fitted by Chebyshev interpolation in 50 digits, in loops that become vector instructions. Relative
// errors are 4e-16 for the logarithm, 5e-16 for the exponential, 2e-14 for the CRPS.

// exp(r) for abs(r) <= log(2)/2.
constexpr double EXPONENTIAL[] = {
    1.0,
    1.0000000000000067,
    0.5000000000000006,
    0.16666666666554406,
    0.04166666666657314,
    0.008333333385667782,
    0.0013888888932488599,
    0.00019841170270440067,
    2.4801504346997686e-05,
    2.764018079620985e-06,
    2.7626357241447223e-07,
};
// (log(m) - 2f) / f**3 as a polynomial in f**2, where f = (m - 1) / (m + 1) and m is between sqrt(1/2) and sqrt(2).
constexpr double LOGARITHM[] = {
    0.666666666666667,   0.39999999999899505, 0.28571428625975487, 0.2222221113479508,
    0.18182889125261723, 0.15331721600556042, 0.14616449685043406,
};
// sqrt(2/pi) - a erfcx(a/sqrt(2)) for 0 <= a <= FAR as a polynomial in (26/9) a/(a + 4) - 1.
constexpr double TAIL[] = {
    0.11597907109339267,     -0.24746734584034075,    0.23692160428372933,    -0.1365279366193694,
    0.050563263303573906,    -0.010608337003281784,   0.00028339515508232446, 0.00043386499417437255,
    -5.508539461726415e-05,  -2.0585347542977965e-05, 3.352447884528543e-06,  1.3324696871498996e-06,
    -1.4021135507720875e-07, -9.81145640290314e-08,   -3.319033842624297e-10, 5.623441248325343e-09,
    6.192787250293683e-10,
};
// From here on the CRPS is that of a point forecast, less its constant, to the last bit.
constexpr double FAR = 9;
constexpr double LOG2_E = 1.4426950408889634, HALF_LOG_2PI = 0.9189385332046728, INVERSE_SQRT_PI = 0.5641895835477563;
// log(2) in two parts, the first short enough that its product with any exponent is exact.
constexpr double LN2_HIGH = 0.6931471805598903, LN2_LOW = 5.497923018708371e-14;
// Adding and subtracting this rounds to an integer, which is then in the last bits.
constexpr double ROUNDER = 0x1.8p52;

// Four terms at a time, so that fewer operations wait for each other than in Horner's scheme.
template <std::size_t N>
GRAPHGAUGE_INLINE double polynomial(const double (&c)[N], double x) {
  constexpr std::size_t first = (N - 1) / 4 * 4, more = N - first;
  const double square = x * x, fourth = square * square;
  double total = c[first];
  if constexpr (more > 1) total += c[first + 1] * x;
  if constexpr (more == 3) total += c[first + 2] * square;
  if constexpr (more == 4) total += (c[first + 2] + c[first + 3] * x) * square;
  for (std::size_t k = first; k > 0; k -= 4) {
    total = total * fourth + ((c[k - 4] + c[k - 3] * x) + (c[k - 2] + c[k - 1] * x) * square);
  }
  return total;
}

// log(x) of positive finite numbers.
GRAPHGAUGE_INLINE double logarithm(double x) {
  const bool tiny = x < std::numeric_limits<double>::min();
  // The exponent rises by one where the mantissa is sqrt(2) or more; it becomes a float as the last bits of 2**52.
  const u64 bits = std::bit_cast<u64>(x * (tiny ? 0x1p54 : 1.0)) + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD);
  const double exponent = std::bit_cast<double>(bits >> 52 | 0x4330000000000000) - 0x1p52 - (tiny ? 1077.0 : 1023.0);
  const double mantissa = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD);
  const double f = (mantissa - 1) / (mantissa + 1), square = f * f;
  return exponent * LN2_HIGH + ((2 * f + f * (square * polynomial(LOGARITHM, square))) + exponent * LN2_LOW);
}

// exp(x) for x between -700 and 0.
GRAPHGAUGE_INLINE double exponential(double x) {
  const double shifted = x * LOG2_E + ROUNDER, whole = shifted - ROUNDER;
  const double rest = (x - whole * LN2_HIGH) - whole * LN2_LOW;
  return polynomial(EXPONENTIAL, rest) * std::bit_cast<double>((std::bit_cast<u64>(shifted) + 1023) << 52);
}

// ------------------------------------------------------------------------------------------------------ rows of a tile

// high + low += more + more_low.
GRAPHGAUGE_INLINE void add_pairs(double* high, double* low, const double* more, const double* more_low, i64 width) {
  for (i64 i = 0; i < width; i++) {
    const double sum = high[i] + more[i], part = sum - high[i];
    low[i] += more_low[i] + ((high[i] - (sum - part)) + (more[i] - part));
    high[i] = sum;
  }
}

// Two rows of cells, side by side. A cell that is hidden, or not there, is 0, with a std of 1.
struct Rows {
  double seen[2][LANES], truth[2][LANES], forecast[2][LANES], error[2][LANES], deviation[2][LANES];
  // What takes more than a few operations, term by term.
  double score[2][LANES];
};

// The sums of some lanes, while they are added up, column by column.
class Tile {
 public:
  explicit Tile(i64 columns) : sums_(2 * columns * LANES) {}
  GRAPHGAUGE_INLINE double* high(i64 column) { return sums_.data() + 2 * column * LANES; }
  GRAPHGAUGE_INLINE double* low(i64 column) { return high(column) + LANES; }

  // Add value(row, lane) of two rows.
  template <class Value>
  GRAPHGAUGE_INLINE void add(i64 column, i64 width, bool first, const Value& value) {
    double *high = this->high(column), *low = this->low(column);
    if (first) {
      for (i64 i = 0; i < width; i++) {
        const double one = value(0, i), two = value(1, i), total = one + two, part = total - one;
        low[i] = (one - (total - part)) + (two - part);
        high[i] = total;
      }
      return;
    }
    for (i64 i = 0; i < width; i++) {
      Sum total{high[i], low[i]};
      total.add(value(0, i));
      total.add(value(1, i));
      high[i] = total.high, low[i] = total.low;
    }
  }
  // The same for whole numbers, which are exact.
  template <class Value>
  GRAPHGAUGE_INLINE void count(i64 column, i64 width, bool first, const Value& value) {
    double* to = high(column);
    for (i64 i = 0; i < width; i++) to[i] = (first ? 0.0 : to[i]) + (value(0, i) + value(1, i));
  }

 private:
  std::vector<double> sums_;
};

// What is added for a cell of some rows: its truth y, forecast f, error e and std s; `half` is a
// half-width.
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
GRAPHGAUGE_VALUE(Seen, seen)
GRAPHGAUGE_VALUE(Abs, std::fabs(e))
GRAPHGAUGE_VALUE(Square, e* e)
GRAPHGAUGE_VALUE(Error, e)
GRAPHGAUGE_VALUE(Truth, y)
GRAPHGAUGE_VALUE(TruthSquare, y* y)
GRAPHGAUGE_VALUE(TruthAbs, std::fabs(y))
GRAPHGAUGE_VALUE(Nonzero, y != 0 ? 1.0 : 0.0)
GRAPHGAUGE_VALUE(Ape, std::fabs(e) / (y != 0 ? std::fabs(y) : INFINITE))
GRAPHGAUGE_VALUE(Sape, 2 * std::fabs(e) / (std::fabs(y) + std::fabs(f) > 0 ? std::fabs(y) + std::fabs(f) : 1.0))
GRAPHGAUGE_VALUE(Bad, s > 0 && s < INFINITE ? 0.0 : 1.0)
GRAPHGAUGE_VALUE(Std, s* seen)
GRAPHGAUGE_VALUE(Var, (s * seen) * (s * seen))
GRAPHGAUGE_VALUE(Score, rows.score[row][i])
GRAPHGAUGE_VALUE(Inside, std::fabs(e) <= half * s ? seen : 0.0)
GRAPHGAUGE_VALUE(Over, std::fabs(e) - half * s <= 0 ? 0.0 : std::fabs(e) - half * s)
#undef GRAPHGAUGE_VALUE

GRAPHGAUGE_INLINE void gaussian_nll(Rows& rows, int row, i64 width) {
  double *score = rows.score[row], *error = rows.error[row], *std = rows.deviation[row], *seen = rows.seen[row];
  for (i64 i = 0; i < width; i++) {
    const double z = error[i] / std[i];
    score[i] = (logarithm(std[i]) + 0.5 * (z * z)) + HALF_LOG_2PI * seen[i];
  }
}

GRAPHGAUGE_INLINE void gaussian_crps(Rows& rows, int row, i64 width) {
  double *score = rows.score[row], *error = rows.error[row], *std = rows.deviation[row], *seen = rows.seen[row];
  double falling[LANES];
  for (i64 i = 0; i < width; i++) {
    const double away = std::fabs(error[i] / std[i]), near = away > FAR ? FAR : away;
    score[i] = near;
    falling[i] = exponential(-0.5 * (near * near));
  }
  for (i64 i = 0; i < width; i++) {
    const double tail = polynomial(TAIL, 26.0 / 9.0 * score[i] / (score[i] + 4) - 1);
    score[i] = std::fabs(error[i]) + std[i] * seen[i] * (falling[i] * tail - INVERSE_SQRT_PI);
  }
}

template <class T>
GRAPHGAUGE_INLINE void read_row(const Forecasts<T>& of, i64 cell, i64 width, int row, Rows& rows) {
  double *seen = rows.seen[row], *truth = rows.truth[row], *forecast = rows.forecast[row];
  double *error = rows.error[row], *deviation = rows.deviation[row];
  // The processor does not foresee so many rows: what comes next in this one is fetched.
  for (i64 i = 0; i < width; i += 64 / sizeof(T)) {
    GRAPHGAUGE_AHEAD(of.y + cell + width + i);
    GRAPHGAUGE_AHEAD(of.mean + cell + width + i);
    if (of.std) GRAPHGAUGE_AHEAD(of.std + cell + width + i);
  }
  for (i64 i = 0; i < width; i++) truth[i] = static_cast<double>(of.y[cell + i]);
  for (i64 i = 0; i < width; i++) forecast[i] = static_cast<double>(of.mean[cell + i]);
  if (of.std) {
    for (i64 i = 0; i < width; i++) deviation[i] = static_cast<double>(of.std[cell + i]);
  }
  if (of.mask) {
    for (i64 i = 0; i < width; i++) seen[i] = static_cast<double>(static_cast<i32>(of.mask[cell + i]));
    for (i64 i = 0; i < width; i++) truth[i] = seen[i] != 0 ? truth[i] : 0.0;
    for (i64 i = 0; i < width; i++) forecast[i] = seen[i] != 0 ? forecast[i] : 0.0;
    for (i64 i = 0; i < width; i++) deviation[i] = seen[i] != 0 ? deviation[i] : 1.0;
  } else {
    std::fill(seen, seen + width, 1.0);
  }
  for (i64 i = 0; i < width; i++) error[i] = forecast[i] - truth[i];
}

// Lanes from `start` to `stop` without cells.
GRAPHGAUGE_INLINE void no_row(i64 start, i64 stop, int row, Rows& rows) {
  for (double* part : {rows.seen[row], rows.truth[row], rows.forecast[row], rows.error[row]}) {
    for (i64 i = start; i < stop; i++) part[i] = 0;
  }
  for (i64 i = start; i < stop; i++) rows.deviation[row][i] = 1;
}

// The sums that are asked for, then the counts.
template <class T>
GRAPHGAUGE_INLINE void add_forecasts(const Forecasts<T>& of, const i64* cells, const i64* widths, bool first,
                                     Rows& rows, Tile& tile) {
  const i64 width = widths[0];
  for (int row = 0; row < 2; row++) {
    read_row(of, cells[row], widths[row], row, rows);
    no_row(widths[row], width, row, rows);
  }
  i64 sum = 0, count = of.sums();
  if (of.mask) tile.count(count, width, first, Seen{rows});
  count++;
  if (of.asks(Term::abs)) tile.add(sum++, width, first, Abs{rows});
  if (of.asks(Term::square)) tile.add(sum++, width, first, Square{rows});
  if (of.asks(Term::error)) tile.add(sum++, width, first, Error{rows});
  if (of.asks(Term::y)) tile.add(sum++, width, first, Truth{rows});
  if (of.asks(Term::y2)) {
    tile.add(sum, width, first, TruthSquare{rows});
    double* low = tile.low(sum++);  // squares of floats are exact; those of doubles are not
    for (int row = 0; row < 2 && sizeof(T) > 4; row++) {
      const double* y = rows.truth[row];
      for (i64 i = 0; i < width; i++) low[i] += std::fma(y[i], y[i], -(y[i] * y[i]));
    }
  }
  if (of.asks(Term::abs_y)) tile.add(sum++, width, first, TruthAbs{rows});
  if (of.asks(Term::ape)) {
    tile.count(count, width, first, Nonzero{rows});
    tile.add(sum++, width, first, Ape{rows});
  }
  count++;
  if (of.asks(Term::sape)) tile.add(sum++, width, first, Sape{rows});
  if (!of.std) return;
  tile.count(count++, width, first, Bad{rows});
  if (of.asks(Term::std)) tile.add(sum++, width, first, Std{rows});
  if (of.asks(Term::var)) tile.add(sum++, width, first, Var{rows});
  if (of.asks(Term::nll)) {
    for (int row = 0; row < 2; row++) gaussian_nll(rows, row, width);
    tile.add(sum++, width, first, Score{rows});
  }
  if (of.asks(Term::crps)) {
    for (int row = 0; row < 2; row++) gaussian_crps(rows, row, width);
    tile.add(sum++, width, first, Score{rows});
  }
  for (i64 level = 0; level < of.levels; level++) {
    tile.count(count++, width, first, Inside{rows, of.widths[level]});
    if (of.asks(Term::over)) tile.add(sum++, width, first, Over{rows, of.widths[level]});
  }
}

// Clones cannot be templates.
GRAPHGAUGE_CLONES void add_cells(const Forecasts<float>& of, const i64* cells, const i64* widths, bool first,
                                 Rows& rows, Tile& tile) {
  add_forecasts(of, cells, widths, first, rows, tile);
}
GRAPHGAUGE_CLONES void add_cells(const Forecasts<double>& of, const i64* cells, const i64* widths, bool first,
                                 Rows& rows, Tile& tile) {
  add_forecasts(of, cells, widths, first, rows, tile);
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

// Add up parts of some length; the sum is that of the first part.
GRAPHGAUGE_INLINE void halved(double* high, double* low, i64 parts, i64 length) {
  for (i64 rest; parts > 1; parts = rest) {
    rest = parts > 16 ? (parts + 15) / 16 * 8 : (parts + 1) / 2;
    add_pairs(high, low, high + rest * length, low + rest * length, (parts - rest) * length);
  }
}

// Add a sum of some lanes to those of their nodes and horizons; the lanes are lost.
GRAPHGAUGE_CLONES void fold_sum(const Lanes& lanes, double* high, double* low, double* node_high, double* node_low,
                                Sum* of_horizon) {
  halved(high, low, lanes.copies, lanes.horizons * lanes.nodes);
  for (i64 h = 0; h < lanes.horizons; h++, high += lanes.nodes, low += lanes.nodes) {
    add_pairs(node_high, node_low, high, low, lanes.nodes);
    halved(high, low, lanes.nodes, 1);
    of_horizon[h].add(Sum{*high, *low});
  }
}

template <class T>
void add_chunk(const Forecasts<T>& of, const Grid& grid, Chunk& chunk) {
  const i64 first_block = chunk.first_step / grid.steps, last_block = (chunk.last_step - 1) / grid.steps;
  const i64 columns = of.sums() + of.counts();
  chunk.first_block = first_block, chunk.first_place = grid.place[first_block];
  chunk.nodes = chunk.last_node - chunk.first_node;
  chunk.by_horizon.resize((last_block - first_block + 1) * columns * grid.horizons);
  chunk.node_high.resize((grid.place[last_block] - chunk.first_place + 1) * columns * chunk.nodes);
  chunk.node_low.resize(chunk.node_high.size());
  Tile tile(columns);
  const auto rows = std::make_unique<Rows>();
  const i64 horizons = std::clamp<i64>(LANES / grid.nodes, 1, grid.horizons), period = grid.period();
  i64 stop;
  for (i64 step = chunk.first_step; step < chunk.last_step; step = stop) {
    const i64 number = step / grid.steps, block = number - first_block;
    stop = std::min(chunk.last_step, (number + 1) * grid.steps);
    i64 copies = 1;
    while (2 * copies * period <= LANES && 2 * copies <= stop - step) copies *= 2;
    stop = std::min(stop, step + ROWS * copies);
    const i64 place = grid.place[number] - chunk.first_place;
    for (i64 h = 0; h < grid.horizons; h += horizons) {
      for (i64 node = chunk.first_node; node < chunk.last_node; node += LANES) {
        const Lanes lanes{copies, std::min(horizons, grid.horizons - h), std::min(LANES, chunk.last_node - node)};
        const i64 lane = h * grid.nodes + node, cells = lanes.horizons * lanes.nodes;
        for (i64 row = step; row < stop; row += 2 * copies) {
          const i64 next = std::min(row + copies, stop);
          const i64 starts[] = {row * period + lane, next * period + lane};
          const i64 widths[] = {(next - row) * cells, std::min(copies, stop - next) * cells};
          add_cells(of, starts, widths, row == step, *rows, tile);
        }
        for (i64 k = 0; k < columns; k++) {
          const i64 to = (place * columns + k) * chunk.nodes + node - chunk.first_node;
          fold_sum(lanes, tile.high(k), tile.low(k), &chunk.node_high[to], &chunk.node_low[to],
                   &chunk.by_horizon[(block * columns + k) * grid.horizons + h]);
        }
      }
    }
  }
}

// What the low parts have collected goes into the high ones; counts are exact without it.
void hand_out(const std::vector<Sum>& totals, i64 sums, i64 counts, i64 groups, const Totals& to) {
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

template <class T>
GRAPHGAUGE_INLINE void standardize(const Forecasts<T>& of, i64 cell, i64 width, double low, double scale, double* z,
                                   i32* near) {
  for (i64 i = 0; i < width; i++) {
    const double score = (double(of.y[cell + i]) - double(of.mean[cell + i])) / double(of.std[cell + i]);
    z[i] = score == score ? score : INFINITE;
  }
  for (i64 i = 0; i < width; i++) {
    const double position = (z[i] - low) * scale;
    near[i] = static_cast<i32>(position > 0 ? (position < STEPS ? position : double(STEPS)) : 0.0);
  }
}
GRAPHGAUGE_CLONES void scores_of(const Forecasts<float>& of, i64 cell, i64 width, double low, double scale, double* z,
                                 i32* near) {
  standardize(of, cell, width, low, scale, z, near);
}
GRAPHGAUGE_CLONES void scores_of(const Forecasts<double>& of, i64 cell, i64 width, double low, double scale, double* z,
                                 i32* near) {
  standardize(of, cell, width, low, scale, z, near);
}

}  // namespace

// The chunks depend on the grid alone.
template <class T>
void error_sums(const Forecasts<T>& of, const Grid& grid, const Totals& by_horizon, const Totals& by_node,
                int threads) {
  const i64 columns = of.sums() + of.counts(), steps = grid.blocks * grid.steps, cells = steps * grid.period();
  std::vector<Sum> horizons(grid.blocks * columns * grid.horizons), nodes(grid.places() * columns * grid.nodes);
  const i64 across = (grid.nodes + NODES - 1) / NODES;
  const i64 along = cells ? std::min({steps, cells / (across * CHUNK) + 1, SHARING / across + 1}) : 0;
  std::vector<Chunk> chunks(across * along);
  parallel(across * along, threads, [&](i64 number) {
    const i64 i = number / across, j = number % across;
    Chunk& chunk = chunks[number];
    chunk.first_step = steps * i / along, chunk.last_step = steps * (i + 1) / along;
    chunk.first_node = grid.nodes * j / across, chunk.last_node = grid.nodes * (j + 1) / across;
    add_chunk(of, grid, chunk);
  });
  for (const Chunk& chunk : chunks) {
    Sum* of_horizons = horizons.data() + chunk.first_block * columns * grid.horizons;
    for (std::size_t i = 0; i < chunk.by_horizon.size(); i++) of_horizons[i].add(chunk.by_horizon[i]);
    for (i64 i = 0; i < i64(chunk.node_high.size()); i++) {  // rows of nodes: those of one column of one place
      const i64 row = chunk.first_place * columns + i / chunk.nodes, node = chunk.first_node + i % chunk.nodes;
      nodes[row * grid.nodes + node].add(Sum{chunk.node_high[i], chunk.node_low[i]});
    }
  }
  hand_out(horizons, of.sums(), of.counts(), grid.horizons, by_horizon);
  hand_out(nodes, of.sums(), of.counts(), grid.nodes, by_node);
  for (i64 block = 0; block < grid.blocks && !of.mask; block++) {  // all cells count
    std::fill_n(by_horizon.counts + block * of.counts() * grid.horizons, grid.horizons, grid.steps * grid.nodes);
    i64* of_nodes = by_node.counts + grid.place[block] * of.counts() * grid.nodes;
    for (i64 node = 0; node < grid.nodes; node++) of_nodes[node] += grid.steps * grid.horizons;
  }
}

template <class T>
void add_positions(const Forecasts<T>& of, const Grid& grid, const double* edges, i64 count, i64* by_horizon,
                   i32* by_node) {
  const double low = edges[0], span = edges[count - 1] - edges[0], scale = span > 0 ? STEPS / span : 1.0;
  // The first edge that a number of this step may not exceed; one step earlier, because of rounding.
  std::vector<i64> starts(STEPS + 1);
  for (i64 step = 0; step <= STEPS; step++) {
    starts[step] = std::lower_bound(edges, edges + count, low + double(step - 1) / scale) - edges;
  }
  const i64 bins = count + 1;
  double z[LANES];
  i32 near[LANES];
  for (i64 row = 0; row < grid.blocks * grid.steps * grid.horizons; row++) {
    const i64 block = row / grid.horizons / grid.steps;
    i64* counts = by_horizon + (block * grid.horizons + row % grid.horizons) * bins;
    for (i64 start = 0; start < grid.nodes; start += LANES) {
      const i64 width = std::min(LANES, grid.nodes - start), cell = row * grid.nodes + start;
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

void grouped_sums(const double* values, i64 rows, const i64* group, i64 count, i64 groups, double* high, double* low) {
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

#define GRAPHGAUGE_FLOATS(T)                                                                        \
  template void error_sums<T>(const Forecasts<T>&, const Grid&, const Totals&, const Totals&, int); \
  template void add_positions<T>(const Forecasts<T>&, const Grid&, const double*, i64, i64*, i32*);
GRAPHGAUGE_FLOATS(float)
GRAPHGAUGE_FLOATS(double)
#undef GRAPHGAUGE_FLOATS

}  // namespace graphgauge
