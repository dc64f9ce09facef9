#include "gui/timeline/store/evaluation_levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/answer/report/export/run_trace.hpp"
#include "sim/answer/report/export/step_trace.hpp"
#include "sim/answer/report/export/trace_words.hpp"
#include "sim/answer/report/trial_choice.hpp"
#include "sim/base/text/time_axis.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"

namespace orrery::timeline {

namespace {

using report::RunLane;
using run::RunActivity;
using schedule::Stream;
using schedule::TaskKind;

// Nodes, spares and dollars per hour, as the trace of the run has them; and what share of the time
// was productive.
void add_run_counters(const report::Evaluation& evaluation, RowId job, StoreBuilder& builder) {
  const report::Trace trace = report::run_trace(evaluation);
  for (report::TrackId track = 0; track < trace.tracks.size(); ++track) {
    std::vector<Sample> samples;
    for (const report::TraceSample& sample : trace.samples) {
      if (sample.counter == track) {
        samples.push_back({sample.at.ns, sample.value});
      }
    }
    if (!samples.empty()) {
      builder.counter(trace.tracks[track].name, trace.tracks[track].unit, std::move(samples), job);
    }
  }
  std::vector<Sample> productive;
  for (const report::ShareSample& sample : report::productive_over_time(evaluation)) {
    productive.push_back({sample.from.ns, 100.0 * sample.share});
  }
  builder.counter("productive share so far", "%", std::move(productive), job);
}

Level run_level(const report::Evaluation& evaluation) {
  StoreBuilder builder;
  const RowId job = builder.group("job");
  std::array<RowId, 3> rows{};
  for (std::size_t lane = 0; lane < rows.size(); ++lane) {
    rows[lane] = builder.row(report::kRunLaneNames[lane], job);
  }
  add_run_counters(evaluation, job, builder);
  const std::vector<run::PlannedCause>& causes = evaluation.plan->causes;
  for (const run::RunInterval& interval : evaluation.timeline.intervals()) {
    const auto cause = static_cast<std::size_t>(interval.cause);
    const bool has_cause = interval.cause >= 0 && cause < causes.size();
    const std::string after = has_cause ? causes[cause].name : std::string();
    if (interval.kind == RunActivity::failure) {
      builder.mark(interval.begin.ns, MarkKind::failure, has_cause ? after : "failure");
      continue;
    }
    if (interval.kind == RunActivity::checkpoint) {
      builder.mark(interval.begin.ns, MarkKind::checkpoint, "checkpoint");
    } else if (interval.kind == RunActivity::scheduling) {
      builder.mark(interval.begin.ns, MarkKind::restart, "restart");
    }
    const std::string_view what = run::to_string(interval.kind);
    const NameId name =
        builder.name(has_cause ? fmt::format("{} after {}", what, after) : std::string(what));
    builder.add(rows[static_cast<std::size_t>(report::lane_of(interval.kind))],
                {interval.begin.ns, interval.end.ns, name, category_of(interval.kind)});
  }
  return {"run",
          "run",
          builder.build(),
          {},
          trial_words(evaluation),
          {},
          report::unix_start(evaluation)};
}

// What comes from what: messages, and reductions and gathers of a chunk with the passes around
// them.
void add_flows(const report::Evaluation& evaluation,
               const std::vector<std::optional<PendingSlice>>& places, StoreBuilder& builder) {
  for (const report::StepFlow& flow : report::step_flows(evaluation.step.slices)) {
    const FlowKind kind =
        flow.kind == report::StepFlow::Kind::message ? FlowKind::message : FlowKind::collective;
    for (std::size_t i = 1; i < flow.slices.size(); ++i) {
      const auto& from = places[flow.slices[i - 1]];
      const auto& to = places[flow.slices[i]];
      if (from && to) {
        builder.flow(*from, *to, kind);
      }
    }
  }
}

// Messages that take no resource of the schedule are no slices of the step.
bool has_messages(const report::Evaluation& evaluation) {
  const auto& timeline = evaluation.step.operation_timeline;
  return timeline && std::ranges::any_of(timeline->messages,
                                         [](const step::MessageRun& run) { return !run.is_slice; });
}

struct StageRows {
  std::array<RowId, 3> streams{};
};

StageRows add_stage(StoreBuilder& builder, const report::Evaluation& evaluation, std::size_t d) {
  const RowId stage = builder.group(fmt::format("stage {}", d));
  builder.set_ranks(stage, ranks_of(evaluation, d), are_unequal(evaluation, d));
  if (evaluation.step.stage_ledgers.size() > 1) {
    builder.lead(stage);  // the pipeline as one picture
  }
  StageRows rows;
  for (const Stream stream : {Stream::compute, Stream::data_parallel_comm, Stream::p2p}) {
    const bool used = std::ranges::any_of(
        evaluation.step.slices,
        [stream](const step::Slice& slice) { return slice.task.stream == stream; });
    rows.streams[static_cast<std::size_t>(stream)] =
        used || (stream == Stream::p2p && has_messages(evaluation))
            ? builder.row(report::stream_name(stream), stage)
            : kNoRow;
  }
  add_memory(evaluation, d, stage, builder);
  return rows;
}

void add_messages(const report::Evaluation& evaluation, const std::vector<StageRows>& stages,
                  const std::vector<std::optional<PendingSlice>>& places, StoreBuilder& builder) {
  if (!has_messages(evaluation)) {
    return;
  }
  const step::OperationTimeline& timeline = *evaluation.step.operation_timeline;
  for (const step::MessageRun& message : timeline.messages) {
    const schedule::StepTask& from = evaluation.step.slices[message.from].task;
    if (message.is_slice) {
      continue;
    }
    const RowId row = stages[static_cast<std::size_t>(from.device)]
                          .streams[static_cast<std::size_t>(Stream::p2p)];
    const NameId name = builder.name(fmt::format(
        "{}, micro-batch {}", timeline.operations[message.operation].name, from.micro_batch));
    const PendingSlice sent =
        builder.add(row, {message.start.ns, message.end.ns, name, Category::pipeline});
    if (places[message.from] && places[message.to]) {
      builder.flow(*places[message.from], sent, FlowKind::message);
      builder.flow(sent, *places[message.to], FlowKind::message);
    }
  }
}

Level step_level(const report::Evaluation& evaluation) {
  StoreBuilder builder;
  std::vector<StageRows> stages;
  for (std::size_t d = 0; d < std::max<std::size_t>(evaluation.step.stage_ledgers.size(), 1); ++d) {
    stages.push_back(add_stage(builder, evaluation, d));
  }
  std::vector<std::optional<PendingSlice>> places;
  for (const step::Slice& slice : evaluation.step.slices) {
    const schedule::StepTask& task = slice.task;
    const auto device = static_cast<std::size_t>(std::max<std::int16_t>(task.device, 0));
    if (task.kind == TaskKind::join || device >= stages.size()) {
      builder.mark(slice.start.ns, MarkKind::other, report::task_name(task));
      places.emplace_back();
      continue;
    }
    places.emplace_back(
        builder.add(stages[device].streams[static_cast<std::size_t>(task.stream)],
                    {slice.start.ns, slice.end.ns, builder.name(report::task_name(task)),
                     category_of(task.kind)}));
  }
  add_flows(evaluation, places, builder);
  add_messages(evaluation, stages, places, builder);
  std::vector<RowId> compute;
  for (const StageRows& rows : stages) {
    compute.push_back(rows.streams[static_cast<std::size_t>(Stream::compute)]);
  }
  add_waits(evaluation, compute, builder);
  const std::int64_t time = evaluation.step.step_time.ns;
  return {"step",
          "step",
          builder.build(),
          {},
          fmt::format("every training step is drawn as the one that was simulated ({})",
                      duration_text(time))};
}

// All training of the run; a step is counted when it begins, those that a failure takes as well.
Repetition steps_of_run(const report::Evaluation& evaluation) {
  const std::int64_t period = evaluation.step.step_time.ns;
  std::vector<Stretch> stretches;
  std::int64_t number = 1;
  for (const run::RunInterval& interval : evaluation.timeline.intervals()) {
    if (report::lane_of(interval.kind) != RunLane::training || interval.end <= interval.begin) {
      continue;
    }
    stretches.push_back({{interval.begin.ns, interval.end.ns}, number});
    number += std::max<std::int64_t>((interval.end - interval.begin).ns / period, 1);
  }
  return {std::move(stretches), period};
}

}  // namespace

Category category_of(RunActivity activity) {
  using enum Category;
  static constexpr std::array<Category, run::kRunActivityCount> kOfActivity = {
      training, lost,       checkpoint,   evaluation, maintenance, unitemised, detection, diagnosis,
      waiting,  scheduling, communicator, load,       warm_up,     lost,       discarded, rework};
  return kOfActivity[static_cast<std::size_t>(activity)];
}

Category category_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::forward:
      return Category::forward;
    case TaskKind::backward:
    case TaskKind::overlapped:
      return Category::backward;
    case TaskKind::backward_input:
      return Category::input_gradient;
    case TaskKind::backward_weight:
      return Category::weight_gradient;
    case TaskKind::send_receive:
      return Category::pipeline;
    case TaskKind::gradient_reduce:
      return Category::data_reduce;
    case TaskKind::parameter_gather:
    case TaskKind::parameter_gather_again:
      return Category::data_gather;
    case TaskKind::optimizer:
    case TaskKind::join:
      return Category::optimizer;
  }
  return Category::other;
}

Levels levels_of(const report::Evaluation& evaluation, double nic_limit) {
  Levels levels;
  if (evaluation.plan && !evaluation.timeline.intervals().empty()) {
    levels.push_back(run_level(evaluation));
  }
  if (!evaluation.step.slices.empty() && evaluation.step.step_time.ns > 0) {
    levels.push_back(step_level(evaluation));
    if (levels.size() > 1) {
      levels.back().repetition = steps_of_run(evaluation);
    }
    if (auto operations = operation_level(evaluation, nic_limit)) {
      levels.push_back(*std::move(operations));
    }
  }
  return levels;
}

}  // namespace orrery::timeline
