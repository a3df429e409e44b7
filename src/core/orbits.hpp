// The 15 orbits of graphs of up to four nodes (Pržulj 2007), as induced subgraphs.
#pragma once

#include "common.hpp"

namespace graphgauge {

// Counts (nodes, 15) of an undirected graph without loops: the neighbours of node i, in rising order, are
// around[start[i]] to around[start[i + 1] - 1]. Column 3 is triangles.
void orbits(const i64* start, const i64* around, i64 nodes, i64* counts, int threads);

}  // namespace graphgauge
