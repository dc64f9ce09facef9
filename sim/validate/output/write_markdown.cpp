#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "sim/answer/report/table.hpp"
#include "sim/base/percent.hpp"
#include "sim/validate/measured/measured_runs.hpp"
#include "sim/validate/output/write_validation.hpp"

namespace orrery::validate {

namespace {

constexpr std::size_t kWorstRows = 3;  // listed of each group
constexpr double kMiss = 0.10;         // below it a row is not listed

using report::Table;
using report::table_of;

// The table below its introduction; nothing without rows.
std::string below(const std::string& introduction, const Table& table) {
  return table.rows.empty() ? std::string() : introduction + to_markdown(table);
}

std::vector<const ValidationRow*> rows_of(const Validation& validation,
                                          const GroupStatistics& group) {
  std::vector<const ValidationRow*> rows;
  for (const ValidationRow& row : validation.rows) {
    if (row.group == group.name && row.quantity == group.quantity && row.format == group.format) {
      rows.push_back(&row);
    }
  }
  return rows;
}

// One table per format and quantity, closed by the mean over its groups.
std::string markdown_group_tables(const Validation& validation) {
  const Table empty = table_of({"group", "n", "skipped", "MAPE", "median", "p90", "worst", "bias",
                                "MAPE without suspicious rows"});
  std::string text;
  std::string section;
  Table table = empty;
  double sum = 0.0;
  const auto close = [&] {
    text += below(fmt::format("\n## {}\n\n", section), table);
    if (table.rows.size() > 1) {
      text += fmt::format("\nMean of the groups' MAPE: {}.\n",
                          percent_cell(sum / static_cast<double>(table.rows.size())));
    }
    table = empty;
    sum = 0.0;
  };
  for (const GroupStatistics& group : validation.groups) {
    const std::string title = fmt::format("{}: {}", group.format, group.quantity);
    if (title != section) {
      close();
      section = title;
    }
    const Statistics& s = group.all;
    table.add(group.name, s.n, s.skipped, percent_cell(s.mape), percent_cell(s.median),
              percent_cell(s.p90), signed_percent_cell(s.worst), signed_percent_cell(s.bias),
              group.without_suspicious.n > 0 ? percent_cell(group.without_suspicious.mape)
                                             : std::string("none left"));
    sum += s.mape;
  }
  close();
  return text;
}

// The same steps with the switches of their stack and without.
std::string unstated_table(const Validation& validation) {
  Table table =
      table_of({"stack", "n", "MAPE", "as a person states it", "in the band", "in the band"});
  const auto add = [&table](const std::string& name, const std::vector<ValidationRow>& stated,
                            const std::vector<ValidationRow>& unstated) {
    const auto mape = [](const std::vector<ValidationRow>& rows) {
      std::vector<const ValidationRow*> pointers;
      for (const ValidationRow& row : rows) {
        pointers.push_back(&row);
      }
      return percent_cell(statistics_of(pointers).mape);
    };
    const auto inside = [](const std::vector<ValidationRow>& rows) {
      const BandCount count = band_count(rows);
      return fmt::format("{} of {}", count.within, count.steps);
    };
    table.add(name, stated.size(), mape(stated), mape(unstated), inside(stated), inside(unstated));
  };
  const auto steps_of = [](const std::vector<ValidationRow>& rows, const std::string& group) {
    std::vector<ValidationRow> steps;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(steps), [&group](const auto& row) {
      return row.kind && (group.empty() || row.group == group);
    });
    return steps;
  };
  if (validation.unstated.empty()) {
    return {};
  }
  for (const GroupStatistics& group : validation.groups) {
    if (group.format == kMeasuredRuns && !group.secondary) {
      add(group.name, steps_of(validation.rows, group.name),
          steps_of(validation.unstated, group.name));
    }
  }
  add("**all**", steps_of(validation.rows, {}), steps_of(validation.unstated, {}));
  return below(
      "\n## As a person states them\n\nThe measured steps once more without the switches of their "
      "stack (`orrery validate --unstated`): kept are model,\nmachine, layout, batch, precision, "
      "recomputation and the stack's name. The last column belongs to these.\n\n",
      table);
}

std::string remark_list(const Validation& validation) {
  std::string text;
  for (const GroupRemark& remark : validation.remarks) {
    text += fmt::format("- **{}**: {}\n", remark.group, remark.remark);
  }
  return text.empty() ? text : "\n## Which groups miss, and why\n\n" + text;
}

// The worst rows of each group of step times.
std::string miss_table(const Validation& validation) {
  Table table = table_of({"stack", "rows that miss", "row", "predicted", "measured", "error"});
  for (const GroupStatistics& group : validation.groups) {
    if (group.quantity != "step_time") {
      continue;
    }
    std::vector<const ValidationRow*> rows = rows_of(validation, group);
    std::erase_if(rows, [](const ValidationRow* row) {
      return !row->skipped.empty() || std::abs(row->relative_error()) < kMiss;
    });
    std::ranges::stable_sort(rows, [](const auto* a, const auto* b) {
      return std::abs(a->relative_error()) > std::abs(b->relative_error());
    });
    for (std::size_t i = 0; i < std::min(rows.size(), kWorstRows); ++i) {
      const ValidationRow* row = rows[i];
      table.add(group.name, fmt::format("{} of {}", rows.size(), group.all.n), row->id,
                fmt::format("{:.4g} s", row->predicted), fmt::format("{:.4g} s", row->measured),
                signed_percent_cell(row->relative_error()));
    }
  }
  return below(fmt::format("\n## Step times that miss by more than {:.0f} %\n\n"
                           "The {} worst of each stack; `orrery validate --rows` prints every row "
                           "and `orrery validate --explain ID`\nwhere its time goes.\n\n",
                           kPercent * kMiss, kWorstRows),
               table);
}

// Whole runs and scenarios: every figure beside what was published, and what it rests on.
std::string run_table(const Validation& validation) {
  Table table = table_of({"figure", "predicted", "published", "error", "in the band",
                          "within the stated tolerance", "rests on"});
  std::size_t banded = 0;
  std::size_t inside = 0;
  for (const ValidationRow& row : validation.rows) {
    const bool whole = row.format == "whole-runs/2" || row.format == "orrery/1";
    if (!whole || row.secondary || !row.skipped.empty() || row.match) {
      continue;
    }
    banded += row.band ? 1U : 0U;
    inside += row.in_band() ? 1U : 0U;
    table.add(row.id, fmt::format("{:.4g} {}", row.predicted, row.unit),
              fmt::format("{:.4g} {}", row.measured, row.unit),
              signed_percent_cell(row.relative_error()),
              row.band ? (row.in_band() ? "yes" : "no") : "",
              row.within ? (*row.within ? "yes" : "no") : "",
              fmt::format("{}", fmt::join(row.notes, "; ")));
  }
  const std::string head = fmt::format(
      "\n## Whole runs: prediction beside publication\n\n"
      "Calendars come from the run simulator with one rule for every run; what is missing is "
      "downtime that\nnobody itemised. Units are those of the published figure. Of {} figures of "
      "scenarios that\nfollow their step {} lie in their band.\n\n",
      banded, inside);
  return below(head, table);
}

// How many rows of each data set are within the tolerance that it states.
std::string tolerance_list(const Validation& validation) {
  std::map<std::string, std::vector<ValidationRow>> formats;
  for (const ValidationRow& row : validation.rows) {
    if (row.within) {
      formats[row.format].push_back(row);
    }
  }
  std::string text;
  for (const auto& [format, rows] : formats) {
    const ToleranceCount count = tolerance_count(rows);
    text += fmt::format("- {}: {} of {}", format, count.within, count.stated);
    text += count.derived == 0 ? "\n"
                               : fmt::format(
                                     "; and {} of {} figures that only repeat 6 N D "
                                     "arithmetic\n",
                                     count.derived_within, count.derived);
  }
  return text.empty() ? text
                      : "\n## Rows within the tolerance that their data set states\n\n" + text;
}

std::string suspicious_table(const Validation& validation) {
  Table table = table_of({"row", "error", "reason"});
  for (const ValidationRow& row : validation.rows) {
    if (!row.suspicious.empty() && row.format == kMeasuredRuns && !row.secondary) {
      table.add(row.id, row.skipped.empty() ? signed_percent_cell(row.relative_error()) : "skipped",
                row.suspicious);
    }
  }
  return below(
      "\n## Suspicious measured runs\n\nScored like every other row in the tables above, and left "
      "out of their last column.\n\n",
      table);
}

// Steps by what of them is new, and whether the band keeps what it promises at other levels.
std::string band_tables(const Validation& validation) {
  constexpr std::array kClasses = {std::pair(report::Novelty::none, "nothing"),
                                   std::pair(report::Novelty::model, "model"),
                                   std::pair(report::Novelty::gpu, "GPU or kind of model"),
                                   std::pair(report::Novelty::stack, "stack")};
  if (band_count(validation.rows).steps == 0) {
    return {};
  }
  Table table = table_of({"new in the step", "steps", "inside", "mean width, of the prediction"});
  const auto line = [&table](const std::string& name, const BandCount& count) {
    const double inside = static_cast<double>(count.within) / static_cast<double>(count.steps);
    if (count.steps > 0) {
      table.add(name, count.steps, fmt::format("{:.0f} %", kPercent * inside),
                fmt::format("{:.0f} %", kPercent * count.width));
    }
  };
  for (const auto& [novelty, name] : kClasses) {
    std::vector<ValidationRow> rows;
    std::copy_if(validation.rows.begin(), validation.rows.end(), std::back_inserter(rows),
                 [kind = novelty](const ValidationRow& row) {
                   return row.band && row.band->novelty == kind;
                 });
    line(name, band_count(rows));
  }
  line("**all**", band_count(validation.rows));
  return below(
      fmt::format("\n## Bands of step times\n\nThe band of a step rests on the other measured "
                  "steps alone ([formula](../sim/answer/evaluate/doubts/step_evidence.hpp)) and "
                  "is\nmeant to hold "
                  "{:.0f} % of them.\n\n",
                  kPercent * report::StepBand::kLevel),
      table);
}

std::string skipped_table(const Validation& validation) {
  std::map<std::pair<std::string, std::string>, std::pair<int, std::string>> reasons;
  for (const ValidationRow& row : validation.rows) {
    if (!row.skipped.empty()) {
      auto& [count, example] = reasons[{row.format, row.skipped}];
      example = count == 0 ? row.id : example;
      ++count;
    }
  }
  Table table = table_of({"data set", "rows", "such as", "reason"});
  for (const auto& [key, rows] : reasons) {
    table.add(key.first, rows.first, rows.second, key.second);
  }
  return below("\n## Skipped rows\n\nEach counts as an error of 100 %.\n\n", table);
}

std::string preface(const Validation& validation) {
  std::string text =
      "# Accuracy\n\nHow far predictions are from published measurements. Made by\n\n"
      "    orrery validate --markdown -o docs/accuracy.md scenarios/published/*.yaml \\\n"
      "      $(grep -l ^measured: scenarios/*.yaml)\n\n"
      "error = (predicted - measured) / measured; MAPE is the mean of its size, median and p90 are "
      "of its size, bias\nis its mean. A skipped row counts as 100 %. A measured run is a "
      "scenario, "
      "read and evaluated as those of\n`orrery run` ([the form]"
      "(../sim/validate/measured/measured_runs.hpp)): no value under `measured` and no word\nof "
      "its "
      "source reaches a prediction, and no row has constants of its own. All runs of one GPU and "
      "one\ntraining stack share their coefficients.\n";
  for (const std::string& note : validation.notes) {
    text += "\n" + note + "\n";
  }
  return text;
}

}  // namespace

std::string to_markdown(const Validation& given) {
  // What everybody asks for first.
  Validation validation = given;
  std::stable_partition(validation.groups.begin(), validation.groups.end(),
                        [](const GroupStatistics& group) { return group.format == kMeasuredRuns; });
  return preface(validation) + markdown_group_tables(validation) + unstated_table(validation) +
         band_tables(validation) + remark_list(validation) + tolerance_list(validation) +
         run_table(validation) + miss_table(validation) + suspicious_table(validation) +
         skipped_table(validation);
}

}  // namespace orrery::validate
