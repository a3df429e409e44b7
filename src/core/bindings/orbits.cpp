#include "../orbits.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

nb::object counted(const In<i64, 1>& offsets, const In<i64, 1>& indices, int threads) {
  const Csr graph(offsets, indices, Csr::UNDIRECTED);
  Out<i64> counts({graph.nodes(), 15});
  compute([&] { orbits(graph.offsets(), graph.indices(), graph.nodes(), counts.data(), threads); });
  return counts.array();
}

}  // namespace

void bind_orbits(nb::module_& module) { module.def("orbits", &counted, "offsets"_a, "indices"_a, "threads"_a = 1); }

}  // namespace graphgauge
