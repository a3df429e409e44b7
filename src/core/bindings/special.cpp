#include "../special.hpp"

#include "bindings.hpp"

namespace graphgauge {

void bind_special(nanobind::module_& module) {
  using namespace nanobind::literals;
  module.def("normal_tail", &normal_tail, "z"_a);
  module.def("normal_quantile", &normal_quantile, "tail"_a);
  module.def("student_tail", &student_tail, "t"_a, "freedom"_a);
  module.def("student_quantile", &student_quantile, "tail"_a, "freedom"_a);
}

}  // namespace graphgauge
