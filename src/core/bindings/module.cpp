#include "../common.hpp"
#include "../special.hpp"
#include "arrays.hpp"

#if defined(GRAPHGAUGE_SANITIZE)
namespace {
// Two threads that write to the same place, beyond the end of an array: what the sanitizers have to find.
int planted_fault() {
  std::vector<int> one(1);
  int* place = one.data() + one.size();
  std::atomic<int> entered{0};
  graphgauge::parallel(2, 2, [&](graphgauge::i64) {
    // Not before both are here: a thread that does both parts has no other to race with.
    for (entered.fetch_add(1, std::memory_order_relaxed); entered.load(std::memory_order_relaxed) < 2;) continue;
    for (int i = 0; i < 100000; i++) *static_cast<volatile int*>(place) = i;
  });
  return *place;
}
}  // namespace
#endif

NB_MODULE(_core, module) {
  using namespace graphgauge;
  module.doc() = "The loops of graphgauge.";
  module.attr("compiler") = GRAPHGAUGE_COMPILER;
#if defined(GRAPHGAUGE_SANITIZE)
  module.def("planted_fault", &planted_fault);
#endif
  bind_distances(module);
  bind_forecast(module);
  bind_graphs(module);
  bind_ranking(module);
  module.def("normal_tail", &normal_tail, "z"_a);
  module.def("normal_quantile", &normal_quantile, "tail"_a);
  module.def("student_tail", &student_tail, "t"_a, "freedom"_a);
  module.def("student_quantile", &student_quantile, "tail"_a, "freedom"_a);
}
