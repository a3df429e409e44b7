#include "bindings.hpp"

NB_MODULE(_core, module) {
  module.doc() = "The loops of graphgauge.";
  graphgauge::bind_bits(module);
  graphgauge::bind_canonical(module);
  graphgauge::bind_curves(module);
  graphgauge::bind_dags(module);
  graphgauge::bind_distances(module);
  graphgauge::bind_negatives(module);
  graphgauge::bind_orbits(module);
  graphgauge::bind_ranking(module);
  graphgauge::bind_special(module);
}
