#pragma once

// What is offloaded between its uses: optimizer, parameters and activations, to host or NVMe.
//
// symbol         | meaning                                                      | unit   | origin
// ---------------|--------------------------------------------------------------|--------|---------
// optimizer      | where states are kept and updated; nvme: updated by the host | -      | scenario
// parameters     | where the 16-bit parameters are kept between their uses      | -      | scenario
// activations    | share of what a pass keeps that waits in host memory         | 1      | scenario
// modules        | or the modules whose inputs do                               | -      | scenario
// link           | copy rate between one GPU and its host, each direction       | byte/s | scenario
// host_bandwidth | memory traffic that the host update of one node reaches      | byte/s | scenario
// nvme_read, nvme_write | rates of all drives of one node                       | byte/s | scenario
// host_memory    | host memory of one node that may be used                     | byte   | scenario
// overlap        | copies run beside the passes, the update beside its copies   | -      | scenario
//
// The default of host_bandwidth is what the CPU Adam of ZeRO-Offload (arXiv 2101.06840, table of
// optimizer latencies: 10^10 parameters in 2.57 s on a two-socket host) moves at 30 bytes each.

#include <optional>

#include "sim/base/units.hpp"
#include "sim/step/model/memory.hpp"

namespace orrery::step {

inline constexpr BytesPerSecond kHostUpdateBandwidth = gigabytes_per_second(117.0);

enum class OffloadTarget { none, cpu, nvme };

struct OffloadSpec {
  OffloadTarget optimizer = OffloadTarget::none;
  OffloadTarget parameters = OffloadTarget::none;
  double activations = 0.0;
  model::OffloadModules modules = {};
  std::optional<BytesPerSecond> link;            // absent: host_bandwidth of the GPU profile
  std::optional<BytesPerSecond> host_bandwidth;  // absent: kHostUpdateBandwidth
  std::optional<BytesPerSecond> nvme_read;
  std::optional<BytesPerSecond> nvme_write;
  std::optional<Bytes> host_memory;  // absent: not checked
  bool overlap = true;

  [[nodiscard]] bool any() const {
    return optimizer != OffloadTarget::none || parameters != OffloadTarget::none ||
           moves_activations();
  }

  [[nodiscard]] bool moves_activations() const {
    return activations > 0.0 || modules != model::OffloadModules{};
  }
};

}  // namespace orrery::step
