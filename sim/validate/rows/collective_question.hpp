#pragma once

// What does a row of collective-measurements/1 ask? Its collective, ranks, wires and measured time.
//
// Used of a row: op, size_bytes, dtype, ranks, nodes and the words of gpu, intra, nic and algo that
// the tables of collective_question.cpp list. A row without a time is timed from its bus bandwidth;
// a peak without a size is that of a large message, a time without a size that of the smallest. A
// GPU, an operation or a network without a table entry is taken as the nearest one, with a note.

#include <string>
#include <variant>
#include <vector>

#include "sim/cost/cost.hpp"
#include "sim/hardware/cluster_spec.hpp"
#include "sim/hardware/gpu_profile.hpp"
#include "sim/layout/placement.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

struct CollectiveQuestion {
  model::CollectiveKind kind = model::CollectiveKind::all_reduce;
  model::Dtype dtype = model::Dtype::fp32;
  Bytes size = {};
  Seconds measured = {};
  hardware::GpuProfile gpu;
  hardware::ClusterSpec cluster = {};  // rig: the row's log; no tables
  layout::GroupPlacement group = {};
  std::vector<std::string> notes = {};
};

// The question, or why there is none.
[[nodiscard]] std::variant<CollectiveQuestion, std::string> collective_question(
    const DataRow& row, const DataSet& data);

// The predicted time with the tables of the question's cluster.
[[nodiscard]] cost::Cost answer(const CollectiveQuestion& question);

}  // namespace orrery::validate
