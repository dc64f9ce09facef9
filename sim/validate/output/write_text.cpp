#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "sim/answer/report/files/json_report.hpp"
#include "sim/answer/report/text/text_page.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
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

constexpr std::size_t kNameWidth = 44;

std::string cut(const std::string& text, std::size_t width) {
  const std::string clean = report::printable(text);
  return clean.size() <= width ? report::pad_right(clean, width) : clean.substr(0, width - 1) + "~";
}

bool has_suspicious(const Validation& validation) {
  return std::ranges::any_of(validation.rows,
                             [](const ValidationRow& row) { return !row.suspicious.empty(); });
}

std::string group_tables(const Validation& validation) {
  std::string text;
  std::string section;
  for (const GroupStatistics& group : validation.groups) {
    const std::string title = fmt::format("{} of {}", group.quantity, group.format);
    if (title != section) {
      text += (section.empty() ? "" : "\n") + statistics_head(title);
      section = title;
    }
    text += statistics_line(group.name, group.all);
  }
  return text;
}

std::string overall_table(const Validation& validation) {
  const Overall& overall = validation.overall;
  const auto mean = [](double mape) {
    return fmt::format("mean of the groups' MAPE {}\n", percent_cell(mape));
  };
  std::string text = "\n" + statistics_head("overall") + statistics_line("all rows", overall.all);
  text += mean(overall.mape_groups);
  if (has_suspicious(validation)) {
    text += statistics_line("without suspicious rows", overall.without_suspicious);
    text += mean(overall.mape_groups_without_suspicious);
  }
  return text;
}

// How the same steps fare that a person states who does not know the stack's switches.
std::string unstated_line(const Validation& validation) {
  if (validation.unstated.empty()) {
    return {};
  }
  std::vector<const ValidationRow*> rows;
  for (const ValidationRow& row : validation.unstated) {
    rows.push_back(&row);
  }
  const BandCount count = band_count(validation.unstated);
  return statistics_line("as a person states them (--unstated)", statistics_of(rows)) +
         fmt::format("{} of {} in the band\n", count.within, count.steps);
}

// Rows whose data set states how far they may be off.
std::string tolerance_line(const Validation& validation) {
  const ToleranceCount count = tolerance_count(validation.rows);
  std::string text;
  if (count.stated > 0) {
    text += fmt::format("within the tolerance that the data set states: {} of {}\n", count.within,
                        count.stated);
  }
  if (count.derived > 0) {
    text += fmt::format("figures that only repeat 6 N D arithmetic: {} of {} as printed\n",
                        count.derived_within, count.derived);
  }
  return text;
}

std::string band_line(const Validation& validation) {
  const BandCount count = band_count(validation.rows);
  return count.steps == 0
             ? std::string()
             : fmt::format(
                   "in the band that is meant for {}: {} of {}, which is {} wide on average\n",
                   format_percent(report::StepBand::kLevel), count.within, count.steps,
                   format_percent(count.width));
}

// Reasons with the number of rows they stopped, and one of the rows.
std::string skipped_list(const Validation& validation) {
  std::map<std::string, std::pair<int, std::string>> reasons;
  for (const ValidationRow& row : validation.rows) {
    if (!row.skipped.empty()) {
      auto& [count, example] = reasons[row.skipped];
      example = count == 0 ? row.id : example;
      ++count;
    }
  }
  std::string text;
  for (const auto& [reason, rows] : reasons) {
    text += fmt::format("{}skipped {} x (such as {}): {}\n", text.empty() ? "\n" : "", rows.first,
                        report::printable(rows.second), report::printable(reason));
  }
  return text;
}

std::string row_line(const ValidationRow& row) {
  std::string result;
  if (!row.skipped.empty()) {
    result = "skipped: " + report::printable(row.skipped);
  } else if (row.match) {
    result = *row.match ? "match" : "MISMATCH";
    for (const std::string& mismatch : row.mismatches) {
      result += " " + report::printable(mismatch);
    }
  } else {
    result = fmt::format("{:>12.6g} {:>12.6g} {:<11} {:>9}", row.predicted, row.measured, row.unit,
                         signed_percent_cell(row.relative_error()));
    if (row.within && !*row.within) {
      result += "  OUTSIDE the stated tolerance";
    }
  }
  if (!row.suspicious.empty()) {
    result += "  suspicious: " + report::printable(row.suspicious);
  }
  return fmt::format("{} {}\n", cut(row.id, kNameWidth + 8), result);
}

std::string row_table(const Validation& validation) {
  std::string text = fmt::format("{} {:>12} {:>12} {:<11} {:>9}\n", cut("row", kNameWidth + 8),
                                 "predicted", "measured", "unit", "error");
  for (const ValidationRow& row : validation.rows) {
    text += row_line(row);
  }
  return text + "\n";
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

std::string statistics_line(const std::string& name, const Statistics& s) {
  return fmt::format("{} {:>5} {:>4} {:>8} {:>8} {:>8} {:>9} {:>8}\n", cut(name, kNameWidth), s.n,
                     s.skipped, percent_cell(s.mape), percent_cell(s.median), percent_cell(s.p90),
                     signed_percent_cell(s.worst), signed_percent_cell(s.bias));
}

std::string statistics_head(const std::string& title) {
  return fmt::format("{} {:>5} {:>4} {:>8} {:>8} {:>8} {:>9} {:>8}\n", cut(title, kNameWidth), "n",
                     "skip", "MAPE", "median", "p90", "worst", "bias");
}

std::string to_text(const Validation& validation, const TextOptions& options) {
  std::string text;
  if (options.rows) {
    text += row_table(validation);
  }
  text += group_tables(validation);
  text += overall_table(validation) + tolerance_line(validation) + band_line(validation) +
          unstated_line(validation);
  return text + skipped_list(validation);
}

}  // namespace orrery::validate
