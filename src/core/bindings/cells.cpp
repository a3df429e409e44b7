#include "../cells.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

template <class T>
nb::tuple bits_of(const In<T, 2>& values, i64 loopless, double low, double high, bool nan_is_edge, int threads) {
  const i64 rows = i64(values.shape(0)), d = i64(values.shape(1));
  Out<u64> words({rows, (d + 63) / 64});
  CellKinds kinds;
  compute([&] { kinds = cell_bits(values.data(), rows, d, loopless, low, high, nan_is_edge, words.data(), threads); });
  return nb::make_tuple(words.array(), int(kinds.anywhere), int(kinds.counted));
}

nb::object states_of(const In<u64, 2>& truth, const In<u64, 2>& prediction, i64 d, int threads) {
  const i64 rows = i64(truth.shape(0));
  require(d > 0 && rows % d == 0 && i64(truth.shape(1)) == (d - 1) / 64 + 1, "graphs of d nodes have d rows of d bits");
  require(prediction.shape(0) == truth.shape(0) && prediction.shape(1) == truth.shape(1),
          "truth and prediction differ in shape");
  Out<i64> counts({rows / d, 20});
  compute([&] { pair_states(truth.data(), prediction.data(), rows / d, d, counts.data(), threads); });
  return counts.array();
}

template <class T>
void bind_cells_of(nb::module_& module) {
  module.def("cell_bits", &bits_of<T>, "values"_a, "loopless"_a, "low"_a, "high"_a, "nan_is_edge"_a, "threads"_a = 1);
}

}  // namespace

void bind_cells(nb::module_& module) {
  bind_cells_of<bool>(module);
  bind_cells_of<std::int8_t>(module);
  bind_cells_of<u8>(module);
  bind_cells_of<i32>(module);
  bind_cells_of<i64>(module);
  bind_cells_of<float>(module);
  bind_cells_of<double>(module);
  module.def("pair_states", &states_of, "truth"_a, "prediction"_a, "d"_a, "threads"_a = 1);
}

}  // namespace graphgauge
