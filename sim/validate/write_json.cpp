#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/provenance.hpp"
#include "sim/validate/write_validation.hpp"

namespace orrery::validate {

namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

void add_statistics(Json& out, const Statistics& statistics) {
  out["n"] = statistics.n;
  out["skipped"] = statistics.skipped;
  out["mape"] = number(statistics.mape);
  out["median"] = number(statistics.median);
  out["p90"] = number(statistics.p90);
  out["worst"] = number(statistics.worst);
  out["bias"] = number(statistics.bias);
}

Json statistics_json(const Statistics& statistics) {
  Json out = Json::object();
  add_statistics(out, statistics);
  return out;
}

Json trust_json(const report::Trust& trust) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kSourceKindCount; ++i) {
    out[std::string(kSourceKindNames[i])] = number(trust.share[i]);
  }
  out["extrapolated"] = number(trust.extrapolated);
  return out;
}

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
    out["predicted"] = number(row.predicted);
    out["measured"] = number(row.measured);
    out["relative_error"] = number(row.relative_error());
    out["trust"] = row.trust ? trust_json(*row.trust) : Json(nullptr);
    if (row.band) {
      out["band"] = {{"level", report::StepBand::kLevel},
                     {"low", number(row.band->low)},
                     {"high", number(row.band->high)},
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
  add_statistics(out, group.all);
  out["quantity"] = group.quantity;
  out["format"] = group.format;
  out["without_suspicious"] = statistics_json(group.without_suspicious);
  return out;
}

}  // namespace

std::string to_json(const Validation& validation) {
  Json overall = Json::object();
  add_statistics(overall, validation.overall.all);
  overall["mape_groups"] = number(validation.overall.mape_groups);
  overall["without_suspicious"] = statistics_json(validation.overall.without_suspicious);
  overall["without_suspicious"]["mape_groups"] =
      number(validation.overall.mape_groups_without_suspicious);
  Json out = {{"schema", "orrery-validation/1"},
              {"files", validation.files},
              {"overall", std::move(overall)},
              {"groups", Json::array()},
              {"secondary_groups", Json::array()},
              {"rows", Json::array()}};
  for (const GroupStatistics& group : validation.groups) {
    out[group.secondary ? "secondary_groups" : "groups"].push_back(group_json(group));
  }
  for (const ValidationRow& row : validation.rows) {
    out["rows"].push_back(row_json(row));
  }
  constexpr int kIndent = 2;
  return out.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::validate
