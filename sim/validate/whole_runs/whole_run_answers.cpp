#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/text/text.hpp"
#include "sim/run/published_metrics.hpp"
#include "sim/run/theory/theory.hpp"
#include "sim/validate/rows/calendar_case.hpp"
#include "sim/validate/rows/run_case.hpp"
#include "sim/validate/whole_runs/whole_run_check.hpp"
#include "sim/yaml/scalar.hpp"

namespace orrery::validate {

namespace {

CheckAnswer lacks(std::string what) {
  CheckAnswer answer;
  answer.reason = "neither the check nor its run states " + std::move(what);
  return answer;
}

CheckAnswer value(double number, std::string unit, std::vector<std::string> notes = {}) {
  return {.value = number, .unit = std::move(unit), .notes = std::move(notes)};
}

const PublishedRun* run_of(const RunCheck& asked) {
  return asked.runs.empty() ? nullptr : &asked.runs.front();
}

// What the check states, else what its run says.
std::optional<double> number_of(const RunCheck& asked, Stems stems, std::string_view path) {
  if (const auto stated = asked.inputs.number(stems)) {
    return stated;
  }
  return asked.runs.empty() ? std::nullopt : asked.runs.front().number(path);
}

// --- steps -----------------------------------------------------------------------------------

std::optional<double> steps_of(const RunCheck& asked) {
  return number_of(asked, {"steps", "iterations"}, "model.steps");
}

std::optional<Seconds> step_of(const RunCheck& asked) {
  if (const auto stated = asked.inputs.time({"step", "step_time", "iteration"})) {
    return stated;
  }
  const PublishedRun* run = run_of(asked);
  if (run == nullptr) {
    return std::nullopt;
  }
  const auto printed = run->number("steady.step_time_s");
  return printed ? std::optional(seconds(*printed)) : std::nullopt;
}

std::int64_t whole(const CaseInputs& in, Stems stems) {
  return static_cast<std::int64_t>(in.number(stems).value_or(0.0));
}

// The number with which a text such as "4, then 18" begins.
std::optional<double> leading_number(const std::string& text) {
  return yaml_number(text.substr(0, text.find_first_not_of("0123456789.")));
}

std::optional<std::int64_t> spares_of(const PublishedRun& run) {
  const auto allocated = run.number("hardware.allocated");
  const auto count = run.devices();
  constexpr double kUsualNode = 8.0;
  if (allocated && count && *allocated > *count) {
    return static_cast<std::int64_t>((*allocated - *count) /
                                     run.number("hardware.per_node").value_or(kUsualNode));
  }
  const auto buffer = leading_number(run.text("hardware.buffer_hosts"));
  return buffer ? std::optional(static_cast<std::int64_t>(*buffer)) : std::nullopt;
}

// The run of a check, as far as it is stated.
std::optional<CalendarCase> case_of(const RunCheck& asked) {
  const CaseInputs& in = asked.inputs;
  CalendarCase run;
  const auto fault_free = in.time({"fault_free", "compute"});
  const auto steps = steps_of(asked);
  const auto step = step_of(asked);
  if (steps && step) {
    run.steps = static_cast<std::int64_t>(*steps);
    run.step = *step;
  } else if (fault_free) {
    run.step = seconds(30.0);  // fine beside hours between failures
    run.steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(*fault_free / run.step));
  } else {
    return std::nullopt;
  }
  run.save_every = whole(in, {"save_every"});
  run.save = in.time({"save"}).value_or(Seconds{});
  run.evaluate_every = whole(in, {"eval_every", "evaluate_every"});
  run.evaluation = in.time({"eval", "evaluation"}).value_or(Seconds{});
  run.ramp = in.time({"fixed_ramp", "ramp"}).value_or(Seconds{});
  run.restarts = in.number({"restarts", "failures", "interruptions"});
  run.machines_a_day = in.number({"machines_down_per_day", "machines_per_day"});
  run.nodes = whole(in, {"nodes"});
  if (const PublishedRun* entry = run_of(asked)) {
    run.name = entry->id();
    run.device = entry->text("hardware.device");
    run.parameters = entry->number("model.params").value_or(0.0);
    run.spares = spares_of(*entry);
    run.nodes = run.nodes > 0 ? run.nodes
                              : static_cast<std::int64_t>(std::ceil(entry->nodes().value_or(0.0)));
    for (const double loss : entry->numbers("interruptions.named_losses_h")) {
      run.named_losses.push_back(hours(loss));
    }
  }
  return run.nodes > 0 ? std::optional(run) : std::nullopt;
}

// Without failures: through the simulator.
CheckAnswer fault_free_days(const RunCheck& asked) {
  const auto steps = steps_of(asked);
  const auto step = step_of(asked);
  if (!steps || !step) {
    return lacks("steps and their time");
  }
  const CaseInputs& in = asked.inputs;
  const auto times = run_case({.steps = static_cast<std::int64_t>(*steps),
                               .step = *step,
                               .save_every = whole(in, {"save_every"}),
                               .stall = in.time({"save"}).value_or(Seconds{}),
                               .restart = {},
                               .evaluate_every = whole(in, {"eval_every", "evaluate_every"}),
                               .evaluation = in.time({"eval", "evaluation"}).value_or(Seconds{})});
  if (!times) {
    return lacks("a run that the simulator accepts");
  }
  return value(in_days(times->wall + in.time({"fixed_ramp", "ramp"}).value_or(Seconds{})), "d");
}

CheckAnswer calendar(const RunCheck& asked, const std::string& name) {
  const std::optional<CalendarCase> run = case_of(asked);
  if (!run) {
    return lacks("the time of the steps and the nodes");
  }
  const auto times =
      simulate_calendar(*run, scenario::PresetLibrary(asked.data.search), asked.data.threads);
  if (!times) {
    return lacks("a run that the simulator accepts");
  }
  std::vector<std::string> notes = times->notes;
  notes.push_back(fmt::format("{:.1f} failures", times->failures));
  const Seconds fault_free =
      asked.inputs.time({"fault_free", "compute"}).value_or(times->fault_free);
  if (name.find("goodput") != std::string::npos) {
    return value(fault_free / times->calendar, "1", std::move(notes));
  }
  if (name.find("lost") == std::string::npos) {
    return value(in_days(times->calendar), "d", std::move(notes));
  }
  Seconds lost = times->calendar - fault_free;
  if (asked.calibrate_to) {
    const Seconds unitemised = days(*asked.calibrate_to) - times->calendar;
    notes.push_back(
        fmt::format("with {:.2f} d of unitemised downtime, calibrated on the calendar "
                    "as the check asks; {:.2f} d without it",
                    in_days(unitemised),
                    in_days(lost)));
    lost += unitemised;
  }
  return value(in_days(lost), "d", std::move(notes));
}

// --- hours and dollars -----------------------------------------------------------------------

std::optional<Seconds> device_time(const RunCheck& asked) {
  if (const auto printed = number_of(asked, {"device_hours", "gpu_hours"}, "device_hours")) {
    return hours(*printed);
  }
  const PublishedRun* run = run_of(asked);
  if (run == nullptr) {
    return std::nullopt;
  }
  const auto count = run->devices();
  const auto wall = run->wall();
  return count && wall ? std::optional(*count * *wall) : std::nullopt;
}

CheckAnswer usd(const RunCheck& asked) {
  const PublishedRun* run = run_of(asked);
  if (const auto price =
          number_of(asked, {"usd_per_device_hour", "usd_gpu_h"}, "cost.usd_per_device_hour")) {
    const auto time = device_time(asked);
    return time ? value(in_dollars(dollars_per_hour(*price) * *time), "USD")
                : lacks("device-hours");
  }
  const auto node_price = number_of(asked, {"usd_per_node_hour"}, "cost.usd_per_node_hour");
  if (!node_price || run == nullptr || !run->wall() || !run->nodes()) {
    return lacks("a price per hour and the hours");
  }
  return value(in_dollars(dollars_per_hour(*node_price) * (*run->nodes() * *run->wall())), "USD");
}

// pretraining_days_on_2048: the hours of that phase, or all of them.
CheckAnswer days_on(const RunCheck& asked, const std::string& name) {
  const std::size_t on = name.find("days_on_");
  const auto devices = yaml_number(name.substr(on + std::string_view("days_on_").size()));
  const PublishedRun* run = run_of(asked);
  if (!devices || *devices <= 0.0 || run == nullptr) {
    return lacks("the devices");
  }
  std::optional<Seconds> time;
  if (on > 0) {
    const auto part = run->number("device_hours_by_phase." + name.substr(0, on - 1));
    time = part ? std::optional(hours(*part)) : std::nullopt;
  } else {
    time = device_time(asked);
  }
  return time ? value(in_days(*time / *devices), "d") : lacks("hours of that phase");
}

std::optional<Flop> flops_of(const PublishedRun& run) {
  const auto printed = run.number("model.flops");
  return printed ? std::optional(flop(*printed)) : run.flops();
}

// Of the whole run: its FLOPs over what its devices could have done.
CheckAnswer mfu(const RunCheck& asked) {
  const PublishedRun* run = run_of(asked);
  const auto time = device_time(asked);
  if (run == nullptr || !time || !flops_of(*run)) {
    return lacks("FLOPs and device-hours");
  }
  const auto peak = published_peak(asked.data.document, run->text("hardware.device"));
  return peak ? value(*flops_of(*run) / (*time * *peak), "1") : lacks("the peak of its device");
}

CheckAnswer rate(const RunCheck& asked) {
  const PublishedRun* run = run_of(asked);
  const auto time = device_time(asked);
  return run != nullptr && time && flops_of(*run)
             ? value(in_teraflop_per_second(*flops_of(*run) / *time), "TFLOP/s")
             : lacks("FLOPs and device-hours");
}

CheckAnswer step_time(const RunCheck& asked) {
  const PublishedRun* run = run_of(asked);
  const auto steps = steps_of(asked);
  if (run != nullptr && steps && run->wall()) {
    return value(in_seconds(*run->wall() / *steps), "s");
  }
  const auto step = step_of(asked);
  return step ? value(in_seconds(*step), "s") : lacks("steps and their wall time");
}

// --- recovery --------------------------------------------------------------------------------

CheckAnswer events(const RunCheck& asked) {
  const auto active = asked.inputs.number({"active", "goodput"});
  const auto window = asked.inputs.time({"window", "wall", ""});
  const auto mean = asked.inputs.time({"mean_recovery", "recovery"});
  return active && window && mean ? value((1.0 - *active) * (*window / *mean), "1")
                                  : lacks("active share, days and mean recovery");
}

CheckAnswer sigma(const RunCheck& asked) {
  const auto mean = asked.inputs.time({"mean_recovery", "mean"});
  const auto median = asked.inputs.time({"median_recovery", "median"});
  return mean && median ? value(run::lognormal_sigma(*mean, *median), "1")
                        : lacks("mean and median of the recovery");
}

// --- checkpoint theory -----------------------------------------------------------------------

// The number behind a letter in young_s_at_C5_M4h, as a time: C in seconds, M in its unit.
std::optional<Seconds> time_in_name(const std::string& name, const std::string& mark) {
  const std::size_t at = name.find(mark);
  if (at == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t begin = at + mark.size();
  const std::size_t end = name.find_first_not_of("0123456789.", begin);
  const auto number = yaml_number(name.substr(begin, end - begin));
  if (!number) {
    return std::nullopt;
  }
  const std::string unit = end == std::string::npos ? "" : name.substr(end);
  const double scale = unit.starts_with("h")     ? kSecondsPerHour
                       : unit.starts_with("min") ? kSecondsPerMinute
                       : unit.starts_with("d")   ? kSecondsPerDay
                                                 : 1.0;
  return seconds(scale * *number);
}

std::optional<run::CheckpointCost> cost_of(const RunCheck& asked) {
  auto save = asked.inputs.time({"C", "save", "w"});
  auto mtbf = asked.inputs.time({"M", "mtbf"});
  save = save ? save : time_in_name(asked.all_names, "_c");
  mtbf = mtbf ? mtbf : time_in_name(asked.all_names, "_m");
  const bool sound = save && mtbf && *save > Seconds{} && *mtbf > Seconds{};
  return sound ? std::optional(run::CheckpointCost{*save, *mtbf}) : std::nullopt;
}

// Distance of the saves that the run used: steps times the time of a step at its steady rate.
std::optional<Seconds> interval_of(const RunCheck& asked) {
  const PublishedRun* run = run_of(asked);
  const auto every = number_of(asked, {"every_steps", "save_every"}, "checkpoint.every_steps");
  if (run == nullptr || !every) {
    return std::nullopt;
  }
  if (const auto step = step_of(asked)) {
    return *every * *step;
  }
  const auto batch = run->number("model.batch_tokens");
  const auto largest = leading_number(run->text("hardware.count"));
  const std::string words = run->text("hardware.count");
  const std::size_t last = words.find_last_not_of("0123456789");
  const auto devices = last == std::string::npos ? largest : yaml_number(words.substr(last + 1));
  auto rate = run->steady_rate();
  if (!rate && run->number("model.tokens") && run->number("device_hours")) {
    rate = tokens(*run->number("model.tokens")) / hours(*run->number("device_hours"));
  }
  return batch && devices && rate ? std::optional(*every * (tokens(*batch) / (*devices * *rate)))
                                  : std::nullopt;
}

CheckAnswer checkpointing(const RunCheck& asked, const std::string& name) {
  if (name.find("interval") != std::string::npos) {
    const auto interval = interval_of(asked);
    return interval ? value(in_seconds(*interval), "s") : lacks("steps between saves");
  }
  const auto cost = cost_of(asked);
  if (!cost) {
    return lacks("the time of a save and the MTBF");
  }
  const Seconds young = run::young_interval(*cost);
  if (name.find("young") != std::string::npos) {
    return value(in_seconds(young), "s");
  }
  if (name.find("best") != std::string::npos || name.find("young") != std::string::npos) {
    return value(run::first_order_waste(*cost, young), "1");
  }
  const auto interval = interval_of(asked);
  return interval ? value(run::first_order_waste(*cost, *interval), "1")
                  : lacks("steps between saves");
}

bool says(const std::string& name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return name.find(word) != std::string::npos;
  });
}

}  // namespace

