#include "sim/answer/evaluate/inputs/elastic_steps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/base/files/stop_point.hpp"
#include "sim/base/parallel.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::evaluate {

namespace {

using scenario::Scenario;

constexpr std::size_t kAllOfTheLargest = 64;
constexpr double kNextSize = 0.98;

// Numbers of replicas that fill whole nodes, from the largest below the scenario's.
std::vector<std::int64_t> possible_replicas(const Scenario& scenario, const layout::Layout& layout,
                                            std::int64_t min_nodes) {
  const std::int64_t per_node = scenario.cluster.gpus_per_node;
  const std::int64_t replica = layout.tensor * layout.context * layout.pipeline;
  std::vector<std::int64_t> replicas;
  double next = static_cast<double>(layout.data);
  for (std::int64_t data = layout.data - 1; data >= 1; --data) {
    const std::int64_t gpus = data * replica;
    if (gpus < min_nodes * per_node) {
      break;
    }
    if (gpus % per_node != 0 ||
        (replicas.size() >= kAllOfTheLargest && static_cast<double>(data) > next)) {
      continue;
    }
    replicas.push_back(data);
    next = kNextSize * static_cast<double>(data);
  }
  return replicas;
}

// The batch of a shrunk job: a whole number of micro-batches on each replica. Without a range the
// slowest replica's share counts; with one the multiple next to batch.global, first of those in the
// range, the larger of two.
std::int64_t batch_on(const Scenario& scenario, std::int64_t replicas) {
  const std::int64_t at_once = scenario.batch.micro * replicas;
  const std::int64_t global = scenario.batch.global;
  const std::int64_t above = (global + at_once - 1) / at_once * at_once;
  const std::int64_t below = above - at_once;
  const std::optional<run::BatchRange>& range = scenario.run->capacity.elastic->batch;
  if (!range || above == global || below < at_once) {
    return above;
  }
  if (range->holds(above) != range->holds(below)) {
    return range->holds(above) ? above : below;
  }
  return above - global <= global - below ? above : below;
}

// The time for the tokens of one full step on `replicas`, or nothing when the scenario cannot run
// so or does not fit.
std::optional<Seconds> simulate(Scenario scenario, const layout::Layout& layout,
                                std::int64_t replicas, const EvaluateOptions& options) {
  const std::int64_t replica = layout.tensor * layout.context * layout.pipeline;
  const std::int64_t batch = batch_on(scenario, replicas);
  const double work = scenario.run->capacity.elastic->batch
                          ? static_cast<double>(batch) / static_cast<double>(scenario.batch.global)
                          : 1.0;
  scenario.cluster.nodes = replicas * replica / scenario.cluster.gpus_per_node;
  scenario.layout.data.reset();
  scenario.batch.global = batch;
  Diagnostics ignored;
  const std::optional<Resolved> resolved = resolve(scenario, options.search, ignored);
  if (!resolved) {
    return std::nullopt;
  }
  const auto outcome =
      step::simulate_step(step_input(scenario, *resolved), resolved->costs, {.stop = options.stop});
  const auto* result = std::get_if<step::StepResult>(&outcome);
  if (result == nullptr || !result->feasibility.fits || !result->feasibility.fits_host) {
    return std::nullopt;
  }
  return to_seconds(result->step_time) / work;
}

std::string text_of(const run::BatchRange& range) {
  return range.max ? fmt::format("{} to {}", range.min, *range.max)
                   : fmt::format("{} or more", range.min);
}

// The full job must lie in its range; a warning when a shrunk one leaves it.
void check_batches(const Scenario& scenario, const std::vector<std::int64_t>& replicas,
                   std::int64_t gpus_per_replica, Diagnostics& diagnostics) {
  const std::optional<run::BatchRange>& range = scenario.run->capacity.elastic->batch;
  constexpr std::string_view kKey = "capacity.elastic.batch";
  if (!range) {
    return;
  }
  if (!range->holds(scenario.batch.global)) {
    diagnostics.error(scenario.where(kKey), kKey,
                      fmt::format("batch.global of {} is outside the range", scenario.batch.global),
                      text_of(*range));
    return;
  }
  std::vector<std::int64_t> outside;
  std::copy_if(replicas.begin(), replicas.end(), std::back_inserter(outside),
               [&](std::int64_t count) { return !range->holds(batch_on(scenario, count)); });
  if (!outside.empty()) {
    diagnostics.warning(
        scenario.where(kKey), kKey,
        fmt::format("shrinking leaves the range at {} of {} sizes; at the largest of them, {} "
                    "nodes, equal shares make a batch of {}",
                    outside.size(), replicas.size(),
                    outside.front() * gpus_per_replica / scenario.cluster.gpus_per_node,
                    batch_on(scenario, outside.front())),
        text_of(*range));
  }
}

}  // namespace

std::vector<run::ElasticSize> elastic_sizes(const Scenario& scenario, const layout::Layout& layout,
                                            const PhaseBase& base, const EvaluateOptions& options,
                                            Diagnostics& diagnostics) {
  std::vector<run::ElasticSize> sizes;
  if (!scenario.run || !scenario.run->capacity.elastic) {
    return sizes;
  }
  if (!scenario.cluster.mixed.empty()) {
    diagnostics.warning(scenario.where("capacity.elastic"), "capacity.elastic",
                        "has no effect: which GPUs are missing is not known in a mixed cluster");
    return sizes;
  }
  const std::vector<std::int64_t> replicas =
      possible_replicas(scenario, layout, scenario.run->capacity.elastic->min_nodes);
  std::vector<std::optional<Seconds>> times(replicas.size());
  parallel_for(static_cast<std::int64_t>(replicas.size()),
               {.threads = options.threads, .stop = options.stop},
               [&](std::int64_t begin, std::int64_t end) {
                 for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end);
                      ++i) {
                   times[i] = simulate(scenario, layout, replicas[i], options);
                 }
               });
  stop_point(options.stop);
  std::vector<std::int64_t> possible;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    if (times[i]) {
      possible.push_back(replicas[i]);
    }
  }
  const std::int64_t replica = layout.tensor * layout.context * layout.pipeline;
  check_batches(scenario, possible, replica, diagnostics);
  const double given = base.given ? *base.given / base.simulated : 1.0;
  for (std::size_t i = replicas.size(); i-- > 0;) {
    if (times[i]) {
      sizes.push_back(
          {replicas[i] * replica / scenario.cluster.gpus_per_node, to_sim_time(*times[i] * given)});
    }
  }
  return sizes;
}

}  // namespace orrery::evaluate
