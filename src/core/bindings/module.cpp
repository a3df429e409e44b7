#include "bindings.hpp"

NB_MODULE(_core, module) {
  module.doc() = "The loops of graphgauge.";
  graphgauge::bind_calibration(module);
  graphgauge::bind_curves(module);
  graphgauge::bind_dags(module);
  graphgauge::bind_forecast(module);
  graphgauge::bind_joint(module);
  graphgauge::bind_ranking(module);
  graphgauge::bind_special(module);
}
