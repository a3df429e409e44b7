#include "../calibration.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

template <class T>
NormalForecasts<T> forecasts_of(const In<T, 3>& y, const In<T, 3>& mean, const In<T, 3>& std,
                                const std::optional<In<bool, 3>>& mask, i64 blocks) {
  for (int axis = 0; axis < 3; axis++) {
    const auto length = y.shape(axis);
    require(mean.shape(axis) == length && std.shape(axis) == length && (!mask || mask->shape(axis) == length),
            "y, mean, std and mask differ in shape");
  }
  const i64 steps = i64(y.shape(0));
  require(blocks > 0 && steps % blocks == 0, "the steps are no whole number of blocks");
  return {y.data(), mean.data(),     std.data(),      mask ? mask->data() : nullptr,
          steps,    i64(y.shape(1)), i64(y.shape(2)), blocks};
}

template <class T>
void positions(const In<T, 3>& y, const In<T, 3>& mean, const In<T, 3>& std, const std::optional<In<bool, 3>>& mask,
               const In<double, 1>& edges, Added<i64>& by_horizon, Added<i32>& by_node) {
  require(by_horizon.ndim() == 3 && by_node.ndim() == 2, "counts are (block, horizon, bin) and (node, bin)");
  const auto of = forecasts_of(y, mean, std, mask, i64(by_horizon.shape(0)));
  const i64 count = i64(edges.shape(0));
  require(count > 0 && std::is_sorted(edges.data(), edges.data() + count), "edges must rise, from one on");
  require(i64(by_horizon.shape(1)) == of.horizons && i64(by_horizon.shape(2)) == count + 1 &&
              i64(by_node.shape(0)) == of.nodes && i64(by_node.shape(1)) == count + 1,
          "counts do not fit the cells and edges");
  compute([&] { add_positions(of, edges.data(), count, by_horizon.data(), by_node.data()); });
}

template <class T>
nb::object by_key(const In<T, 3>& y, const In<T, 3>& mean, const In<T, 3>& std, const std::optional<In<bool, 3>>& mask,
                  i64 horizon, i64 lowest, i64 keys) {
  const auto of = forecasts_of(y, mean, std, mask, 1);
  require(horizon >= 0 && horizon < of.horizons, "no such horizon");
  require(lowest >= 0 && keys >= 0, "keys are not negative");
  Out<double> sums({keys, 2, 4});
  compute([&] { sums_by_key(of, horizon, lowest, keys, sums.data()); });
  return sums.array();
}

template <class T>
nb::tuple by_block(const In<T, 3>& y, const In<T, 3>& mean, const In<T, 3>& std, const std::optional<In<bool, 3>>& mask,
                   i64 blocks) {
  const auto of = forecasts_of(y, mean, std, mask, blocks);
  Out<double> high({blocks, RANGES}), low({blocks, RANGES});
  compute([&] { excess_by_block(of, high.data(), low.data()); });
  return nb::make_tuple(high.array(), low.array());
}

template <class T>
void bind_floats(nb::module_& module) {
  module.def("add_positions", &positions<T>, "y"_a, "mean"_a, "std"_a, "mask"_a.none(), "edges"_a, "by_horizon"_a,
             "by_node"_a);
  module.def("sums_by_key", &by_key<T>, "y"_a, "mean"_a, "std"_a, "mask"_a.none(), "horizon"_a, "lowest"_a, "keys"_a);
  module.def("excess_by_block", &by_block<T>, "y"_a, "mean"_a, "std"_a, "mask"_a.none(), "blocks"_a);
}

}  // namespace

void bind_calibration(nb::module_& module) {
  bind_floats<float>(module);
  bind_floats<double>(module);
}

}  // namespace graphgauge
