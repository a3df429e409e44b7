#include "../special.hpp"

#include "bindings.hpp"

namespace graphgauge {

void bind_special(nanobind::module_& module) {
  module.def("normal_tail", &normal_tail, nanobind::arg("z"));
  module.def("normal_quantile", &normal_quantile, nanobind::arg("tail"));
  module.def("student_tail", &student_tail, nanobind::arg("t"), nanobind::arg("freedom"));
  module.def("student_quantile", &student_quantile, nanobind::arg("tail"), nanobind::arg("freedom"));
}

}  // namespace graphgauge
