#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "sim/base/percent.hpp"
#include "sim/validate/run_tables.hpp"
#include "sim/validate/write_validation.hpp"

namespace orrery::validate {

namespace {

constexpr std::size_t kWorstRows = 3;  // listed of each group
constexpr double kMiss = 0.10;         // below it a row is not listed

std::string markdown_percent(double share) {
  return fmt::format("{:.1f} %", kPercent * share);
}

std::string markdown_signed_percent(double share) {
  return fmt::format("{:+.1f} %", kPercent * share);
}

// Text in a cell of a table.
std::string cell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') {
      safe += "\\|";
    } else {
      safe += c == '\n' ? ' ' : c;
    }
  }
  return safe;
}

std::string statistics_cells(const Statistics& s) {
  return fmt::format("{} | {} | {} | {} | {} | {} | {}",
                     s.n,
                     s.skipped,
                     markdown_percent(s.mape),
                     markdown_percent(s.median),
                     markdown_percent(s.p90),
                     markdown_signed_percent(s.worst),
                     markdown_signed_percent(s.bias));
}

constexpr std::string_view kTableHead =
    " | n | skipped | MAPE | median | p90 | worst | bias | MAPE without suspicious rows |\n"
    "|---|---|---|---|---|---|---|---|---|\n";

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
  std::string text;
  std::string section;
  double sum = 0.0;
  int count = 0;
  const auto close = [&text, &sum, &count] {
    if (count > 1) {
      text += fmt::format("\nMean of the groups' MAPE: {}.\n", markdown_percent(sum / count));
    }
    sum = 0.0;
    count = 0;
  };
  for (const GroupStatistics& group : validation.groups) {
    const std::string title = fmt::format("{}: {}", group.format, group.quantity);
    if (title != section) {
      close();
      section = title;
      text += fmt::format("\n## {}\n\n| group{}", title, kTableHead);
    }
    text +=
        fmt::format("| {} | {} | {} |\n",
                    cell(group.name),
                    statistics_cells(group.all),
                    group.without_suspicious.n > 0 ? markdown_percent(group.without_suspicious.mape)
                                                   : std::string("none left"));
    sum += group.all.mape;
    ++count;
  }
  close();
  return text;
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
  std::string text;
  for (const GroupStatistics& group : validation.groups) {
    if (group.quantity != "step_time") {
      continue;
    }
    std::vector<const ValidationRow*> rows = rows_of(validation, group);
    std::erase_if(rows, [](const ValidationRow* row) {
      return !row->skipped.empty() || std::abs(row->relative_error()) < kMiss;
    });
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
      return std::abs(a->relative_error()) > std::abs(b->relative_error());
    });
    for (std::size_t i = 0; i < std::min(rows.size(), kWorstRows); ++i) {
      const ValidationRow* row = rows[i];
      text += fmt::format("| {} | {} of {} | {} | {:.4g} s | {:.4g} s | {} |\n",
                          cell(group.name),
                          rows.size(),
                          group.all.n,
                          cell(row->id),
                          row->predicted,
                          row->measured,
                          markdown_signed_percent(row->relative_error()));
    }
  }
  if (text.empty()) {
    return text;
  }
  return fmt::format(
             "\n## Step times that miss by more than {:.0f} %\n\n"
             "The {} worst of each stack; `orrery validate --rows` prints every row and "
             "`orrery validate --explain ID`\nwhere its time goes.\n\n"
             "| stack | rows that miss | row | predicted | measured | error |\n"
             "|---|---|---|---|---|---|\n",
             kPercent * kMiss,
             kWorstRows) +
         text;
}

// Whole runs and scenarios: every figure beside what was published, and what it rests on.
std::string run_table(const Validation& validation) {
  std::string text;
  std::size_t banded = 0;
  std::size_t inside = 0;
  for (const ValidationRow& row : validation.rows) {
    const bool whole = row.format == "whole-runs/1" || row.format == "orrery/1";
    if (!whole || row.secondary || !row.skipped.empty() || row.match) {
      continue;
    }
    banded += row.band ? 1U : 0U;
    inside += row.in_band() ? 1U : 0U;
    text += fmt::format("| {} | {:.4g} {} | {:.4g} {} | {} | {} | {} | {} |\n",
                        cell(row.id),
                        row.predicted,
                        cell(row.unit),
                        row.measured,
                        cell(row.unit),
                        markdown_signed_percent(row.relative_error()),
                        row.band ? (row.in_band() ? "yes" : "no") : "",
                        row.within ? (*row.within ? "yes" : "no") : "",
                        cell(fmt::format("{}", fmt::join(row.notes, "; "))));
  }
  return text.empty()
             ? text
             : "\n## Whole runs: prediction beside publication\n\n"
               "Calendars come from the run simulator with one rule for every run; what "
               "is missing is downtime that\nnobody itemised. Units are those of the "
               "published figure. Of " +
                   fmt::format(
                       "{} figures of scenarios that follow their step {} lie in "
                       "their band.\n\n",
                       banded,
                       inside) +
                   "| figure | predicted | published | error | in the band | within the stated "
                   "tolerance | rests on |\n|---|---|---|---|---|---|---|\n" +
                   text;
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
    text += fmt::format("- {}: {} of {}\n", format, count.within, count.stated);
  }
  return text.empty() ? text
                      : "\n## Rows within the tolerance that their data set states\n\n" + text;
}

