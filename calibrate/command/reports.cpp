
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "calibrate/command/calibrate_command.hpp"
#include "calibrate/plan/sweep_cases.hpp"
#include "calibrate/samples/sample.hpp"
#include "sim/base/error.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using Kind = std::tuple<kernels::Operation, kernels::Role, kernels::Precision>;

std::string name_of(const Kind& kind) {
  const auto& [operation, role, precision] = kind;
  std::string name(kernels::to_string(operation));
  if (role != kernels::Role::none) {
    name += " " + std::string(kernels::to_string(role));
  }
  return name + " " + std::string(kernels::to_string(precision));
}

bool counts_flop(const KernelCase& kernel) { return kernels::work_of(kernel).flop > flop(0.0); }

double median_seconds(const Sample& sample) {
  return in_seconds(microseconds(summarise(sample.times).median));
}

double rate_of(const Sample& sample) {
  const kernels::Work work = kernels::work_of(sample.kernel);
  const double amount = counts_flop(sample.kernel) ? in_flop(work.flop) : in_bytes(work.moved());
  return amount / median_seconds(sample);
}

FamilyRates family_of(const Kind& kind, const std::vector<const Sample*>& samples) {
  FamilyRates family;
  family.name = name_of(kind);
  family.counts_flop = counts_flop(samples.front()->kernel);
  family.points = static_cast<std::int64_t>(samples.size());
  family.implementation = samples.front()->implementation;
  std::vector<double> rates;
  std::vector<double> errors;
  for (const Sample* sample : samples) {
    rates.push_back(rate_of(*sample));
    errors.push_back(summarise(sample->times).error);
    if (sample->implementation != family.implementation) {
      family.implementation = "mixed";
    }
  }
  const auto [low, high] = std::ranges::minmax_element(rates);
  family.low = *low;
  family.high = *high;
  family.median = summarise(rates).median;
  family.noise = summarise(errors).median;
  return family;
}

void add_anchor(const Sample& sample, SweepSummary& summary) {
  if (sample.kernel != anchor_case() || sample.repeat != 0 || !sample.condition.alone()) {
    return;
  }
  const bool burst = sample.regime == Regime::burst;
  (burst ? summary.burst : summary.sustained) = rate_of(sample);
  (burst ? summary.burst_clock : summary.sustained_clock) = sample.state.sm_clock;
}

// Rates of copies set the measure for everything that only moves bytes.
void compare_with_copies(std::vector<FamilyRates>& families) {
  const auto copy = std::ranges::find_if(
      families, [](const FamilyRates& family) { return family.name.starts_with("copy "); });
  if (copy == families.end()) {
    return;
  }
  const double best = copy->high;
  for (FamilyRates& family : families) {
    const bool over_pcie =
        family.name.starts_with("host_to_device") || family.name.starts_with("device_to_host");
    if (!family.counts_flop && !over_pcie) {
      family.of_copy = family.high / best;
    }
  }
}

double spread(const std::vector<double>& values) {
  if (values.size() < 2) {
    return 0.0;
  }
  const auto [low, high] = std::ranges::minmax_element(values);
  return (*high - *low) / summarise(values).median;
}

}  // namespace

