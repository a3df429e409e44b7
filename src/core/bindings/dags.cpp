#include "../dags.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

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

}  // namespace

void bind_dags(nb::module_& module) {
  module.def("topological_order", &order_of, "cells"_a, "nodes"_a);
  module.def("compelled_edges", &compelled, "cells"_a, "nodes"_a);
  module.def("sinks_first", &sinks, "directed"_a, "undirected"_a, "nodes"_a);
}

}  // namespace graphgauge
