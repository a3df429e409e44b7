// The 15 orbits of graphs of up to four nodes (Pržulj 2007), as induced subgraphs.
//
// Degrees, common neighbours and triangles give the counts of subgraphs that need not be induced; those become induced
// ones by the number of times that each subgraph contains the others. Only complete graphs of four are searched for.
#pragma once

#include "common.hpp"

namespace graphgauge {

constexpr i64 NODES = 64;  // of a chunk

struct Counts {
  std::vector<i64> degree, triangles, ends, cycles, complete, pendant, opposite, common;
  Counts(i64 nodes, i64 edges) : degree(nodes), common(edges) {
    for (auto* each : {&triangles, &ends, &cycles, &complete, &pendant, &opposite}) each->resize(nodes);
  }
};

// Paths of two edges: two nodes with c common neighbours are opposite in c(c - 1) / 2 cycles of four.
inline void count_paths(const i64* start, const i64* around, i64 first, i64 last, std::vector<i32>& paths,
                        Counts& counts) {
  for (i64 u = first; u < last; u++) {
    for (i64 a = start[u]; a < start[u + 1]; a++) {
      const i64 v = around[a];
      for (i64 b = start[v]; b < start[v + 1]; b++) {
        if (around[b] != u) counts.cycles[u] += paths[around[b]]++;
      }
    }
    for (i64 a = start[u]; a < start[u + 1]; a++) {
      counts.triangles[u] += counts.common[a] = paths[around[a]];
      counts.ends[u] += counts.degree[around[a]] - 1;
    }
    counts.triangles[u] /= 2;
    for (i64 a = start[u]; a < start[u + 1]; a++) {
      const i64 v = around[a];
      for (i64 b = start[v]; b < start[v + 1]; b++) paths[around[b]] = 0;
    }
  }
}

// What a thread adds up over triangles: complete graphs of four, and for the node opposite to an edge of a triangle the
// further edges of its ends and the further triangles on it.
struct Sums {
  std::vector<i64> complete, pendant, opposite, of_u, of_v;
  explicit Sums(i64 nodes) : complete(nodes), pendant(nodes), opposite(nodes), of_u(nodes, -1), of_v(nodes, -1) {}
};

inline void search_triangles(const i64* start, const i64* around, i64 first, i64 last, const Counts& counts,
                             Sums& sums) {
  const std::vector<i64>&degree = counts.degree, &common = counts.common;
  std::vector<i64>&of_u = sums.of_u, &of_v = sums.of_v;
  for (i64 u = first; u < last; u++) {
    for (i64 a = start[u]; a < start[u + 1]; a++) of_u[around[a]] = a;
    for (i64 a = start[u]; a < start[u + 1]; a++) {
      const i64 v = around[a];
      if (v <= u || !common[a]) continue;
      for (i64 b = start[v]; b < start[v + 1]; b++) of_v[around[b]] = b;
      for (i64 b = start[v]; b < start[v + 1]; b++) {
        const i64 w = around[b];
        if (w <= v || of_u[w] < 0) continue;
        sums.pendant[u] += degree[v] + degree[w] - 4, sums.opposite[u] += common[b] - 1;
        sums.pendant[v] += degree[u] + degree[w] - 4, sums.opposite[v] += common[of_u[w]] - 1;
        sums.pendant[w] += degree[u] + degree[v] - 4, sums.opposite[w] += common[a] - 1;
        for (i64 c = start[w]; c < start[w + 1]; c++) {
          const i64 x = around[c];
          if (x > w && of_u[x] >= 0 && of_v[x] >= 0) {
            for (const i64 node : {u, v, w, x}) sums.complete[node]++;
          }
        }
      }
      for (i64 b = start[v]; b < start[v + 1]; b++) of_v[around[b]] = -1;
    }
    for (i64 a = start[u]; a < start[u + 1]; a++) of_u[around[a]] = -1;
  }
}

inline void induced(const i64* start, const i64* around, i64 u, const Counts& counts, i64* o) {
  const i64 d = counts.degree[u], triangles = counts.triangles[u];
  i64 path_end = 0, path_inside = 0, claw_end = 0, paw_end = 0, diamond = 0;
  for (i64 a = start[u]; a < start[u + 1]; a++) {
    const i64 v = around[a], other = counts.degree[v] - 1, common = counts.common[a];
    path_end += counts.ends[v] - (d - 1) - common, path_inside += (d - 1) * other - common;
    claw_end += other * (other - 1) / 2, paw_end += counts.triangles[v] - common, diamond += common * (common - 1) / 2;
  }
  o[0] = d, o[1] = counts.ends[u] - 2 * triangles, o[2] = d * (d - 1) / 2 - triangles, o[3] = triangles;
  o[14] = counts.complete[u];
  o[13] = diamond - 3 * o[14];
  o[12] = counts.opposite[u] - 3 * o[14];
  o[11] = triangles * (d - 2) - 2 * o[13] - 3 * o[14];
  o[10] = counts.pendant[u] - 2 * o[12] - 2 * o[13] - 6 * o[14];
  o[9] = paw_end - 2 * o[12] - 3 * o[14];
  o[8] = counts.cycles[u] - o[12] - o[13] - 3 * o[14];
  o[7] = d * (d - 1) * (d - 2) / 6 - o[11] - o[13] - o[14];
  o[6] = claw_end - o[9] - o[10] - 2 * o[12] - o[13] - 3 * o[14];
  o[5] = path_inside - 2 * o[8] - o[10] - 2 * o[11] - 2 * o[12] - 4 * o[13] - 6 * o[14];
  o[4] = path_end - 2 * o[8] - 2 * o[9] - o[10] - 4 * o[12] - 2 * o[13] - 6 * o[14];
}

// Counts (nodes, 15) of an undirected graph without loops: the neighbours of node i, in rising order, are
// around[start[i]] to around[start[i + 1] - 1]. Column 3 is triangles.
inline void orbits(const i64* start, const i64* around, i64 nodes, i64* counts, int threads) {
  Counts found(nodes, start[nodes]);
  for (i64 u = 0; u < nodes; u++) found.degree[u] = start[u + 1] - start[u];
  const i64 chunks = (nodes + NODES - 1) / NODES;
  const auto last = [&](i64 chunk) { return std::min(nodes, (chunk + 1) * NODES); };
  by_thread(chunks, threads, [&](auto&& next) {
    std::vector<i32> paths(nodes);
    for (i64 chunk; (chunk = next()) < chunks;) {
      count_paths(start, around, chunk * NODES, last(chunk), paths, found);
    }
  });
  std::mutex lock;
  by_thread(chunks, threads, [&](auto&& next) {
    Sums sums(nodes);
    for (i64 chunk; (chunk = next()) < chunks;) {
      search_triangles(start, around, chunk * NODES, last(chunk), found, sums);
    }
    const std::lock_guard<std::mutex> hold(lock);
    for (i64 u = 0; u < nodes; u++) {
      found.complete[u] += sums.complete[u], found.pendant[u] += sums.pendant[u];
      found.opposite[u] += sums.opposite[u];
    }
  });
  for (i64 u = 0; u < nodes; u++) induced(start, around, u, found, counts + 15 * u);
}

}  // namespace graphgauge