SweepSummary summarise(const Measurements& measurements, const SweepReport& report) {
  SweepSummary summary;
  summary.fingerprint = measurements.fingerprint;
  summary.report = report;
  std::map<Kind, std::vector<const Sample*>> kinds;
  // By operation, precision, role: equal names stand together.
  const auto by_name = [](const Kind& a, const Kind& b) {
    return std::tie(std::get<0>(a), std::get<2>(a), std::get<1>(a)) <
           std::tie(std::get<0>(b), std::get<2>(b), std::get<1>(b));
  };
  std::set<Kind, decltype(by_name)> unsupported(by_name);
  std::set<std::string> throttled;
  std::vector<double> anchors;
  for (const Sample& sample : measurements.samples) {
    const KernelCase& kernel = sample.kernel;
    const Kind kind = {kernel.operation, kernel.role, kernel.precision};
    throttled.insert(sample.state.throttled.begin(), sample.state.throttled.end());
    if (is_failure(sample)) {
      summary.failures.push_back(
          fmt::format("{}: {}", kernels::to_text(sample.kernel), sample.status));
      continue;
    }
    if (!sample.supported && !sample.condition.alone()) {
      continue;
    }
    if (!sample.supported) {
      unsupported.insert(kind);
      continue;
    }
    add_anchor(sample, summary);
    if (sample.repeat != 0) {
      anchors.push_back(median_seconds(sample));
    } else {
      ++summary.points;
      if (is_evidence(sample)) {
        kinds[kind].push_back(&sample);
      }
    }
  }
  for (const auto& [kind, samples] : kinds) {
    summary.families.push_back(family_of(kind, samples));
  }
  compare_with_copies(summary.families);
  for (const Kind& kind : unsupported) {
    const auto& [operation, role, precision] = kind;
    const std::string name = name_of({operation, kernels::Role::none, precision});
    const bool said = !summary.unsupported.empty() && summary.unsupported.back() == name;
    if (!kinds.contains(kind) && !said) {
      summary.unsupported.push_back(name);
    }
  }
  summary.throttled.assign(throttled.begin(), throttled.end());
  summary.derived = derived_figures(measurements.samples);
  summary.first_choices = first_choices(measurements.samples);
  summary.anchors = static_cast<std::int64_t>(anchors.size());
  summary.anchor_spread = spread(anchors);
  return summary;
}

namespace {

std::string rate_text(const FamilyRates& family, double rate) {
  return family.counts_flop ? format_flop_rate(flop_per_second(rate))
                            : format_bandwidth(bytes_per_second(rate));
}

std::string family_line(const FamilyRates& family) {
  return fmt::format("  {:<40} {:>6} {:>14} {:>14} {:>8} {:>7}\n", family.name, family.points,
                     rate_text(family, family.median), rate_text(family, family.high),
                     family.of_copy ? format_percent(*family.of_copy) : "",
                     format_percent(family.noise));
}

std::string clock_text(const std::optional<double>& clock) {
  return clock ? fmt::format(" at {:.0f} MHz", *clock) : std::string();
}

std::string anchor_text(const SweepSummary& summary) {
  std::string text;
  const auto add = [&text](std::string_view name, const std::optional<double>& rate,
                           const std::optional<double>& clock) {
    if (rate) {
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", name,
                          format_flop_rate(flop_per_second(*rate)), clock_text(clock));
    }
  };
  add("from idle", summary.burst, summary.burst_clock);
  add("sustained", summary.sustained, summary.sustained_clock);
  return text;
}

Json family_json(const FamilyRates& family) {
  return {{"name", family.name},
          {"unit", family.counts_flop ? "flop_per_s" : "bytes_per_s"},
          {"points", family.points},
          {"low", family.low},
          {"median", family.median},
          {"high", family.high},
          {"of_copy", family.of_copy},
          {"noise", family.noise},
          {"implementation", family.implementation}};
}

