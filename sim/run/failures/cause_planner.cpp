#include "sim/run/failures/cause_planner.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "sim/run/recovery/plan_recovery.hpp"

namespace orrery::run {

namespace {

// Nodes that share one unit of the scope; nothing for storage and job.
std::optional<double> nodes_per_unit(FailureScope scope, const FailureDomains& domains) {
  const auto nodes = [](std::optional<std::int64_t> count) {
    return static_cast<double>(count.value_or(1));
  };
  switch (scope) {
    case FailureScope::gpu:
    case FailureScope::node:
      return 1.0;
    case FailureScope::rack:
      return nodes(domains.rack);
    case FailureScope::network_switch:
      return nodes(domains.network_switch);
    case FailureScope::power_domain:
      return nodes(domains.power_domain);
    case FailureScope::storage:
    case FailureScope::job:
      break;
  }
  return std::nullopt;
}

bool is_hardware(FailureCategory category) {
  using enum FailureCategory;
  return category == gpu || category == network || category == host || category == unknown;
}

}  // namespace

LifeLaw at_rate(PerSecond rate) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  return ExponentialLife{rate > PerSecond{} ? 1.0 / rate : seconds(kNever)};
}

void CausePlanner::add(const FailureCause& cause, std::string_view key, PerSecond share) {
  check(cause, key);
  PlannedCause planned = resolve(cause);
  if (cause.life) {
    planned.life = *cause.life;
  } else if (planned.units_per_node > 0.0) {
    planned.life = at_rate(share / planned.units_per_node);
  } else {
    planned.life = at_rate(static_cast<double>(plan_.step.nodes) * share);
  }
  plan_.causes.push_back(std::move(planned));
}

std::int32_t CausePlanner::add_process(std::string_view name,
                                       std::optional<PerSecond> node_rate,
                                       std::optional<PerSecond> job_rate,
                                       const RecoveryStages& stages,
                                       std::string_view key) {
  const bool stated = node_rate.has_value() != job_rate.has_value();
  const PerSecond rate = node_rate ? *node_rate : job_rate.value_or(PerSecond{});
  findings_.require(stated && is_rate(rate),
                    key,
                    fmt::format("{} needs one rate that is not negative", name),
                    "node_rate or job_rate");
  FailureCause cause = failure_cause(name, FailureCategory::unknown);
  cause.recovery = stages;
  cause.scope = node_rate ? FailureScope::node : FailureScope::job;
  cause.life = at_rate(rate > PerSecond{} ? rate : PerSecond{});
  cause.takes_nodes = 1;
  add(cause, key, PerSecond{});
  plan_.causes.back().is_hardware = false;
  return static_cast<std::int32_t>(plan_.causes.size()) - 1;
}

void CausePlanner::check(const FailureCause& cause, std::string_view key) {
  findings_.require(std::isfinite(cause.weight) && cause.weight >= 0.0,
                    key,
                    fmt::format("the weight of {} must not be negative", cause.name));
  check_stages(cause.recovery, key, findings_);
  const auto need = [&](FailureScope scope, std::optional<std::int64_t> nodes) {
    if (cause.scope == scope) {
      findings_.require(
          nodes && *nodes >= 1,
          key,
          fmt::format("{} strikes a {}, whose nodes are not known", cause.name, to_string(scope)),
          fmt::format("failures.domains.{}: at least 1", to_string(scope)));
    }
  };
  need(FailureScope::rack, spec_.domains.rack);
  need(FailureScope::network_switch, spec_.domains.network_switch);
  need(FailureScope::power_domain, spec_.domains.power_domain);
  findings_.require(
      !cause.takes_nodes || (*cause.takes_nodes >= 0 && *cause.takes_nodes <= plan_.step.nodes),
      key,
      fmt::format("{} takes {} nodes of a job of {}",
                  cause.name,
                  cause.takes_nodes.value_or(0),
                  plan_.step.nodes));
  if (cause.life) {
    const std::optional<std::string> problem = problem_of(*cause.life);
    findings_.require(!problem, key, fmt::format("{}: {}", cause.name, problem.value_or("")));
    const std::optional<std::string> age =
        problem ? std::nullopt : problem_of(*cause.life, cause.age);
    findings_.require(!age, key, fmt::format("{}: {}", cause.name, age.value_or("")));
  }
}

PlannedCause CausePlanner::resolve(const FailureCause& cause) const {
  PlannedCause planned;
  planned.name = cause.name;
  planned.category = cause.category;
  planned.age = cause.age;
  planned.scope = cause.scope;
  planned.symptom = cause.symptom;
  planned.is_hardware = is_hardware(cause.category);
  const std::optional<double> shared = nodes_per_unit(cause.scope, spec_.domains);
  planned.units_per_node = shared ? 1.0 / *shared : 0.0;
  if (cause.scope == FailureScope::gpu) {
    planned.units_per_node = static_cast<double>(plan_.step.gpus_per_node);
  }
  planned.hit_nodes = std::min(plan_.step.nodes, static_cast<std::int64_t>(shared.value_or(0.0)));
  const bool takes = cause.takes_node.value_or(takes_node_by_default(cause.category));
  planned.takes_nodes = cause.takes_nodes.value_or(takes ? planned.hit_nodes : 0);
  planned.stated = cause.recovery;
  return planned;
}

}  // namespace orrery::run
