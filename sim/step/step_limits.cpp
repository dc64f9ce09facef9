#include "sim/step/step_limits.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "sim/base/text/format.hpp"

namespace orrery::step {

namespace {

constexpr double kMostTasks = 16'777'216.0;
constexpr double kLongestStepInYears = 100.0;
constexpr double kDaysPerYear = 365.25;

// Whether every pass, and not only the first or the last of a chunk, is cut into its buckets.
bool cuts_every_pass(const schedule::DataParallelComm& comm) {
  return comm.parameters == schedule::ParameterGather::per_use ||
         comm.gradients == schedule::GradientReduction::per_micro_batch;
}

}  // namespace

std::optional<StepProblem> graph_too_large(const schedule::Schedule& schedule,
                                           const schedule::StepGraphOptions& options) {
  double tasks = 0.0;
  for (std::size_t d = 0; d < schedule.lists.size(); ++d) {
    int buckets = 1;
    if (cuts_every_pass(options.comm) && !options.buckets.empty()) {
      buckets = *std::max_element(options.buckets[d].begin(), options.buckets[d].end());
    }
    constexpr double kTasksPerBucket = 2.0;  // the pass and its gather or reduction
    tasks += static_cast<double>(schedule.lists[d].size()) * static_cast<double>(buckets) *
             kTasksPerBucket;
  }
  if (tasks <= kMostTasks) {
    return std::nullopt;
  }
  return StepProblem{
      "batch.micro",
      fmt::format("a step of {} passes with their communication has about {} tasks, more than {}",
                  format_count(static_cast<double>(schedule.micro_batches)),
                  format_count(tasks),
                  format_count(kMostTasks)),
      "larger micro-batches, a smaller global batch, or a larger overlap.bucket"};
}

std::optional<StepProblem> step_too_long(const StageCosts& costs, std::size_t tasks) {
  Seconds longest;
  const auto see = [&longest](const Parts& parts) { longest = std::max(longest, parts.total()); };
  for (const BucketCosts& bucket : costs.buckets) {
    for (const Parts* parts : {&bucket.forward,
                               &bucket.backward,
                               &bucket.backward_input,
                               &bucket.backward_weight,
                               &bucket.gradient_reduce,
                               &bucket.parameter_gather,
                               &bucket.parameter_gather_again}) {
      see(*parts);
    }
  }
  for (std::size_t d = 0; d < costs.devices.size(); ++d) {
    see(costs.devices[d].optimizer);
    see(costs.send_forward[d]);
    see(costs.send_backward[d]);
  }
  const Seconds limit = days(kLongestStepInYears * kDaysPerYear);
  const Seconds bound = longest * static_cast<double>(tasks);
  if (bound <= limit) {  // false for a rate so low that the time is not finite
    return std::nullopt;
  }
  return StepProblem{
      "cluster",
      fmt::format("one task of the step takes {}: with {} tasks that is beyond {} years",
                  format_time(longest),
                  format_count(static_cast<double>(tasks)),
                  kLongestStepInYears),
      "faster network rates, a smaller model or batch"};
}

}  // namespace orrery::step
