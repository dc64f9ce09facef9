#include <fmt/core.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "sim/run/planning.hpp"
#include "sim/run/theory/time_law.hpp"

namespace orrery::run {

double false_alarms_per_step(const SpikeRule& rule) {
  double one = std::erfc(rule.sigma / std::numbers::sqrt2) / 2.0;
  if (rule.degrees_of_freedom) {
    const double nu = *rule.degrees_of_freedom;
    const boost::math::students_t_distribution<double> law(nu);
    one = boost::math::cdf(complement(law, rule.sigma * std::sqrt(nu / (nu - 2.0))));
  }
  return -std::expm1(static_cast<double>(rule.series) * std::log1p(-one));
}

namespace {

// Where the nodes behind one unit of the scope are stated; nullptr where they follow from it.
const std::optional<std::int64_t>* domain_of(FailureScope scope, const FailureDomains& domains) {
  switch (scope) {
    case FailureScope::rack:
      return &domains.rack;
    case FailureScope::network_switch:
      return &domains.network_switch;
    case FailureScope::power_domain:
      return &domains.power_domain;
    default:
      return nullptr;
  }
}

// Of hardware whose failure is no planned stop.
bool is_hardware(FailureCategory category) {
  using enum FailureCategory;
  return category == unknown || (takes_node_by_default(category) && category != maintenance);
}

// The exponential law of a rate; rate 0 never happens.
LifeLaw at_rate(PerSecond rate) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  return ExponentialLaw{rate > PerSecond{} ? 1.0 / rate : seconds(kNever)};
}

// Resolves causes of a spec into causes of the plan: units, nodes taken and law.
class CausePlanner {
 public:
  CausePlanner(const FailureSpec& spec, RunPlan& plan, Findings& findings)
      : spec_(spec), plan_(plan), findings_(findings) {}

