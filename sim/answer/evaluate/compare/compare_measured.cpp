#include "sim/answer/evaluate/compare/compare_measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

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

constexpr double kLeast = 0.01;  // of the step: less says nothing of a factor

using step::StepCategory;

struct RowRule {
  std::string_view key;
  std::string_view label;
  std::array<StepCategory, 3> categories;  // or fewer: count_
};

constexpr StepCategory kNone = StepCategory::count_;

constexpr std::array<RowRule, 11> kRows = {{
    {"compute", "compute", {StepCategory::compute, StepCategory::recompute, kNone}},
    {"optimizer", "optimizer update", {StepCategory::optimizer, kNone, kNone}},
    {"exposed_tensor", "tensor communication", {StepCategory::exposed_tensor, kNone, kNone}},
    {"exposed_context", "context communication", {StepCategory::exposed_context, kNone, kNone}},
    {"exposed_expert", "expert communication", {StepCategory::exposed_expert, kNone, kNone}},
    {"exposed_pipeline",
     "pipeline messages, bubble and imbalance",
     {StepCategory::exposed_pipeline, StepCategory::bubble, StepCategory::stage_imbalance}},
    {"exposed_data", "data communication", {StepCategory::exposed_data, kNone, kNone}},
    {"offload", "copies to and from the host", {StepCategory::offload, kNone, kNone}},
    {"data_stall", "waiting for input", {StepCategory::data_stall, kNone, kNone}},
    {"launch_gap",
     "gaps between kernels, host between steps",
     {StepCategory::launch_gap, StepCategory::host_step, kNone}},
    {"idle", "idle: waiting", {StepCategory::idle, kNone, kNone}},
}};

template <typename Value>
Seconds sum_of(const RowRule& rule, const Value& value) {
  Seconds sum;
  for (const StepCategory category : rule.categories) {
    sum += category == kNone ? Seconds{} : value(category);
  }
  return sum;
}

// Pipeline devices of the ranks that were traced; empty where a rank is unknown.
std::set<std::int64_t> traced_devices(const report::Evaluation& evaluation,
                                      const trace::MeasuredTrace& measured) {
  std::set<std::int64_t> devices;
  for (const trace::MeasuredRank& rank : measured.ranks) {
    if (!rank.rank || *rank.rank >= evaluation.echo.layout.gpus) {
      return {};
    }
    devices.insert(pipeline_device(evaluation.echo.layout, *rank.rank));
  }
  return devices;
}

// The ledger that the traced ranks are compared with.
step::StepLedger predicted_ledger(const step::StepResult& step,
                                  const std::set<std::int64_t>& devices) {
  step::StepLedger sum;
  for (const std::int64_t device : devices) {
    sum += step.stage_ledgers[static_cast<std::size_t>(device)];
  }
  return devices.empty() ? step.ledger : sum;
}

std::vector<MeasuredRow> kernel_rows(const report::Evaluation& evaluation,
                                     const trace::MeasuredMean& mean) {
  std::vector<MeasuredRow> rows = {{"gemm", "matrix multiplication", {}, {}},
                                   {"attention", "attention", {}, {}},
                                   {"other", "everything else", {}, {}}};
  for (const step::OperationShare& one : evaluation.step.operations) {
    if (one.kind != step::OperationKind::collective) {
      const bool gemm = one.kind == step::OperationKind::gemm;
      rows[gemm ? 0 : one.kind == step::OperationKind::attention ? 1 : 2].predicted += one.time;
    }
  }
  const auto work = [&mean](trace::Work kind) { return mean.work[static_cast<std::size_t>(kind)]; };
  rows[0].measured = work(trace::Work::gemm);
  rows[1].measured = work(trace::Work::attention);
  rows[2].measured =
      work(trace::Work::experts) + work(trace::Work::memory) + work(trace::Work::unknown);
  return rows;
}