// Only what no line above says: copies and bursts stand there.
std::string derived_text(const DerivedFigures& figures) {
  struct Words {
    std::string_view name;
    std::string_view sentence;
    double scale;
    std::string_view unit;
  };

  constexpr std::array kWords = {
      Words{"graph_node_us", "a kernel in a graph takes at least", 1.0, "us"},
      Words{"graph_launch_us", "the launch of a graph", 1.0, "us"},
      Words{"stream_launch_us", "a kernel launched by itself at least", 1.0, "us"},
      Words{"d2h_gemm_slowdown", "a product beside a copy to the host takes", 1.0, "times as long"},
      Words{"gemm_slowdown_per_sm_removed",
            "a product takes longer per multiprocessor that others use, by", kPercent, "%"},
      Words{"gemm_slowdown_under_collective", "a product beside a collective takes", 1.0,
            "times as long"}};
  std::string text;
  for (const auto& [name, value] : figures) {
    for (const Words& words : kWords) {
      if (words.name == name) {
        text += fmt::format("  {} {:.3g} {}\n", words.sentence, value * words.scale, words.unit);
      }
    }
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string to_text(const SweepSummary& summary) {
  std::string text =
      fmt::format("{}, compute capability {}\n{} points", summary.fingerprint.gpu,
                  summary.fingerprint.compute_capability, format_integer(summary.points));
  if (summary.anchors > 1) {
    text += fmt::format(", the anchor measured {} times within {}", summary.anchors,
                        format_percent(summary.anchor_spread));
  }
  text += "\n";
  const std::string anchor = anchor_text(summary);
  if (!anchor.empty()) {
    text += fmt::format("8192 x 8192 x 8192 in bf16: {}\n", anchor);
  }
  text += fmt::format("\n  {:<40} {:>6} {:>14} {:>14} {:>8} {:>7}\n", "kernel", "points", "median",
                      "best", "of copy", "noise");
  for (const FamilyRates& family : summary.families) {
    text += family_line(family);
  }
  text += derived_text(summary.derived);
  if (const FirstChoices& choices = summary.first_choices; choices.searched > 0) {
    text += fmt::format(
        "\ncuBLASLt's first choice of an algorithm takes {:.3f} times its best (median of {} "
        "products\nwhose algorithms were all timed; at worst {:.3f} times, beyond 2 %: {})\n",
        choices.median, choices.searched, choices.worst, choices.beyond);
  }
  if (!summary.unsupported.empty()) {
    text += "\nnot offered by this GPU or its libraries:\n";
    for (const std::string& name : summary.unsupported) {
      text += fmt::format("  {}\n", name);
    }
  }
  if (!summary.failures.empty()) {
    text += "\nleft out, because it is wrong or fails here:\n";
    for (const std::string& failure : summary.failures) {
      text += fmt::format("  {}\n", failure);
    }
  }
  if (!summary.throttled.empty()) {
    text += fmt::format("\nthe clock was held back by: {}\n", fmt::join(summary.throttled, ", "));
  }
  for (const std::string& warning : summary.report.warnings) {
    text += fmt::format("\nwarning: {}\n", warning);
  }
  return text;
}

std::string to_json(const SweepSummary& summary) {
  Json derived = Json::object();
  for (const auto& [name, value] : summary.derived) {
    derived[std::string(name)] = value;
  }
  return json_text({{"schema", "orrery-calibration/1"},
                    {"fingerprint", json_of(summary.fingerprint)},
                    {"points", summary.points},
                    {"anchor",
                     {{"burst_flop_per_s", summary.burst},
                      {"sustained_flop_per_s", summary.sustained},
                      {"burst_clock_mhz", summary.burst_clock},
                      {"sustained_clock_mhz", summary.sustained_clock},
                      {"repeats", summary.anchors},
                      {"spread", summary.anchor_spread}}},
                    {"families", json_list(summary.families, family_json)},
                    {"derived", std::move(derived)},
                    {"first_choice_over_best",
                     {{"searched", summary.first_choices.searched},
                      {"median", summary.first_choices.median},
                      {"worst", summary.first_choices.worst},
                      {"beyond_2_percent", summary.first_choices.beyond}}},
                    {"unsupported", summary.unsupported},
                    {"failures", summary.failures},
                    {"throttled", summary.throttled},
                    {"blocks_repeated", summary.report.blocks_repeated},
                    {"warnings", summary.report.warnings}});
}

namespace {

CheckRow check_one(Bench& bench, const kernels::KernelCase& kernel) {
  CheckRow row{.kernel = kernel, .supported = true, .status = {}, .verification = {}};
  try {
    row.verification = bench.verify(kernel);
  } catch (const kernels::Unsupported& unsupported) {
    row.supported = false;
    row.status = unsupported.status();
  } catch (const Error& error) {
    row.verification.where = error.what();  // the other kernels are checked all the same
  }
  return row;
}

std::string_view verdict(const CheckRow& row) {
  if (!row.supported) {
    return "absent";
  }
  return row.verification.passed ? "pass" : "FAIL";
}

}  // namespace

CheckReport check_all(Bench& bench, std::stop_token stop,
                      const std::function<void(std::int64_t done, std::int64_t all)>& progress) {
  CheckReport report;
  report.fingerprint = bench.fingerprint();
  const std::vector<kernels::KernelCase> cases = check_cases();
  for (const kernels::KernelCase& kernel : cases) {
    if (stop.stop_requested() || report.lost) {
      ++report.not_run;
      continue;
    }
    CheckRow row = check_one(bench, kernel);
    report.lost = row.supported && !row.verification.passed && !bench.usable();
    if (!row.supported) {
      ++report.unsupported;
    } else {
      ++(row.verification.passed ? report.passed : report.failed);
    }
    report.rows.push_back(std::move(row));
    progress(static_cast<std::int64_t>(report.rows.size()),
             static_cast<std::int64_t>(cases.size()));
  }
  return report;
}

std::string to_text(const CheckReport& report) {
  std::string text = fmt::format("{}, compute capability {}\n\n", report.fingerprint.gpu,
                                 report.fingerprint.compute_capability);
  for (const CheckRow& row : report.rows) {
    const std::string& why = row.supported ? row.verification.where : row.status;
    const bool explains = verdict(row) != "pass";
    text += fmt::format("{:<6}  {:>9}  {}{}{}\n", verdict(row),
                        row.supported ? fmt::format("{:.3f}", row.verification.worst_error) : "-",
                        kernels::to_text(row.kernel), explains ? "\n                   " : "",
                        explains ? why : "");
  }
  if (report.lost) {
    text += "\nthe GPU answers no more after that: the rest needs another run\n";
  }
  if (report.not_run > 0) {
    text += fmt::format("\n{} cases were not run\n", report.not_run);
  }
  text += fmt::format(
      "\n{} passed, {} failed, {} not offered by this GPU or its libraries; the figure is the "
      "largest error\nin tolerances of the format.\n",
      report.passed, report.failed, report.unsupported);
  return text;
}

std::string to_json(const CheckReport& report) {
  const auto row_json = [](const CheckRow& row) {
    Json json = {{"case", kernels::to_text(row.kernel)}, {"verdict", verdict(row)}};
    if (row.supported) {
      json["error"] = row.verification.worst_error;
      json["compared"] = row.verification.compared;
      json["where"] = row.verification.where;
    } else {
      json["status"] = row.status;
    }
    return json;
  };
  return json_text({{"schema", "orrery-kernel-check/1"},
                    {"fingerprint", json_of(report.fingerprint)},
                    {"passed", report.passed},
                    {"failed", report.failed},
                    {"unsupported", report.unsupported},
                    {"not_run", report.not_run},
                    {"rows", json_list(report.rows, row_json)}});
}

namespace {

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json json_of(const kernels::ListedGpu& gpu, const std::vector<hardware::GpuName>& names) {
  const auto profiles = hardware::profiles_of_device(names, gpu.name);
  return {{"name", gpu.name},
          {"memory_bytes", gpu.memory},
          {"profile", profiles.size() == 1 ? Json(profiles.front()) : Json(nullptr)}};
}

}  // namespace

std::string to_json(const BuildParts& parts, const kernels::GpuList& machine) {
  const auto names = hardware::gpu_names(hardware::default_search({}));
  const auto gpu_json = [&names](const kernels::ListedGpu& gpu) { return json_of(gpu, names); };
  return json_text({{"schema", "orrery-machine/1"},
                    {"build",
                     {{"cuda", text_or_null(parts.cuda)},
                      {"collectives", parts.collectives},
                      {"cudnn_attention", parts.cudnn_attention},
                      {"missing", parts.missing},
                      {"absent", parts.absent}}},
                    {"driver",
                     {{"installed", machine.installed},
                      {"version", text_or_null(machine.driver)},
                      {"cuda", text_or_null(machine.cuda)},
                      {"absence", text_or_null(machine.absence)}}},
                    {"gpus", json_list(machine.gpus, gpu_json)}});
}

}  // namespace orrery::calibrate
