// Directed graphs as cells: the edge from i to j of d nodes is i * d + j; cells rise strictly.
#pragma once

#include "common.hpp"

namespace graphgauge {

// An order of the nodes in which no edge leads back (Kahn 1962), or one that ends early, before the nodes of cycles.
std::vector<i64> topological_order(const i64* cells, i64 edges, i64 nodes);

// For each edge of a DAG, whether it has this direction in every equivalent DAG (Chickering 1995).
std::vector<u8> compelled_edges(const i64* cells, i64 edges, i64 nodes, const std::vector<i64>& order);

// The order in which nodes can be removed as sinks (Dor and Tarsi 1992) from a graph with directed edges and undirected
// ones, which are listed in both directions. All nodes are in it exactly if there is a DAG with the same adjacencies,
// arrows and v-structures; that DAG directs every undirected edge to its earlier end.
std::vector<i64> sinks_first(const i64* directed, i64 arrows, const i64* undirected, i64 lines, i64 nodes);

}  // namespace graphgauge
