#pragma once

// What published runs measured and what the simulator says about them: entries of
// measured-runs/2, each a scenario of the format orrery/1 with what was measured.
//
//   - id: torchtitan-h200-8b-n8            # names the row, also in its evidence
//     group: torchtitan-fsdp2              # of the statistics
//     source: ...
//     confidence: complete                 # or partial: the source leaves something open
//     scenario: {model: ..., cluster: ..., layout: ..., batch: ..., software: ...}
//     measured: {step_time: 1.5237s, peak_memory: {value: 46.97GiB, kind: reserved}}
//     assumed: [batch.micro]               # keys that the source does not state
//     as_stated: {...}                     # its own words, which no program reads
//     side_by_side: torchtitan-h200-8b-n1  # layouts of one question name the same row
//
// kind of peak memory | what it counts
// --------------------|------------------------------------------------------------------------
// allocated           | what the stack's allocator hands out (torch.cuda.max_memory_allocated)
// reserved            | and what fragmentation takes
// device              | all that the device shows: the context and libraries too, not fragmentation

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/step/simulate/step_result.hpp"
#include "sim/validate/data_sets.hpp"

namespace orrery::validate {

inline constexpr std::string_view kMeasuredRuns = "measured-runs/2";

enum class MemoryReading { allocated, reserved, device };

struct MeasuredMemory {
  Bytes value;
  MemoryReading reading = MemoryReading::allocated;
};

// A scenario that has its profiles and only needs to be simulated.
struct ReadyRun {
  scenario::Scenario scenario;
  const hardware::GpuProfile* gpu = nullptr;
  const hardware::SoftwareProfile* software = nullptr;
};

struct MeasuredRun {
  std::string id;
  std::string group;
  ReadyRun run;
  std::optional<Seconds> step_time;
  std::optional<MeasuredMemory> memory;
  std::vector<std::string> assumed;
  std::string side_by_side;  // empty: measured alone
};

// The entries of a document, in order. Problems become diagnostics at their line, and their entry
// is left out. `unstated`: as a person would state the run, who knows the model, the machine, the
// layout, the batch, the precision, what is recomputed and the name of the stack, but none of its
// switches. `profiles` must outlive the runs.
[[nodiscard]] std::vector<MeasuredRun> read_measured_runs(const yaml::Value& document,
                                                          const std::filesystem::path& file,
                                                          bool unstated, ProfileShelf& profiles,
                                                          Diagnostics& diagnostics);

[[nodiscard]] bool holds_measured_runs(const yaml::Value& document);

// Whether it holds them in the older form; then `diagnostics` says what converts it.
[[nodiscard]] bool is_older_form(const yaml::Value& document, Diagnostics& diagnostics);

struct SimulatedRun {
  evaluate::Resolved resolved;
  step::StepResult step;
};

// Layout, costs and step of a run, or why the layout or the schedule refuses it.
[[nodiscard]] std::variant<SimulatedRun, std::string> simulate_run(
    const ReadyRun& run, const step::StepOptions& options);

}  // namespace orrery::validate
