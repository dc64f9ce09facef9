#include "sim/answer/report/files/json_report.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/validate/output/write_validation.hpp"

namespace orrery::validate {

namespace {

Json row_json(const ValidationRow& row) {
  Json out = {{"id", row.id}, {"group", row.group}};
  if (!row.skipped.empty()) {
    out["quantity"] = row.quantity;
    out["skipped"] = row.skipped;
  } else if (row.match) {
    out["match"] = *row.match;
    out["mismatches"] = row.mismatches;
  } else {
    out["quantity"] = row.quantity;
    out["unit"] = row.unit;
    out["predicted"] = row.predicted;
    out["measured"] = row.measured;
    out["relative_error"] = row.relative_error();
    out["trust"] = row.trust ? report::json_of(*row.trust) : Json(nullptr);
    if (row.band) {
      out["band"] = {{"level", report::StepBand::kLevel},
                     {"low", row.band->low},
                     {"high", row.band->high},
                     {"new", report::to_string(row.band->novelty)}};
    }
  }
  if (row.within) {
    out["within_tolerance"] = *row.within;
  }
  if (!row.suspicious.empty()) {
    out["suspicious"] = row.suspicious;
  }
  if (!row.notes.empty()) {
    out["notes"] = row.notes;
  }
  return out;
}

Json group_json(const GroupStatistics& group) {
  Json out = {{"name", group.name}};
  out.update(json_of(group.all));
  out["quantity"] = group.quantity;
  out["format"] = group.format;
  out["without_suspicious"] = json_of(group.without_suspicious);
  return out;
}

}  // namespace

Json json_of(const Statistics& statistics) {
  return {{"n", statistics.n},       {"skipped", statistics.skipped},
          {"mape", statistics.mape}, {"median", statistics.median},
          {"p90", statistics.p90},   {"worst", statistics.worst},
          {"bias", statistics.bias}};
}

std::string to_json(const Validation& validation) {
  Json overall = json_of(validation.overall.all);
  overall["mape_groups"] = validation.overall.mape_groups;
  overall["without_suspicious"] = json_of(validation.overall.without_suspicious);
  overall["without_suspicious"]["mape_groups"] = validation.overall.mape_groups_without_suspicious;
  Json out = {{"schema", "orrery-validation/1"},   {"files", validation.files},
              {"overall", std::move(overall)},     {"groups", Json::array()},
              {"secondary_groups", Json::array()}, {"rows", json_list(validation.rows, row_json)}};
  for (const GroupStatistics& group : validation.groups) {
    out[group.secondary ? "secondary_groups" : "groups"].push_back(group_json(group));
  }
  return json_text(out);
}

}  // namespace orrery::validate
