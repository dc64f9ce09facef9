#include "sim/step/simulate/stages/nic_sharing.hpp"

#include <algorithm>

#include "sim/step/cost/fair_share.hpp"

namespace orrery::step {

namespace {

bool leaves_domain(const layout::GroupPlacement& group) {
  return group.ranks > 1 && group.nodes > 1 && group.domains > 1;
}

Seconds part_of(const Parts& parts, StepCategory category) {
  return parts.by_category[static_cast<std::size_t>(category)];
}

// NIC time of the collectives inside a pass.
Seconds collectives(const Parts& pass, const cost::Placements& places) {
  Seconds sum;
  if (leaves_domain(places.tensor)) {
    sum += part_of(pass, StepCategory::exposed_tensor);
  }
  if (leaves_domain(places.context)) {
    sum += part_of(pass, StepCategory::exposed_context);
  }
  if (leaves_domain(places.expert) || leaves_domain(places.expert_tensor)) {
    sum += part_of(pass, StepCategory::exposed_expert);
  }
  return sum;
}

// A message's time on the wire: what the host adds leaves the NIC idle.
Seconds on_wire(const Parts& message, const hardware::SoftwareProfile& software) {
  return std::max(message.total() - software.transfer_overhead.value(), Seconds{});
}

double stretch_of(const NicTraffic& traffic, const StageCosts& costs, std::size_t device) {
  const cost::Placements& places = traffic.places;
  const std::size_t before = (device + costs.devices.size() - 1) % costs.devices.size();
  Seconds own;
  Seconds others;
  for (const ChunkCosts& chunk : costs.devices[device].chunks) {
    for (std::size_t b = 0; b < chunk.buckets.size(); ++b) {
      const BucketCosts& bucket = costs.bucket(chunk, b);
      own += bucket.gradient_reduce.total() + bucket.parameter_gather.total();
      others += collectives(bucket.forward, places) + collectives(bucket.backward, places);
    }
    if (traffic.hops_on_network[device]) {
      others += on_wire(costs.send_forward[device], traffic.software);
    }
    if (traffic.hops_on_network[before]) {
      others += on_wire(costs.send_backward[device], traffic.software);
    }
  }
  return cost::stretch_beside(own, others);
}

void stretch(Parts& parts, double factor) {
  Parts longer;
  longer.add(parts, factor);
  parts = longer;
}

}  // namespace

double data_parallel_stretch(const NicTraffic& traffic, const StageCosts& costs) {
  const cost::Placements& places = traffic.places;
  const bool on_network = leaves_domain(places.data) || leaves_domain(places.expert_data);
  if (!traffic.overlapped || !on_network) {
    return 1.0;
  }
  double longest = 1.0;
  for (std::size_t device = 0; device < costs.devices.size(); ++device) {
    longest = std::max(longest, stretch_of(traffic, costs, device));
  }
  return longest;
}

void share_nics(const NicTraffic& traffic, StageCosts& costs) {
  const double factor = data_parallel_stretch(traffic, costs);
  if (factor == 1.0) {
    return;
  }
  for (BucketCosts& bucket : costs.buckets) {
    stretch(bucket.gradient_reduce, factor);
    stretch(bucket.parameter_gather, factor);
  }
}

}  // namespace orrery::step
