#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/answer/evaluate/compare/compare_measured.hpp"
#include "sim/answer/report/text/text_page.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::evaluate {

namespace {

constexpr std::size_t kShownUnknown = 8;
constexpr std::size_t kNameColumns = 70;

std::string signed_time(Seconds value) {
  if (value == Seconds{}) {
    return "none";
  }
  return (value > Seconds{} ? "+" : "") + format_time(value);
}

std::string rows_text(std::string_view title, const std::vector<MeasuredRow>& rows, Seconds whole) {
  if (rows.empty()) {
    return {};
  }
  std::string text = fmt::format("\n{:<34} {:>12} {:>12} {:>12} {:>10}\n", title, "predicted",
                                 "measured", "difference", "of step");
  for (const MeasuredRow& row : rows) {
    text += fmt::format("  {:<32} {:>12} {:>12} {:>12} {:>10}\n", row.label,
                        format_time(row.predicted), format_time(row.measured),
                        signed_time(row.difference()), format_percent(row.difference() / whole));
  }
  return text;
}

std::string operations_text(const trace::MeasuredMean& mean) {
  if (mean.operations.empty()) {
    return {};
  }
  std::string text = fmt::format("\n{:<34} {:>12} {:>12} {:>12} {:>10}\n",
                                 "Communication, measured", "times", "busy", "hidden", "exposed");
  for (const trace::OperationMean& one : mean.operations) {
    text += fmt::format("  {:<32} {:>12} {:>12} {:>12} {:>10}\n",
                        fmt::format("{}, {}", to_string(one.axis), to_string(one.operation)),
                        format_count(one.count), format_time(one.busy), format_time(one.hidden),
                        format_time(one.busy - one.hidden));
  }
  return text;
}

std::string steps_text(const trace::MeasuredTrace& measured, const trace::MeasuredMean& mean) {
  std::string text = fmt::format("Measured: {} step{} of {} rank{}", format_integer(mean.steps),
                                 mean.steps == 1 ? "" : "s", measured.ranks.size(),
                                 measured.ranks.size() == 1 ? "" : "s");
  text += fmt::format(", mean {}", format_time(mean.step_time));
  if (mean.steps > 1) {
    text += fmt::format(", median {}, {} to {}", format_time(mean.median),
                        format_time(mean.shortest), format_time(mean.longest));
  }
  return text + "\n";
}

std::string unknown_text(const trace::MeasuredTrace& measured) {
  if (measured.unknown.empty()) {
    return {};
  }
  double share = 0.0;
  for (const trace::UnknownKernel& kernel : measured.unknown) {
    share += kernel.share;
  }
  std::string text = fmt::format(
      "\nKernels that no rule knows, {} of the time of all kernels; counted as compute\n",
      format_percent(share));
  for (std::size_t i = 0; i < std::min(kShownUnknown, measured.unknown.size()); ++i) {
    const trace::UnknownKernel& kernel = measured.unknown[i];
    const std::string name = report::printable(kernel.name);
    const std::string shown =
        name.size() > kNameColumns ? name.substr(0, kNameColumns - 3) + "..." : name;
    text += fmt::format("  {:>7} {:>9} x  {}\n", format_percent(kernel.share),
                        format_integer(kernel.count), shown);
  }
  if (measured.unknown.size() > kShownUnknown) {
    text += fmt::format("  {} more\n", measured.unknown.size() - kShownUnknown);
  }
  return text;
}

std::string notes_text(const std::vector<std::string>& notes,
                       const std::vector<std::string>& more) {
  std::string text;
  for (const auto* list : {&notes, &more}) {
    for (const std::string& note : *list) {
      text += report::wrap_lines(report::printable("Note: " + note)) + "\n";
    }
  }
  return text.empty() ? text : "\n" + text;
}

std::string with_newline(std::string text) {
  if (text.empty() || text.back() != '\n') {
    text += '\n';
  }
  return text;
}

}  // namespace

std::string measured_comparison_text(const MeasuredComparison& comparison,
                                     const trace::MeasuredTrace& measured) {
  std::string text = with_newline(report::wrap_lines(comparison.verdict));
  text += steps_text(measured, comparison.measured);
  if (comparison.stages) {
    text += fmt::format("Predicted: {}\n", *comparison.stages);
  }
  text += rows_text("Step, of one GPU", comparison.ledger, comparison.measured.step_time);
  const Seconds difference = comparison.measured.step_time - comparison.predicted_step;
  text += fmt::format("  {:<32} {:>12} {:>12} {:>12} {:>10}\n", "step",
                      format_time(comparison.predicted_step),
                      format_time(comparison.measured.step_time), signed_time(difference),
                      format_percent(difference / comparison.measured.step_time));
  text +=
      rows_text("Kernels of the busiest device", comparison.kernels, comparison.measured.step_time);
  text += operations_text(comparison.measured);
  text += unknown_text(measured);
  return text + notes_text(comparison.notes, measured.notes);
}

std::string measured_text(const trace::MeasuredTrace& measured, const trace::MeasuredMean& mean) {
  std::string text = steps_text(measured, mean);
  const auto line = [&mean](std::string_view name, Seconds time) {
    return time > Seconds{} ? fmt::format("  {:<32} {:>12} {:>10}\n", name, format_time(time),
                                          format_percent(time / mean.step_time))
                            : std::string();
  };
  text += "\nStep, of one GPU\n";
  for (std::size_t c = 0; c < step::kStepCategories; ++c) {
    text += line(step::kStepCategoryNames[c], mean.categories[c]);
  }
  text += "\nKernels\n";
  for (std::size_t w = 0; w < trace::kWorks; ++w) {
    text += line(trace::kWorkNames[w], mean.work[w]);
  }
  text += operations_text(mean) + unknown_text(measured) + notes_text(measured.notes, {});
  return text + "\nFor a scenario:\n" + measured_lines(mean);
}

std::string measured_lines(const trace::MeasuredMean& mean) {
  return fmt::format("measured:\n  step_time: {:.6g}s\n", in_seconds(mean.step_time));
}

}  // namespace orrery::evaluate
