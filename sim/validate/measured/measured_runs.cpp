#include "sim/validate/measured/measured_runs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "sim/base/parallel.hpp"
#include "sim/validate/rows/repair_run.hpp"
#include "sim/validate/rows/run_tables.hpp"

namespace orrery::validate {

namespace {

// What the allocator of a stack reports: everything but the context and libraries.
Bytes allocated(const step::StageMemory& stage) {
  return stage.peak() - stage.overhead;
}

// Reserved memory includes what fragmentation takes; that of the device also context and libraries.
enum class MemoryReading { allocated, reserved, device };

struct StatedMemory {
  Bytes value;
  MemoryReading reading = MemoryReading::allocated;
};

// Keys of peak memory: allocated GiB (torch.cuda.max_memory_allocated), reserved GiB, and text in
// whole GB, which is what the device's own monitor shows.
std::optional<StatedMemory> stated_memory(const DataRow& measured) {
  if (const auto gib = measured.number("peak_alloc_gib")) {
    return StatedMemory{gibibytes(*gib), MemoryReading::allocated};
  }
  if (const auto gib = measured.number("peak_memory_gib")) {
    return StatedMemory{gibibytes(*gib), MemoryReading::reserved};
  }
  const std::string text = measured.text("peak_memory");
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() && std::string_view(end) == "GB" && value > 0.0) {
    return StatedMemory{gigabytes(value), MemoryReading::device};
  }
  return std::nullopt;
}

std::string first_problem(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity == Severity::error) {
      return fmt::format("{}: {}", diagnostic.key, diagnostic.message);
    }
  }
  return "the layout cannot be resolved";
}

using Prepared = std::variant<ReadyRun, std::string>;

// One row of the data set on its way through the simulator.
struct Work {
  ValidationRow time;
  std::optional<ValidationRow> memory;
  MemoryReading reading = MemoryReading::allocated;
  Prepared run;
};

Work make_work(const DataRow& row, const DataSet& data) {
  const DataRow measured = row.row("measured");
  Work work;
  work.time = {.id = row.text("id"),
               .group = row.text("stack"),
               .quantity = "step_time",
               .unit = "s",
               .measured = measured.number("step_time_s").value_or(0.0)};
  work.run = prepare_run(row, data.profiles, data.diagnostics);
  if (!(work.time.measured > 0.0)) {
    work.run = std::string("no step time was measured");
  }
  if (const auto memory = stated_memory(measured)) {
    work.memory = work.time;
    work.memory->quantity = "peak_memory";
    work.memory->unit = "bytes";
    work.memory->measured = in_bytes(memory->value);
    work.memory->secondary = true;
    work.reading = memory->reading;
  }
  return work;
}

void set_memory(ValidationRow& row, MemoryReading reading, const SimulatedRun& run) {
  Bytes peak;
  for (const step::StageMemory& stage : run.step.memory) {
    const bool whole = reading == MemoryReading::device;
    peak = std::max(peak, whole ? stage.peak() : allocated(stage));
  }
  const bool reserved = reading == MemoryReading::reserved;
  const double fragmentation = run.resolved.costs.software().fragmentation.value();
  row.predicted = in_bytes(peak) * (reserved ? 1.0 + fragmentation : 1.0);
}

void skip(Work& work, const std::string& reason) {
  work.time.skipped = reason;
  if (work.memory) {
    work.memory->skipped = reason;
    work.memory->predicted = 0.0;
  }
}

void run_work(Work& work, const std::vector<evaluate::MeasuredStep>& evidence) {
  if (const auto* reason = std::get_if<std::string>(&work.run)) {
    skip(work, *reason);
    return;
  }
  ReadyRun& ready = std::get<ReadyRun>(work.run);
  auto outcome =
      simulate_measured(ready, {.timeline = false, .operations = false, .ledger = false});
  work.time.notes = ready.mapped.notes;
  if (const auto* reason = std::get_if<std::string>(&outcome)) {
    skip(work, *reason);
    return;
  }
  const SimulatedRun& run = std::get<SimulatedRun>(outcome);
  work.time.predicted = in_seconds(to_seconds(run.step.step_time));
  work.time.trust = report::trust_of(run.step);
  work.time.kind = evaluate::kind_of(run.mapped.scenario, run.resolved);
  work.time.band =
      evaluate::step_band(evidence, *work.time.kind, work.time.predicted, work.time.id);
  if (work.memory) {
    set_memory(*work.memory, work.reading, run);
  }
}

