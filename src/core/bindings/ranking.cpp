#include "../ranking.hpp"

#include "../areas.hpp"
#include "../curves.hpp"
#include "../lists.hpp"
#include "arrays.hpp"

namespace graphgauge {
namespace {

// For each row: the negatives greater than the positive, equal to it, NaN, -inf, and all.
template <class T>
nb::object counted(const T* pos, const Negatives<T>& negatives, i64 rows, int threads) {
  for (i64 row = 0; row < rows; row++) {
    require(negatives.begin(row + 1) - negatives.begin(row) <= INT32_MAX, "a row has more than 2**31 - 1 negatives");
  }
  Out<i32> out({5, rows});
  i32* counts = out.data();
  compute([&] {
    rank_counts(pos, negatives, rows, {counts, counts + rows, counts + 2 * rows, counts + 3 * rows, counts + 4 * rows},
                threads);
  });
  return out.array();
}

template <class T>
nb::object dense(const In<T, 1>& pos, const In<T, 2>& neg, const std::optional<In<bool, 2>>& mask, int threads) {
  const i64 rows = i64(neg.shape(0)), k = i64(neg.shape(1));
  require(i64(pos.shape(0)) == rows, "pos and neg differ in length");
  require(!mask || alike(neg, *mask), "mask and neg differ in shape");
  const auto* bytes = mask ? reinterpret_cast<const u8*>(mask->data()) : nullptr;  // no loop over bool is vectorised
  return counted(pos.data(), Negatives<T>{neg.data(), nullptr, bytes, k}, rows, threads);
}

template <class T>
nb::object ragged(const In<T, 1>& pos, const In<T, 1>& values, const In<i64, 1>& offsets, int threads) {
  const Offsets bounds(offsets, i64(values.shape(0)), "offsets");
  require(bounds.parts() == i64(pos.shape(0)), "n rows need n + 1 offsets");
  return counted(pos.data(), Negatives<T>{values.data(), bounds.data(), nullptr, 0}, bounds.parts(), threads);
}

template <class T>
nb::tuple places(const In<T, 1>& scores, const In<i64, 1>& offsets, const In<i64, 1>& positive, const In<i64, 1>& first,
                 int threads) {
  const Offsets lists(offsets, i64(scores.shape(0)), "offsets");
  const Indices<i64> given(positive, i64(scores.shape(0)), "positive");
  const Offsets own(first, given.count(), "first");
  require(own.parts() == lists.parts(), "n lists need n + 1 offsets of positives");
  Out<i64> ordered({given.count()}), ahead({given.count()}), tied({given.count()});
  std::copy_n(given.data(), given.count(), ordered.data());
  std::fill_n(ahead.data(), given.count(), 0), std::fill_n(tied.data(), given.count(), 0);
  compute([&] {
    list_places(scores.data(), lists.data(), own.data(), lists.parts(), ordered.data(), ahead.data(), tied.data(),
                threads);
  });
  return arrays_of(ordered, ahead, tied);
}

template <class T>
nb::tuple merged(const In<T, 1>& falling, const In<T, 1>& ascending, int threads) {
  const i64 count = i64(falling.shape(0));
  Out<i64> greater({count}), equal({count});
  compute([&] {
    merged_counts(falling.data(), count, ascending.data(), i64(ascending.shape(0)), greater.data(), equal.data(),
                  threads);
  });
  return arrays_of(greater, equal);
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
nb::tuple areas(const In<signed char, 2>& labels, const In<T, 2>& scores, const std::optional<In<double, 1>>& weights,
                int threads) {
  const i64 tasks = i64(labels.shape(0)), items = i64(labels.shape(1));
  require(alike(labels, scores), "labels and scores differ in shape");
  require(!weights || i64(weights->shape(0)) == items, "weights and items differ in number");
  require(items <= INT32_MAX, "more than 2**31 - 1 items");
  Out<double> auc({tasks}), precision({tasks}), positive({tasks}), total({tasks});
  Out<double> powers({tasks, 2}), precision_powers({tasks, 2}), moved({items}), precision_moved({items});
  const Areas out{auc.data(),    precision.data(),        positive.data(), total.data(),
                  powers.data(), precision_powers.data(), moved.data(),    precision_moved.data()};
  compute([&] {
    curve_areas(labels.data(), scores.data(), weights ? weights->data() : nullptr, tasks, items, out, threads);
  });
  return arrays_of(auc, precision, positive, total, powers, precision_powers, moved, precision_moved);
}

}  // namespace

void bind_ranking(nb::module_& module) {
  each_type<half, float, double, i32, i64, u64>([&]<class T>() {
    module.def("rank_counts", &dense<T>, "pos"_a, "neg"_a, "mask"_a = nb::none(), "threads"_a = 1);
    module.def("ragged_rank_counts", &ragged<T>, "pos"_a, "values"_a, "offsets"_a, "threads"_a = 1);
  });
  each_type<float, double, i64>([&]<class T>() {
    module.def("curve_areas", &areas<T>, "labels"_a, "scores"_a, "weights"_a = nb::none(), "threads"_a = 1);
  });
  each_type<float, double, i32, i64, u64>([&]<class T>() {
    module.def("list_places", &places<T>, "scores"_a, "offsets"_a, "positive"_a, "first"_a, "threads"_a = 1);
    module.def("merged_counts", &merged<T>, "falling"_a, "ascending"_a, "threads"_a = 1);
    module.def("placed_counts", &placed<T>, "rising"_a, "scores"_a, "threads"_a = 1);
  });
}

}  // namespace graphgauge
