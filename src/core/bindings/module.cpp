#include "bindings.hpp"

NB_MODULE(_core, module) {
  module.doc() = "The loops of graphgauge.";
  graphgauge::bind_ranking(module);
}
