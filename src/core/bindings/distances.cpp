#include "../distances.hpp"

#include "arrays.hpp"

namespace graphgauge {
namespace {

// Packed bits. Counts of bits have 32 bits.
BitRows rows_of(const In<u64, 2>& words) {
  require(i64(words.shape(1)) < INT32_MAX / 64, "a row has more than 2**31 - 1 bits");
  return {words.data(), i64(words.shape(0)), i64(words.shape(1))};
}
Points rows_of(const In<double, 2>& array) { return {array.data(), i64(array.shape(0)), i64(array.shape(1))}; }

nb::tuple common(const In<u64, 2>& words, int threads) {
  const BitRows rows = rows_of(words);
  Out<i64> similar({rows.rows});
  Common found;
  compute([&] { found = common_bits(rows, similar.data(), threads); });
  const i64 cells = i64(found.cells.size());
  Out<i64> both({cells}), either({cells});
  for (i64 cell = 0; cell < cells; cell++) {
    both.data()[cell] = i64(found.cells[cell] >> 32), either.data()[cell] = i64(found.cells[cell] & 0xffffffff);
  }
  return nb::make_tuple(both.array(), either.array(), Out<i64>::copied(found.pairs.data(), cells), similar.array());
}

template <class T>
void require_alike(const In<T, 2>& rows, const In<T, 2>& others) {
  require(rows.shape(1) == others.shape(1), "rows and others differ in their number of columns");
}

nb::object squared(const In<double, 2>& rows, const In<double, 2>& others, int threads) {
  require_alike(rows, others);
  Out<double> out({i64(rows.shape(0)), i64(others.shape(0))});
  compute([&] { squared_distances(rows_of(rows), rows_of(others), out.data(), threads); });
  return out.array();
}

nb::object by_group(const In<double, 2>& rows, const In<double, 2>& others, const In<i64, 1>& codes, i64 groups,
                    int threads) {
  require_alike(rows, others);
  require(codes.shape(0) == others.shape(0), "codes and others differ in length");
  const Indices<i64> checked(codes, groups, "codes");
  Out<double> sums({i64(rows.shape(0)), std::max<i64>(groups, 0)});
  compute([&] {
    group_distances(rows_of(rows), rows_of(others), checked.data(), std::max<i64>(groups, 0), sums.data(), threads);
  });
  return sums.array();
}

template <class T, class Distance>
nb::object kth(const In<T, 2>& rows, i64 k, int threads) {
  const i64 count = i64(rows.shape(0));
  require(k >= 0 && k < count, "k must be from 0 to the number of rows less one");
  Out<Distance> found({count});
  compute([&] { kth_distances(rows_of(rows), k, found.data(), threads); });
  return found.array();
}

template <class T, class Distance>
nb::tuple balls(const In<T, 2>& rows, const In<Distance, 1>& radii, const In<T, 2>& others,
                const In<Distance, 1>& other_radii, int threads) {
  require_alike(rows, others);
  require(radii.shape(0) == rows.shape(0), "rows and radii differ in length");
  require(other_radii.shape(0) == others.shape(0), "others and other_radii differ in length");
  Out<i64> inside({i64(rows.shape(0))}), reached({i64(rows.shape(0))}), held({i64(others.shape(0))});
  compute([&] {
    ball_counts(rows_of(rows), radii.data(), rows_of(others), other_radii.data(),
                {inside.data(), reached.data(), held.data()}, threads);
  });
  return arrays_of(inside, reached, held);
}

}  // namespace

void bind_distances(nb::module_& module) {
  module.def("common_bits", &common, "words"_a, "threads"_a = 1);
  module.def("squared_distances", &squared, "rows"_a, "others"_a, "threads"_a = 1);
  module.def("group_distances", &by_group, "rows"_a, "others"_a, "codes"_a, "groups"_a, "threads"_a = 1);
  module.def("kth_distances", &kth<double, double>, "rows"_a, "k"_a, "threads"_a = 1);
  module.def("ball_counts", &balls<double, double>, "rows"_a, "radii"_a, "others"_a, "other_radii"_a, "threads"_a = 1);
  module.def("kth_distances", &kth<u64, i32>, "rows"_a, "k"_a, "threads"_a = 1);
  module.def("ball_counts", &balls<u64, i32>, "rows"_a, "radii"_a, "others"_a, "other_radii"_a, "threads"_a = 1);
}

}  // namespace graphgauge
