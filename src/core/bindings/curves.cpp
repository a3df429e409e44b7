#include "../curves.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

template <class T>
nb::tuple distinct(const In<T, 1>& ascending) {
  const i64 size = i64(ascending.shape(0));
  std::vector<T> values(size);
  std::vector<i64> counts(size);
  i64 found = 0;
  compute([&] { found = distinct_values(ascending.data(), size, values.data(), counts.data()); });
  return nb::make_tuple(Out<T>::copied(values.data(), found), Out<i64>::copied(counts.data(), found));
}

template <class T>
nb::tuple merged(const In<T, 1>& falling, const In<T, 1>& ascending, int threads) {
  const i64 count = i64(falling.shape(0));
  Out<i64> greater({count}), equal({count});
  compute([&] {
    merged_counts(falling.data(), count, ascending.data(), i64(ascending.shape(0)), greater.data(), equal.data(),
                  threads);
  });
  return nb::make_tuple(greater.array(), equal.array());
}

template <class T>
nb::tuple placed(const In<T, 1>& rising, const In<T, 1>& scores, int threads) {
  const i64 count = i64(rising.shape(0));
  require(count <= INT32_MAX / 2, "more than 2**30 values to place scores among");
  Out<i64> greater({count}), equal({count});
  i64 missing = 0;
  compute([&] {
    missing =
        placed_counts(rising.data(), count, scores.data(), i64(scores.shape(0)), greater.data(), equal.data(), threads);
  });
  return nb::make_tuple(greater.array(), equal.array(), missing);
}

template <class T>
void bind_scores(nb::module_& module) {
  module.def("distinct_values", &distinct<T>, "ascending"_a);
  module.def("merged_counts", &merged<T>, "falling"_a, "ascending"_a, "threads"_a = 1);
  module.def("placed_counts", &placed<T>, "rising"_a, "scores"_a, "threads"_a = 1);
}

}  // namespace

void bind_curves(nb::module_& module) {
  bind_scores<float>(module);
  bind_scores<double>(module);
  bind_scores<i32>(module);
  bind_scores<i64>(module);
  bind_scores<u64>(module);
}

}  // namespace graphgauge
