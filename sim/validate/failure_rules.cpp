// Rules for failures: rates, MTBF, ETTR, spares, replica placement, ages, slow-downs.

#include <array>
#include <cmath>

#include "sim/run/published_metrics.hpp"
#include "sim/run/theory.hpp"
#include "sim/validate/case_rules.hpp"
#include "sim/validate/renewal_case.hpp"

namespace orrery::validate {

namespace {

constexpr auto kFailureMtbf =
    std::to_array<std::string_view>({"M", "mtbf", "mttf", "measured", "job_mtbf", "job_mttf"});
constexpr auto kFailureWindow =
    std::to_array<std::string_view>({"window", "wall", "duration", "period", ""});
constexpr auto kCounts = std::to_array<std::string_view>(
    {"failures", "restarts", "interruptions", "events", "incidents", "stops"});

// --- ages ---------------------------------------------------------------------------------------

bool asks_ages(const Case& asked) {
  return asked.in.number({"shape", "k"}) && asked.in.number({"n", "N", "servers", "nodes"}) &&
         asked.in.time({"mean", "mean_life", "life"});
}

Figures ages(Case& asked) {
  const double n = asked.in.need({"n", "N", "servers", "nodes"});
  const double shape = asked.in.need({"shape", "k"});
  const Seconds mean = asked.in.need_time({"mean", "mean_life", "life"});
  if (!asked.in.complete() || n < 1.0) {
    return {};
  }
  if (asked.says_one({"minimum", "fresh", "first failure", "reset", "redraw"})) {
    return {figure(run::fresh_minimum_mean(n, mean, shape))};
  }
  const RenewalMtbf found =
      simulate_renewal({.parts = static_cast<std::int64_t>(n), .mean_life = mean, .shape = shape});
  asked.notes.push_back(found.note);
  return {figure(found.mtbf)};
}

// --- lognormal
// ------------------------------------------------------------------------------------

bool asks_sigma(const Case& asked) {
  return asked.says("sigma") && asked.in.time({"mean", "mean_recovery"}) &&
         asked.in.time({"median", "median_recovery"});
}

Figures sigma(Case& asked) {
  const Seconds mean = asked.in.need_time({"mean", "mean_recovery"});
  const Seconds median = asked.in.need_time({"median", "median_recovery"});
  return asked.in.complete() ? Figures{figure(run::lognormal_sigma(mean, median))} : Figures{};
}

// --- in-memory replicas
// -----------------------------------------------------------------------------

bool asks_placement(const Case& asked) {
  return asked.in.number({"N", "machines"}) && asked.in.number({"m", "group", "replicas"}) &&
         asked.in.number({"k", "lost"});
}

Figures placement(Case& asked) {
  const auto machines = static_cast<std::int64_t>(asked.in.need({"N", "machines"}));
  const auto group = static_cast<std::int64_t>(asked.in.need({"m", "group", "replicas"}));
  const auto lost = static_cast<std::int64_t>(asked.in.number({"k", "lost"}).value_or(-1.0));
  constexpr std::int64_t kMost = 100'000;
  if (!asked.in.complete() || group < 1 || machines > kMost || machines % group != 0 || lost < 0 ||
      lost > machines) {
    asked.reason = "the machines are no whole number of groups, or fewer than are lost";
    return {};
  }
  const double survives = run::replica_survival(machines, group, lost);
  return {figure(asked.says_one({"cannot", "not recover", "loss of", "lose the"}) ? 1.0 - survives
                                                                                  : survives)};
}

// --- spares
// -----------------------------------------------------------------------------------------

bool asks_pool(const Case& asked) {
  return asked.in.number({"n", "machines", "nodes"}) && asked.in.number({"p"}) &&
         asked.in.number({"q", "quantile"});
}

Figures pool(Case& asked) {
  const double n = asked.in.need({"n", "machines", "nodes"});
  const double p = asked.in.need({"p"});
  const double q = asked.in.need({"q", "quantile"});
  if (!asked.in.complete() || p > 1.0 || q >= 1.0) {
    return {};
  }
  return {figure(static_cast<double>(run::binomial_quantile(static_cast<std::int64_t>(n), p, q)))};
}

std::optional<PerSecond> losses(const CaseInputs& in) {
  if (const auto per_day_stated = in.number(
          {"failures_per_day", "losses_per_day", "lambda_per_day", "machines_down_per_day"})) {
    return per_day(*per_day_stated);
  }
  const auto rate = in.node_rate();
  const auto nodes = in.nodes();
  return rate && nodes ? std::optional(*nodes * *rate) : std::nullopt;
}

constexpr auto kFailureRepair =
    std::to_array<std::string_view>({"mean_repair", "repair", "mttr", "mean_repair_time"});

bool asks_repair(const Case& asked) {
  return losses(asked.in) && asked.in.time(kFailureRepair);
}

Figures repair(Case& asked) {
  const Seconds mean = asked.in.need_time(kFailureRepair);
  if (!asked.in.complete()) {
    return {};
  }
  const run::RepairLoad load = run::nodes_in_repair(*losses(asked.in), mean);
  return asked.pick({{{"mean", "average", "expected"}, figure(load.mean)},
                     {{"p99", "99"}, figure(static_cast<double>(load.p99))}});
}

// --- ETTR
// --------------------------------------------------------------------------------------------

constexpr auto kWrite = std::to_array<std::string_view>({"w", "write", "save", "C", "stall"});
constexpr auto kFailureRestart =
    std::to_array<std::string_view>({"u0", "restart", "R", "recovery"});
constexpr auto kFailureInterval = std::to_array<std::string_view>({"dt", "interval", "tau"});

bool asks_ettr(const Case& asked) {
  return asked.in.nodes() && asked.in.node_rate() && asked.in.time(kFailureRestart) &&
         (asked.in.time(kFailureInterval) || asked.in.time(kWrite));
}

Figures ettr(Case& asked) {
  run::EttrInput input;
  input.nodes = asked.in.need_nodes();
  input.node_rate = asked.in.need_node_rate();
  input.restart = asked.in.need_time_or_zero(kFailureRestart);
  input.write = asked.in.time(kWrite).value_or(Seconds{});
  if (!asked.in.complete()) {
    return {};
  }
  input.interval = asked.in.time(kFailureInterval)
                       .value_or(run::young_interval(
                           {input.write, run::job_mtbf(input.nodes, input.node_rate)}));
  return input.interval > Seconds{} ? Figures{figure(run::expected_ettr(input))} : Figures{};
}

bool asks_elastic(const Case& asked) {
  return asked.in.time(kFailureMtbf) && asked.in.time({"stall", "downtime", "restart"}) &&
         !asked.in.time(kFailureInterval) && !asked.in.time({"delta", "C"}) &&
         (asked.in.time({"degraded"}) || asked.says_one({"effective", "ettr", "goodput", "stall"}));
}

Figures elastic(Case& asked) {
  const Seconds mtbf = asked.in.need_time(kFailureMtbf);
  const Seconds stall = asked.in.need_time_or_zero({"stall", "downtime", "restart"});
  const Seconds degraded = asked.in.time({"degraded"}).value_or(Seconds{});
  double lost = 0.0;
  if (degraded > Seconds{}) {
    lost = asked.in.number({"lost", "lost_replicas"}).value_or(1.0) /
           asked.in.need({"replicas", "groups", "data_parallel", "dp"});
  }
  return asked.in.complete() ? Figures{figure(run::effective_time(mtbf, stall, degraded, lost))}
                             : Figures{};
}

// --- rates
// --------------------------------------------------------------------------------------------

// How much sooner a job fails than its nodes alone would make it.
bool asks_ratio(const Case& asked) {
  return asked.in.nodes() && asked.in.node_rate() && asked.in.time(kFailureMtbf);
}

Figures ratio(Case& asked) {
  const Seconds scaled = run::job_mtbf(asked.in.need_nodes(), asked.in.need_node_rate());
  const Seconds measured = asked.in.need_time(kFailureMtbf);
  return asked.in.complete() ? Figures{figure(scaled / measured)} : Figures{};
}

bool asks_scaled_mtbf(const Case& asked) {
  return asked.in.nodes() && asked.in.node_rate();
}

Figures scaled_mtbf(Case& asked) {
  const double nodes = asked.in.need_nodes();
  const PerSecond rate = asked.in.need_node_rate();
  if (!asked.in.complete()) {
    return {};
  }
  if (const auto window = asked.in.time(kFailureWindow);
      window && !asked.says_one({"mttf", "mtbf"})) {
    return {figure(*window / run::job_mtbf(nodes, rate))};
  }
  return {figure(run::job_mtbf(nodes, rate))};
}

std::optional<double> counted(const CaseInputs& in) {
  double sum = 0.0;
  bool any = false;
  for (const std::string_view name : kCounts) {
    if (const auto value = in.number({name})) {
      sum += *value;
      any = true;
    }
  }
  return any ? std::optional(sum) : std::nullopt;
}

bool asks_counted_rate(const Case& asked) {
  const bool job = asked.in.time(kFailureMtbf) && (asked.in.nodes() || asked.in.gpus());
  return (counted(asked.in) && asked.in.time(kFailureWindow)) || job;
}

// A rate that was counted over a window, or an MTBF, of the job and of parts of it.
Figures counted_rate(Case& asked) {
  const auto window = asked.in.time(kFailureWindow);
  const auto count = counted(asked.in);
  const Seconds mtbf =
      count && window && *count > 0.0 ? *window / *count : asked.in.need_time(kFailureMtbf);
  if (!asked.in.complete()) {
    return {};
  }
  if (asked.says_one({"node-day", "node day", "server-day", "1000 servers", "1000 nodes"}) ||
      asked.unit.find("node-day") != std::string::npos) {
    return {node_rate_figure(1.0 / (asked.in.need_nodes() * mtbf))};
  }
  if (asked.says_one({"1000 gpu", "1,000 gpu", "1k gpu"})) {
    return {figure(mtbf * (asked.in.need_gpus() / kKilo))};
  }
  if (asked.says_one({"per-gpu", "per gpu", "one gpu", "single gpu", "gpu mtbf"})) {
    return {figure(mtbf * asked.in.need_gpus())};
  }
  if (asked.says_one({"per-node", "per node", "one node", "node mtbf", "server mtbf"})) {
    return {figure(mtbf * asked.in.need_nodes())};
  }
  if (asked.says_one({"per day", "a day", "rate"}) && !asked.says_one({"mtbf", "mttf"})) {
    return {rate_figure(1.0 / mtbf)};
  }
  return {figure(mtbf)};
}

// --- slow-downs
// --------------------------------------------------------------------------------------

bool asks_slowdown(const Case& asked) {
  return asked.in.time({"t_original", "original", "actual", "t_actual"}) &&
         asked.in.time({"t_ideal", "ideal"});
}

Figures slowdown(Case& asked) {
  const Seconds actual = asked.in.need_time({"t_original", "original", "actual", "t_actual"});
  const Seconds ideal = asked.in.need_time({"t_ideal", "ideal"});
  if (!asked.in.complete()) {
    return {};
  }
  return {
      figure(asked.says_one({"waste", "lost", "1 - 1/s"}) ? 1.0 - ideal / actual : actual / ideal)};
}

constexpr std::array<CaseRule, 11> kFailureRules = {{
    {"component ages", asks_ages, ages},
    {"recovery law", asks_sigma, sigma},
    {"in-memory checkpoints", asks_placement, placement},
    {"spares", asks_pool, pool},
    {"spares", asks_repair, repair},
    {"ETTR", asks_ettr, ettr},
    {"failure rate", asks_ratio, ratio},
    {"effective time", asks_elastic, elastic},
    {"failure rate", asks_scaled_mtbf, scaled_mtbf},
    {"failure rate", asks_counted_rate, counted_rate},
    {"stragglers", asks_slowdown, slowdown},
}};

}  // namespace

std::span<const CaseRule> failure_rules() {
  return kFailureRules;
}

}  // namespace orrery::validate
