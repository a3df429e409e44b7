// Adjacency matrices as bits, and the states of their node pairs.
#pragma once

#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "common.hpp"

#define GRAPHGAUGE_EACH_CELL(F) F(bool) F(std::int8_t) F(u8) F(i32) F(i64) F(float) F(double)

namespace graphgauge {

// Kinds of cells that a matrix has: other than 0, NaN, below 0, other than 0 and 1 (and no NaN).
enum CellKind : u8 { IS_EDGE = 1, IS_NAN = 2, IS_NEGATIVE = 4, IS_WEIGHTED_EDGE = 8 };
constexpr i64 STATES = 16;

// What cells are compared as: exactly as NumPy compares them with a number.
template <class T>
using Compared = std::conditional_t<std::is_same_v<T, float> || sizeof(T) == 1, float, double>;
// As many bits as a number that is compared, so that a vector has as many of both; half as many numbers are compared
// side by side.
template <class Number>
using Bits = std::conditional_t<sizeof(Number) == 4, u32, u64>;
template <class Number>
constexpr i64 COMPARED = 4 * sizeof(Number);

// The edges among 64 cells, and the kinds that are there.
template <class Number>
GRAPHGAUGE_INLINE u64 edges_of(const Number* cells, Number low, Number high, Bits<Number>* kinds) {
  constexpr i64 size = 8 * sizeof(Number), wide = COMPARED<Number>;
  u64 word = 0;
  for (i64 start = 0; start < 64; start += size) {
    Bits<Number> edges[wide] = {}, all = 0;
    for (i64 part = 0; part < size; part += wide) {
      for (i64 i = 0; i < wide; i++) {
        const Number value = cells[start + part + i];
        edges[i] |= Bits<Number>((value > high) | (value < low)) << (part + i);
        kinds[i] |= (value > 0 ? IS_EDGE : 0) | (value < 0 ? IS_EDGE | IS_NEGATIVE | IS_WEIGHTED_EDGE : 0) |
                    ((value > 0) & (value != 1) ? IS_WEIGHTED_EDGE : 0) | (value != value ? IS_NAN : 0);
      }
    }
    for (i64 i = 0; i < wide; i++) all |= edges[i];
    word |= u64(all) << start;
  }
  return word;
}

template <class T>
GRAPHGAUGE_INLINE u8 pack_rows(const T* values, i64 first, i64 last, i64 d, i64 loopless, Compared<T> low,
                               Compared<T> high, u64* words) {
  using Number = Compared<T>;
  Bits<Number> kinds[COMPARED<Number>] = {};
  const i64 strips = (d + 63) / 64;
  for (i64 row = first; row < last && d; row++) {
    const i64 loop = row < loopless ? row % d : -1;
    for (i64 strip = 0; strip < strips; strip++) {
      const i64 start = 64 * strip, length = std::min<i64>(64, d - start), at = loop - start;
      const T* cells = values + row * d + start;
      const bool on_diagonal = at >= 0 && at < length;
      Number copied[64], looping = 0;
      const Number* numbers = copied;
      if (length == 64 && !on_diagonal) {
        if constexpr (std::is_same_v<T, Number>) {
          numbers = cells;
        } else {
          for (i64 i = 0; i < 64; i++) copied[i] = static_cast<Number>(cells[i]);
        }
      } else {
        std::fill(std::copy_n(cells, length, copied), copied + 64, Number(0));
        if (on_diagonal) looping = std::exchange(copied[at], Number(0));
      }
      u64 word = edges_of(numbers, low, high, kinds) & (~u64(0) >> (64 - length));
      if (on_diagonal) word = (word & ~(u64(1) << at)) | u64((looping > high) | (looping < low)) << at;
      words[row * strips + strip] = word;
    }
  }
  return static_cast<u8>(std::accumulate(kinds, kinds + COMPARED<Number>, u64(0), std::bit_or<u64>()));
}

#define GRAPHGAUGE_CELLS(T)                                                                                \
  GRAPHGAUGE_CLONES u8 pack_of(const T* values, i64 first, i64 last, i64 d, i64 loopless, Compared<T> low, \
                               Compared<T> high, u64* words) {                                             \
    return pack_rows(values, first, last, d, loopless, low, high, words);                                  \
  }
GRAPHGAUGE_EACH_CELL(GRAPHGAUGE_CELLS)
#undef GRAPHGAUGE_CELLS

// Swaps rows and columns of 64 x 64 bits: halves, quarters, ... are exchanged (Hacker's Delight, 7-3).
GRAPHGAUGE_INLINE void transpose(u64* tile) {
  u64 mask = 0x00000000ffffffff;
  for (i64 width = 32; width; width /= 2, mask ^= mask << width) {
    for (i64 row = 0; row < 64; row = ((row | width) + 1) & ~width) {
      const u64 moved = ((tile[row] >> width) ^ tile[row | width]) & mask;
      tile[row] ^= moved << width;
      tile[row | width] ^= moved;
    }
  }
}

// The pairs whose first node is one of 64, tile by tile.
GRAPHGAUGE_CLONES void count_strip(const u64* truth, const u64* prediction, i64 d, i64 upper, i64* counts) {
  const i64 strips = (d + 63) / 64, rows = std::min<i64>(64, d - 64 * upper);
  for (i64 right = upper; right < strips; right++) {
    u64 tile[4][64] = {};  // true and predicted cells (i, j), then those of (j, i)
    for (i64 row = 0; row < rows; row++) {
      tile[0][row] = truth[(64 * upper + row) * strips + right];
      tile[1][row] = prediction[(64 * upper + row) * strips + right];
    }
    for (i64 row = 0; row < std::min<i64>(64, d - 64 * right); row++) {
      tile[2][row] = truth[(64 * right + row) * strips + upper];
      tile[3][row] = prediction[(64 * right + row) * strips + upper];
    }
    transpose(tile[2]), transpose(tile[3]);
    for (i64 row = 0; row < rows; row++) {
      const u64 pairs = upper < right ? ~u64(0) : row == 63 ? 0 : ~u64(0) << (row + 1);
      for (const int true_state : {0, 1, 4, 5}) {
        const u64 alike =
            pairs & (true_state & 1 ? tile[0][row] : ~tile[0][row]) & (true_state & 4 ? tile[2][row] : ~tile[2][row]);
        if (!alike) continue;  // most tiles of most graphs have few true edges
        for (const int predicted : {0, 2, 8, 10}) {
          if (!true_state && !predicted) continue;
          counts[true_state | predicted] += std::popcount(alike & (predicted & 2 ? tile[1][row] : ~tile[1][row]) &
                                                          (predicted & 8 ? tile[3][row] : ~tile[3][row]));
        }
      }
    }
  }
}

// Bit j % 64 of words[i * ((d + 63) / 64) + j / 64] says whether values[i * d + j] is an edge: above `high`, below
// `low`. Returns the kinds of cells off the diagonal of the first `loopless` rows, where row i has its diagonal cell in
// column i % d, and anywhere in the others.
template <class T>
u8 cell_bits(const T* values, i64 rows, i64 d, i64 loopless, double low, double high, u64* words, int threads) {
  if (std::is_integral_v<T>) low = std::ceil(low), high = std::floor(high);
  const i64 step = std::max<i64>(1, CHUNK / std::max<i64>(d, 1)), chunks = (rows + step - 1) / step;
  std::vector<u8> found(chunks);
  parallel(chunks, threads, [&](i64 chunk) {
    found[chunk] = pack_of(values, chunk * step, std::min(rows, (chunk + 1) * step), d, loopless,
                           static_cast<Compared<T>>(low), static_cast<Compared<T>>(high), words);
  });
  return std::accumulate(found.begin(), found.end(), u8(0), std::bit_or<u8>());
}

// For each of `graphs` matrices of d rows of bits, the pairs i < j by state: the true cell (i, j) plus twice the
// predicted one plus 4 and 8 times those of (j, i); state 0 is left out.
inline void pair_states(const u64* truth, const u64* prediction, i64 graphs, i64 d, i64* counts, int threads) {
  const i64 strips = (d + 63) / 64;
  std::vector<i64> found(STATES * graphs * strips, 0);
  parallel(graphs * strips, threads, [&](i64 chunk) {
    const i64 first = chunk / strips * d * strips;
    count_strip(truth + first, prediction + first, d, chunk % strips, found.data() + STATES * chunk);
  });
  std::fill_n(counts, STATES * graphs, 0);
  for (i64 cell = 0; cell < i64(found.size()); cell++)
    counts[cell / (STATES * strips) * STATES + cell % STATES] += found[cell];
}

}  // namespace graphgauge
