#include "../forecast.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

// Cells (blocks, steps, horizons, nodes), and a place for each block.
template <class Array>
Grid grid_of(const Array& cells, const In<i64, 1>& place) {
  const auto length = [&](int from_last) { return i64(cells.shape(cells.ndim() - from_last)); };
  const Grid grid{length(4), length(3), length(2), length(1), place.data()};
  require(i64(place.shape(0)) == grid.blocks, "each block has a place");
  for (i64 block = 0; block < grid.blocks; block++) {
    const i64 before = block ? grid.place[block - 1] : 0;
    if (grid.place[block] == before || (block && grid.place[block] == before + 1)) continue;
    refuse("places are 0, 1, 2 and so on, and do not fall: not so at index " + std::to_string(block));
  }
  return grid;
}

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

template <class T>
nb::tuple errors(const In<T, 4>& y, const In<T, 4>& mean, const std::optional<In<T, 4>>& std,
                 const std::optional<In<bool, 4>>& mask, u32 asked, const In<double, 1>& widths,
                 const In<i64, 1>& place, int threads) {
  const Grid grid = grid_of(y, place);
  const auto fits = [&](const auto& array) {
    for (int axis = 0; axis < 4; axis++) {
      if (array.shape(axis) != y.shape(axis)) return false;
    }
    return true;
  };
  require(fits(mean) && (!std || fits(*std)) && (!mask || fits(*mask)), "y, mean, std and mask differ in shape");
  require(asked >> (static_cast<int>(Term::over) + 1) == 0, "no such sum");
  require(std || (asked >> static_cast<int>(Term::std) == 0 && widths.shape(0) == 0), "these sums need a std");
  const Forecasts<T> forecasts{y.data(), mean.data(),   std ? std->data() : nullptr, mask ? mask->data() : nullptr,
                               asked,    widths.data(), i64(widths.shape(0))};
  const i64 sums = number_of_sums(forecasts), counts = 3 + forecasts.levels;
  Found by_horizon(grid.blocks, sums, counts, grid.horizons), by_node(grid.places(), sums, counts, grid.nodes);
  compute([&] { error_sums(forecasts, grid, by_horizon.totals(), by_node.totals(), threads); });
  return nb::make_tuple(by_horizon.arrays(), by_node.arrays());
}

template <class T>
nb::tuple quantiles(const In<T, 4>& y, const In<T, 5>& values, const std::optional<In<bool, 4>>& mask,
                    const In<double, 1>& levels, const In<i64, 2>& ends, bool wide, const In<i64, 1>& place,
                    int threads) {
  const Grid grid = grid_of(y, place);
  require(ends.shape(1) == 2, "ends are two for each interval");
  const i64 count = i64(levels.shape(0)), intervals = i64(ends.shape(0));
  for (int axis = 0; axis < 4; axis++) {
    require(values.shape(axis) == y.shape(axis) && (!mask || mask->shape(axis) == y.shape(axis)),
            "y, quantiles and mask differ in shape");
  }
  require(i64(values.shape(4)) == count, "each level has a quantile");
  const Indices<i64> checked(ends, count, "ends");
  const Quantiles<T> of{y.data(),  values.data(), mask ? mask->data() : nullptr, levels.data(), count, checked.data(),
                        intervals, wide};
  const i64 sums = wide ? 2 * count : count, counts = count + intervals + 1;
  Found by_horizon(grid.blocks, sums, counts, grid.horizons), by_node(grid.places(), sums, counts, grid.nodes);
  compute([&] { quantile_sums(of, grid, by_horizon.totals(), by_node.totals(), threads); });
  return nb::make_tuple(by_horizon.arrays(), by_node.arrays());
}

nb::tuple columns(const In<double, 5>& values, const In<i64, 1>& place, int threads) {
  const i64 count = i64(values.shape(0));
  const Grid grid = grid_of(values, place);
  Found by_horizon(grid.blocks, count, 0, grid.horizons), by_node(grid.places(), count, 0, grid.nodes);
  compute([&] { column_sums(values.data(), count, grid, by_horizon.totals(), by_node.totals(), threads); });
  return nb::make_tuple(by_horizon.arrays(), by_node.arrays());
}

nb::tuple by_group(const In<double, 2>& values, const In<i64, 1>& group, i64 groups) {
  const i64 rows = i64(values.shape(0));
  require(values.shape(1) == group.shape(0), "values and group differ in length");
  const Indices<i64> checked(group, groups, "group");
  Out<double> high({rows, groups}), low({rows, groups});
  compute([&] { grouped_sums(values.data(), rows, checked.data(), checked.count(), groups, high.data(), low.data()); });
  return nb::make_tuple(high.array(), low.array());
}

template <class T>
void bind_floats(nb::module_& module) {
  module.def("error_sums", &errors<T>, "y"_a, "mean"_a, "std"_a.none(), "mask"_a.none(), "asked"_a, "widths"_a,
             "place"_a, "threads"_a = 1);
  module.def("quantile_sums", &quantiles<T>, "y"_a, "quantiles"_a, "mask"_a.none(), "levels"_a, "ends"_a, "wide"_a,
             "place"_a, "threads"_a = 1);
}

}  // namespace

void bind_forecast(nb::module_& module) {
  bind_floats<float>(module);
  bind_floats<double>(module);
  module.def("grouped_sums", &by_group, "values"_a, "group"_a, "groups"_a);
  module.def("column_sums", &columns, "values"_a, "place"_a, "threads"_a = 1);
}

}  // namespace graphgauge
