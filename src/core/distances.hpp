// Distances between points: Euclidean ones of floats, Hamming distances of packed bits.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "bits.hpp"

namespace graphgauge {

// Point i is values[i * depth] to values[(i + 1) * depth - 1]. The squared distance of two points depends on their
// coordinates only, whichever is first and wherever they are, so that equal distances are equal bits.
struct Points {
  const double* values;
  i64 rows, depth;
};

// Closed balls around rows and around others. For each of `rows`: the others in its ball, and the balls of others that
// it is in; for each of `others`: the balls of rows that it is in.
struct BallCounts {
  i64 *inside, *reached, *held;
};

// Points of a tile, which stays in registers; coordinates that are added before their sum is; rows of a chunk and
// others that they are compared with at a time, which stay in the cache.
constexpr i64 HEIGHT = 4, WIDTH = 8, TOGETHER = 4, BAND = 32;

// Squared distances of HEIGHT points to those of some panels: WIDTH points by coordinate.
GRAPHGAUGE_CLONES void fill_tiles(const double* rows, const double* panels, i64 count, i64 depth, double* out) {
  for (i64 start = 0; start < count; start += WIDTH) {
    double sums[HEIGHT][WIDTH] = {};
    const double* panel = panels + start * depth;
    for (i64 axis = 0; axis < depth; axis += TOGETHER) {
      for (i64 row = 0; row < HEIGHT; row++) {
        const double *own = rows + row * depth + axis, *other = panel + axis * WIDTH;
        for (i64 lane = 0; lane < WIDTH; lane++) {
          const double p = own[0] - other[lane], q = own[1] - other[WIDTH + lane];
          const double r = own[2] - other[2 * WIDTH + lane], s = own[3] - other[3 * WIDTH + lane];
          sums[row][lane] += (p * p + q * q) + (r * r + s * s);
        }
      }
    }
    for (i64 row = 0; row < HEIGHT; row++) {
      for (i64 lane = 0; lane < WIDTH; lane++) out[row * OTHERS + start + lane] = sums[row][lane];
    }
  }
}

// Distances of a few points to a few others, by rows of OTHERS. Coordinates are padded with zeros, which add nothing.
class PointTiles {
 public:
  using Value = double;
  static constexpr i64 height = HEIGHT;
  PointTiles(const Points& rows, const Points& others)
      : rows_(rows), depth_((rows.depth + TOGETHER - 1) / TOGETHER * TOGETHER) {
    panels_.resize((others.rows + WIDTH - 1) / WIDTH * WIDTH * depth_);
    for (i64 other = 0; other < others.rows; other++) {
      for (i64 axis = 0; axis < others.depth; axis++) {
        panels_[(other / WIDTH * depth_ + axis) * WIDTH + other % WIDTH] = others.values[other * others.depth + axis];
      }
    }
  }
  std::vector<double> chunk(i64 first, i64 last) const {
    std::vector<double> padded(BAND * depth_);
    for (i64 row = first; row < last; row++) {
      std::copy_n(rows_.values + row * rows_.depth, rows_.depth, padded.begin() + (row - first) * depth_);
    }
    return padded;
  }
  void fill(const std::vector<double>& chunk, i64 row, i64 start, i64 count, double* out) const {
    fill_tiles(chunk.data() + row * depth_, panels_.data() + start * depth_, count, depth_, out);
  }

 private:
  Points rows_;
  i64 depth_;
  std::vector<double> panels_;
};

class BitTiles {
 public:
  using Value = i32;
  static constexpr i64 height = 1;
  BitTiles(const BitRows& rows, const BitRows& others) : rows_(rows), others_(others) {}
  i64 chunk(i64 first, i64) const { return first; }
  void fill(i64 first, i64 row, i64 start, i64 count, i32* out) const {
    differing_bits(rows_[first + row], others_[start], count, rows_.width, out);
  }

