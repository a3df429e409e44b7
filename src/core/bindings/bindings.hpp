// What each subject adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace graphgauge {

void bind_bits(nanobind::module_& module);
void bind_canonical(nanobind::module_& module);
void bind_cells(nanobind::module_& module);
void bind_curves(nanobind::module_& module);
void bind_dags(nanobind::module_& module);
void bind_distances(nanobind::module_& module);
void bind_negatives(nanobind::module_& module);
void bind_orbits(nanobind::module_& module);
void bind_forecast(nanobind::module_& module);
void bind_lists(nanobind::module_& module);
void bind_ranking(nanobind::module_& module);
void bind_special(nanobind::module_& module);

}  // namespace graphgauge
