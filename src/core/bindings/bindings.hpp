// What each file of bindings adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace graphgauge {

void bind_distances(nanobind::module_& module);
void bind_forecast(nanobind::module_& module);
void bind_graphs(nanobind::module_& module);
void bind_ranking(nanobind::module_& module);

}  // namespace graphgauge
