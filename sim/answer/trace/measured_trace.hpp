#pragma once

// Measured steps from the traces of a training run, step by step and rank by rank.
//
// Several files are ranks of one job. What the answer rests on is said with it: how the steps were
// found, which kernels no rule knows and how much time they take, which collectives were given an
// axis by guess, whether waiting could be told from communication.
//
// symbol  | meaning                                                        | unit | origin
// --------|----------------------------------------------------------------|------|-----------
// rank    | of distributedInfo, else of "rank-3" in the file's name        | -    | trace
// unknown | time of the kernels that no rule knows / time of all kernels   | 1    | computed
// mean    | over the chosen steps of all ranks, each alike                 | s    | computed

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/answer/trace/event_reader.hpp"
#include "sim/answer/trace/gpu_activity.hpp"
#include "sim/answer/trace/measured_step.hpp"
#include "sim/base/units.hpp"

namespace orrery::trace {

// What one file holds; `problem` is a sentence when it is no use.
struct GpuReading {
  std::shared_ptr<const GpuTrace> trace;
  std::string problem;
  bool cancelled = false;
};

// Throws Error(io) for files that cannot be opened.
[[nodiscard]] GpuReading read_gpu_trace(const std::filesystem::path& path,
                                        const ReadLimits& limits);

// Read-only, so that threads may share them.
using GpuTraces = std::vector<std::shared_ptr<const GpuTrace>>;

struct MeasureOptions {
  StepSearch search;
  std::optional<Degrees> degrees = {};  // of the layout beside which the trace is set
  std::vector<GroupChoice> groups = {};
};

struct MeasuredRank {
  std::string file;
  std::size_t trace = 0;     // of those that were measured
  std::uint32_t device = 0;  // of the trace
  std::string label;         // "rank 3", "rank-0.json, device 1"
  std::optional<std::int64_t> rank;
  FoundBy found_by = FoundBy::whole;
  std::vector<MeasuredStep> steps;
};

struct UnknownKernel {
  std::string name;
  std::int64_t count = 0;
  std::int64_t time = 0;  // ns, all steps of all ranks
  double share = 0.0;     // of the time of all kernels
};

struct MeasuredTrace {
  std::vector<MeasuredRank> ranks;  // by rank; each has steps
  std::optional<std::int64_t> world_size;
  std::vector<UnknownKernel> unknown;  // most time first
  std::vector<std::string> notes;
  std::string problem;  // empty: there are steps

  // Names of the steps, in the order in which they are first seen.
  [[nodiscard]] std::vector<std::string> step_names() const;
};

[[nodiscard]] MeasuredTrace measure(const GpuTraces& traces, const MeasureOptions& options);

// A step of this name or number: "12" is "ProfilerStep#12".
[[nodiscard]] bool is_step(const std::string& name, const std::string& wanted);

// Of the first rank: the step of median length among those of this name, or among all; `wanted`
// where it has none.
[[nodiscard]] std::string median_step(const MeasuredTrace& measured,
                                      const std::optional<std::string>& wanted);

struct OperationMean {
  Operation operation = Operation::none;
  Axis axis = Axis::data;
  double count = 0.0;  // per step and rank
  Seconds busy;
  Seconds hidden;
};

struct MeasuredMean {
  std::int64_t steps = 0;  // of all ranks together
  Seconds step_time;
  Seconds shortest;
  Seconds median;
  Seconds longest;
  std::array<Seconds, step::kStepCategories> categories{};  // sums up to step_time
  std::array<Seconds, kWorks> work{};
  std::vector<OperationMean> operations;
};

// Over the steps of this name, or over all; nothing when there are none.
[[nodiscard]] std::optional<MeasuredMean> mean_of(const MeasuredTrace& measured,
                                                  const std::optional<std::string>& step = {});

}  // namespace orrery::trace
