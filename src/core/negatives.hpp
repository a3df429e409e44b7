// Negatives: distinct draws, and the nodes near a node.
#pragma once

#include "common.hpp"

namespace graphgauge {

// Row i draws take[i] of the places start[i] to stop[i] - 1 that are not among its excluded ones, taken[first[i]] to
// taken[last[i] - 1], which rise. One number of `uniform`, from 0 to below 1, is used for each; rows of both matrices
// have `width` columns.
struct Draws {
  i64 rows, width;
  const i64 *start, *stop, *taken, *first, *last, *take;
  const double* uniform;
};

// Approximate PageRank of a walk that returns to `source` with probability `restart`, by pushing probability along
// edges (Andersen, Chung and Lang 2006) until less than `limit` times its degree is left at each node.
struct Near {
  std::vector<i64> nodes;
  std::vector<double> values;
};

constexpr i64 ROWS = 256, SOURCES = 16;  // of a chunk

// Numbers that were met: a hash table that is emptied by a new turn.
class Met {
 public:
  explicit Met(i64 entries) {
    while (i64(keys_.size()) < 2 * entries) keys_.resize(2 * keys_.size());
    turns_.assign(keys_.size(), 0);
  }
  void clear() { turn_++; }
  // Whether the number was not yet met.
  bool add(i64 key) {
    const u64 mask = keys_.size() - 1;
    u64 place = (u64(key) * 0x9E3779B97F4A7C15u) >> 20 & mask;
    for (; turns_[place] == turn_; place = (place + 1) & mask) {
      if (keys_[place] == key) return false;
    }
    keys_[place] = key, turns_[place] = turn_;
    return true;
  }

 private:
  std::vector<i64> keys_ = std::vector<i64>(16), turns_;
  i64 turn_ = 1;
};

// The ranks of the places among the free ones by Floyd's method: one number for each, no rejection, whether free places
// are many or few (Bentley and Floyd 1987).
inline void draw_row(const Draws& draws, i64 row, Met& met, i64* out) {
  const i64 start = draws.start[row], take = draws.take[row];
  const i64 *first = draws.taken + draws.first[row], *last = draws.taken + draws.last[row];
  met.clear();
  for (i64 step = 0; step < take; step++) {
    const i64 end = draws.stop[row] - start - (last - first) - take + step;
    i64 rank = i64(draws.uniform[row * draws.width + step] * double(end + 1));
    if (!met.add(rank)) met.add(rank = end);  // its turn goes to the newest rank, which nobody can have
    i64 low = 0, high = last - first;         // excluded places before the free place of this rank
    while (low < high) {
      const i64 middle = (low + high) / 2;
      if (first[middle] - start - middle <= rank) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    out[row * draws.width + step] = start + rank + low;
  }
}

struct Walk {
  std::vector<double> settled, left;
  std::vector<u8> is_settled, is_queued;
  std::vector<i64> touched;
  explicit Walk(i64 nodes) : settled(nodes), left(nodes), is_settled(nodes), is_queued(nodes) {}
};

inline Near pushed(const i64* offsets, const i64* neighbours, i64 source, double restart, double limit, Walk& walk) {
  Near near;
  std::vector<i64> waiting{source};
  walk.left[source] = restart, walk.is_queued[source] = 1, walk.touched.assign(1, source);
  while (!waiting.empty()) {
    const i64 node = waiting.back(), degree = offsets[node + 1] - offsets[node];
    waiting.pop_back();
    walk.is_queued[node] = 0;
    if (!walk.is_settled[node]) walk.is_settled[node] = 1, near.nodes.push_back(node);
    const double amount = walk.left[node];
    walk.settled[node] += amount, walk.left[node] = 0;
    for (i64 i = offsets[node]; i < offsets[node + 1]; i++) {
      const i64 other = neighbours[i];
      if (walk.left[other] == 0) walk.touched.push_back(other);
      walk.left[other] += (1 - restart) * amount / double(degree);
      if (walk.left[other] >= limit * double(offsets[other + 1] - offsets[other]) && !walk.is_queued[other]) {
        walk.is_queued[other] = 1, waiting.push_back(other);
      }
    }
  }
  for (const i64 node : near.nodes) {
    near.values.push_back(walk.settled[node]);
    walk.settled[node] = 0, walk.is_settled[node] = 0;
  }
  for (const i64 node : walk.touched) walk.left[node] = 0;
  return near;
}

inline void draw_distinct(const Draws& draws, i64* out, int threads) {
  i64 most = 0;
  for (i64 row = 0; row < draws.rows; row++) most = std::max(most, draws.take[row]);
  const i64 chunks = (draws.rows + ROWS - 1) / ROWS;
  by_thread(chunks, threads, [&](auto&& next) {
    Met met(most);
    for (i64 chunk; (chunk = next()) < chunks;) {
      for (i64 row = chunk * ROWS; row < std::min(draws.rows, (chunk + 1) * ROWS); row++) {
        draw_row(draws, row, met, out);
      }
    }
  });
}

inline std::vector<Near> push_pagerank(const i64* offsets, const i64* neighbours, i64 nodes, const i64* sources,
                                       i64 count, double restart, double limit, int threads) {
  std::vector<Near> found(count);
  const i64 chunks = (count + SOURCES - 1) / SOURCES;
  by_thread(chunks, threads, [&](auto&& next) {
    Walk walk(nodes);
    for (i64 chunk; (chunk = next()) < chunks;) {
      for (i64 i = chunk * SOURCES; i < std::min(count, (chunk + 1) * SOURCES); i++) {
        found[i] = pushed(offsets, neighbours, sources[i], restart, limit, walk);
      }
    }
  });
  return found;
}

}  // namespace graphgauge
