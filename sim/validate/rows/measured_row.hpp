#pragma once

// What does one row of a measured-runs data set ask? The row as a scenario, without what it found.
//
// key of the row                        | key of the scenario
// --------------------------------------|----------------------------------------------------------
// layers, hidden, heads, kv_heads, ffn_hidden, gated, vocab, seq_len | dimensions of the model
// count / gpus_per_node                 | cluster.nodes
// inter_node_gbit_per_s_per_gpu         | network.nic_rate
// schedule none                         | 1f1b with one stage; with several, 1f1b or interleaved
// interleaved, vpp missing              | as the stack's profile says, else chunks of two layers
// zero3 + shard_group                   | hsdp
// zero1 + shard_group                   | zero1 inside that group
// tied_embeddings absent                | as the model's family (run_tables.hpp)
// stack                                 | software
//
// Only `measured`, `id` and `confidence` are never read here. Widths that the tensor degree does
// not divide are padded to the next multiple, as the stacks do. What a row leaves open, or says in
// words that are not known, gets a default with a note (row_mapping.hpp): a run that was measured
// did run.

#include <string>
#include <variant>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

struct MappedRun {
  scenario::Scenario scenario;     // software and cluster.gpu as the row names them
  std::vector<std::string> notes;  // what had to be assumed
  bool recompute_is_open = false;  // the row does not state what is recomputed
  bool chunks_missing = false;     // interleaved, and the row does not say into how many chunks
};

// The scenario, or why there is none: the row is no mapping.
[[nodiscard]] std::variant<MappedRun, std::string> map_run(const DataRow& row);

}  // namespace orrery::validate
