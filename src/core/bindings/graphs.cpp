#include "../canonical.hpp"
#include "../cells.hpp"
#include "../dags.hpp"
#include "../negatives.hpp"
#include "../orbits.hpp"
#include "arrays.hpp"

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
  const u64* of_nodes = node_words ? node_words->data() : nullptr;
  const u64* of_edges = edge_words ? edge_words->data() : nullptr;
  const Graphs graphs{count, nodes.data(), bounds.data(), edges.data(), of_nodes, of_edges, directed};
  compute([&] { graph_words(graphs, bound, forms.data(), colours.data(), undecided.data(), threads); });
  return arrays_of(forms, colours, undecided);
}

template <class T>
nb::tuple bits_of(const In<T, 2>& values, i64 loopless, double low, double high, int threads) {
  const i64 rows = i64(values.shape(0)), d = i64(values.shape(1));
  Out<u64> words({rows, (d + 63) / 64});
  int kinds = 0;
  compute([&] { kinds = cell_bits(values.data(), rows, d, loopless, low, high, words.data(), threads); });
  return nb::make_tuple(words.array(), kinds);
}

nb::object states_of(const In<u64, 2>& truth, const In<u64, 2>& prediction, i64 d, int threads) {
  const i64 rows = i64(truth.shape(0));
  require(d > 0 && rows % d == 0 && i64(truth.shape(1)) == (d - 1) / 64 + 1, "graphs of d nodes have d rows of d bits");
  require(alike(truth, prediction), "truth and prediction differ in shape");
  Out<i64> counts({rows / d, STATES});
  compute([&] { pair_states(truth.data(), prediction.data(), rows / d, d, counts.data(), threads); });
  return counts.array();
}

nb::object order_of(const In<i64, 1>& cells, i64 nodes) {
  const Cells edges(cells, nodes, "cells");
  std::vector<i64> order;
  compute([&] { order = topological_order(edges.data(), edges.count(), nodes); });
  return Out<i64>::copied(order.data(), i64(order.size()));
}

// None where there is a cycle.
nb::object compelled(const In<i64, 1>& cells, i64 nodes) {
  const Cells edges(cells, nodes, "cells");
  std::vector<u8> labels;
  bool acyclic = false;
  compute([&] {
    const std::vector<i64> order = topological_order(edges.data(), edges.count(), nodes);
    acyclic = i64(order.size()) == nodes;
    if (acyclic) labels = compelled_edges(edges.data(), edges.count(), nodes, order);
  });
  if (!acyclic) return nb::none();
  Out<bool> out({edges.count()});
  std::copy(labels.begin(), labels.end(), out.data());
  return out.array();
}

nb::object sinks(const In<i64, 1>& directed, const In<i64, 1>& undirected, i64 nodes) {
  const Cells arrows(directed, nodes, "directed"), lines(undirected, nodes, "undirected");
  std::vector<i64> order;
  compute([&] { order = sinks_first(arrows.data(), arrows.count(), lines.data(), lines.count(), nodes); });
  return Out<i64>::copied(order.data(), i64(order.size()));
}

// Every row has room and excluded places that exist, so that drawing reads and writes nothing else.
void require_draws(const Draws& draws, i64 taken) {
  for (i64 row = 0; row < draws.rows; row++) {
    const i64 first = draws.first[row], last = draws.last[row], start = draws.start[row], stop = draws.stop[row];
    if (first < 0 || last < first || last > taken) {
      refuse("row " + std::to_string(row) + " excludes places outside of taken");
    }
    if (start < 0 || stop < start || draws.take[row] < 0 || draws.take[row] > (stop - start) - (last - first)) {
      refuse("row " + std::to_string(row) + " takes more places than are free");
    }
    require(draws.take[row] <= draws.width, "uniform has fewer columns than places to take");
  }
  for (i64 i = 0; i < draws.rows * draws.width; i++) {
    require(draws.uniform[i] >= 0 && draws.uniform[i] < 1, "uniform must be from 0 to below 1");
  }
}