std::string verdict_of(const MeasuredComparison& comparison) {
  const Seconds gap = comparison.measured.step_time - comparison.predicted_step;
  const double size = std::abs(comparison.error);
  constexpr double kSame = 0.0005;  // reads as 0.0 %
  std::string text = fmt::format("The measured step takes {}, the predicted one {}",
                                 format_time(comparison.measured.step_time),
                                 format_time(comparison.predicted_step));
  if (size < kSame) {
    text += ": the same.";
  } else if (size < 1.0) {
    text += fmt::format(": the prediction is {} too {}.", format_percent(size),
                        comparison.error < 0.0 ? "short" : "long");
  } else {
    text +=
        fmt::format(": the prediction is {} times as long.", format_number(1.0 + comparison.error));
  }
  const auto biggest =
      std::ranges::max_element(comparison.ledger, [](const MeasuredRow& a, const MeasuredRow& b) {
        return std::abs(a.difference() / seconds(1.0)) < std::abs(b.difference() / seconds(1.0));
      });
  if (biggest == comparison.ledger.end() || biggest->difference() == Seconds{}) {
    return text;
  }
  const Seconds difference = biggest->difference();
  text += fmt::format(" The biggest difference is in {}: {} measured, {} predicted", biggest->label,
                      format_time(biggest->measured), format_time(biggest->predicted));
  const double part = size < kSame ? 0.0 : difference / gap;
  if (part > 0.0 && part <= 1.0) {
    text += fmt::format(", {} of the difference of the step", format_percent(part));
  } else if (part < 0.0) {
    text += ", against the difference of the step: others outweigh it";
  } else if (part > 1.0) {
    text += ", more than the whole difference of the step; other parts differ the other way";
  }
  return text + ".";
}

