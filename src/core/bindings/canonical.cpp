#include "../canonical.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

using Labels = std::optional<In<u64, 1>>;

// Returns the number of nodes.
i64 require_graphs(const In<i64, 1>& nodes, const Offsets& offsets, const In<i64, 2>& edges) {
  require(offsets.parts() == i64(nodes.shape(0)), "n graphs need n + 1 offsets");
  require(edges.shape(1) == 2, "edges must have two columns");
  i64 total = 0;
  for (i64 graph = 0; graph < offsets.parts(); graph++) {
    const i64 size = nodes.data()[graph];
    if (size < 0 || size > INT32_MAX)
      refuse("graph " + std::to_string(graph) + " has " + std::to_string(size) + " nodes");
    for (i64 end = 2 * offsets.data()[graph]; end < 2 * offsets.data()[graph + 1]; end++) {
      if (edges.data()[end] >= 0 && edges.data()[end] < size) continue;
      refuse("edges has " + std::to_string(edges.data()[end]) + " in graph " + std::to_string(graph) + " of " +
             std::to_string(size) + " nodes");
    }
    total += size;
  }
  return total;
}

nb::tuple words(const In<i64, 1>& nodes, const In<i64, 1>& offsets, const In<i64, 2>& edges, const Labels& node_words,
                const Labels& edge_words, bool directed, i64 bound, int threads) {
  const Offsets bounds(offsets, i64(edges.shape(0)), "offsets");
  const i64 total = require_graphs(nodes, bounds, edges), count = bounds.parts();
  require(!node_words || i64(node_words->shape(0)) == total, "node_words needs a word for each node");
  require(!edge_words || edge_words->shape(0) == edges.shape(0), "edge_words needs a word for each edge");
  require(bound >= 0, "bound must not be negative");
  Out<u64> forms({count, 2}), colours({count});
  Out<bool> undecided({count});
  const Graphs graphs{count,
                      nodes.data(),
                      bounds.data(),
                      edges.data(),
                      node_words ? node_words->data() : nullptr,
                      edge_words ? edge_words->data() : nullptr,
                      directed};
  compute([&] { graph_words(graphs, bound, forms.data(), colours.data(), undecided.data(), threads); });
  return nb::make_tuple(forms.array(), colours.array(), undecided.array());
}

}  // namespace

void bind_canonical(nb::module_& module) {
  module.def("graph_words", &words, "nodes"_a, "offsets"_a, "edges"_a, "node_words"_a = nb::none(),
             "edge_words"_a = nb::none(), "directed"_a = false, "bound"_a = 4000, "threads"_a = 1);
}

}  // namespace graphgauge
