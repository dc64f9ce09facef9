#include "sim/validate/whole_runs/formulas.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <variant>

#include "sim/run/hours_spec.hpp"
#include "sim/run/theory/theory.hpp"
#include "sim/run/theory/time_law.hpp"
#include "sim/validate/rows/calendar_case.hpp"
#include "sim/validate/rows/run_case.hpp"

namespace orrery::validate {

namespace {

namespace kind = yaml::kind;
using Answer = std::optional<FormulaAnswer>;
using Inputs = yaml::MappingReader;

const auto kPositive = yaml::above(0.0);
const auto kSomeTime = yaml::above(Seconds{});
const auto kOneOrMore = yaml::at_least<std::int64_t>(1);

// --- runs through the simulator ----------------------------------------------------------------

// Steps of 30 s, fine beside hours between failures, where only their sum is stated.
void read_steps(Inputs& in, CalendarCase& run) {
  constexpr double kFine = 30.0;
  if (const auto all = in.optional<kind::Time>("fault_free", kSomeTime)) {
    run.step = seconds(kFine);
    run.steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(*all / run.step));
    return;
  }
  run.steps = in.require<kind::Count>("steps", kOneOrMore).value_or(0);
  run.step = in.require<kind::Time>("step_time", kSomeTime).value_or(Seconds{});
}

CalendarCase read_run(Inputs& in) {
  CalendarCase run;
  read_steps(in, run);
  run.save_every = in.optional<kind::Count>("save_every", kOneOrMore).value_or(0);
  run.save = in.optional<kind::Time>("save").value_or(Seconds{});
  run.evaluate_every = in.optional<kind::Count>("evaluate_every", kOneOrMore).value_or(0);
  run.evaluation = in.optional<kind::Time>("evaluation").value_or(Seconds{});
  run.ramp = in.optional<kind::Time>("ramp").value_or(Seconds{});
  return run;
}

std::optional<Seconds> fault_free(const CalendarCase& run) {
  const auto times = run_case({.steps = run.steps,
                               .step = run.step,
                               .save_every = run.save_every,
                               .stall = run.save,
                               .restart = {},
                               .evaluate_every = run.evaluate_every,
                               .evaluation = run.evaluation});
  return times ? std::optional(times->wall + run.ramp) : std::nullopt;
}

Answer fault_free_days(Inputs& in, const DataSet& /*data*/) {
  const auto time = fault_free(read_run(in));
  return time ? Answer(FormulaAnswer{in_days(*time)}) : std::nullopt;
}

Answer lost_days(Inputs& in, const DataSet& /*data*/) {
  const auto calendar = in.require<kind::Time>("calendar", kSomeTime);
  const auto time = fault_free(read_run(in));
  return time && calendar ? Answer(FormulaAnswer{in_days(*calendar - *time)}) : std::nullopt;
}

std::optional<CalendarTimes> calendar(Inputs& in, const DataSet& data) {
  CalendarCase run = read_run(in);
  run.nodes = in.require<kind::Count>("nodes", kOneOrMore).value_or(0);
  run.parameters = in.require<kind::Number>("parameters", kPositive).value_or(0.0);
  run.spares = in.optional<kind::Count>("spares");
  run.restarts = in.optional<kind::Number>("restarts");
  run.machines_a_day = in.optional<kind::Number>("machines_per_day");
  run.failures = in.optional_text("failures").value_or("");
  run.named_losses = in.optional_list<kind::Time>("named_losses").value_or(std::vector<Seconds>());
  const scenario::PresetLibrary& presets = *data.profiles.presets();
  if (!run.restarts && !run.machines_a_day &&
      presets.find(scenario::PresetKind::failures, run.failures, in.diagnostics()) == nullptr) {
    in.error("failures", "names no preset of failures, and neither is a rate stated");
    return std::nullopt;
  }
  auto times = simulate_calendar(run, presets, data.threads);
  if (times) {
    times->notes.push_back(fmt::format("{:.1f} failures", times->failures));
  }
  return times;
}

Answer calendar_days(Inputs& in, const DataSet& data) {
  const auto times = calendar(in, data);
  return times ? Answer({in_days(times->calendar), times->notes}) : std::nullopt;
}

Answer calendar_share(Inputs& in, const DataSet& data) {
  const auto stated = in.has("fault_free") ? in.optional<kind::Time>("fault_free") : std::nullopt;
  const auto times = calendar(in, data);
  return times ? Answer({stated.value_or(times->fault_free) / times->calendar, times->notes})
               : std::nullopt;
}

// --- time, money, utilisation ------------------------------------------------------------------

std::optional<Seconds> read_time(Inputs& in) {
  const auto time = in.require<kind::Time>("time", kSomeTime);
  const auto count = in.optional<kind::Number>("count", kPositive);
  return time ? std::optional(count.value_or(1.0) * *time) : std::nullopt;
}

Answer days_on(Inputs& in, const DataSet& /*data*/) {
  const auto time = in.require<kind::Time>("time", kSomeTime);
  const auto count = in.require<kind::Number>("count", kPositive);
  return time && count ? Answer(FormulaAnswer{in_days(*time / *count)}) : std::nullopt;
}

Answer step_time(Inputs& in, const DataSet& /*data*/) {
  const auto wall = in.require<kind::Time>("wall", kSomeTime);
  const auto steps = in.require<kind::Number>("steps", kPositive);
  return wall && steps ? Answer(FormulaAnswer{in_seconds(*wall / *steps)}) : std::nullopt;
}

Answer mfu(Inputs& in, const DataSet& /*data*/) {
  const auto flops = in.require<kind::Number>("flops", kPositive);
  const auto peak = in.require<kind::FlopRate>("peak");
  const auto time = read_time(in);
  return flops && time && peak ? Answer(FormulaAnswer{flop(*flops) / (*time * *peak)})
                               : std::nullopt;
}

Answer cost(Inputs& in, const DataSet& /*data*/) {
  const auto price = in.require<kind::PriceRate>("price");
  const auto time = read_time(in);
  return price && time ? Answer(FormulaAnswer{in_dollars(*price * *time)}) : std::nullopt;
}

Answer gpu_hours(Inputs& in, const DataSet& /*data*/) {
  const auto trained = in.require<kind::Number>("tokens", kPositive);
  const auto rate = in.require<kind::Number>("rate", kPositive);
  return trained && rate
             ? Answer(FormulaAnswer{in_hours(tokens(*trained) / tokens_per_second(*rate))})
             : std::nullopt;
}

// The negative test: hours without losses tell no goodput.
Answer goodput_refused(Inputs& in, const DataSet& /*data*/) {
  using run::HoursKind;
  constexpr std::array<yaml::Choice<HoursKind>, 4> kKinds = {
      {{"billed", HoursKind::billed},
       {"productive", HoursKind::productive},
       {"throughput_derived", HoursKind::throughput_derived},
       {"unknown", HoursKind::unknown}}};
  const auto contents = in.require_choice("hours", kKinds);
  if (!contents) {
    return std::nullopt;
  }
  const auto goodput = run::goodput_from_hours(*contents, hours(1.0), hours(1.0));
  const auto* reason = std::get_if<std::string>(&goodput);
  return reason != nullptr ? FormulaAnswer{1.0, {*reason}} : FormulaAnswer{};
}

// --- recovery and checkpoints ------------------------------------------------------------------

Answer recovery_events(Inputs& in, const DataSet& /*data*/) {
  const auto active = in.require<kind::Fraction>("active");
  const auto window = in.require<kind::Time>("window", kSomeTime);
  const auto mean = in.require<kind::Time>("mean_recovery", kSomeTime);
  return active && window && mean ? Answer(FormulaAnswer{(1.0 - *active) * (*window / *mean)})
                                  : std::nullopt;
}

Answer lognormal_sigma(Inputs& in, const DataSet& /*data*/) {
  const auto mean = in.require<kind::Time>("mean", kSomeTime);
  const auto median = in.require<kind::Time>("median", kSomeTime);
  return mean && median ? Answer(FormulaAnswer{run::lognormal_sigma(*mean, *median)})
                        : std::nullopt;
}

Answer ettr(Inputs& in, const DataSet& /*data*/) {
  const auto nodes = in.require<kind::Number>("nodes", kPositive);
  const auto rate = in.require<kind::EventRate>("node_failures", yaml::above(PerSecond{}));
  const auto save = in.require<kind::Time>("save", kSomeTime);
  const auto restart = in.require<kind::Time>("restart");
  if (!nodes || !rate || !save || !restart) {
    return std::nullopt;
  }
  return FormulaAnswer{
      run::expected_ettr({.nodes = *nodes,
                          .node_rate = *rate,
                          .restart = *restart,
                          .interval = run::young_interval({*save, run::job_mtbf(*nodes, *rate)}),
                          .write = *save})};
}

std::optional<run::CheckpointCost> read_cost(Inputs& in) {
  const auto save = in.require<kind::Time>("save", kSomeTime);
  const auto mtbf = in.require<kind::Time>("mtbf", kSomeTime);
  return save && mtbf ? std::optional(run::CheckpointCost{*save, *mtbf}) : std::nullopt;
}

Answer young_interval(Inputs& in, const DataSet& /*data*/) {
  const auto cost = read_cost(in);
  return cost ? Answer(FormulaAnswer{in_seconds(run::young_interval(*cost))}) : std::nullopt;
}

Answer waste(Inputs& in, const DataSet& /*data*/) {
  const auto interval = in.optional<kind::Time>("interval", kSomeTime);
  const auto cost = read_cost(in);
  return cost ? Answer(FormulaAnswer{
                    run::first_order_waste(*cost, interval.value_or(run::young_interval(*cost)))})
              : std::nullopt;
}

Answer save_interval(Inputs& in, const DataSet& /*data*/) {
  const auto every = in.require<kind::Count>("every", kOneOrMore);
  const auto batch = in.require<kind::Number>("batch_tokens", kPositive);
  const auto trained = in.require<kind::Number>("tokens", kPositive);
  const auto time = in.require<kind::Time>("gpu_time", kSomeTime);
  const auto gpus = in.require<kind::Number>("gpus", kPositive);
  if (!every || !batch || !trained || !time || !gpus) {
    return std::nullopt;
  }
  const Seconds step = tokens(*batch) / (*gpus * (tokens(*trained) / *time));
  return FormulaAnswer{in_seconds(static_cast<double>(*every) * step)};
}

constexpr std::array<Formula, 16> kFormulas = {{{"fault_free_days", "d", fault_free_days},
                                                {"calendar_days", "d", calendar_days},
                                                {"calendar_share", "1", calendar_share},
                                                {"lost_days", "d", lost_days},
                                                {"days_on", "d", days_on},
                                                {"step_time", "s", step_time},
                                                {"mfu", "1", mfu},
                                                {"cost", "USD", cost},
                                                {"recovery_events", "1", recovery_events},
                                                {"lognormal_sigma", "1", lognormal_sigma},
                                                {"ettr", "1", ettr},
                                                {"young_interval", "s", young_interval},
                                                {"save_interval", "s", save_interval},
                                                {"waste", "1", waste},
                                                {"gpu_hours", "h", gpu_hours},
                                                {"goodput_refused", "match", goodput_refused}}};

}  // namespace

std::span<const Formula> formulas() { return kFormulas; }

}  // namespace orrery::validate
