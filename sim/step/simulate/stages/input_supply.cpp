#include "sim/step/simulate/stages/input_supply.hpp"

#include <algorithm>

namespace orrery::step {

Seconds supply_time(const StepInput& input) {
  const layout::Layout& layout = input.layout;
  const auto sequences =
      static_cast<double>(layout.micro_batch * layout.micro_batches * layout.data);
  const double nodes = std::max(
      1.0, static_cast<double>(layout.gpus) / static_cast<double>(input.cluster.gpus_per_node));
  const double tokens = sequences * static_cast<double>(input.model.sequence_length) / nodes;
  const DataSpec& data = input.spec.data;
  Seconds time;
  if (data.read_bandwidth) {
    time = data.bytes_per_token * tokens / *data.read_bandwidth;
  }
  if (data.tokens_per_second) {
    time = std::max(time, seconds(tokens / *data.tokens_per_second));
  }
  return time;
}

Seconds data_stall(const StepInput& input, Seconds step) {
  const Seconds supply = supply_time(input);
  return input.spec.data.prefetch ? std::max(Seconds{}, supply - step) : supply;
}

}  // namespace orrery::step
