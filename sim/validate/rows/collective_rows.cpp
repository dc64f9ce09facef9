// Rows of collective-measurements/1: nccl-tests logs and tables against the collective model.
//
// No row is predicted from itself. The main figure of a row uses the shipped tables of measured
// collectives without the point of the same log, operation, ranks, nodes, width and size. Beside
// it, as secondary quantities:
//
//   every third point held out   of each table with at least five points, in ascending size, the
//                                second, fifth, eighth ... leave all tables at once and are
//                                predicted from the rest
//   other sources only           all tables of the row's source leave; shown for rows to which a
//                                table of another source is still near (same kind of fabric)

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "sim/cost/collective.hpp"
#include "sim/hardware/collective_tables.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/rows/collective_question.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

namespace {

using hardware::CollectivePoint;
using hardware::CollectiveTable;
using hardware::CollectiveTables;
using hardware::SharedCollectiveTables;

constexpr std::size_t kSweepPoints = 5;
constexpr std::size_t kThird = 3;
constexpr double kLargeMebibytes = 64.0;
constexpr double kSameSize = 1e-3;
constexpr double kSameKind = 1.5;  // distance up to which a table is one of the same kind

bool same_size(Bytes a, Bytes b) {
  return std::abs(a / b - 1.0) < kSameSize;
}

bool measures(const CollectiveTable& table, const CollectiveQuestion& question) {
  const bool narrow = question.dtype == model::Dtype::fp8;
  return table.rig == question.cluster.network.rig && table.operation == question.kind &&
         table.ranks == question.group.ranks && table.nodes == question.group.nodes &&
         table.narrow == narrow;
}

// A table without the points that `drop` names; nothing when none is left.
template <typename Drop>
void add_without(const CollectiveTable& table, const Drop& drop, CollectiveTables& rest) {
  CollectiveTable kept = table;
  std::size_t at = 0;
  std::erase_if(kept.points, [&](const CollectivePoint& point) { return drop(point, at++); });
  if (!kept.points.empty()) {
    hardware::finish_table(kept);
    rest.tables.push_back(std::move(kept));
  }
}

SharedCollectiveTables without_own_point(const CollectiveTables& all,
                                         const CollectiveQuestion& question) {
  CollectiveTables rest;
  for (const CollectiveTable& table : all.tables) {
    const bool own = measures(table, question);
    add_without(
        table,
        [&](const CollectivePoint& point, std::size_t) {
          return own && same_size(point.size, question.size);
        },
        rest);
  }
  return std::make_shared<const CollectiveTables>(std::move(rest));
}

bool is_third(const CollectiveTable& table, std::size_t at) {
  return table.points.size() >= kSweepPoints && at % kThird == 1;
}

SharedCollectiveTables without_every_third(const CollectiveTables& all) {
  CollectiveTables rest;
  for (const CollectiveTable& table : all.tables) {
    add_without(
        table, [&](const CollectivePoint&, std::size_t at) { return is_third(table, at); }, rest);
  }
  return std::make_shared<const CollectiveTables>(std::move(rest));
}

// Whether the row is one of the points that without_every_third() leaves out.
bool is_held_out(const CollectiveTables& all, const CollectiveQuestion& question) {
  for (const CollectiveTable& table : all.tables) {
    for (std::size_t i = 0; measures(table, question) && i < table.points.size(); ++i) {
      if (is_third(table, i) && same_size(table.points[i].size, question.size)) {
        return true;
      }
    }
  }
  return false;
}

SharedCollectiveTables without_source(const CollectiveTables& all, std::string source) {
  std::replace(source.begin(), source.end(), '"', '\'');
  CollectiveTables rest;
  for (const CollectiveTable& table : all.tables) {
    if (!table.source.citation.starts_with(source)) {
      rest.tables.push_back(table);
    }
  }
  return std::make_shared<const CollectiveTables>(std::move(rest));
}

// Distance of the nearest table, or nothing when none says anything about the question.
bool has_near_table(const CollectiveQuestion& question) {
  const cost::CollectiveTime time = cost::collective_time(question.kind,
                                                          question.size,
                                                          question.size,
                                                          question.dtype,
                                                          question.group,
                                                          question.gpu,
                                                          question.cluster);
  return time.table != nullptr && time.table_distance <= kSameKind;
}

// Why a measurement is no evidence for a healthy fabric and NCCL's own choice.
std::string doubt_about(const DataRow& row) {
  if (row.flag("degraded").value_or(false)) {
    return "the data set calls the rig degraded";
  }
  if (row.mentions("algo", "forced") && row.mentions("algo", "NVLSTree")) {
    return "an algorithm is forced that NCCL would not choose";
  }
  return row.text("dtype") == "int8" ? "8-bit integers fall back to another algorithm" : "";
}

void predict(const CollectiveQuestion& question, ValidationRow& row) {
  const cost::Cost cost = answer(question);
  row.predicted = in_seconds(cost.time);
  row.measured = in_seconds(question.measured);
  row.trust = trust_of(cost);
}

// The row once more, in the groups of a secondary quantity.
void add_secondary(const ValidationRow& row,
                   const CollectiveQuestion& question,
                   const std::string& quantity,
                   std::vector<ValidationRow>& rows) {
  ValidationRow copy = row;
  copy.quantity = quantity;
  copy.secondary = true;
  predict(question, copy);
  copy.group = "all sizes";
  rows.push_back(copy);
  if (question.size >= mebibytes(kLargeMebibytes)) {
    copy.group = "from 64 MiB";
    rows.push_back(std::move(copy));
  }
}

}  // namespace

std::vector<ValidationRow> collective_rows(const DataSet& data) {
  std::vector<ValidationRow> rows;
  const SharedCollectiveTables& all = data.profiles.collectives(data.diagnostics);
  const SharedCollectiveTables two_thirds = all ? without_every_third(*all) : nullptr;
  for (const DataRow& entry : data_rows(data.document, "rows")) {
    ValidationRow row{
        .id = entry.text("id"), .group = entry.text("log"), .quantity = "time", .unit = "s"};
    row.suspicious = doubt_about(entry);
    auto asked = collective_question(entry, data);
    if (const auto* reason = std::get_if<std::string>(&asked)) {
      row.skipped = *reason;
      rows.push_back(std::move(row));
      continue;
    }
    auto& question = std::get<CollectiveQuestion>(asked);
    row.notes = question.notes;
    if (!all) {
      predict(question, row);
      rows.push_back(std::move(row));
      continue;
    }
    question.cluster.network.tables = without_own_point(*all, question);
    predict(question, row);
    rows.push_back(row);
    add_secondary(row, question, "time (own point left out)", rows);
    if (is_held_out(*all, question)) {
      question.cluster.network.tables = two_thirds;
      add_secondary(row, question, "time (every third point held out)", rows);
    }
    question.cluster.network.tables = without_source(*all, entry.text("source"));
    if (has_near_table(question)) {
      add_secondary(row, question, "time (other sources only)", rows);
    }
  }
  return rows;
}

}  // namespace orrery::validate
