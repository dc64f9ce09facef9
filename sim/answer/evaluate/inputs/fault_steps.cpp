#include "sim/answer/evaluate/inputs/fault_steps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/base/files/stop_point.hpp"
#include "sim/base/parallel.hpp"
#include "sim/base/text/format.hpp"
#include "sim/run/checkpoints/checkpoint_rates.hpp"
#include "sim/step/cost/link_rates.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::evaluate {

namespace {

using hardware::NetworkFault;
using run::SlowdownSpec;
using scenario::Scenario;

constexpr std::string_view kOfFaults = "failures.network";
constexpr std::int64_t kMostPlaces = 16;

using Place = std::vector<NetworkFault>;

// Why an entry is no fault of this cluster, or "".
std::string problem_of(const SlowdownSpec& spec, const hardware::ClusterSpec& cluster) {
  const run::LinkFault& fault = *spec.fault;
  if (spec.slowdown.median != 0.0) {
    return fmt::format("{} states both a slowdown and a fault", spec.name);
  }
  if (spec.slowdown.sigma != 0.0) {
    return fmt::format("{} states a spread, but a fault is as slow as its places make it",
                       spec.name);
  }
  if (cluster.nodes == 1) {
    return "a fault needs links between nodes, and the cluster has one node";
  }
  if (fault.tier.empty()) {
    return fault.uplinks
               ? fmt::format("{} states uplinks without the tier of their switch", spec.name)
               : "";
  }
  if (fault.nics) {
    return fmt::format("{} states both nics and a tier: one of a node, the other of a switch",
                       spec.name);
  }
  const auto& tiers = cluster.network.tiers;
  const auto tier =
      std::ranges::find_if(tiers, [&](const auto& each) { return each.name == fault.tier; });
  if (tier != tiers.end() && tier->nodes >= cluster.nodes) {
    return fmt::format(
        "{} names tier {}, but one switch of it holds all nodes, so it has no uplinks", spec.name,
        fault.tier);
  }
  return "";
}

// Nodes or switches of the cluster at equal distances.
std::vector<Place> places_of(const run::LinkFault& fault, const hardware::ClusterSpec& cluster) {
  std::int64_t all = cluster.nodes;
  if (!fault.tier.empty()) {
    const auto& tiers = cluster.network.tiers;
    const auto tier =
        std::ranges::find_if(tiers, [&](const auto& each) { return each.name == fault.tier; });
    all = tier == tiers.end() ? 1 : (cluster.nodes + tier->nodes - 1) / tier->nodes;
  }
  const std::int64_t count = std::min(all, kMostPlaces);
  std::vector<Place> places(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = i * all / count;
    Place& place = places[static_cast<std::size_t>(i)];
    if (!fault.tier.empty()) {
      place.push_back(
          {.tier = fault.tier, .block = at, .uplinks = fault.uplinks, .share = fault.share});
    } else if (!fault.nics) {
      place.push_back({.node = at, .share = fault.share});
    }
    for (std::int64_t nic = 0; fault.tier.empty() && nic < fault.nics.value_or(0); ++nic) {
      place.push_back({.node = at, .nic = nic, .share = fault.share});
    }
  }
  return places;
}

// The step with its traffic as flows and these links slow; nothing, with diagnostics, when the
// scenario cannot run so.
std::optional<Seconds> simulate(Scenario scenario, const Place& place,
                                const EvaluateOptions& options, Diagnostics& diagnostics) {
  hardware::NetworkDetail& detail = scenario.cluster.network.detail;
  detail = detail == hardware::NetworkDetail::groups ? hardware::NetworkDetail::flows : detail;
  scenario.cluster.network.faults.insert(scenario.cluster.network.faults.end(), place.begin(),
                                         place.end());
  if (const auto problem = hardware::network_problem(scenario.cluster)) {
    diagnostics.error(scenario.where(kOfFaults), std::string(kOfFaults), *problem);
    return std::nullopt;
  }
  const std::optional<Resolved> resolved = resolve(scenario, options.search, diagnostics);
  if (!resolved) {
    return std::nullopt;
  }
  const auto outcome =
      step::simulate_step(step_input(scenario, *resolved), resolved->costs, {.stop = options.stop});
  if (const auto* problem = std::get_if<step::StepProblem>(&outcome)) {
    diagnostics.error(scenario.where(problem->key), problem->key, problem->message);
    return std::nullopt;
  }
  return to_seconds(std::get<step::StepResult>(outcome).step_time);
}

std::string words(const SlowdownSpec& spec) {
  const run::LinkFault& fault = *spec.fault;
  const std::vector<double>& factors = spec.slowdown.any;
  const auto [least, most] = std::minmax_element(factors.begin(), factors.end());
  const std::string links =
      fault.uplinks         ? fmt::format("{} {} of a {} switch", *fault.uplinks,
                                  *fault.uplinks == 1 ? "uplink" : "uplinks", fault.tier)
      : !fault.tier.empty() ? fmt::format("the uplinks of a {} switch", fault.tier)
      : fault.nics ? fmt::format("{} {} of a node", *fault.nics, *fault.nics == 1 ? "NIC" : "NICs")
                   : std::string("all NICs of a node");
  const std::string least_share = format_percent(*least - 1.0);
  const std::string most_share = format_percent(*most - 1.0);
  const std::string cause =
      fmt::format("{} ({} at {} of the rate)", spec.name, links, format_percent(fault.share));
  return least_share == most_share
             ? fmt::format("{} makes steps {} longer, wherever it is", cause, most_share)
             : fmt::format("{} makes steps {} longer on average over {} places, {} to {}", cause,
                           format_percent(spec.slowdown.median - 1.0), factors.size(), least_share,
                           most_share);
}

bool fill_slowdown(const Scenario& scenario, const EvaluateOptions& options, Seconds sound,
                   SlowdownSpec& spec, Diagnostics& diagnostics) {
  const std::vector<Place> places = places_of(*spec.fault, scenario.cluster);
  std::vector<std::optional<Seconds>> times(places.size());
  std::vector<Diagnostics> problems(places.size());
  parallel_for(
      static_cast<std::int64_t>(places.size()), {.threads = options.threads, .stop = options.stop},
      [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          times[i] = simulate(scenario, places[i], options, problems[i]);
        }
      });
  stop_point(options.stop);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!times[i]) {
      diagnostics.add(problems[i]);
      return false;
    }
    spec.slowdown.any.push_back(std::max(1.0, *times[i] / sound));
  }
  const std::vector<double>& factors = spec.slowdown.any;
  spec.slowdown.median =
      std::accumulate(factors.begin(), factors.end(), 0.0) / static_cast<double>(factors.size());
  return true;
}

}  // namespace

