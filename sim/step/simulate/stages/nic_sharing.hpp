#pragma once

// Slow-down of gradient reductions and parameter gathers by other traffic that uses the same NICs
// at the same time:
//
//   stretch = 1 + min(1, O / T)
//
// symbol  | meaning                                                            | unit | origin
// --------|--------------------------------------------------------------------|------|---------
// T       | reductions and gathers of all chunks of a device, alone            | s    | computed
// O       | over one micro-batch: its pipeline messages both ways, and those   | s    | computed
//         | collectives of the passes whose groups leave the NVLink domain     |      |
//
// The law of two flows under max-min fair sharing (cost/fair_share.hpp, stretch_beside): a
// collective stays one event. The passes' own time is not in it, so a faster GPU never lengthens a
// reduction. The device with the largest stretch decides, since a reduction waits for its slowest
// rank. Not modelled: the messages that meet a running reduction take up to twice as long
// themselves, and network_efficiency, where a stack measured it together with its own traffic,
// contains part of this loss already.

#include <vector>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

struct NicTraffic {
  const cost::Placements& places;
  const hardware::SoftwareProfile& software;
  bool overlapped = true;                    // data-parallel traffic beside the passes
  const std::vector<bool>& hops_on_network;  // by device: the hop to the next one uses NICs
};

// 1 when nothing overlaps the data-parallel traffic or its groups stay inside a domain.
[[nodiscard]] double data_parallel_stretch(const NicTraffic& traffic, const StageCosts& costs);

// Applies it to the reductions and gathers of all buckets.
void share_nics(const NicTraffic& traffic, StageCosts& costs);

}  // namespace orrery::step
