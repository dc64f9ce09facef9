#include "sim/run/plan_failures.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/run/plan_recovery.hpp"

namespace orrery::run {

namespace {

using Stages = std::array<Duration, kRecoveryStageCount>;

// Takes what `spec` does not state from `base`.
template <typename T>
void fill(std::optional<T>& value, const std::optional<T>& base) {
  if (!value) {
    value = base;
  }
}

template <typename T>
void fill(std::vector<T>& value, const std::vector<T>& base) {
  if (value.empty()) {
    value = base;
  }
}

LifeLaw every(PerSecond rate) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  return ExponentialLife{rate > PerSecond{} ? 1.0 / rate : seconds(kNever)};
}

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

// Heat, burn-in and episodes as one multiplier, and the nodes that fail more often.
void plan_modulation(const FailureSpec& spec,
                     std::optional<std::int64_t> start,
                     FailurePlan& plan,
                     Findings& findings) {
  HazardModulation& modulation = plan.modulation;
  const auto is_factor = [](double value) { return std::isfinite(value) && value >= 0.0; };
  findings.require(spec.by_hour.empty() || spec.by_hour.size() == kHoursPerDay,
                   "failures.diurnal",
                   "needs a multiplier for each of the 24 hours");
  findings.require(std::all_of(spec.by_hour.begin(), spec.by_hour.end(), is_factor),
                   "failures.diurnal",
                   "a multiplier must not be negative");
  modulation.by_hour = spec.by_hour;
  constexpr std::int64_t kDay = 86'400;
  const std::int64_t of_day = ((start.value_or(0) % kDay) + kDay) % kDay;
  modulation.day_offset = to_sim_time(seconds(static_cast<double>(of_day)));
  if (spec.burn_in) {
    findings.require(is_positive(spec.burn_in->factor) && in_range(spec.burn_in->age),
                     "failures.burn_in",
                     "the factor must be positive and the age not negative");
    findings.require(in_range(spec.burn_in->decay) && spec.burn_in->decay > Seconds{},
                     "failures.burn_in.decay",
                     "must be positive and below 73 years");
    modulation.burn_in = spec.burn_in->factor;
    modulation.burn_in_decay = bounded_time(spec.burn_in->decay);
    modulation.burn_in_age = bounded_time(spec.burn_in->age);
  }
  SimTime before;
  for (const EpisodeSpec& episode : spec.episodes) {
    const HazardEpisode planned{
        bounded_time(episode.begin), bounded_time(episode.end), episode.factor};
    findings.require(
        is_factor(episode.factor) && before <= planned.begin && planned.begin < planned.end,
        "failures.episodes",
        "episodes must follow one another in time, each with a multiplier of at "
        "least 0");
    before = planned.end;
    modulation.episodes.push_back(planned);
  }
  if (spec.lemons) {
    const auto is_share = [](double value) { return value >= 0.0 && value <= 1.0; };
    findings.require(is_share(spec.lemons->fraction) && is_share(spec.lemons->cured) &&
                         is_factor(spec.lemons->factor) &&
                         spec.lemons->remove_after.value_or(1) >= 1,
                     "failures.lemons",
                     "needs shares between 0 and 1, a factor of at least 0, and a removal after "
                     "at least one failure");
    plan.lemons = {
        spec.lemons->fraction, spec.lemons->factor, spec.lemons->remove_after, spec.lemons->cured};
  }
}

class CausePlanner {
 public:
  CausePlanner(const FailureSpec& spec, const Stages& recovery, RunPlan& plan, Findings& findings)
      : spec_(spec), recovery_(recovery), plan_(plan), findings_(findings) {}

  // `share` of the node rate, for a cause without a law of its own.
  void add(const FailureCause& cause, std::string_view key, PerSecond share) {
    check(cause, key);
    PlannedCause planned = resolve(cause);
    if (cause.life) {
      planned.life = *cause.life;
    } else if (planned.units_per_node > 0.0) {
      planned.life = every(share / planned.units_per_node);
    } else {
      planned.life = every(static_cast<double>(plan_.step.nodes) * share);
    }
    plan_.causes.push_back(std::move(planned));
  }

  // A process beside the failures: struck per node or for the job as a whole.
  std::int32_t add_effect(std::string_view name,
                          std::optional<PerSecond> node_rate,
                          PerSecond job_rate,
                          const RecoveryStages& stages,
                          std::string_view key) {
    FailureCause cause = failure_cause(name, FailureCategory::unknown);
    cause.recovery = stages;
    cause.scope = node_rate ? FailureScope::node : FailureScope::job;
    cause.life = every(node_rate.value_or(job_rate));
    cause.takes_nodes = 1;
    findings_.require(is_rate(node_rate.value_or(job_rate)), key, "the rate must not be negative");
    add(cause, key, PerSecond{});
    plan_.causes.back().is_hardware = false;
    return static_cast<std::int32_t>(plan_.causes.size()) - 1;
  }

