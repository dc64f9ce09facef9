#pragma once

// Simulates one step of a model with a given layout on given hardware and software:
//
//   1. cost every operation of every chunk (cost/), by category of the step ledger
//   2. generate the pipeline schedule and its step graph (schedule/): structure without seconds
//   3. give the tasks their durations, replay the graph in one linear pass (engine/)
//      with compute stretched that shares the GPU with overlapped communication; where flows share
//      links (cluster.network.detail), event by event
//   4. book every GPU-nanosecond to one category, waiting by replays of the same graph without its
//      causes; sum must equal gpus * step time
//
// Input is a resolved layout (all divisibility rules hold). The result is deterministic. A schedule
// that the layout cannot run is a StepProblem, which tells the user the rule.

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/schedule/live_peaks.hpp"
#include "sim/step/simulate/step_input.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::step {

class CostMemo;

struct StepProblem {
  std::string key;      // scenario key that decides, e.g. "layout.virtual_stages"
  std::string message;  // the rule with its numbers
  std::string allowed;
};

struct StepOptions {
  bool timeline = true;    // keep the slices
  bool ticks = false;      // slices in ticks of layers (unit_times.hpp) in place of simulated time
  bool operations = true;  // keep the account by operation
  bool ledger = true;      // book the step; without it time and memory alone are known
  bool operation_timeline = false;  // keep the operations within the slices: needs `timeline`
  CostMemo* memo = nullptr;         // what was costed before (layer_costs.hpp)
  int threads = 1;                  // for draws of the speeds of GPUs; 0: all cores
  std::stop_token stop = {};        // throws Error(interrupted) soon after a request
};

// What is certain before the graph is built (step_bounds.hpp).
struct StepBound {
  SimTime least;            // the step takes no less
  Feasibility feasibility;  // as simulate() finds it, but for the last bits of sums
};

// Keeps the structure of its last steps: lists and step graph depend on degrees, micro-batches and
// buckets alone, so that a step of the same shape is only timed. One simulator per thread.
class StepSimulator {
 public:
  StepSimulator();
  ~StepSimulator();
  StepSimulator(StepSimulator&&) noexcept;
  StepSimulator& operator=(StepSimulator&&) noexcept;

  [[nodiscard]] std::variant<StepResult, StepProblem> simulate(const StepInput& input,
                                                               const cost::CostModel& costs,
                                                               const StepOptions& options = {});

  // A small part of the work of simulate(): no graph is built.
  [[nodiscard]] std::variant<StepBound, StepProblem> bound(const StepInput& input,
                                                           const cost::CostModel& costs,
                                                           CostMemo* memo = nullptr);

 private:
  struct Structure;
  struct KnownPeaks;
  struct KnownDraws;

  [[nodiscard]] std::variant<const Structure*, StepProblem> structure(
      const schedule::ScheduleRequest& request, const schedule::StepGraphOptions& options);
  // `made`: the schedule of the request, where there is one already.
  [[nodiscard]] std::variant<const schedule::LivePeaks*, StepProblem> live_peaks(
      const schedule::ScheduleRequest& request, const schedule::Schedule* made = nullptr);
  // `shared`: where flows share links; the costs are then those without sharing.
  [[nodiscard]] std::variant<StepResult, StepProblem> simulate_on(
      const hardware::ClusterSpec* shared, const StepInput& input, const cost::CostModel& costs,
      const StepOptions& options);
  [[nodiscard]] std::variant<StepBound, StepProblem> bound_of(const StepInput& input,
                                                              const cost::CostModel& costs,
                                                              CostMemo* memo);
  [[nodiscard]] std::variant<StepResult, StepProblem> simulate_islands(const StepInput& input,
                                                                       const cost::CostModel& costs,
                                                                       const StepOptions& options);

  std::vector<std::unique_ptr<Structure>> kept_;  // the latest last
  std::unique_ptr<KnownPeaks> peaks_;
  std::unique_ptr<KnownDraws> draws_;
};

// One step with a simulator of its own.
[[nodiscard]] std::variant<StepResult, StepProblem> simulate_step(const StepInput& input,
                                                                  const cost::CostModel& costs,
                                                                  const StepOptions& options = {});

// Time of the input supply, and how long the step stalls for it:
//
//   supply = max(T b / read_bandwidth, T / tokens_per_second)
//   stall  = prefetch: max(0, supply - step); else supply
//
// symbol | meaning                                              | unit   | origin
// -------|------------------------------------------------------|--------|---------
// T      | tokens of one step / nodes: every node reads its own | tokens | layout
// b      | bytes_per_token                                      | byte   | scenario
// step   | the step without the stall                           | s      | computed
//
// The stall is a wait for the next batch at the end of the step, on all GPUs at once.

[[nodiscard]] Seconds supply_time(const StepInput& input);

[[nodiscard]] Seconds data_stall(const StepInput& input, Seconds step);

}  // namespace orrery::step