void add_notes(const report::Evaluation& evaluation, const trace::MeasuredTrace& measured,
               MeasuredComparison& comparison) {
  const layout::Layout& layout = evaluation.echo.layout;
  if (measured.world_size && *measured.world_size != layout.gpus) {
    comparison.notes.push_back(
        fmt::format("the trace is of a job of {} ranks, the scenario has {} "
                    "GPUs: these are not the same job",
                    format_integer(*measured.world_size), format_integer(layout.gpus)));
  }
  if (evaluation.step.given) {
    comparison.notes.emplace_back(
        "the scenario states its step time: there is no predicted ledger to compare with");
  }
  if (evaluation.step.ledger.share(StepCategory::recompute) > 0.0) {
    comparison.notes.emplace_back(
        "compute includes recomputed activations: names of kernels do not tell them apart");
  }
  if (layout.pipeline > 1) {
    comparison.notes.emplace_back(
        "the kernel of a pipeline message also waits for its sender: bubble and message are one "
        "row");
    if (!comparison.stages) {
      comparison.notes.emplace_back(
          "the traces do not say which ranks they are: predicted is the mean of all stages");
    }
  }
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

Projection project_measured(const MeasuredComparison& here, const report::Evaluation& there) {
  Projection projection;
  projection.predicted = to_seconds(there.step.step_time);
  projection.gpus = there.step.gpus;
  projection.feasible = there.feasible;
  Seconds by_model;
  for (const MeasuredRow& row : predicted_rows(there.step.ledger, projection.predicted)) {
    ProjectedRow projected{row.key, row.label, row.predicted};
    const auto known =
        std::ranges::find_if(here.ledger, [&](const auto& one) { return one.key == row.key; });
    if (known != here.ledger.end() && known->predicted > here.predicted_step * kLeast &&
        known->measured > here.measured.step_time * kLeast) {
      projected.factor = known->measured / known->predicted;
      projected.measured = true;
    } else {
      by_model += projected.predicted;
    }
    projection.projected += projected.projected();
    projection.rows.push_back(projected);
  }
  projection.by_model = by_model / projection.projected;
  const report::MetricValue* rate = there.metrics.find(report::MetricId::tokens_per_second);
  if (rate != nullptr) {
    projection.tokens_per_second = rate->value * (projection.predicted / projection.projected);
  }
  return projection;
}

std::string projection_text(const Projection& projection, const std::vector<std::string>& changes) {
  std::string text =
      fmt::format("\nProjected to {}: {} a step on {} GPUs, {} tokens/s{}\n",
                  fmt::join(changes, ", "), format_time(projection.projected),
                  format_integer(projection.gpus), format_count(projection.tokens_per_second),
                  projection.feasible ? "" : "; it does not fit in memory");
  text += fmt::format("  {:<40} {:>12} {:>8} {:>12}\n", "", "predicted", "factor", "projected");
  for (const ProjectedRow& row : projection.rows) {
    text +=
        fmt::format("  {:<40} {:>12} {:>8} {:>12}\n", row.label, format_time(row.predicted),
                    row.measured ? format_number(row.factor) : "-", format_time(row.projected()));
  }
  text += fmt::format("  {:<40} {:>12} {:>8} {:>12}\n", "step", format_time(projection.predicted),
                      format_number(projection.projected / projection.predicted),
                      format_time(projection.projected));
  return text +
         fmt::format("  {} of it rests on the model alone: the traces have too little of it\n",
                     format_percent(projection.by_model));
}

trace::Degrees degrees_of(const report::Evaluation& evaluation) {
  const layout::Layout& layout = evaluation.echo.layout;
  return {layout.tensor, layout.context, layout.expert, layout.pipeline, layout.data};
}

std::int64_t pipeline_device(const layout::Layout& layout, std::int64_t rank) {
  std::int64_t below = 1;
  for (const layout::Axis axis : layout.order) {
    if (axis == layout::Axis::pipeline) {
      return rank / below % layout.pipeline;
    }
    below *= axis == layout::Axis::tensor    ? layout.tensor
             : axis == layout::Axis::context ? layout.context
                                             : layout.data;
  }
  return 0;
}

std::vector<MeasuredRow> predicted_rows(const step::StepLedger& ledger, Seconds step_time) {
  std::vector<MeasuredRow> rows;
  for (const RowRule& rule : kRows) {
    const MeasuredRow row{
        rule.key,
        rule.label,
        sum_of(rule, [&](StepCategory category) { return step_time * ledger.share(category); }),
        {}};
    if (row.predicted > Seconds{}) {
      rows.push_back(row);
    }
  }
  return rows;
}

std::optional<MeasuredComparison> compare_measured(const report::Evaluation& evaluation,
                                                   const trace::MeasuredTrace& measured,
                                                   const std::optional<std::string>& step) {
  const auto mean = trace::mean_of(measured, step);
  if (!mean) {
    return std::nullopt;
  }
  MeasuredComparison comparison;
  comparison.measured = *mean;
  comparison.predicted_step = to_seconds(evaluation.step.step_time);
  comparison.error = (comparison.predicted_step - mean->step_time) / mean->step_time;
  const std::set<std::int64_t> devices = evaluation.step.stage_ledgers.size() > 1
                                             ? traced_devices(evaluation, measured)
                                             : std::set<std::int64_t>{};
  if (!devices.empty()) {
    comparison.stages = fmt::format("pipeline device{} {}", devices.size() > 1 ? "s" : "",
                                    fmt::join(devices, ", "));
  }
  const step::StepLedger ledger = predicted_ledger(evaluation.step, devices);
  for (const RowRule& rule : kRows) {
    const MeasuredRow row{rule.key, rule.label,
                          sum_of(rule,
                                 [&](StepCategory category) {
                                   return comparison.predicted_step * ledger.share(category);
                                 }),
                          sum_of(rule, [&](StepCategory category) {
                            return mean->categories[static_cast<std::size_t>(category)];
                          })};
    if (row.predicted > Seconds{} || row.measured > Seconds{}) {
      comparison.ledger.push_back(row);
    }
  }
  if (!evaluation.step.operations.empty()) {
    comparison.kernels = kernel_rows(evaluation, *mean);
  }
  comparison.verdict = verdict_of(comparison);
  add_notes(evaluation, measured, comparison);
  return comparison;
}

}  // namespace orrery::evaluate