std::optional<double> yaml_number(const std::string& text) {
  return yaml::parse_number(text).value;
}

CheckAnswer answer_check(RunCheck& asked, const std::string& key) {
  const std::string name = lower_case(key);
  if (says(name, {"days_on_"})) {
    return days_on(asked, name);
  }
  if (says(name, {"usd", "dollar", "cost"})) {
    return usd(asked);
  }
  if (says(name, {"young", "waste", "interval"})) {
    return checkpointing(asked, name);
  }
  if (says(name, {"sigma"})) {
    return sigma(asked);
  }
  if (says(name, {"events"})) {
    return events(asked);
  }
  if (says(name, {"calendar", "lost", "goodput"}) || (says(name, {"days"}) && asked.with_losses)) {
    return calendar(asked, name);
  }
  if (says(name, {"days"})) {
    return fault_free_days(asked);
  }
  if (says(name, {"mfu"})) {
    return mfu(asked);
  }
  if (says(name, {"tflop"})) {
    return rate(asked);
  }
  if (says(name, {"hours"})) {
    const auto time = device_time(asked);
    return time ? value(in_hours(*time), "h") : lacks("devices and their time");
  }
  if (says(name, {"step"})) {
    return step_time(asked);
  }
  CheckAnswer answer;
  answer.reason = "no stage computes " + key;
  return answer;
}

CheckAnswer answer_ettr(const DataRow& row) {
  CaseInputs in(row);
  run::EttrInput input;
  input.nodes = in.nodes().value_or(0.0);
  const auto per_thousand = in.number({"r", "r_f"});
  input.node_rate =
      per_thousand ? per_day(*per_thousand / kKilo) : in.node_rate().value_or(PerSecond{});
  input.write = in.time({"w", "write", "save", "C"}).value_or(Seconds{});
  input.restart = in.time({"u0", "restart", "R"}).value_or(Seconds{});
  if (!(input.nodes > 0.0) || !(input.node_rate > PerSecond{}) || !(input.write > Seconds{})) {
    return lacks("nodes, failures of a node and the time of a save");
  }
  input.interval = run::young_interval({input.write, run::job_mtbf(input.nodes, input.node_rate)});
  return value(run::expected_ettr(input), "1");
}

}  // namespace orrery::validate
