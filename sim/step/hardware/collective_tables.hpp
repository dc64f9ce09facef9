#pragma once

// Collectives that were measured, on which wires, and how long they took: tables in size.
//
//   time inside a table: log(time / (alpha + beta S)) as a monotone cubic in log S (PCHIP)
//
// The line takes the bend from latency to bandwidth out of the curve; what is left, a protocol's
// bump here and there, is smooth enough to be interpolated. Source of the interpolant: F. Fritsch,
// J. Butland, SIAM J. Sci. Stat. Comput. 5 (1984) 300. How tables become predictions:
// sim/step/cost/measured_collectives.hpp.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/provenance.hpp"
#include "sim/base/units.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::hardware {

struct CollectivePoint {
  Bytes size;
  Seconds time;
};

struct CollectiveTable {
  std::string rig;  // the machines of one log
  std::string gpu;  // profile name of the GPU it was measured on
  GpuArch arch = GpuArch::hopper;
  BytesPerSecond nvlink;  // 0: PCIe
  model::CollectiveKind operation = model::CollectiveKind::all_reduce;
  bool narrow = false;    // 8-bit elements, for which NCCL takes other ways
  bool nvls = false;      // the switches could reduce
  bool sharp = false;     // so could those of the fabric
  bool degraded = false;  // a faulty rig: evidence for nobody but itself
  std::int64_t ranks = 2;
  std::int64_t nodes = 1;
  std::int64_t nvlink_domain = 8;
  FabricKind fabric = FabricKind::infiniband;
  BytesPerSecond nic_rate;  // of one NIC
  std::int64_t nics_per_node = 0;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  std::vector<CollectivePoint> points;  // ascending in size, nccl-tests' column
  std::string as_of;                    // when the figures were gathered
  Source source{SourceKind::published, ""};
  Seconds alpha;      // its smallest time
  double beta = 0.0;  // s/byte, from there to the last point

  [[nodiscard]] std::int64_t domains() const;
};

struct CollectiveTables {
  std::vector<CollectiveTable> tables;
};

using SharedCollectiveTables = std::shared_ptr<const CollectiveTables>;

// Sorts the points and sets alpha and beta; needs at least one point.
void finish_table(CollectiveTable& table);

// Time at a size from the first to the last point; beyond them that of the nearer end.
[[nodiscard]] Seconds table_time(const CollectiveTable& table, Bytes size);

}  // namespace orrery::hardware