// The GPU that the row names, or the one that stands for all others.
void find_gpu(ReadyRun& run, ProfileShelf& profiles, Diagnostics& diagnostics) {
  std::string& name = run.mapped.scenario.cluster.gpu;
  run.gpu = profiles.gpu_named(name, diagnostics);
  if (run.gpu == nullptr) {
    run.mapped.notes.push_back(fmt::format("no GPU profile for `{}`: {}", name, kUnknownGpu));
    run.gpu = profiles.gpu(std::string(kUnknownGpu), diagnostics);
  }
  name = run.gpu == nullptr ? name : run.gpu->name;
}

// The stack's number of chunks, as far as there are layers: embedding and loss take a slot each.
void fill_chunks(MappedRun& run, const hardware::SoftwareProfile& software) {
  if (!run.chunks_missing || !software.interleaved_chunks) {
    return;
  }
  constexpr std::int64_t kEdgeSlots = 2;
  const std::int64_t slots = run.scenario.model.num_layers + kEdgeSlots;
  const std::int64_t most = slots / run.scenario.layout.pipeline;
  std::int64_t& chunks = run.scenario.layout.virtual_stages;
  chunks = std::max<std::int64_t>(2, std::min(*software.interleaved_chunks, most));
  run.notes.push_back(fmt::format("{} chunks per device, as {} has them", chunks, software.name));
}

}  // namespace

Prepared prepare_run(const DataRow& row, ProfileShelf& profiles, Diagnostics& diagnostics) {
  auto mapped = map_run(row);
  if (auto* reason = std::get_if<std::string>(&mapped)) {
    return std::move(*reason);
  }
  ReadyRun run{.mapped = std::get<MappedRun>(std::move(mapped))};
  find_gpu(run, profiles, diagnostics);
  if (run.gpu == nullptr) {
    return fmt::format("there is no GPU profile {}", run.mapped.scenario.cluster.gpu);
  }
  run.software = profiles.software_of_stack(run.mapped.scenario.software, diagnostics);
  if (run.software == nullptr) {
    return fmt::format("there is no software profile for stack `{}`", run.mapped.scenario.software);
  }
  fill_chunks(run.mapped, *run.software);
  run.mapped.scenario.cluster.network.tables = profiles.collectives(diagnostics);
  return run;
}

std::variant<SimulatedRun, std::string> simulate_run(ReadyRun run,
                                                     const step::StepOptions& options) {
  Diagnostics diagnostics;
  auto resolved = evaluate::resolve(run.mapped.scenario, *run.gpu, *run.software, diagnostics);
  if (!resolved) {
    return first_problem(diagnostics);
  }
  auto outcome = step::simulate_step(
      evaluate::step_input(run.mapped.scenario, *resolved), resolved->costs, options);
  if (const auto* problem = std::get_if<step::StepProblem>(&outcome)) {
    return fmt::format("{}: {}", problem->key, problem->message);
  }
  return SimulatedRun{
      std::move(run.mapped), *std::move(resolved), std::get<step::StepResult>(std::move(outcome))};
}

std::vector<ValidationRow> measured_run_rows(const DataSet& data) {
  std::vector<Work> work;
  for (const DataRow& row : data_rows(data.document, "runs")) {
    work.push_back(make_work(row, data));
  }
  const auto evidence = evaluate::load_evidence(data.search, data.diagnostics);
  parallel_for(static_cast<std::int64_t>(work.size()),
               {.threads = data.threads},
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