std::string suspicious_table(const Validation& validation) {
  std::string text;
  for (const ValidationRow& row : validation.rows) {
    if (!row.suspicious.empty() && row.format == "measured-runs/1" && !row.secondary) {
      const std::string error = row.skipped.empty() ? markdown_signed_percent(row.relative_error())
                                                    : std::string("skipped");
      text += fmt::format("| {} | {} | {} |\n", cell(row.id), error, cell(row.suspicious));
    }
  }
  return text.empty() ? text
                      : "\n## Suspicious measured runs\n\nScored like every other row in the "
                        "tables above, and left out of their last column.\n\n"
                        "| row | error | reason |\n|---|---|---|\n" +
                            text;
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
  std::string text = fmt::format(
      "\n## Bands of step times\n\nThe band of a step rests on the other measured steps alone "
      "([formula](../sim/evaluate/step_evidence.hpp)) and is\nmeant to hold {:.0f} % of them.\n\n"
      "| new in the step | steps | inside | mean width, of the prediction |\n|---|---|---|---|\n",
      kPercent * report::StepBand::kLevel);
  const auto line = [&text](const std::string& name, const BandCount& count) {
    if (count.steps > 0) {
      text += fmt::format(
          "| {} | {} | {:.0f} % | {:.0f} % |\n",
          name,
          count.steps,
          kPercent * static_cast<double>(count.within) / static_cast<double>(count.steps),
          kPercent * count.width);
    }
  };
  for (const auto& [novelty, name] : kClasses) {
    std::vector<ValidationRow> rows;
    std::copy_if(validation.rows.begin(),
                 validation.rows.end(),
                 std::back_inserter(rows),
                 [kind = novelty](const ValidationRow& row) {
                   return row.band && row.band->novelty == kind;
                 });
    line(name, band_count(rows));
  }
  line("**all**", band_count(validation.rows));
  return text;
}

std::string skipped_table(const Validation& validation) {
  std::map<std::string, std::pair<int, std::string>> reasons;
  for (const ValidationRow& row : validation.rows) {
    if (!row.skipped.empty()) {
      auto& [count, example] = reasons[row.format + "|" + row.skipped];
      example = count == 0 ? row.id : example;
      ++count;
    }
  }
  std::string text;
  for (const auto& [key, rows] : reasons) {
    const std::size_t bar = key.find('|');
    text += fmt::format("| {} | {} | {} | {} |\n",
                        key.substr(0, bar),
                        rows.first,
                        cell(rows.second),
                        cell(key.substr(bar + 1)));
  }
  return text.empty() ? text
                      : "\n## Skipped rows\n\nEach counts as an error of 100 %.\n\n"
                        "| data set | rows | such as | reason |\n|---|---|---|---|\n" +
                            text;
}

std::string_view yes(bool flag) {
  return flag ? "yes" : "";
}

std::string_view name_of(model::Activation activation) {
  switch (activation) {
    case model::Activation::gelu:
      return "gelu";
    case model::Activation::swiglu:
      return "swiglu";
    case model::Activation::squared_relu:
      return "squared relu";
    case model::Activation::relu:
      return "relu";
  }
  return {};
}

std::string_view name_of(model::PositionEmbedding position) {
  switch (position) {
    case model::PositionEmbedding::none:
      return "none";
    case model::PositionEmbedding::learned:
      return "learned";
    case model::PositionEmbedding::rotary:
      return "rotary";
    case model::PositionEmbedding::alibi:
      return "alibi";
  }
  return {};
}

std::string word_tables() {
  std::string text =
      "\n## What enters a prediction\n\n"
      "Everything in a row except `measured`, `id` and `confidence`. Text enters only through "
      "these "
      "tables.\n\n| field | words | effect |\n|---|---|---|\n";
  for (const Keyword& keyword : keywords()) {
    text += fmt::format("| {} | {} | {} |\n", keyword.field, keyword.words, keyword.meaning);
  }
  text +=
      "\nA stack takes the software profile of its own name, else:\n\n"
      "| stack begins with | software profile |\n|---|---|\n";
  for (const StackName& stack : stack_names()) {
    text += fmt::format("| {} | {} |\n", stack.stack, stack.software);
  }
  text +=
      "\nA GPU is found by the `names` of the profiles.\n"
      "\n| model's name begins with | activation, unless `gated` says otherwise | positions | "
      "biases | tied embeddings, unless stated |\n|---|---|---|---|---|\n";
  for (const ModelFamily& family : model_families()) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n",
                        family.name,
                        name_of(family.activation),
                        name_of(family.position),
                        family.linear_bias ? "all" : (family.qkv_bias ? "qkv" : ""),
                        yes(family.tied_embeddings));
  }
  return text;
}

std::string preface(const Validation& validation) {
  std::string text =
      "# Accuracy\n\nHow far predictions are from published measurements. Made by\n\n"
      "    orrery validate --markdown -o docs/accuracy.md scenarios/published/*.yaml \\\n"
      "      $(grep -l ^measured: scenarios/*.yaml)\n\n"
      "error = (predicted - measured) / measured; MAPE is the mean of its size, median and p90 are "
      "of its size, bias\nis its mean. A skipped row counts as 100 %. No value under `measured` "
      "reaches a prediction, and no row has\nconstants of its own: all runs of one GPU and one "
      "training stack share their coefficients.\n";
  for (const std::string& note : validation.notes) {
    text += "\n" + note + "\n";
  }
  return text;
}

}  // namespace

std::string to_markdown(const Validation& given) {
  // What everybody asks for first.
  Validation validation = given;
  std::stable_partition(
      validation.groups.begin(), validation.groups.end(), [](const GroupStatistics& group) {
        return group.format == "measured-runs/1";
      });
  return preface(validation) + markdown_group_tables(validation) + band_tables(validation) +
         remark_list(validation) + tolerance_list(validation) + run_table(validation) +
         miss_table(validation) + suspicious_table(validation) + skipped_table(validation) +
         word_tables();
}

}  // namespace orrery::validate
