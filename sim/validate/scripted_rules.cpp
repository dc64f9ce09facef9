// Rules for cases that a simulated run answers, and for traces.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/text.hpp"
#include "sim/run/spot_trace.hpp"
#include "sim/scenario/spot_trace_file.hpp"
#include "sim/validate/case_rules.hpp"
#include "sim/validate/remarks.hpp"
#include "sim/validate/run_case.hpp"
#include "sim/yaml/document.hpp"

namespace orrery::validate {

namespace {

// --- runs whose failures are given -------------------------------------------------------------

bool asks_scripted(const Case& asked) {
  return asked.in.has_list({"failures", "failure_times"}) && asked.in.number({"steps"});
}

// Times of the list, in the unit that its name carries.
std::vector<Seconds> failure_times(const CaseInputs& in) {
  std::vector<Seconds> times;
  for (const yaml::Entry& entry : in.row().value().entries) {
    const std::string name = lower_case(entry.key);
    if (name.find("fail") == std::string::npos) {
      continue;
    }
    const double scale = name.ends_with("_min") ? kSecondsPerMinute
                         : name.ends_with("_h") ? kSecondsPerHour
                                                : 1.0;
    for (const double at : in.row().numbers(entry.key)) {
      times.push_back(seconds(scale * at));
    }
  }
  return times;
}

Figures scripted(Case& asked) {
  const double steps = asked.in.need({"steps"});
  const Seconds step = asked.in.need_time({"step", "iter", "step_time"});
  if (!asked.in.complete() || steps > kGiga) {
    return {};
  }
  RunCase run{
      .steps = static_cast<std::int64_t>(steps),
      .step = step,
      .save_every = static_cast<std::int64_t>(
          asked.in.number({"k", "save_every", "every", "checkpoint_every"}).value_or(0.0)),
      .stall = asked.in.time({"C", "save", "stall", "checkpoint", "delta"}).value_or(Seconds{}),
      .restart = asked.in.time({"R", "restart", "recovery"}).value_or(Seconds{})};
  run.durable = asked.in.time({"D", "durable", "durable_at"});
  run.failures = failure_times(asked.in);
  const auto times = run_case(run);
  if (!times) {
    asked.reason = "the run refuses the case";
    return {};
  }
  const Seconds useful = steps * step;
  return asked.pick({{{"wall", "total", "makespan", "elapsed"}, figure(times->wall)},
                     {{"lost", "wasted", "rework"}, figure(times->lost)},
                     {{"checkpoint", "save", "ckpt"}, figure(times->checkpoint)},
                     {{"restart", "recover"}, figure(times->restart)},
                     {{"goodput", "efficiency", "ettr"}, figure(useful / times->wall)}});
}

// --- spot traces -------------------------------------------------------------------------------

bool asks_trace(const Case& asked) {
  return !asked.in.text({"file", "trace"}).empty() ||
         (asked.in.number({"drops", "preemptions"}) && asked.in.number({"instance_hours"}));
}

// The trace of this name in the first of the folders that has it.
std::optional<std::filesystem::path> find_trace(const Case& asked, const std::string& name) {
  for (const std::filesystem::path& folder : asked.folders) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(folder / name, ignored)) {
      return folder / name;
    }
  }
  return std::nullopt;
}

// A trace in the JSON of spot-traces, {metadata: {gap_seconds}, data: [...]}, at the distance of
// samples that the case states, else at its own.
std::optional<run::SpotTrace> read_trace(const Case& asked, const std::filesystem::path& path) {
  Diagnostics ignored;
  const auto document = yaml::parse_file(path, data_limits(), ignored);
  if (!document) {
    return std::nullopt;
  }
  const DataRow root(*document);
  const auto own = root.row("metadata").number("gap_seconds");
  const auto gap = asked.in.time({"gap"});
  const std::vector<std::int64_t> samples = root.integers("data");
  const Seconds distance = gap.value_or(seconds(own.value_or(0.0)));
  if (samples.empty() || !(distance > Seconds{}) ||
      *std::min_element(samples.begin(), samples.end()) < 0) {
    return std::nullopt;
  }
  return scenario::trace_of_samples(distance, samples);
}

std::int64_t most_available(const run::SpotTrace& trace) {
  std::int64_t most = 0;
  for (const run::SpotRow& row : trace.rows) {
    most = std::max(most, row.available);
  }
  return most;
}

// Nodes on average over time.
double mean_available(const run::SpotTrace& trace) {
  Seconds sum;
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    const SimTime end = i + 1 < trace.rows.size() ? trace.rows[i + 1].from : trace.length;
    sum += static_cast<double>(trace.rows[i].available) * to_seconds(end - trace.rows[i].from);
  }
  return sum / to_seconds(trace.length);
}

// Instances that could be had: their share of the most there ever were, and how many were taken
// away per hour of those that were there.
Figures from_file(Case& asked, const std::string& name) {
  const auto path = find_trace(asked, name);
  if (!path) {
    asked.reason = fmt::format(
        "the trace {} lies neither beside the data set nor in a folder of --traces, and the case "
        "states neither drops nor instance-hours",
        name);
    return {};
  }
  const auto trace = read_trace(asked, *path);
  const std::int64_t most = trace ? most_available(*trace) : 0;
  if (most == 0) {
    asked.reason = fmt::format("{} holds no samples of available instances", name);
    return {};
  }
  const double share = mean_available(*trace) / static_cast<double>(most);
  return asked.pick({{{"available", "availability"}, figure(share)},
                     {{"drop", "preempt"}, rate_figure(run::drop_rate(*trace))}});
}

Figures trace(Case& asked) {
  const auto drops = asked.in.number({"drops", "preemptions"});
  const auto held = asked.in.number({"instance_hours", "available_hours"});
  if (!drops || !held) {
    return from_file(asked, asked.in.text({"file", "trace"}));
  }
  const Figure rate = rate_figure(*drops / hours(*held));
  const auto window = asked.in.number({"hours", "slots_hours", "wanted_hours"});
  const double instances = asked.in.number({"instances", "slots", "nodes"}).value_or(1.0);
  const double share = window ? *held / (*window * instances) : 0.0;
  return asked.pick({{{"available", "availability"}, figure(share)}, {{"drop", "preempt"}, rate}});
}

constexpr std::array<CaseRule, 2> kScriptedRules = {{
    {"scripted run", asks_scripted, scripted},
    {"spot traces", asks_trace, trace},
}};

}  // namespace

std::span<const CaseRule> scripted_run_rules() {
  return kScriptedRules;
}

}  // namespace orrery::validate