std::optional<std::string> reroute_rule(const hardware::ClusterSpec& cluster) {
  const hardware::NetworkSpec& network = cluster.network;
  const bool flows = hardware::flows_share_links(cluster);
  if (cluster.nodes == 1 || (network.links_down.empty() && !(flows && !network.faults.empty()))) {
    return std::nullopt;
  }
  if (!flows) {
    return "cluster.network.links_down: all groups and stages run at the pace of the broken node, "
           "which is at most what it costs; with cluster.network.detail: flows those that cross it";
  }
  std::string rule = "cluster.network: ";
  if (!network.links_down.empty()) {
    rule +=
        "a NIC that is down hands its traffic to the others of the group, or to the next of its "
        "node";
  }
  if (!network.faults.empty()) {
    const bool hashed = network.routing == hardware::Routing::static_ecmp;
    rule += fmt::format("{}nothing goes around a slow NIC or switch; of a switch's uplinks {}",
                        network.links_down.empty() ? "" : "; ",
                        hashed ? "each keeps the flows that hash to it (static_ecmp)"
                               : "each carries its part of all traffic in proportion to its rate");
  }
  return rule;
}

bool add_fault_steps(const Scenario& scenario, const EvaluateOptions& options,
                     run::FailureSpec& failures, std::vector<std::string>& assumed,
                     Diagnostics& diagnostics) {
  std::vector<SlowdownSpec> specs = failures.network.empty() && failures.preset
                                        ? failures.preset->spec.network
                                        : failures.network;
  const auto unknown = [](const SlowdownSpec& spec) { return spec.fault.has_value(); };
  if (std::ranges::none_of(specs, unknown)) {
    return true;
  }
  for (const SlowdownSpec& spec : specs) {
    const std::string problem = unknown(spec) ? problem_of(spec, scenario.cluster) : std::string();
    if (!problem.empty()) {
      diagnostics.error(scenario.where(kOfFaults), std::string(kOfFaults), problem);
      return false;
    }
  }
  Diagnostics problems;  // warnings of the step are said already
  const std::optional<Seconds> sound = simulate(scenario, {}, options, problems);
  if (!sound) {
    diagnostics.add(problems);
    return false;
  }
  for (SlowdownSpec& spec : specs) {
    if (!unknown(spec)) {
      continue;
    }
    if (!fill_slowdown(scenario, options, *sound, spec, diagnostics)) {
      return false;
    }
    assumed.push_back(words(spec));
  }
  failures.network = std::move(specs);
  return true;
}

bool add_save_steps(const Scenario& scenario, const EvaluateOptions& options,
                    const run::StepInput& step, run::CheckpointSpec& checkpoint,
                    std::vector<std::string>& assumed, Diagnostics& diagnostics) {
  if (!checkpoint.storage.on_training_network || checkpoint.mode == run::CheckpointMode::sync ||
      scenario.cluster.nodes == 1) {
    return true;
  }
  const hardware::NetworkSpec& network = scenario.cluster.network;
  const Seconds write = run::write_time(checkpoint, step, checkpoint.data_reads);
  const auto writers = static_cast<double>(run::writers_of(checkpoint, step).nodes);
  const Bytes share = run::checkpoint_size(checkpoint, step) / writers;
  constexpr double kFairShare = 0.5;  // of a NIC, beside training
  const BytesPerSecond rate =
      std::min(share / write, static_cast<double>(network.nics_per_node) * network.nic_rate *
                                  cost::kNicShare * kFairShare);
  Scenario saving = scenario;
  saving.cluster.network.storage_traffic = rate;
  Diagnostics problems;  // warnings of the step are said already
  const std::optional<Seconds> sound = simulate(scenario, {}, options, problems);
  const std::optional<Seconds> busy = simulate(saving, {}, options, problems);
  if (!sound || !busy) {
    diagnostics.add(problems);
    return false;
  }
  const Seconds lasts = share / rate;
  const Seconds lost = lasts * (1.0 - *sound / std::max(*sound, *busy));
  const run::HostCopy host = run::host_copy(checkpoint, step);
  checkpoint.durable = checkpoint.durable.value_or(host.whole + lasts + lost);
  checkpoint.stall = host.stall + lost;
  assumed.push_back(
      fmt::format("checkpoint.storage.network: a save sends {} from every node over the network of "
                  "training for {}, in which steps are {} longer: {} more stall",
                  format_bandwidth(rate), format_time(lasts), format_percent(*busy / *sound - 1.0),
                  format_time(lost)));
  return true;
}

}  // namespace orrery::evaluate
