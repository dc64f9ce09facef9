#pragma once

// Variation between GPUs of one type, as a distribution of their speeds:
//
//   time of a GPU's compute = nominal (1 + gpu_sigma Z_gpu + node_sigma Z_node) [slow_factor]
//
// symbol      | meaning                                                          | unit  | origin
// ------------|------------------------------------------------------------------|-------|--------
// gpu_sigma   | standard deviation of the compute time between GPUs / its mean   | 1     | scenario
// node_sigma  | the same between nodes, shared by the GPUs of a node             | 1     | scenario
// slow_share  | share of GPUs that are slow beyond that (throttled, degraded)    | 1     | scenario
// slow_factor | how much longer those take                                       | 1     | scenario
// draws       | how many sets of machines are drawn                              | -     | scenario
// seed        | of the draws                                                     | -     | scenario

#include <cstdint>

namespace orrery::step {

struct VariationSpec {
  double gpu_sigma = 0.0;
  double node_sigma = 0.0;
  double slow_share = 0.0;
  double slow_factor = 1.2;
  std::int64_t draws = 1;
  std::int64_t seed = 1;

  [[nodiscard]] bool any() const {
    return gpu_sigma > 0.0 || node_sigma > 0.0 || slow_share > 0.0;
  }

  friend bool operator==(const VariationSpec&, const VariationSpec&) = default;
};

}  // namespace orrery::step
