#include "../ranking.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

class Counted {
 public:
  explicit Counted(i64 rows) : greater_({rows}), equal_({rows}), missing_({rows}), lowest_({rows}), all_({rows}) {}
  RankCounts counts() { return {greater_.data(), equal_.data(), missing_.data(), lowest_.data(), all_.data()}; }
  nb::tuple arrays() {
    return nb::make_tuple(greater_.array(), equal_.array(), missing_.array(), lowest_.array(), all_.array());
  }

 private:
  Out<i32> greater_, equal_, missing_, lowest_, all_;
};

void require_row(i64 length) { require(length <= INT32_MAX, "a row has more than 2**31 - 1 negatives"); }

template <class T>
nb::tuple dense(const In<T, 1>& pos, const In<T, 2>& neg, const std::optional<In<bool, 2>>& mask, int threads) {
  const i64 rows = i64(neg.shape(0)), k = i64(neg.shape(1));
  require(i64(pos.shape(0)) == rows, "pos and neg differ in length");
  require(!mask || (i64(mask->shape(0)) == rows && i64(mask->shape(1)) == k), "mask and neg differ in shape");
  require_row(k);
  Counted out(rows);
  const auto* bytes = mask ? reinterpret_cast<const u8*>(mask->data()) : nullptr;  // no loop over bool is vectorised
  compute([&] { rank_counts(pos.data(), neg.data(), bytes, rows, k, out.counts(), threads); });
  return out.arrays();
}

template <class T>
nb::tuple ragged(const In<T, 1>& pos, const In<T, 1>& values, const In<i64, 1>& offsets, int threads) {
  const Offsets bounds(offsets, i64(values.shape(0)), "offsets");
  require(bounds.parts() == i64(pos.shape(0)), "n rows need n + 1 offsets");
  for (i64 row = 0; row < bounds.parts(); row++) require_row(bounds.data()[row + 1] - bounds.data()[row]);
  Counted out(bounds.parts());
  compute([&] { ragged_rank_counts(pos.data(), values.data(), bounds.data(), bounds.parts(), out.counts(), threads); });
  return out.arrays();
}

template <class T>
void bind_scores(nb::module_& module) {
  module.def("rank_counts", &dense<T>, "pos"_a, "neg"_a, "mask"_a = nb::none(), "threads"_a = 1);
  module.def("ragged_rank_counts", &ragged<T>, "pos"_a, "values"_a, "offsets"_a, "threads"_a = 1);
}

}  // namespace

void bind_ranking(nb::module_& module) {
  bind_scores<float>(module);
  bind_scores<double>(module);
  bind_scores<half>(module);
  bind_scores<i32>(module);
  bind_scores<i64>(module);
  bind_scores<u64>(module);
}

}  // namespace graphgauge