nb::object drawn(const In<i64, 1>& start, const In<i64, 1>& stop, const In<i64, 1>& taken, const In<i64, 1>& first,
                 const In<i64, 1>& last, const In<i64, 1>& take, const In<double, 2>& uniform, int threads) {
  const i64 rows = i64(uniform.shape(0)), width = i64(uniform.shape(1));
  for (const auto* column : {&start, &stop, &first, &last, &take}) {
    require(i64(column->shape(0)) == rows, "start, stop, first, last, take and uniform differ in length");
  }
  const Draws draws{rows,         width,       start.data(), stop.data(),   taken.data(),
                    first.data(), last.data(), take.data(),  uniform.data()};
  require_draws(draws, i64(taken.shape(0)));
  Out<i64> out({rows, width});
  compute([&] {
    std::fill(out.data(), out.data() + rows * width, -1);
    draw_distinct(draws, out.data(), threads);
  });
  return out.array();
}

nb::tuple pagerank(const In<i64, 1>& offsets, const In<i64, 1>& neighbours, const In<i64, 1>& sources, double restart,
                   double limit, int threads) {
  const Csr graph(offsets, neighbours, Csr::ANY);
  const Indices<i64> from(sources, graph.nodes(), "sources");
  require(restart > 0 && restart <= 1 && limit > 0, "restart must be above 0 and at most 1, and limit above 0");
  require(restart * limit >= 1e-12, "restart times limit must be at least 1e-12: its inverse is the number of steps");
  Out<i64> bounds({from.count() + 1});
  Near all;
  compute([&] {
    const std::vector<Near> rows = push_pagerank(graph.offsets(), graph.indices(), graph.nodes(), from.data(),
                                                 from.count(), restart, limit, threads);
    bounds.data()[0] = 0;
    for (std::size_t row = 0; row < rows.size(); row++) {
      all.nodes.insert(all.nodes.end(), rows[row].nodes.begin(), rows[row].nodes.end());
      all.values.insert(all.values.end(), rows[row].values.begin(), rows[row].values.end());
      bounds.data()[row + 1] = i64(all.nodes.size());
    }
  });
  const i64 size = i64(all.nodes.size());
  return nb::make_tuple(Out<i64>::copied(all.nodes.data(), size), Out<double>::copied(all.values.data(), size),
                        bounds.array());
}

nb::object counted(const In<i64, 1>& offsets, const In<i64, 1>& indices, int threads) {
  const Csr graph(offsets, indices, Csr::UNDIRECTED);
  Out<i64> counts({graph.nodes(), 15});
  compute([&] { orbits(graph.offsets(), graph.indices(), graph.nodes(), counts.data(), threads); });
  return counts.array();
}

}  // namespace

void bind_graphs(nb::module_& module) {
  module.def("graph_words", &words, "nodes"_a, "offsets"_a, "edges"_a, "node_words"_a = nb::none(),
             "edge_words"_a = nb::none(), "directed"_a = false, "bound"_a = 4000, "threads"_a = 1);
  each_type<bool, std::int8_t, u8, i32, i64, float, double>([&]<class T>() {
    module.def("cell_bits", &bits_of<T>, "values"_a, "loopless"_a, "low"_a, "high"_a, "threads"_a = 1);
  });
  module.def("pair_states", &states_of, "truth"_a, "prediction"_a, "d"_a, "threads"_a = 1);

  module.def("topological_order", &order_of, "cells"_a, "nodes"_a);
  module.def("compelled_edges", &compelled, "cells"_a, "nodes"_a);
  module.def("sinks_first", &sinks, "directed"_a, "undirected"_a, "nodes"_a);

  module.def("draw_distinct", &drawn, "start"_a, "stop"_a, "taken"_a, "first"_a, "last"_a, "take"_a, "uniform"_a,
             "threads"_a = 1);
  module.def("push_pagerank", &pagerank, "offsets"_a, "neighbours"_a, "sources"_a, "restart"_a, "limit"_a,
             "threads"_a = 1);
  module.def("orbits", &counted, "offsets"_a, "indices"_a, "threads"_a = 1);
}

}  // namespace graphgauge
