#include "sim/evaluate/elastic_steps.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "sim/base/parallel.hpp"
#include "sim/evaluate/resolve.hpp"
#include "sim/step/step_simulator.hpp"

namespace orrery::evaluate {

namespace {

using scenario::Scenario;

constexpr std::size_t kAllOfTheLargest = 64;
constexpr double kNextSize = 0.98;

// Numbers of replicas that fill whole nodes, from the largest below the scenario's.
std::vector<std::int64_t> possible_replicas(const Scenario& scenario,
                                            const layout::Layout& layout,
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

// The step time of the scenario on `replicas`, or nothing when it cannot run or does not fit.
std::optional<Seconds> simulate(Scenario scenario,
                                const layout::Layout& layout,
                                std::int64_t replicas,
                                const EvaluateOptions& options) {
  const std::int64_t replica = layout.tensor * layout.context * layout.pipeline;
  scenario.cluster.nodes = replicas * replica / scenario.cluster.gpus_per_node;
  scenario.layout.data.reset();
  const std::int64_t at_once = scenario.batch.micro * replicas;
  scenario.batch.global = (scenario.batch.global + at_once - 1) / at_once * at_once;
  Diagnostics ignored;
  const std::optional<Resolved> resolved = resolve(scenario, options.search, ignored);
  if (!resolved) {
    return std::nullopt;
  }
  const auto outcome = step::simulate_step(step_input(scenario, *resolved), resolved->costs, {});
  const auto* result = std::get_if<step::StepResult>(&outcome);
  if (result == nullptr || !result->feasibility.fits || !result->feasibility.fits_host) {
    return std::nullopt;
  }
  return to_seconds(result->step_time);
}

}  // namespace

std::vector<run::ElasticSize> elastic_sizes(const Scenario& scenario,
                                            const layout::Layout& layout,
                                            const PhaseBase& base,
                                            const EvaluateOptions& options,
                                            Diagnostics& diagnostics) {
  std::vector<run::ElasticSize> sizes;
  if (!scenario.run || !scenario.run->capacity.elastic) {
    return sizes;
  }
  if (!scenario.cluster.mixed.empty()) {
    diagnostics.warning(scenario.where("capacity.elastic"),
                        "capacity.elastic",
                        "has no effect: which GPUs are missing is not known in a mixed cluster");
    return sizes;
  }
  const std::vector<std::int64_t> replicas =
      possible_replicas(scenario, layout, scenario.run->capacity.elastic->min_nodes);
  std::vector<std::optional<Seconds>> times(replicas.size());
  parallel_for(static_cast<std::int64_t>(replicas.size()),
               {.threads = options.threads},
               [&](std::int64_t begin, std::int64_t end) {
                 for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end);
                      ++i) {
                   times[i] = simulate(scenario, layout, replicas[i], options);
                 }
               });
  const double given = base.given ? *base.given / base.simulated : 1.0;
  const std::int64_t replica = layout.tensor * layout.context * layout.pipeline;
  for (std::size_t i = replicas.size(); i-- > 0;) {
    if (times[i]) {
      sizes.push_back(
          {replicas[i] * replica / scenario.cluster.gpus_per_node, to_sim_time(*times[i] * given)});
    }
  }
  return sizes;
}

}  // namespace orrery::evaluate
