#include "../negatives.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

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

nb::object distinct(const In<i64, 1>& start, const In<i64, 1>& stop, const In<i64, 1>& taken, const In<i64, 1>& first,
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

nb::object free_pairs(const In<i64, 1>& drawn, const In<i64, 1>& edges, i64 nodes, i64 count) {
  require(nodes >= 2 && nodes < (i64(1) << 31), "nodes must be from 2 to 2**31 - 1");
  require(count >= 0, "count must not be negative");
  const Indices<i64> numbers(drawn, nodes * (nodes - 1), "drawn");
  std::vector<i64> found;
  compute(
      [&] { found = first_free(numbers.data(), numbers.count(), edges.data(), i64(edges.shape(0)), nodes, count); });
  return Out<i64>::copied(found.data(), i64(found.size()));
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

}  // namespace

void bind_negatives(nb::module_& module) {
  module.def("draw_distinct", &distinct, "start"_a, "stop"_a, "taken"_a, "first"_a, "last"_a, "take"_a, "uniform"_a,
             "threads"_a = 1);
  module.def("first_free", &free_pairs, "drawn"_a, "edges"_a, "nodes"_a, "count"_a);
  module.def("push_pagerank", &pagerank, "offsets"_a, "neighbours"_a, "sources"_a, "restart"_a, "limit"_a,
             "threads"_a = 1);
}

}  // namespace graphgauge
