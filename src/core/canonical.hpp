// Canonical forms of graphs: equal for isomorphic graphs, and different for others unless hashes collide.
#pragma once

#include "common.hpp"

namespace graphgauge {

// Graph g has nodes[g] nodes and the edges offsets[g] to offsets[g + 1] - 1, edge e from ends[2 * e] to
// ends[2 * e + 1], numbered within the graph. Words label the nodes of all graphs and the edges; null if none are
// labelled.
struct Graphs {
  i64 count;
  const i64 *nodes, *offsets, *ends;
  const u64 *node_words, *edge_words;
  bool directed;
};

// For each graph: two words of its form, and whether its search took more than `bound` refinements, so that it has
// none. Its colours are a word that isomorphic graphs share, as many others do.
void graph_words(const Graphs& graphs, i64 bound, u64* forms, u64* colours, bool* undecided, int threads);

}  // namespace graphgauge
