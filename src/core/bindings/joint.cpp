#include "../joint.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

using Shifts = std::optional<AnyIn<i64>>;

Ensembles ensembles_of(const In<double, 2>& y, const In<double, 3>& members, const Shifts& shifts) {
  const Ensembles of{y.data(),
                     members.data(),
                     shifts ? shifts->data() : nullptr,
                     i64(members.shape(0)),
                     i64(members.shape(1)),
                     i64(members.shape(2))};
  require(i64(y.shape(0)) == of.vectors && i64(y.shape(1)) == of.components, "y and members differ in shape");
  require(of.count > 0, "no members");
  if (shifts) {
    require(Indices<i64>(*shifts, of.count, "shifts").count() == of.vectors * of.components,
            "each component has a shift");
  }
  return of;
}

nb::object energy(const In<double, 2>& y, const In<double, 3>& members, const Shifts& shifts, int threads) {
  const Ensembles of = ensembles_of(y, members, shifts);
  Out<double> scores({of.vectors});
  compute([&] { energy_scores(of, scores.data(), threads); });
  return scores.array();
}

nb::object variogram(const In<double, 2>& y, const In<double, 3>& members, const In<bool, 2>& seen,
                     const AnyIn<i64>& pairs, double power, const Shifts& shifts, int threads) {
  const Ensembles of = ensembles_of(y, members, shifts);
  require(seen.shape(0) == y.shape(0) && seen.shape(1) == y.shape(1), "y and seen differ in shape");
  const Indices<i64> ends(pairs, of.components, "pairs");
  require(pairs.ndim() == 2 && pairs.shape(1) == 2, "a pair is two components");
  Out<double> scores({of.vectors});
  compute([&] { variogram_scores(of, seen.data(), ends.data(), ends.count() / 2, power, scores.data(), threads); });
  return scores.array();
}

}  // namespace

void bind_joint(nb::module_& module) {
  module.def("energy_scores", &energy, "y"_a, "members"_a, "shifts"_a = nb::none(), "threads"_a = 1);
  module.def("variogram_scores", &variogram, "y"_a, "members"_a, "seen"_a, "pairs"_a, "power"_a,
             "shifts"_a = nb::none(), "threads"_a = 1);
}

}  // namespace graphgauge
