#include "../lists.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

template <class T>
nb::tuple places(const In<T, 1>& scores, const In<i64, 1>& begin, const In<i64, 1>& size, const In<i64, 1>& positive,
                 const In<i64, 1>& first, int threads) {
  const Spans lists(begin, size, i64(scores.shape(0)), "lists");
  const Indices<i64> given(positive, i64(scores.shape(0)), "positive");
  const Offsets own(first, given.count(), "first");
  require(own.parts() == lists.count(), "n lists need n + 1 offsets of positives");
  Out<i64> ordered({given.count()}), ahead({given.count()}), tied({given.count()});
  std::copy_n(given.data(), given.count(), ordered.data());
  std::fill_n(ahead.data(), given.count(), 0), std::fill_n(tied.data(), given.count(), 0);
  compute([&] {
    list_places(scores.data(), lists.begin(), lists.size(), own.data(), lists.count(), ordered.data(), ahead.data(),
                tied.data(), threads);
  });
  return nb::make_tuple(ordered.array(), ahead.array(), tied.array());
}

template <class T>
nb::object kth(const In<T, 1>& scores, const In<i64, 1>& begin, const In<i64, 1>& size, i64 k, int threads) {
  const Spans lists(begin, size, i64(scores.shape(0)), "lists");
  require(k > 0, "k must be at least 1");
  for (i64 list = 0; list < lists.count(); list++) require(lists.size()[list] > 0, "a list is empty");
  Out<T> found({lists.count()});
  compute([&] { kth_highest(scores.data(), lists.begin(), lists.size(), lists.count(), k, found.data(), threads); });
  return found.array();
}

template <class T>
void bind_scores(nb::module_& module) {
  module.def("list_places", &places<T>, "scores"_a, "begin"_a, "size"_a, "positive"_a, "first"_a, "threads"_a = 1);
  module.def("kth_highest", &kth<T>, "scores"_a, "begin"_a, "size"_a, "k"_a, "threads"_a = 1);
}

}  // namespace

void bind_lists(nb::module_& module) {
  bind_scores<float>(module);
  bind_scores<double>(module);
  bind_scores<i32>(module);
  bind_scores<i64>(module);
  bind_scores<u64>(module);
}

}  // namespace graphgauge