 private:
  BitRows rows_, others_;
};

inline PointTiles tiles_of(const Points& rows, const Points& others) { return {rows, others}; }
inline BitTiles tiles_of(const BitRows& rows, const BitRows& others) { return {rows, others}; }

// f(row, start, count, line) with the distances of a row to `count` others from `start` on, for the rows of a chunk.
template <class Tiles, class F>
void each_line(const Tiles& tiles, i64 first, i64 last, i64 others, F&& f) {
  const auto chunk = tiles.chunk(first, last);
  typename Tiles::Value lines[Tiles::height * OTHERS];
  for (i64 start = 0; start < others; start += OTHERS) {
    const i64 count = std::min(OTHERS, others - start);
    for (i64 row = first; row < last; row += Tiles::height) {
      tiles.fill(chunk, row - first, start, count, lines);
      for (i64 line = 0; line < std::min(Tiles::height, last - row); line++) {
        f(row + line, start, count, lines + line * OTHERS);
      }
    }
  }
}

template <class F>
void each_chunk(i64 rows, int threads, F&& f) {
  parallel((rows + BAND - 1) / BAND, threads, [&](i64 chunk) { f(chunk * BAND, std::min(rows, (chunk + 1) * BAND)); });
}

GRAPHGAUGE_CLONES void take_roots(double* line, i64 count) {
  for (i64 i = 0; i < count; i++) line[i] = std::sqrt(line[i]);
}

// Many sums at a time, one per lane: fewer lanes would be unrolled before they can become vectors.
GRAPHGAUGE_CLONES void add_line(const double* line, i64 count, Sum& total) {
  constexpr i64 LANES = 32;
  double high[LANES] = {}, low[LANES] = {};
  i64 start = 0;
  for (; start + LANES <= count; start += LANES) {
    for (i64 lane = 0; lane < LANES; lane++) {
      const double value = line[start + lane], sum = high[lane] + value, part = sum - high[lane];
      low[lane] += (high[lane] - (sum - part)) + (value - part);
      high[lane] = sum;
    }
  }
  for (i64 lane = 0; lane < LANES && start; lane++) total.add(Sum{high[lane], low[lane]});
  for (; start < count; start++) total.add(line[start]);
}

// For each row the distance of rank k, from 0, among those to all rows including itself: of points squared, of bits
// the number of those that differ. A distance that is NaN is none.
template <class Rows, class Value>
void kth_distances(const Rows& rows, i64 k, Value* found, int threads) {
  const auto tiles = tiles_of(rows, rows);
  using Limits = std::numeric_limits<Value>;
  constexpr Value highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  each_chunk(rows.rows, threads, [&](i64 first, i64 last) {
    std::vector<std::vector<Value>> lowest(last - first, std::vector<Value>(k + 1, highest));  // heaps
    each_line(tiles, first, last, rows.rows, [&](i64 row, i64, i64 count, const Value* line) {
      auto& heap = lowest[row - first];
      for (i64 i = 0; i < count; i++) {
        if (!(line[i] < heap.front())) continue;
        std::pop_heap(heap.begin(), heap.end());
        heap.back() = line[i];
        std::push_heap(heap.begin(), heap.end());
      }
    });
    for (i64 row = first; row < last; row++) found[row] = lowest[row - first].front();
  });
}

// Counters are as wide as distances, so that a vector has as many of both.
template <class Value, class Counter>
GRAPHGAUGE_INLINE void count_balls(const Value* line, Value radius, const Value* radii, i64 count, Counter* held,
                                   i64& inside, i64& reached) {
  Counter in = 0, around = 0;
  for (i64 i = 0; i < count; i++) {
    const Counter holds = line[i] <= radius;
    in += holds, held[i] += holds;
    around += Counter(line[i] <= radii[i]);
  }
  inside += in, reached += around;
}
GRAPHGAUGE_CLONES void balls_of(const double* line, double radius, const double* radii, i64 count, i64* held,
                                i64& inside, i64& reached) {
  count_balls(line, radius, radii, count, held, inside, reached);
}
GRAPHGAUGE_CLONES void balls_of(const i32* line, i32 radius, const i32* radii, i64 count, i32* held, i64& inside,
                                i64& reached) {
  count_balls(line, radius, radii, count, held, inside, reached);
}

template <class Rows, class Value>
void ball_counts(const Rows& rows, const Value* radii, const Rows& others, const Value* other_radii,
                 const BallCounts& counts, int threads) {
  using Counter = std::conditional_t<sizeof(Value) == 8, i64, i32>;  // as wide as distances
  const auto tiles = tiles_of(rows, others);
  std::fill(counts.inside, counts.inside + rows.rows, 0);
  std::fill(counts.reached, counts.reached + rows.rows, 0);
  std::fill(counts.held, counts.held + others.rows, 0);
  std::mutex lock;
  each_chunk(rows.rows, threads, [&](i64 first, i64 last) {
    std::vector<Counter> held(others.rows);
    each_line(tiles, first, last, others.rows, [&](i64 row, i64 start, i64 count, const Value* line) {
      balls_of(line, radii[row], other_radii + start, count, held.data() + start, counts.inside[row],
               counts.reached[row]);
    });
    const std::lock_guard<std::mutex> hold(lock);
    for (i64 other = 0; other < others.rows; other++) counts.held[other] += held[other];
  });
}

inline void squared_distances(const Points& rows, const Points& others, double* out, int threads) {
  const PointTiles tiles(rows, others);
  each_chunk(rows.rows, threads, [&](i64 first, i64 last) {
    each_line(tiles, first, last, others.rows, [&](i64 row, i64 start, i64 count, const double* line) {
      std::copy_n(line, count, out + row * others.rows + start);
    });
  });
}

// For each of `rows`, the sum of its distances to the others with each code, at sums[row * groups + code]. Codes may
// have any order; it is quicker if equal codes are adjacent.
inline void group_distances(const Points& rows, const Points& others, const i64* codes, i64 groups, double* sums,
                            int threads) {
  const PointTiles tiles(rows, others);
  each_chunk(rows.rows, threads, [&](i64 first, i64 last) {
    std::vector<Sum> totals((last - first) * groups);
    each_line(tiles, first, last, others.rows, [&](i64 row, i64 start, i64 count, double* line) {
      take_roots(line, count);
      for (i64 i = 0, stop; i < count; i = stop) {
        const i64 code = codes[start + i];
        for (stop = i + 1; stop < count && codes[start + stop] == code; stop++) {
        }
        add_line(line + i, stop - i, totals[(row - first) * groups + code]);
      }
    });
    for (i64 i = 0; i < (last - first) * groups; i++) sums[first * groups + i] = totals[i].value();
  });
}

}  // namespace graphgauge
