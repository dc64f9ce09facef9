#pragma once

// Builds collective tables from logs: one per operation, group of ranks and wires, all of one rig.
//
//   time of a size = median over the rows of that size
//   plateau        = largest bus bandwidth among the sizes from 64 MiB on, else among all
//   degraded       = plateau < 0.6 x what is expected of a healthy fabric at that size
//
// symbol   | meaning                                                        | unit   | origin
// ---------|----------------------------------------------------------------|--------|---------
// expected | bus bandwidth that sim/cost gives this group on these wires,   | byte/s | computed
//          | from NCCL's model and the shipped tables, without this log     |        |
// 0.6      | healthy logs of one kind of machine agree within 40 %; the     | 1      | published
//          | published misconfigured two-node H100 (155 of 444 GB/s,        |        |
//          | nccl-tests issue 290) is at 0.35 (docs/collectives.md)         |        |
//
// A degraded table keeps its mark and its figures: it is used for its own rig and no other. Element
// types: of one all-reduce, 8-bit types make a table of their own; of the others one type is
// taken, bfloat16 before half, float and the rest, as training sends them.

#include <map>
#include <string>
#include <vector>

#include "calibrate/import/rig_facts.hpp"
#include "sim/hardware/collective_tables.hpp"

namespace orrery::calibration_import {

inline constexpr double kDegradedBelow = 0.6;

struct Plateau {
  Bytes size;
  BytesPerSecond measured;
  BytesPerSecond expected;
  bool judged = false;  // large enough to say anything about the fabric
  std::string against;  // the nearest table, "" for NCCL's model alone
};

struct ImportedTable {
  hardware::CollectiveTable table;
  std::vector<Fact> facts;
  std::vector<std::string> files;
  std::string type;
  std::string redop;
  Plateau plateau;
};

// `shipped` may hold no tables. Warns of degraded fabrics and of rates that no wire has; reports an
// error when the logs mix classes of GPUs, which one file cannot hold.
[[nodiscard]] std::vector<ImportedTable> build_tables(
    const std::vector<ResolvedLog>& logs,
    bool in_place,
    const hardware::SharedCollectiveTables& shipped,
    Diagnostics& diagnostics);

}  // namespace orrery::calibration_import
