#include "sim/validate/measured/measured_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/parallel.hpp"

namespace orrery::validate {

namespace {

// What the allocator of a stack reports: everything but the context and libraries.
Bytes allocated(const step::StageMemory& stage) { return stage.peak() - stage.overhead; }

std::string first_problem(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity == Severity::error) {
      return fmt::format("{}: {}", diagnostic.key, diagnostic.message);
    }
  }
  return "the layout cannot be resolved";
}

// One row of the data set on its way through the simulator.
struct Work {
  MeasuredRun measured;
  ValidationRow time;
  std::optional<ValidationRow> memory;
};

Work make_work(MeasuredRun run) {
  Work work;
  work.time = {.id = run.id,
               .group = run.group,
               .quantity = "step_time",
               .unit = "s",
               .measured = in_seconds(run.step_time.value_or(Seconds{}))};
  if (!run.assumed.empty()) {
    work.time.notes = {fmt::format("assumed: {}", fmt::join(run.assumed, ", "))};
  }
  if (run.memory) {
    work.memory = work.time;
    work.memory->quantity = "peak_memory";
    work.memory->unit = "bytes";
    work.memory->measured = in_bytes(run.memory->value);
    work.memory->secondary = true;
    work.memory->notes.clear();
  }
  work.measured = std::move(run);
  return work;
}

double predicted_memory(MemoryReading reading, const SimulatedRun& run) {
  Bytes peak;
  for (const step::StageMemory& stage : run.step.memory) {
    const bool whole = reading == MemoryReading::device;
    peak = std::max(peak, whole ? stage.peak() : allocated(stage));
  }
  const bool reserved = reading == MemoryReading::reserved;
  const double fragmentation = run.resolved.costs.software().fragmentation.value();
  return in_bytes(peak) * (reserved ? 1.0 + fragmentation : 1.0);
}

void skip(Work& work, const std::string& reason) {
  work.time.skipped = reason;
  if (work.memory) {
    work.memory->skipped = reason;
  }
}

void run_work(Work& work, const std::vector<evaluate::MeasuredStep>& evidence) {
  if (!work.measured.step_time) {
    skip(work, "no step time was measured");
    return;
  }
  const ReadyRun& ready = work.measured.run;
  const auto outcome =
      simulate_run(ready, {.timeline = false, .operations = false, .ledger = false});
  if (const auto* reason = std::get_if<std::string>(&outcome)) {
    skip(work, *reason);
    return;
  }
  const SimulatedRun& run = std::get<SimulatedRun>(outcome);
  work.time.predicted = in_seconds(to_seconds(run.step.step_time));
  work.time.trust = report::trust_of(run.step);
  const auto predicted = evaluate::predicted_step(ready.scenario, run.resolved, run.step);
  work.time.kind = predicted.kind;
  work.time.band = evaluate::step_band(evidence, predicted, work.time.id);
  if (work.memory) {
    work.memory->predicted = predicted_memory(work.measured.memory->reading, run);
  }
}

}  // namespace

std::variant<SimulatedRun, std::string> simulate_run(const ReadyRun& run,
                                                     const step::StepOptions& options) {
  Diagnostics diagnostics;
  auto resolved = evaluate::resolve(run.scenario, *run.gpu, *run.software, diagnostics);
  if (!resolved) {
    return first_problem(diagnostics);
  }
  auto outcome =
      step::simulate_step(evaluate::step_input(run.scenario, *resolved), resolved->costs, options);
  if (const auto* problem = std::get_if<step::StepProblem>(&outcome)) {
    return fmt::format("{}: {}", problem->key, problem->message);
  }
  return SimulatedRun{*std::move(resolved), std::get<step::StepResult>(std::move(outcome))};
}

std::vector<ValidationRow> measured_run_rows(const DataSet& data) {
  std::vector<Work> work;
  for (MeasuredRun& run : read_measured_runs(data.document, data.path, data.unstated, data.profiles,
                                             data.diagnostics)) {
    work.push_back(make_work(std::move(run)));
  }
  const auto evidence = evaluate::load_evidence(data.search, data.diagnostics);
  parallel_for(static_cast<std::int64_t>(work.size()), {.threads = data.threads},
               [&work, &evidence](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   run_work(work[static_cast<std::size_t>(i)], evidence);
                 }
               });
  std::vector<ValidationRow> rows;
  for (const Work& item : work) {
    rows.push_back(item.time);
  }
  for (const Work& item : work) {
    if (item.memory) {
      rows.push_back(*item.memory);
    }
  }
  return rows;
}

}  // namespace orrery::validate
