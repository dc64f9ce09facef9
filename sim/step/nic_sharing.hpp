#pragma once

// How much longer do gradient reductions and parameter gathers take because other traffic wants the
// same NICs at the same time?
//
//   stretch = 1 / (1 - u), u = time in which the device's other messages and collectives use the
//             NICs / time of its passes, over one micro-batch, at most 1/2
//
// symbol  | meaning                                                            | unit | origin
// --------|--------------------------------------------------------------------|------|---------
// passes  | forward and backward of all chunks of a device                     | s    | computed
// others  | its pipeline messages both ways, and those collectives of the      | s    | computed
//         | passes whose groups leave the NVLink domain                        |      |
//
// The law of a long flow beside short ones under max-min fair sharing (cost/fair_share.hpp,
// stretch_beside), in steady state: a collective stays one event. The device with the largest u
// rules, since a reduction waits for its slowest rank. Not modelled: the messages that meet a
// running reduction take up to twice as long themselves, and what a stack measured together with
// its own traffic (network_efficiency) holds part of this loss already.

#include <vector>

#include "sim/cost/cost_model.hpp"
#include "sim/step/stage_costs.hpp"

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
