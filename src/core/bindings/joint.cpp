#include "../joint.hpp"

#include "arrays.hpp"
#include "bindings.hpp"

namespace graphgauge {
namespace {

nb::object energy(const In<double, 2>& y, const In<double, 3>& members, int threads) {
  const i64 vectors = i64(members.shape(0)), components = i64(members.shape(1)), count = i64(members.shape(2));
  require(i64(y.shape(0)) == vectors && i64(y.shape(1)) == components, "y and members differ in shape");
  require(count > 0, "no members");
  Out<double> scores({vectors});
  compute([&] { energy_scores(y.data(), members.data(), vectors, components, count, scores.data(), threads); });
  return scores.array();
}

}  // namespace

void bind_joint(nb::module_& module) {
  module.def("energy_scores", &energy, nb::arg("y").noconvert(), nb::arg("members").noconvert(),
             nb::arg("threads") = 1);
}

}  // namespace graphgauge