 private:
  void check(const FailureCause& cause, std::string_view key) {
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

  [[nodiscard]] PlannedCause resolve(const FailureCause& cause) const {
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
    planned.takes_node = planned.takes_nodes > 0;
    planned.stated = cause.recovery;
    planned.recovery = recovery_;
    for (std::size_t i = 0; i < kRecoveryStageCount; ++i) {
      if (cause.recovery[i]) {
        planned.recovery[i] = *cause.recovery[i];
      }
    }
    return planned;
  }

  const FailureSpec& spec_;
  const Stages& recovery_;
  RunPlan& plan_;
  Findings& findings_;
};

void plan_causes(const FailureSpec& spec, CausePlanner& planner, Findings& findings) {
  const PerSecond node_rate = spec.node_rate.value_or(PerSecond{});
  const PerSecond job_rate = spec.job_rate.value_or(PerSecond{});
  findings.require(is_rate(node_rate), "failures.node_rate", "the rate must not be negative");
  findings.require(is_rate(job_rate), "failures.job_rate", "the rate must not be negative");
  std::vector<FailureCause> causes = spec.causes;
  if (causes.empty()) {
    causes.push_back(failure_cause("node failure", FailureCategory::host));
  }
  double weights = 0.0;
  bool shares = false;
  for (const FailureCause& cause : causes) {
    weights += cause.life ? 0.0 : cause.weight;
    shares = shares || !cause.life;
  }
  findings.require(
      !shares || is_positive(weights), "failures.causes", "no cause has a positive weight");
  for (const FailureCause& cause : causes) {
    const double share = weights > 0.0 ? cause.weight / weights : 0.0;
    planner.add(cause, "failures.causes", share * node_rate);
  }
  for (const FailureCause& cause : spec.correlated) {
    planner.add(cause, "failures.correlated", PerSecond{});
  }
}

// The hazard of a cause with all nodes present, in the long run.
PerSecond long_run_rate(const PlannedCause& cause, const RunPlan& plan) {
  const bool by_nodes = cause.units_per_node > 0.0;
  const double units = by_nodes ? cause.units_per_node * static_cast<double>(plan.step.nodes) : 1.0;
  double multiplier = cause.is_hardware ? plan.failures.modulation.long_run_mean() : 1.0;
  if (feels_lemons(cause)) {
    const LemonPlan& lemons = plan.failures.lemons;
    multiplier *= 1.0 + lemons.fraction * (lemons.multiplier - 1.0);
  }
  return units * multiplier * (1.0 / mean(cause.life));
}

// The mean time between failures, and the share of each cause in them.
void sum_up(RunPlan& plan) {
  PerSecond total;
  std::size_t last = 0;
  for (std::size_t i = 0; i < plan.causes.size(); ++i) {
    if (plan.causes[i].effect == StrikeEffect::failure) {
      total += long_run_rate(plan.causes[i], plan);
      last = i;
    }
  }
  if (total > PerSecond{}) {
    plan.mtbf = 1.0 / total;
  }
  PerSecond before;
  for (std::size_t i = 0; i < plan.causes.size(); ++i) {
    if (plan.causes[i].effect == StrikeEffect::failure) {
      before += long_run_rate(plan.causes[i], plan);
    }
    plan.causes[i].cumulative = total > PerSecond{} && i < last ? before / total : 1.0;
  }
}

}  // namespace

bool feels_lemons(const PlannedCause& cause) {
  return cause.is_hardware && std::holds_alternative<ExponentialLife>(cause.life) &&
         (cause.scope == FailureScope::gpu || cause.scope == FailureScope::node);
}

FailureSpec failures_with_preset(const FailureSpec& spec, Findings& findings) {
  FailureSpec result = spec;
  if (spec.preset.empty()) {
    return result;
  }
  const FailurePreset* preset = find_failure_preset(spec.preset);
  if (!findings.require(preset != nullptr,
                        "failures.preset",
                        fmt::format("no preset named {}", spec.preset),
                        names_of(failure_presets()))) {
    return result;
  }
  const FailureSpec& base = preset->spec;
  fill(result.node_rate, base.node_rate);
  fill(result.job_rate, base.job_rate);
  fill(result.causes, base.causes);
  fill(result.correlated, base.correlated);
  fill(result.domains.rack, base.domains.rack);
  fill(result.domains.network_switch, base.domains.network_switch);
  fill(result.domains.power_domain, base.domains.power_domain);
  fill(result.maintenance, base.maintenance);
  fill(result.unitemised_per_day, base.unitemised_per_day);
  fill(result.burn_in, base.burn_in);
  fill(result.by_hour, base.by_hour);
  fill(result.episodes, base.episodes);
  fill(result.lemons, base.lemons);
  fill(result.stragglers, base.stragglers);
  fill(result.network, base.network);
  fill(result.silent, base.silent);
  fill(result.spikes, base.spikes);
  return result;
}

void plan_failures(const FailureSpec& spec,
                   const Stages& recovery,
                   std::optional<std::int64_t> start,
                   RunPlan& plan,
                   Findings& findings) {
  plan.failures.full_nodes = plan.failures.most_nodes = plan.step.nodes;
  plan_modulation(spec, start, plan.failures, findings);
  CausePlanner planner(spec, recovery, plan, findings);
  plan_causes(spec, planner, findings);
  if (!findings.sound()) {
    return;
  }
  FailureCause software = failure_cause("job-level software", FailureCategory::software);
  software.scope = FailureScope::job;
  software.life = every(spec.job_rate.value_or(PerSecond{}));
  planner.add(software, "failures.job_rate", PerSecond{});
  sum_up(plan);
}

}  // namespace orrery::run
