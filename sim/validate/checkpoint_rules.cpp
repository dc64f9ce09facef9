// Rules for checkpoints: best intervals, run time, first-order waste, sizes, rates, overhead.

#include <array>
#include <cmath>
#include <utility>

#include "sim/run/published_metrics.hpp"
#include "sim/run/theory.hpp"
#include "sim/validate/case_rules.hpp"
#include "sim/validate/run_case.hpp"

namespace orrery::validate {

namespace {

constexpr auto kCheckpointMtbf = std::to_array<std::string_view>(
    {"M", "mtbf", "mttf", "job_mtbf", "mean_time_between_failures"});
constexpr auto kSave = std::to_array<std::string_view>(
    {"delta", "C", "save", "checkpoint", "ckpt", "checkpoint_cost", "w", "write", "stall", "dump"});
constexpr auto kCheckpointRestart =
    std::to_array<std::string_view>({"R", "restart", "u0", "recovery", "restart_cost"});
constexpr auto kCheckpointInterval =
    std::to_array<std::string_view>({"tau", "dt", "interval", "T"});
constexpr auto kUseful = std::to_array<std::string_view>({"Ts", "useful", "solve", "work"});

constexpr auto kSteps = std::to_array<std::string_view>(
    {"iters", "iterations", "steps", "every", "save_every", "k", "every_steps"});
constexpr auto kStep = std::to_array<std::string_view>({"iter", "step", "iteration", "step_time"});

bool has_mtbf_and_save(const Case& asked) {
  return asked.in.time(kCheckpointMtbf) && asked.in.time(kSave);
}

// --- errors of the closed forms -------------------------------------------------------------

bool asks_formula_error(const Case& asked) {
  return asked.in.number({"C_over_M", "C_M", "delta_over_M"}).has_value();
}

Figures formula_error(Case& asked) {
  const run::CheckpointCost cost{seconds(asked.in.need({"C_over_M", "C_M", "delta_over_M"})),
                                 seconds(1.0)};
  if (!asked.in.complete()) {
    return {};
  }
  const Seconds exact = run::optimal_interval(cost);
  return asked.pick({{{"young"}, figure(run::young_interval(cost) / exact - 1.0)},
                     {{"first"}, figure(run::daly_first_order_interval(cost) / exact - 1.0)},
                     {{"higher"}, figure(run::daly_higher_order_interval(cost) / exact - 1.0)}});
}

// --- two levels -----------------------------------------------------------------------------

bool asks_two_level(const Case& asked) {
  return asked.in.time({"C1"}) && asked.in.time({"C2"});
}

Figures two_level(Case& asked) {
  const Seconds near = asked.in.need_time({"C1"});
  const Seconds far = asked.in.need_time({"C2"});
  const Seconds mtbf = asked.in.need_time(kCheckpointMtbf);
  if (asked.says("single level")) {
    const run::CheckpointCost cost{far, mtbf};
    return asked.in.complete()
               ? Figures{figure(run::first_order_waste(cost, run::young_interval(cost)))}
               : Figures{};
  }
  const double p = asked.in.need(
      {"p_recoverable_level1", "p", "p_level1", "share_level1", "p_near", "p_recoverable"});
  if (!asked.in.complete() || p >= 1.0) {
    return {};
  }
  const run::TwoLevelOptimum best = run::two_level_optimum(
      {.near_checkpoint = near, .far_checkpoint = far, .mtbf = mtbf, .near_recoverable = p});
  return asked.pick({{{"t1", "near", "first level"}, figure(best.near_interval)},
                     {{"t2", "far", "second level"}, figure(best.far_interval)},
                     {{"waste", "overhead", "loss"}, figure(best.waste)}});
}

// --- Daly's run time, and the simulation of it ------------------------------------------------

bool asks_run_time(const Case& asked) {
  return has_mtbf_and_save(asked) && asked.in.time(kCheckpointInterval) &&
         !asked.says_one({"waste", "ettr", "first order", "first-order"});
}

Figures run_time(Case& asked) {
  const bool segment = asked.says_one({"segment", "per interval", "cycle"});
  run::DalyRun run{.useful = {},
                   .interval = asked.in.need_time(kCheckpointInterval),
                   .checkpoint = asked.in.need_time_or_zero(kSave),
                   .restart = asked.in.time(kCheckpointRestart).value_or(Seconds{}),
                   .mtbf = asked.in.need_time(kCheckpointMtbf)};
  run.useful = segment ? run.interval : asked.in.need_time(kUseful);
  if (!asked.in.complete()) {
    return {};
  }
  if (!asked.says_one({"monte carlo", "des ", "simulat"})) {
    return {figure(run::daly_run_time(run))};
  }
  const SegmentMean mean = simulate_segments(run, asked.threads);
  asked.notes.push_back(mean.note);
  return {figure(mean.time * (run.useful / run.interval))};
}

// --- best interval ----------------------------------------------------------------------------

bool asks_interval(const Case& asked) {
  return has_mtbf_and_save(asked) &&
         asked.says_one({"tau", "interval", "optimum", "optimal", "period"});
}

Figures best_interval(Case& asked) {
  const run::CheckpointCost cost{asked.in.need_time_or_zero(kSave),
                                 asked.in.need_time(kCheckpointMtbf)};
  if (!asked.in.complete()) {
    return {};
  }
  if (asked.says("young")) {
    return {figure(run::young_interval(cost))};
  }
  if (asked.says("higher")) {
    return {figure(run::daly_higher_order_interval(cost))};
  }
  if (asked.says("first")) {
    return {figure(run::daly_first_order_interval(cost))};
  }
  return {figure(run::optimal_interval(cost))};
}

// --- first-order waste ------------------------------------------------------------------------

bool asks_waste(const Case& asked) {
  return has_mtbf_and_save(asked) && asked.says_one({"waste", "overhead", "loss"});
}

Figures waste(Case& asked) {
  const run::CheckpointCost cost{asked.in.need_time_or_zero(kSave),
                                 asked.in.need_time(kCheckpointMtbf)};
  if (!asked.in.complete()) {
    return {};
  }
  const Seconds interval = asked.in.time(kCheckpointInterval).value_or(run::young_interval(cost));
  if (!(interval > Seconds{})) {
    return {};
  }
  return {figure(run::first_order_waste(
      cost, interval, asked.in.time(kCheckpointRestart).value_or(Seconds{})))};
}

// --- intervals in steps -----------------------------------------------------------------------

std::optional<Seconds> stated_interval(const CaseInputs& in) {
  const auto steps = in.number(kSteps);
  const auto step = in.time(kStep);
  return steps && step ? std::optional(*steps * *step) : in.time(kCheckpointInterval);
}

// Half an interval is lost at every failure.
bool asks_lost(const Case& asked) {
  return asked.in.time(kCheckpointMtbf) && stated_interval(asked.in) && !asked.in.time(kSave) &&
         asked.says_one({"lost", "loss", "waste", "rework"});
}

Figures lost(Case& asked) {
  const Seconds mtbf = asked.in.need_time(kCheckpointMtbf);
  return asked.in.complete() ? Figures{figure(run::first_order_waste({Seconds{}, mtbf},
                                                                     *stated_interval(asked.in)))}
                             : Figures{};
}

// So many steps as a time, or a time in steps.
bool asks_steps(const Case& asked) {
  return asked.in.time(kStep) && !asked.in.time(kSave) &&
         (asked.in.number(kSteps) || asked.in.time(kCheckpointInterval));
}

Figures steps(Case& asked) {
  const Seconds step = asked.in.need_time(kStep);
  if (!asked.in.complete()) {
    return {};
  }
  const auto count = asked.in.number(kSteps);
  return {count ? figure(*count * step) : figure(asked.in.need_time(kCheckpointInterval) / step)};
}

// --- ByteCheckpoint's metric -------------------------------------------------------------------

bool asks_bytecheckpoint(const Case& asked) {
  return asked.in.number({"T_save", "Ts", "save"}) && asked.in.number({"T_load", "Tl", "load"}) &&
         asked.in.number({"N_t", "Nt", "interval"});
}

// One failure half way through every interval: of save + load + interval, half an interval counts.
Figures bytecheckpoint(Case& asked) {
  const double save = asked.in.need({"T_save", "Ts", "save"});
  const double load = asked.in.need({"T_load", "Tl", "load"});
  const double interval = asked.in.need({"N_t", "Nt", "interval"});
  if (!asked.in.complete()) {
    return {};
  }
  return {
      figure(run::one_failure_per_interval_ettr(seconds(interval), seconds(save), seconds(load)))};
}

// --- share of the time that saves take ----------------------------------------------------------

bool asks_overhead(const Case& asked) {
  return asked.in.time(kSave) &&
         ((asked.in.number(kSteps) && asked.in.time(kStep)) ||
          (asked.in.number({"saves", "checkpoints"}) && asked.in.time({"wall", "window", ""})));
}

// Through the simulator: a run without failures that saves every so many steps.
Figures overhead(Case& asked) {
  const Seconds save = asked.in.need_time(kSave);
  if (const auto saves = asked.in.number({"saves", "checkpoints"})) {
    const Seconds window = asked.in.need_time({"wall", "window", ""});
    return asked.in.complete() ? Figures{figure(*saves * (save / window))} : Figures{};
  }
  const double every = asked.in.need(kSteps);
  const Seconds step = asked.in.need_time(kStep);
  if (!asked.in.complete() || every < 1.0 || every > kMega) {
    return {};
  }
  constexpr std::int64_t kSaves = 10;
  const auto distance = static_cast<std::int64_t>(every);
  const auto times = run_case({.steps = kSaves * distance,
                               .step = step,
                               .save_every = distance,
                               .stall = save,
                               .restart = {}});
  return times ? Figures{figure(times->checkpoint / times->wall)} : Figures{};
}

// --- sizes and rates
// ------------------------------------------------------------------------------

constexpr auto kCheckpointParameters =
    std::to_array<std::string_view>({"params", "parameters", "n_params", "N"});
constexpr auto kBytesEach =
    std::to_array<std::string_view>({"bytes_per_param", "bytes_per_parameter", "B_per_param"});

std::optional<Bytes> checkpoint_size(const CaseInputs& in) {
  if (const auto stated = in.size({"", "size", "checkpoint", "state"})) {
    return stated;
  }
  const auto count = in.number(kCheckpointParameters);
  const auto each = in.number(kBytesEach);
  return count && each ? std::optional(*count * bytes(*each)) : std::nullopt;
}

bool wants_part(const Case& asked) {
  return asked.says_one({"per gpu",
                         "per-gpu",
                         "per rank",
                         "per-rank",
                         "per process",
                         "per file",
                         "each rank",
                         "each file"});
}

// Of one GPU or file when the case asks for that.
double parts(Case& asked) {
  if (!wants_part(asked)) {
    return 1.0;
  }
  const auto files = asked.in.number({"files"});
  return files ? *files : asked.in.need_gpus();
}

bool asks_size(const Case& asked) {
  return asked.in.number(kCheckpointParameters) && asked.in.number(kBytesEach);
}

Figures size_or_time(Case& asked) {
  const std::optional<Bytes> size = checkpoint_size(asked.in);
  const double share = parts(asked);
  if (!size || !asked.in.complete()) {
    return {};
  }
  const auto rate = asked.in.bandwidth(
      {"bandwidth", "write", "storage", "aggregate", "rate", "bw", "sustained", "peak"});
  if (rate && *rate > BytesPerSecond{} &&
      asked.says_one({"time", "duration", "seconds", "write"})) {
    return {figure(*size / *rate)};
  }
  const auto save = asked.in.time(kSave);
  if (save && asked.says_one({"bandwidth", "rate", "throughput"})) {
    return {figure(*size / *save / share)};
  }
  return {figure(*size / share)};
}

bool asks_bandwidth(const Case& asked) {
  return checkpoint_size(asked.in) && asked.in.time(kSave);
}

Figures bandwidth(Case& asked) {
  const std::optional<Bytes> size = checkpoint_size(asked.in);
  const Seconds save = asked.in.need_time(kSave);
  const double share = parts(asked);
  return size && asked.in.complete() ? Figures{figure(*size / save / share)} : Figures{};
}

bool asks_write_time(const Case& asked) {
  return checkpoint_size(asked.in) &&
         asked.in.bandwidth({"bandwidth", "write", "storage", "aggregate", "rate", "bw"});
}

// So much from every rank at once.
bool asks_all_ranks(const Case& asked) {
  return asked.in.bandwidth({"per_rank", "rank", "per_gpu"}) && asked.in.gpus();
}

Figures all_ranks(Case& asked) {
  const double ranks = asked.in.need_gpus();
  return asked.in.complete()
             ? Figures{figure(ranks * *asked.in.bandwidth({"per_rank", "rank", "per_gpu"}))}
             : Figures{};
}

constexpr std::array<CaseRule, 13> kCheckpointRules = {{
    {"checkpoint interval", asks_formula_error, formula_error},
    {"two-level checkpoints", asks_two_level, two_level},
    {"run time", asks_run_time, run_time},
    {"checkpoint interval", asks_interval, best_interval},
    {"checkpoint waste", asks_waste, waste},
    {"ETTR", asks_bytecheckpoint, bytecheckpoint},
    {"checkpoint waste", asks_lost, lost},
    {"checkpoint overhead", asks_overhead, overhead},
    {"checkpoint size", asks_size, size_or_time},
    {"checkpoint bandwidth", asks_bandwidth, bandwidth},
    {"checkpoint time", asks_write_time, size_or_time},
    {"checkpoint bandwidth", asks_all_ranks, all_ranks},
    {"checkpoint interval", asks_steps, steps},
}};

}  // namespace

std::span<const CaseRule> checkpoint_rules() {
  return kCheckpointRules;
}

}  // namespace orrery::validate
