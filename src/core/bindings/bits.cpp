#include "../bits.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

nb::object products(const In<u64, 2>& words, i64 length, int threads) {
  const BitRows rows = bit_rows(words);
  require(length >= 0 && length <= 64 * rows.width, "length must be from 0 to 64 times the number of words");
  require(double(length) * double(length) * double(rows.rows) < 9.2e18, "sums of so many bits may exceed 64 bits");
  Out<i64> sums({rows.rows});
  compute([&] { squared_products(rows, length, sums.data(), threads); });
  return sums.array();
}

nb::tuple common(const In<u64, 2>& words, int threads) {
  const BitRows rows = bit_rows(words);
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

nb::tuple nearest(const In<u64, 2>& words, const In<u64, 2>& others, int threads) {
  const BitRows rows = bit_rows(words), pool = bit_rows(others);
  require(rows.width == pool.width, "words and others differ in their number of words");
  Out<double> similarity({rows.rows});
  Out<i64> offsets({rows.rows + 1});
  std::vector<i64> joined;
  compute([&] {
    std::vector<std::vector<i64>> found;
    nearest_by_jaccard(rows, pool, similarity.data(), found, threads);
    offsets.data()[0] = 0;
    for (i64 row = 0; row < rows.rows; row++) {
      joined.insert(joined.end(), found[row].begin(), found[row].end());
      offsets.data()[row + 1] = i64(joined.size());
    }
  });
  return nb::make_tuple(similarity.array(), offsets.array(), Out<i64>::copied(joined.data(), i64(joined.size())));
}

}  // namespace

void bind_bits(nb::module_& module) {
  module.def("squared_products", &products, "words"_a, "length"_a, "threads"_a = 1);
  module.def("common_bits", &common, "words"_a, "threads"_a = 1);
  module.def("nearest_by_jaccard", &nearest, "words"_a, "others"_a, "threads"_a = 1);
}

}  // namespace graphgauge