  // A cause without a law of its own has `share` of the node rate.
  void add(const FailureCause& cause, std::string_view key, PerSecond share = {}) {
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

  // A cause that strikes nodes one by one, or else the job as a whole, at the rate that is stated,
  // and takes one node. Returns its index.
  std::int32_t add_process(std::string_view name, std::optional<PerSecond> node_rate,
                           std::optional<PerSecond> job_rate, const RecoveryStages& stages,
                           std::string_view key) {
    const bool stated = node_rate.has_value() != job_rate.has_value();
    const PerSecond rate = node_rate ? *node_rate : job_rate.value_or(PerSecond{});
    findings_.require(stated && is_rate(rate), key,
                      fmt::format("{} needs one rate that is not negative", name),
                      "node_rate or job_rate");
    FailureCause cause = failure_cause(name, FailureCategory::unknown);
    cause.recovery = stages;
    cause.scope = node_rate ? FailureScope::node : FailureScope::job;
    cause.life = at_rate(rate);
    cause.takes_nodes = 1;
    add(cause, key);
    plan_.causes.back().is_hardware = false;
    return static_cast<std::int32_t>(plan_.causes.size()) - 1;
  }

 private:
  void check(const FailureCause& cause, std::string_view key) {
    findings_.require(std::isfinite(cause.weight) && cause.weight >= 0.0, key,
                      fmt::format("the weight of {} must not be negative", cause.name));
    check_stages(cause.recovery, key, findings_);
    const auto* domain = domain_of(cause.scope, spec_.domains);
    findings_.require(domain == nullptr || domain->value_or(0) >= 1, key,
                      fmt::format("{} strikes a {}, whose nodes are not known", cause.name,
                                  to_string(cause.scope)),
                      fmt::format("failures.domains.{}: at least 1", to_string(cause.scope)));
    const std::int64_t taken = cause.takes_nodes.value_or(0);
    findings_.require(
        taken >= 0 && taken <= plan_.step.nodes, key,
        fmt::format("{} takes {} nodes of a job of {}", cause.name, taken, plan_.step.nodes));
    if (cause.life) {
      std::optional<std::string> problem = problem_of(*cause.life);
      problem = problem ? problem : problem_of(*cause.life, cause.age);
      findings_.require(!problem, key, fmt::format("{}: {}", cause.name, problem.value_or("")));
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
    std::int64_t shared = 0;  // nodes that share one unit; 0: storage, job
    if (const auto* domain = domain_of(cause.scope, spec_.domains)) {
      shared = domain->value_or(1);
    } else if (cause.scope == FailureScope::gpu || cause.scope == FailureScope::node) {
      shared = 1;
    }
    planned.units_per_node = shared != 0 ? 1.0 / static_cast<double>(shared) : 0.0;
    if (cause.scope == FailureScope::gpu) {
      planned.units_per_node = static_cast<double>(plan_.step.gpus_per_node);
    }
    planned.hit_nodes = std::min(plan_.step.nodes, shared);
    const bool takes = cause.takes_node.value_or(takes_node_by_default(cause.category));
    planned.takes_nodes = cause.takes_nodes.value_or(takes ? planned.hit_nodes : 0);
    planned.stated = cause.recovery;
    return planned;
  }

  const FailureSpec& spec_;
  RunPlan& plan_;
  Findings& findings_;
};

bool is_factor(double value) { return std::isfinite(value) && value >= 1.0; }

// Gives the cause just added its effect.
void set_effect(RunPlan& plan, StrikeEffect effect, std::size_t index) {
  plan.causes.back().effect = effect;
  plan.causes.back().effect_index = static_cast<std::int32_t>(index);
  plan.causes.back().cumulative = 1.0;
}

void plan_slowdown(const SlowdownSpec& spec, bool takes_node, std::string_view key,
                   CausePlanner& planner, RunPlan& plan, Findings& findings) {
  findings.require_law(spec.duration, fmt::format("{}.duration", key));
  findings.require(spec.slowdown.median != 0.0, fmt::format("{}.slowdown", key),
                   "is required where no fault says which links are slow");
  findings.require((spec.slowdown.median == 0.0 || is_factor(spec.slowdown.median)) &&
                       std::isfinite(spec.slowdown.sigma) && spec.slowdown.sigma >= 0.0,
                   fmt::format("{}.slowdown", key),
                   "a slowdown must be at least 1, its sigma not negative");
  PlannedSlowdown planned;
  planned.factor = spec.slowdown;
  planned.duration = spec.duration;
  if (spec.evict_after) {
    findings.require_time(*spec.evict_after, fmt::format("{}.evict_after", key));
    planned.evict_after = bounded_time(*spec.evict_after);
  }
  planned.cause = planner.add_process(spec.name, spec.node_rate, spec.job_rate, spec.recovery, key);
  plan.causes.back().takes_nodes = takes_node ? 1 : 0;
  set_effect(plan, StrikeEffect::slowdown, plan.failures.slowdowns.size());
  plan.failures.slowdowns.push_back(planned);
}

void plan_corruption(const SilentSpec& spec, CausePlanner& planner, RunPlan& plan,
                     Findings& findings) {
  constexpr std::string_view kKey = "failures.sdc";
  findings.require_law(spec.detection, "failures.sdc.detection");
  findings.require_law(spec.repeat_after, "failures.sdc.repeat_after");
  findings.require(spec.repeats >= 0.0 && spec.repeats < 1.0, "failures.sdc.repeats",
                   "must be at least 0 and below 1: at 1 no host would ever be found");
  findings.require(is_factor(spec.checks), "failures.sdc.checks", "must be at least 1");
  plan.failures.step_factor = spec.checks;
  if (!spec.node_rate && !spec.job_rate) {
    return;  // only checks, or only false alarms
  }
  PlannedSilent planned;
  planned.detection = spec.detection;
  planned.repeats = spec.repeats;
  planned.repeat_after = spec.repeat_after;
  planned.cause = planner.add_process("silent data corruption", spec.node_rate, spec.job_rate,
                                      spec.recovery, kKey);
  set_effect(plan, StrikeEffect::silent, plan.failures.silent.size());
  plan.failures.silent.push_back(planned);
}

void require_sound(const SpikeSpec& spec, Findings& findings) {
  constexpr std::string_view kKey = "failures.loss_spikes";
  findings.require(!spec.rate || !spec.every_steps, kKey, "needs only one of rate and every_steps");
  findings.require(spec.rate || spec.every_steps || spec.rule, kKey,
                   "needs a rate, every_steps or a rule");
  findings.require(spec.rewind_steps.has_value() != spec.skip_steps.has_value(), kKey,
                   "needs exactly one of rewind_steps and skip_steps");
  findings.require(spec.every_steps.value_or(1) >= 1 && spec.rewind_steps.value_or(0) >= 0 &&
                       spec.skip_steps.value_or(0) >= 0,
                   kKey, "numbers of steps must not be negative, the mean distance at least 1");
  if (spec.rule) {
    findings.require(spec.rule->sigma > 0.0 && spec.rule->series >= 1 &&
                         spec.rule->degrees_of_freedom.value_or(3.0) > 2.0,
                     "failures.loss_spikes.rule",
                     "needs a threshold above 0, a series, and more than two degrees of freedom");
  }
}

// Real spikes and false alarms have the same consequence, and a cause of their own each.
void plan_spikes(const SpikeSpec& spec, CausePlanner& planner, RunPlan& plan, Findings& findings) {
  require_sound(spec, findings);
  if (!findings.sound()) {
    return;
  }
  const Seconds step = to_seconds(plan.step.step_time);
  const auto add = [&](const char* name, PerSecond rate) {
    PlannedSpike planned;
    planned.rewind_steps = spec.rewind_steps;
    planned.skip_steps = spec.skip_steps;
    planned.cause =
        planner.add_process(name, std::nullopt, rate, spec.recovery, "failures.loss_spikes");
    plan.causes.back().takes_nodes = 0;
    set_effect(plan, StrikeEffect::spike, plan.failures.spikes.size());
    plan.failures.spikes.push_back(planned);
  };
  if (spec.rate || spec.every_steps) {
    add("loss spike",
        spec.rate ? *spec.rate : 1.0 / (static_cast<double>(*spec.every_steps) * step));
  }
  if (spec.rule) {
    add("false alarm of the spike rule", false_alarms_per_step(*spec.rule) / step);
  }
}

// Evictions of sound hosts are failures; they join the other causes before rates are summed up.
void plan_false_alarms(const FailureSpec& spec, CausePlanner& planner) {
  if (spec.silent && (spec.silent->false_alarm_node_rate || spec.silent->false_alarm_job_rate)) {
    planner.add_process("false alarm", spec.silent->false_alarm_node_rate,
                        spec.silent->false_alarm_job_rate, spec.silent->recovery, "failures.sdc");
  }
}

// Fills `slowdowns`, `silent`, `spikes` and `step_factor`, each with a cause of its own.
void plan_silent(const FailureSpec& spec, CausePlanner& planner, RunPlan& plan,
                 Findings& findings) {
  for (const SlowdownSpec& slowdown : spec.stragglers) {
    plan_slowdown(slowdown, true, "failures.stragglers", planner, plan, findings);
  }
  for (const SlowdownSpec& slowdown : spec.network) {
    plan_slowdown(slowdown, false, "failures.network", planner, plan, findings);
  }
  if (spec.silent) {
    plan_corruption(*spec.silent, planner, plan, findings);
  }
  if (spec.spikes) {
    plan_spikes(*spec.spikes, planner, plan, findings);
  }
}

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

// Heat, burn-in and episodes as one multiplier, and the nodes that fail more often.
void plan_modulation(const FailureSpec& spec, std::optional<std::int64_t> start, FailurePlan& plan,
                     Findings& findings) {
  HazardModulation& modulation = plan.modulation;
  const auto is_factor = [](double value) { return std::isfinite(value) && value >= 0.0; };
  findings.require(spec.by_hour.empty() || spec.by_hour.size() == kHoursPerDay, "failures.diurnal",
                   "needs a multiplier for each of the 24 hours");
  findings.require(std::ranges::all_of(spec.by_hour, is_factor), "failures.diurnal",
                   "a multiplier must not be negative");
  modulation.by_hour = spec.by_hour;
  constexpr std::int64_t kDay = 86'400;
  const std::int64_t of_day = ((start.value_or(0) % kDay) + kDay) % kDay;
  modulation.day_offset = to_sim_time(seconds(static_cast<double>(of_day)));
  if (spec.burn_in) {
    findings.require(is_positive(spec.burn_in->factor) && in_range(spec.burn_in->age),
                     "failures.burn_in", "the factor must be positive and the age not negative");
    findings.require_positive_time(spec.burn_in->decay, "failures.burn_in.decay");
    modulation.burn_in = spec.burn_in->factor;
    modulation.burn_in_decay = bounded_time(spec.burn_in->decay);
    modulation.burn_in_age = bounded_time(spec.burn_in->age);
  }
  SimTime before;
  for (const EpisodeSpec& episode : spec.episodes) {
    const HazardEpisode planned{bounded_time(episode.begin), bounded_time(episode.end),
                                episode.factor};
    findings.require(
        is_factor(episode.factor) && before <= planned.begin && planned.begin < planned.end,
        "failures.episodes",
        "episodes must follow one another in time, each with a multiplier of at "
        "least 0");
    before = planned.end;
    modulation.episodes.push_back(planned);
  }
  if (spec.lemons) {
    findings.require(is_share(spec.lemons->fraction) && is_factor(spec.lemons->factor) &&
                         spec.lemons->remove_after.value_or(1) >= 1,
                     "failures.lemons",
                     "needs a share between 0 and 1, a factor of at least 0, and a removal after "
                     "at least one failure");
    plan.lemons = *spec.lemons;
  }
}

void plan_causes(const FailureSpec& spec, CausePlanner& planner, Findings& findings) {
  const PerSecond node_rate = spec.node_rate.value_or(PerSecond{});
  findings.require_rate(node_rate, "failures.node_rate");
  findings.require_rate(spec.job_rate.value_or(PerSecond{}), "failures.job_rate");
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
  findings.require(!shares || is_positive(weights), "failures.causes",
                   "no cause has a positive weight");
  for (const FailureCause& cause : causes) {
    const double share = weights > 0.0 ? cause.weight / weights : 0.0;
    planner.add(cause, "failures.causes", share * node_rate);
  }
  for (const FailureCause& cause : spec.correlated) {
    planner.add(cause, "failures.correlated");
  }
}

// The failures of a log, in order of time; what it names and the causes do not is a cause of its
// own. Their mean distance takes the place of the rates.
void plan_log(const std::vector<LoggedFailure>& lines, CausePlanner& planner, RunPlan& plan,
              Findings& findings) {
  std::vector<LoggedStrike> log;
  for (const LoggedFailure& line : lines) {
    const auto known = std::ranges::find_if(
        plan.causes, [&](const auto& cause) { return cause.name == line.cause; });
    auto index = static_cast<std::int32_t>(known - plan.causes.begin());
    if (known == plan.causes.end()) {
      planner.add(failure_cause(line.cause, FailureCategory::unknown), "failures.log");
      index = static_cast<std::int32_t>(plan.causes.size()) - 1;
    }
    const std::int64_t nodes =
        line.nodes.value_or(plan.causes[static_cast<std::size_t>(index)].takes_nodes);
    findings.require(
        nodes >= 0 && nodes <= plan.step.nodes, "failures.log",
        fmt::format("{} takes {} nodes of a job of {}", line.cause, nodes, plan.step.nodes));
    LoggedStrike strike{.at = bounded_time(line.at), .cause = index, .nodes = nodes};
    if (line.outage) {
      strike.outage = bounded_time(*line.outage);
    }
    log.push_back(strike);
  }
  std::ranges::stable_sort(log, [](const auto& a, const auto& b) { return a.at < b.at; });
  std::vector<double> counts(plan.causes.size(), 0.0);
  for (const LoggedStrike& strike : log) {
    counts[static_cast<std::size_t>(strike.cause)] += 1.0;
  }
  double before = 0.0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    before += log.empty() ? 1.0 : counts[i] / static_cast<double>(log.size());
    plan.causes[i].cumulative = std::min(1.0, before);
  }
  if (!log.empty() && log.back().at > SimTime{}) {
    plan.mtbf = to_seconds(log.back().at) / static_cast<double>(log.size());
  }
  plan.failures.log = std::move(log);
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
  return cause.is_hardware && std::holds_alternative<ExponentialLaw>(cause.life) &&
         (cause.scope == FailureScope::gpu || cause.scope == FailureScope::node);
}

PerSecond long_run_rate(const PlannedCause& cause, const RunPlan& plan) {
  const bool by_nodes = cause.units_per_node > 0.0;
  const double units = by_nodes ? cause.units_per_node * static_cast<double>(plan.step.nodes) : 1.0;
  double multiplier = cause.is_hardware ? plan.failures.modulation.long_run_mean() : 1.0;
  if (feels_lemons(cause)) {
    const LemonSpec& lemons = plan.failures.lemons;
    multiplier *= 1.0 + lemons.fraction * (lemons.factor - 1.0);
  }
  return units * multiplier * (1.0 / mean(cause.life));
}

FailureSpec failures_with_preset(const FailureSpec& spec) {
  FailureSpec result = spec;
  if (spec.preset == nullptr) {
    return result;
  }
  const FailureSpec& base = spec.preset->spec;
  fill(result.node_rate, base.node_rate);
  fill(result.job_rate, base.job_rate);
  fill(result.causes, base.causes);
  fill(result.correlated, base.correlated);
  fill(result.domains.rack, base.domains.rack);
  fill(result.domains.network_switch, base.domains.network_switch);
  fill(result.domains.power_domain, base.domains.power_domain);
  fill(result.maintenance, base.maintenance);
  fill(result.repair, base.repair);
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

void plan_failures(const FailureSpec& spec, std::optional<std::int64_t> start, RunPlan& plan,
                   Findings& findings) {
  plan.failures.full_nodes = plan.step.nodes;
  plan.failures.during_recovery = spec.during_recovery;
  plan_modulation(spec, start, plan.failures, findings);
  CausePlanner planner(spec, plan, findings);
  plan_causes(spec, planner, findings);
  if (!findings.sound()) {
    return;
  }
  FailureCause software = failure_cause("job-level software", FailureCategory::software);
  software.scope = FailureScope::job;
  software.life = at_rate(spec.job_rate.value_or(PerSecond{}));
  planner.add(software, "failures.job_rate");
  plan_false_alarms(spec, planner);
  if (spec.log_lines) {
    plan_log(*spec.log_lines, planner, plan, findings);
  } else {
    sum_up(plan);
  }
  plan_silent(spec, planner, plan, findings);
}

}  // namespace orrery::run
