#include "bindings.hpp"

NB_MODULE(_core, module) {
  module.doc() = "The loops of graphgauge.";
  graphgauge::bind_curves(module);
  graphgauge::bind_dags(module);
  graphgauge::bind_lists(module);
  graphgauge::bind_ranking(module);
  graphgauge::bind_special(module);
}
