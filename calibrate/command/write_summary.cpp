#include <fmt/core.h>
#include <fmt/format.h>

#include <array>

#include "calibrate/command/sweep_summary.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"

namespace orrery::calibrate {

namespace {

std::string rate_text(const FamilyRates& family, double rate) {
  return family.counts_flop ? format_flop_rate(flop_per_second(rate))
                            : format_bandwidth(bytes_per_second(rate));
}

std::string family_line(const FamilyRates& family) {
  return fmt::format("  {:<40} {:>6} {:>14} {:>14} {:>8} {:>7}\n",
                     family.name,
                     family.points,
                     rate_text(family, family.median),
                     rate_text(family, family.high),
                     family.of_copy ? format_percent(*family.of_copy) : "",
                     format_percent(family.noise));
}

std::string clock_text(const std::optional<double>& clock) {
  return clock ? fmt::format(" at {:.0f} MHz", *clock) : std::string();
}

std::string anchor_text(const SweepSummary& summary) {
  std::string text;
  const auto add = [&text](std::string_view name,
                           const std::optional<double>& rate,
                           const std::optional<double>& clock) {
    if (rate) {
      text += fmt::format("{}{} {}{}",
                          text.empty() ? "" : ", ",
                          name,
                          format_flop_rate(flop_per_second(*rate)),
                          clock_text(clock));
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
            "a product takes longer per multiprocessor that others use, by",
            kPercent,
            "%"},
      Words{"gemm_slowdown_under_collective",
            "a product beside a collective takes",
            1.0,
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
  std::string text = fmt::format("{}, compute capability {}\n{} points",
                                 summary.fingerprint.gpu,
                                 summary.fingerprint.compute_capability,
                                 format_integer(summary.points));
  if (summary.anchors > 1) {
    text += fmt::format(", the anchor measured {} times within {}",
                        summary.anchors,
                        format_percent(summary.anchor_spread));
  }
  text += "\n";
  const std::string anchor = anchor_text(summary);
  if (!anchor.empty()) {
    text += fmt::format("8192 x 8192 x 8192 in bf16: {}\n", anchor);
  }
  text += fmt::format("\n  {:<40} {:>6} {:>14} {:>14} {:>8} {:>7}\n",
                      "kernel",
                      "points",
                      "median",
                      "best",
                      "of copy",
                      "noise");
  for (const FamilyRates& family : summary.families) {
    text += family_line(family);
  }
  text += derived_text(summary.derived);
  if (const FirstChoices& choices = summary.first_choices; choices.searched > 0) {
    text += fmt::format(
        "\ncuBLASLt's first choice of an algorithm takes {:.3f} times its best (median of {} "
        "products\nwhose algorithms were all timed; at worst {:.3f} times, beyond 2 %: {})\n",
        choices.median,
        choices.searched,
        choices.worst,
        choices.beyond);
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

}  // namespace orrery::calibrate
