#include "../forecast.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

// High and low parts and counts, (block, quantity, group).
class Found {
 public:
  Found(i64 blocks, i64 sums, i64 counts, i64 groups)
      : high_({blocks, sums, groups}), low_({blocks, sums, groups}), counts_({blocks, counts, groups}) {}
  Totals totals() { return {high_.data(), low_.data(), counts_.data()}; }
  nb::tuple arrays() { return nb::make_tuple(high_.array(), low_.array(), counts_.array()); }

 private:
  Out<double> high_, low_;
  Out<i64> counts_;
};

template <class T, std::size_t N>
Forecasts<T> forecasts_of(const In<T, N>& y, const In<T, N>& mean, const std::optional<In<T, N>>& std,
                          const std::optional<In<bool, N>>& mask) {
  for (std::size_t axis = 0; axis < N; axis++) {
    const auto length = y.shape(axis);
    require(
        mean.shape(axis) == length && (!std || std->shape(axis) == length) && (!mask || mask->shape(axis) == length),
        "y, mean, std and mask differ in shape");
  }
  return {y.data(), mean.data(), std ? std->data() : nullptr, mask ? mask->data() : nullptr, 0, nullptr, 0};
}

template <class T>
nb::tuple errors(const In<T, 4>& y, const In<T, 4>& mean, const std::optional<In<T, 4>>& std,
                 const std::optional<In<bool, 4>>& mask, u32 asked, const In<double, 1>& widths,
                 const In<i64, 1>& place, int threads) {
  Forecasts<T> of = forecasts_of<T, 4>(y, mean, std, mask);
  of.asked = asked, of.widths = widths.data(), of.levels = i64(widths.shape(0));
  require(asked >> (static_cast<int>(Term::over) + 1) == 0, "no such sum");
  require(std || (asked >> static_cast<int>(Term::std) == 0 && !of.levels), "these sums need a std");
  const Grid grid{i64(y.shape(0)), i64(y.shape(1)), i64(y.shape(2)), i64(y.shape(3)), place.data()};
  require(i64(place.shape(0)) == grid.blocks, "each block has a place");
  for (i64 block = 0; block < grid.blocks; block++) {
    const i64 before = block ? grid.place[block - 1] : 0;
    if (grid.place[block] == before || (block && grid.place[block] == before + 1)) continue;
    refuse("places are 0, 1, 2 and so on, and do not fall: not so at index " + std::to_string(block));
  }
  Found by_horizon(grid.blocks, of.sums(), of.counts(), grid.horizons);
  Found by_node(grid.places(), of.sums(), of.counts(), grid.nodes);
  compute([&] { error_sums(of, grid, by_horizon.totals(), by_node.totals(), threads); });
  return nb::make_tuple(by_horizon.arrays(), by_node.arrays());
}

template <class T>
void positions(const In<T, 3>& y, const In<T, 3>& mean, const In<T, 3>& std, const std::optional<In<bool, 3>>& mask,
               const In<double, 1>& edges, Added<i64>& by_horizon, Added<i32>& by_node) {
  require(by_horizon.ndim() == 3 && by_node.ndim() == 2, "counts are (block, horizon, bin) and (node, bin)");
  const Forecasts<T> of = forecasts_of<T, 3>(y, mean, std, mask);
  const i64 steps = i64(y.shape(0)), blocks = i64(by_horizon.shape(0)), count = i64(edges.shape(0));
  require(blocks > 0 && steps % blocks == 0, "the steps are no whole number of blocks");
  const Grid grid{blocks, steps / blocks, i64(y.shape(1)), i64(y.shape(2)), nullptr};
  require(count > 0 && std::is_sorted(edges.data(), edges.data() + count), "edges must rise, from one on");
  require(i64(by_horizon.shape(1)) == grid.horizons && i64(by_horizon.shape(2)) == count + 1 &&
              i64(by_node.shape(0)) == grid.nodes && i64(by_node.shape(1)) == count + 1,
          "counts do not fit the cells and edges");
  compute([&] { add_positions(of, grid, edges.data(), count, by_horizon.data(), by_node.data()); });
}

nb::tuple by_group(const In<double, 2>& values, const In<i64, 1>& group, i64 groups) {
  const i64 rows = i64(values.shape(0));
  require(values.shape(1) == group.shape(0), "values and group differ in length");
  const Indices<i64> checked(group, groups, "group");
  Out<double> high({rows, groups}), low({rows, groups});
  compute([&] { grouped_sums(values.data(), rows, checked.data(), checked.count(), groups, high.data(), low.data()); });
  return nb::make_tuple(high.array(), low.array());
}

}  // namespace

void bind_forecast(nb::module_& module) {
  each_type<float, double>([&]<class T>() {
    module.def("error_sums", &errors<T>, "y"_a, "mean"_a, "std"_a.none(), "mask"_a.none(), "asked"_a, "widths"_a,
               "place"_a, "threads"_a = 1);
    module.def("add_positions", &positions<T>, "y"_a, "mean"_a, "std"_a, "mask"_a.none(), "edges"_a, "by_horizon"_a,
               "by_node"_a);
  });
  module.def("grouped_sums", &by_group, "values"_a, "group"_a, "groups"_a);
}

}  // namespace graphgauge
