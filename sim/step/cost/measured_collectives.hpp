#pragma once

// Corrects the modelled time of a collective by measurements: the ratio of measured to modelled
// time, carried over from the nearest tables of measured collectives.
//
//   time = model(query) * exp( sum_i w_i log(T_i / model_i) / (sum_i w_i + w_0) ),  w = 1 / d^2
//
// symbol  | meaning                                                           | unit | origin
// --------|-------------------------------------------------------------------|------|----------
// T_i     | time of table i at the size asked for, or at its nearer end       | s    | tables
// model_i | time of NCCL's model (collective.hpp) for the table's own ranks,  | s    | computed
//         | nodes and NICs, at that size                                      |      |
// d_i     | distance of the table, at least 0.03: 0.5 per doubling of nodes,  | 1    | assumed
//         | 1 per doubling of ranks per node or of NIC rate, 1 for another    |      |
//         | fabric, 0.3 for another GPU of the class, 0.4 for another rig     |      |
//         | where one is asked for, 0.2 per doubling of size beyond its end   |      |
// w_0     | weight of the model itself: d_0 = 1.2                             | 1    | assumed
//
// In a table's own fabric and sizes the ratio of the models is 1 and the result is the table. It is
// continuous in size everywhere, also past the end of a table, and sharing, tapers, broken links
// and the stack's NICs per ring act through the model as they do without a table. Far from every
// table the model stands alone.
//
// A table can be near only when it has the operation, the same class of links (architecture and
// NVLink rate; without NVLink the same GPU), the same side of the border of an NVLink domain and,
// for an all-reduce, the same width of elements and the same use of the switches, SHARP included.
// Tables of a degraded rig are evidence for that rig alone. Errors of what was held out:
// docs/collectives.md.

#include <string_view>

#include "sim/step/hardware/collective_tables.hpp"
#include "sim/step/layout/placement.hpp"

namespace orrery::cost {

struct CollectiveQuery {
  model::CollectiveKind kind = model::CollectiveKind::all_reduce;
  Bytes size;  // NCCL's nBytes
  model::Dtype dtype = model::Dtype::bf16;
  const layout::GroupPlacement& group;
  const hardware::GpuProfile& gpu;
  const hardware::ClusterSpec& cluster;
};

// The model's time of a query, without any table.
using ModelTime = Seconds (*)(const CollectiveQuery& query);

struct MeasuredRatio {
  double ratio = 1.0;
  const hardware::CollectiveTable* nearest = nullptr;
  double distance = 0.0;         // of the nearest
  bool tables_of_class = false;  // whether any table has this class of links and operation
};

[[nodiscard]] MeasuredRatio measured_ratio(const CollectiveQuery& query, ModelTime model);

// Distance beyond which a prediction counts as extrapolated.
inline constexpr double kFarFromTables = 3.0;

}  // namespace orrery::cost
