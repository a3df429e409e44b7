#include "../forecast.hpp"

#include <array>

#include "../positions.hpp"
#include "arrays.hpp"

namespace graphgauge {
namespace {

// High and low parts and counts, (block, quantity, group).
class Found {
 public:
  Found(i64 blocks, i64 sums, i64 counts, i64 groups)
      : high_({blocks, sums, groups}), low_({blocks, sums, groups}), counts_({blocks, counts, groups}) {}
  Totals totals() { return {high_.data(), low_.data(), counts_.data()}; }
  nb::tuple arrays() { return arrays_of(high_, low_, counts_); }

 private:
  Out<double> high_, low_;
  Out<i64> counts_;
};

template <class T>
Forecasts<T> forecasts_of(const In<T, 3>& y, const In<T, 3>& mean, const std::optional<In<T, 3>>& std,
                          const std::optional<In<bool, 3>>& mask) {
  require(alike(y, mean) && (!std || alike(y, *std)) && (!mask || alike(y, *mask)),
          "y, mean, std and mask differ in shape");
  return {y.data(), mean.data(), std ? std->data() : nullptr, mask ? mask->data() : nullptr, 0, nullptr, 0};
}

// Blocks of `length` steps, in time; those by node are `node_length` long.
Grid grid_of(const std::array<i64, 3>& shape, i64 first, i64 length, i64 node_length) {
  require(first >= 0 && first < (i64(1) << 61), "first is the number of a step, from 0 on");
  require(length > 0 && node_length > 0 && node_length < (i64(1) << 61) && node_length % length == 0,
          "node_length is a multiple of length, which is 1 or more");
  return {shape[0], shape[1], shape[2], first, length, node_length};
}

template <class T>
nb::tuple errors(const In<T, 3>& y, const In<T, 3>& mean, const std::optional<In<T, 3>>& std,
                 const std::optional<In<bool, 3>>& mask, u32 asked, const In<double, 1>& widths, i64 first, i64 length,
                 i64 node_length, int threads) {
  Forecasts<T> of = forecasts_of<T>(y, mean, std, mask);
  of.asked = asked | POINT_TERMS, of.widths = widths.data(), of.levels = i64(widths.shape(0));
  require(asked >> (static_cast<int>(Term::over) + 1) == 0, "no such sum");
  require(std || (asked >> static_cast<int>(Term::std) == 0 && !of.levels), "these sums need a std");
  const Grid grid = grid_of({i64(y.shape(0)), i64(y.shape(1)), i64(y.shape(2))}, first, length, node_length);
  Found by_horizon(grid.blocks(), of.sums(), of.counts(), grid.horizons);
  Found by_node(grid.places(), of.sums(), of.counts(), grid.nodes);
  compute([&] { error_sums(of, grid, by_horizon.totals(), by_node.totals(), threads); });
  return nb::make_tuple(by_horizon.arrays(), by_node.arrays());
}

template <class T>
nb::tuple positions(const In<T, 3>& y, const In<T, 3>& mean, const In<T, 3>& std,
                    const std::optional<In<bool, 3>>& mask, const In<double, 1>& edges, i64 first, i64 length,
                    int threads) {
  const Forecasts<T> of = forecasts_of<T>(y, mean, std, mask);
  const i64 count = i64(edges.shape(0)), bins = count + 1;
  const Grid grid = grid_of({i64(y.shape(0)), i64(y.shape(1)), i64(y.shape(2))}, first, length, length);
  require(count > 0 && count <= INT32_MAX / 2 && std::is_sorted(edges.data(), edges.data() + count),
          "edges must rise, from one on");
  require(grid.steps < INT32_MAX / std::max<i64>(grid.horizons, 1), "a node has more than 2**31 - 1 cells");
  Out<i64> by_horizon({grid.blocks(), grid.horizons, bins});
  Out<i32> by_node({grid.nodes, bins});
  std::fill_n(by_horizon.data(), grid.blocks() * grid.horizons * bins, 0);
  std::fill_n(by_node.data(), grid.nodes * bins, 0);
  compute([&] { add_positions(of, grid, edges.data(), count, by_horizon.data(), by_node.data(), threads); });
  return arrays_of(by_horizon, by_node);
}

nb::tuple by_group(const In<double, 2>& values, const In<i64, 1>& group, i64 groups) {
  const i64 rows = i64(values.shape(0));
  require(values.shape(1) == group.shape(0), "values and group differ in length");
  const Indices<i64> checked(group, groups, "group");
  Out<double> high({rows, groups}), low({rows, groups});
  compute([&] { grouped_sums(values.data(), rows, checked.data(), checked.count(), groups, high.data(), low.data()); });
  return arrays_of(high, low);
}

}  // namespace

void bind_forecast(nb::module_& module) {
  each_type<float, double>([&]<class T>() {
    module.def("error_sums", &errors<T>, "y"_a, "mean"_a, "std"_a.none(), "mask"_a.none(), "asked"_a, "widths"_a,
               "first"_a, "length"_a, "node_length"_a, "threads"_a = 1);
    module.def("positions", &positions<T>, "y"_a, "mean"_a, "std"_a, "mask"_a.none(), "edges"_a, "first"_a, "length"_a,
               "threads"_a = 1);
  });
  module.def("grouped_sums", &by_group, "values"_a, "group"_a, "groups"_a);
}

}  // namespace graphgauge
