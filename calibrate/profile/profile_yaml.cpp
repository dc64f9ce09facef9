// The text of a calibration profile: every figure in the shortest spelling that reads back the
// same.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibrate/profile/build_profile.hpp"
#include "sim/base/yaml/flow_text.hpp"

namespace orrery::calibrate {

namespace {

using yaml::in_quotes;

using hardware::CalibrationFit;
using hardware::CalibrationProfile;
using hardware::FieldKind;

constexpr std::string_view kHead =
    "# Measured on one machine: see docs/calibration.md. Stands wherever a GPU profile stands\n"
    "# (cluster.gpu: this-file.yaml). Written by the calibration; edit nothing but `base`.\n";

std::string field_text(const FieldKind kind, const std::string& value) {
  if (value == hardware::kUnknownField) {
    return value;
  }
  switch (kind) {
    case FieldKind::list: {
      std::string items;
      std::string_view rest = value;
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(", "), rest.size());
        items += (items.empty() ? "" : ", ") + in_quotes(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 2, rest.size()));
      }
      return "[" + items + "]";
    }
    case FieldKind::text:
      return in_quotes(value);
    default:
      return value;
  }
}

// Groups of fields that share the words before their last dot follow one another.
std::string fingerprint_text(const CalibrationProfile& profile) {
  std::string text = fmt::format("fingerprint:\n  id: {}\n", profile.id);
  std::vector<std::string_view> open;
  const auto fields = hardware::fingerprint_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::vector<std::string_view> groups;
    std::string_view name = fields[i].key;
    for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
      groups.push_back(name.substr(0, dot));
      name.remove_prefix(dot + 1);
    }
    std::size_t same = 0;
    while (same < std::min(groups.size(), open.size()) && groups[same] == open[same]) {
      ++same;
    }
    for (std::size_t level = same; level < groups.size(); ++level) {
      text += fmt::format("{:{}}{}:\n", "", 2 * (level + 1), groups[level]);
    }
    open = groups;
    text += fmt::format("{:{}}{}: {}\n", "", 2 * (groups.size() + 1), name,
                        field_text(fields[i].kind, profile.fingerprint.values[i]));
  }
  return text;
}

std::string optional_text(std::string_view key, const std::optional<double>& value) {
  return value ? fmt::format(", {}: {}", key, *value) : std::string();
}

// The kernel that ran, where its maker has a name.
std::string implementation_text(std::string_view before, const std::string& name) {
  return name.empty() ? std::string()
                      : fmt::format("{}implementation: {}", before, in_quotes(name));
}

std::string sample_text(const hardware::CalibrationSample& sample) {
  std::string text = fmt::format("  - {{id: {}, case: {}{}, regime: {}, n: {}", sample.id,
                                 in_quotes(kernels::to_text(sample.call)),
                                 implementation_text(", ", sample.implementation),
                                 sample.burst ? "burst" : "sustained", sample.count);
  text += fmt::format(", us: {{median: {}, p10: {}, p90: {}, min: {}}}",
                      in_microseconds(sample.median), in_microseconds(sample.p10),
                      in_microseconds(sample.p90), in_microseconds(sample.minimum));
  if (sample.fitted) {
    text += fmt::format(", fit_us: {}", in_microseconds(*sample.fitted));
  }
  if (sample.moved) {
    text += fmt::format(", bytes: {}", in_bytes(*sample.moved));
  }
  text += optional_text("clk_mhz", sample.clock_mhz);
  text += optional_text("power_w", sample.power_watts);
  text += optional_text("heuristic0_over_best", sample.first_over_best);
  return text + "}\n";
}

std::string range_text(const CalibrationFit& fit) {
  const bool by_bytes = kernels::is_memory_bound(fit.operation);
  const auto& axes = kernels::row_of(fit.operation).axes;
  std::string text;
  for (std::size_t i = 0; i < hardware::place_axes(fit.operation); ++i) {
    text +=
        fmt::format("{}{}: [{}, {}]", text.empty() ? "" : ", ",
                    by_bytes ? std::string_view("bytes") : axes[i], fit.lowest[i], fit.highest[i]);
  }
  return text;
}

std::string line_text(const FitReport& report) {
  const CalibrationFit& fit = report.fit;
  const bool products = !kernels::is_memory_bound(fit.operation);
  const double per_flop = kTera / kMicro;
  const double per_byte = kGiga / kMicro;
  std::string text =
      fmt::format("    model: {}\n    a_us: {}\n",
                  products ? "t = a + b F + c B, F in whole tiles and waves" : "t = a + c B",
                  in_microseconds(fit.line.a));
  if (products) {
    text += fmt::format("    b_us_per_tflop: {}\n", fit.line.b * per_flop);
  }
  text += fmt::format("    c_us_per_gb: {}\n", fit.line.c * per_byte);
  text += fmt::format(
      "    deviation: {{a_us: {:.3g}, b_us_per_tflop: {:.3g}, c_us_per_gb: {:.3g}}}\n",
      report.deviation[0] / kMicro, report.deviation[1] * per_flop, report.deviation[2] * per_byte);
  return text;
}

std::string law_text(const CalibrationFit& fit) {
  const hardware::AttentionFit& law = *fit.attention;
  std::string text = "    model: t = F / (rate / (1 + s0 / s))\n";
  text += fmt::format("    rate_tflops: {}\n", in_teraflop_per_second(law.rate));
  const auto add = [&text](std::string_view key, const std::optional<double>& value) {
    if (value) {
      text += fmt::format("    {}: {}\n", key, *value);
    }
  };
  add("half_length", law.half_length);
  add("full_ratio", law.full_ratio);
  add("backward_ratio", law.backward_ratio);
  add("head_64", law.head_64);
  add("head_256", law.head_256);
  return text;
}

std::string fit_text(const FitReport& report) {
  const CalibrationFit& fit = report.fit;
  std::string text = fmt::format("  - op: {}\n", kernels::to_string(fit.operation));
  if (fit.role != kernels::Role::none) {
    text += fmt::format("    role: {}\n", kernels::to_string(fit.role));
  }
  text += fmt::format("    dtype: {}{}\n", kernels::to_string(fit.precision),
                      implementation_text("\n    ", fit.implementation));
  text += fit.attention ? law_text(fit) : line_text(report);
  if (fit.line.trust) {
    text += fmt::format("    trust: {}\n", *fit.line.trust);
  }
  text += fmt::format("    range: {{{}}}\n", range_text(fit));
  const hardware::FitResidual& residual = fit.line.residual;
  text += fmt::format("    residual: {{points: {}, mean: {}, median: {}, p90: {}", residual.points,
                      residual.mean, residual.median, residual.p90);
  if (!report.worst.empty()) {
    text += fmt::format(", five_fold: {:.4g}, worst: {}", report.five_fold, report.worst);
  }
  return text + "}\n";
}

template <typename E, std::size_t N>
std::string_view name_of(const std::array<hardware::NamedValue<E>, N>& names, E value) {
  for (const auto& named : names) {
    if (named.value == value) {
      return named.name;
    }
  }
  return {};
}

std::string_view operation_name(model::CollectiveKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"all_reduce", "all_gather", "reduce_scatter",
                                                      "all_to_all", "broadcast",  "send_receive"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string table_text(const hardware::CollectiveTable& table) {
  std::string text = fmt::format(
      "    # alpha {:.3g} us, beta {:.4g} us/GB\n"
      "    - rig: {}\n      gpu: {}\n      operation: {}\n      ranks: {}\n      nodes: {}\n"
      "      nvlink_domain: {}\n      nvls: {}\n",
      in_microseconds(table.alpha), table.beta * kGiga / kMicro, in_quotes(table.rig), table.gpu,
      operation_name(table.operation), table.ranks, table.nodes, table.nvlink_domain, table.nvls);
  if (table.nics_per_node > 0) {
    text += fmt::format("      fabric: {}\n      nic_rate: {}GB/s\n      nics_per_node: {}\n",
                        name_of(hardware::kFabricNames, table.fabric),
                        in_gigabytes_per_second(table.nic_rate), table.nics_per_node);
  }
  text += fmt::format("      source: measured\n      citation: {}\n      points:\n",
                      in_quotes(table.source.citation));
  for (const hardware::CollectivePoint& point : table.points) {
    text +=
        fmt::format("        - [{}B, {}us]\n", in_bytes(point.size), in_microseconds(point.time));
  }
  return text;
}

std::string collectives_text(const CalibrationProfile& profile) {
  if (!profile.collectives) {
    return "collectives: absent\n";
  }
  const hardware::CollectiveTable& first = profile.collectives->tables.front();
  std::string text = fmt::format("collectives:\n  format: orrery-collectives/1\n  arch: {}\n",
                                 to_string(first.arch));
  if (first.nvlink > BytesPerSecond{}) {
    text += fmt::format("  nvlink: {}GB/s\n", in_gigabytes_per_second(first.nvlink));
  }
  text += fmt::format("  as_of: \"{}\"\n  tables:\n", profile.measured_at);
  for (const hardware::CollectiveTable& table : profile.collectives->tables) {
    text += table_text(table);
  }
  return text;
}

std::string remarks_text(const BuiltProfile& built) {
  std::string text = "quality:\n  warnings: [";
  for (std::size_t i = 0; i < built.warnings.size(); ++i) {
    text += (i == 0 ? "" : ", ") + in_quotes(built.warnings[i]);
  }
  return text + "]\n";
}

// The latest curve: each time the GPU is loaded from idle the journal holds one.
std::string settling_text(const BuiltProfile& built) {
  if (built.settling.empty()) {
    return {};
  }
  const SettlingCurve& curve = built.settling.back();
  std::string text =
      fmt::format("settling:\n  case: {}\n  points:\n", in_quotes(kernels::to_text(curve.kernel)));
  for (const SettlingPoint& point : curve.points) {
    text += fmt::format("    - {{s: {}, us: {}{}{}}}\n", point.since_load, point.time,
                        optional_text("clk_mhz", point.sm_clock),
                        optional_text("power_w", point.power));
  }
  return text;
}

}  // namespace

std::string profile_yaml(const BuiltProfile& built, const ProfileRequest& request) {
  const CalibrationProfile& profile = built.profile;
  std::string text(kHead);
  text += fmt::format("schema: {}\nbase: {}\n", hardware::kCalibrationSchema, profile.base);
  text += fingerprint_text(profile);
  text += fmt::format("measured_at: {}\n", in_quotes(profile.measured_at));
  if (!request.protocol.empty()) {
    text += "protocol:\n";
    for (const auto& [key, value] : request.protocol) {
      text += fmt::format("  {}: {}\n", key, in_quotes(value));
    }
  }
  if (!request.raw_file.empty()) {
    text += fmt::format("raw: {}\n", in_quotes(request.raw_file));
  }
  text += "samples:\n";
  for (const hardware::CalibrationSample& sample : profile.samples) {
    text += sample_text(sample);
  }
  if (!profile.unsupported.empty()) {
    text += "unsupported:\n";
    for (const hardware::UnsupportedCase& one : profile.unsupported) {
      text += fmt::format("  - {{case: {}, status: {}}}\n", in_quotes(kernels::to_text(one.call)),
                          in_quotes(one.status.empty() ? "no reason was given" : one.status));
    }
  }
  text += "fits:\n";
  for (const FitReport& report : built.reports) {
    text += fit_text(report);
  }
  if (!profile.derived.empty()) {
    text += "derived:\n";
    for (const auto& [name, value] : profile.derived) {
      text += fmt::format("  {}: {}\n", name, value);
    }
  }
  return text + collectives_text(profile) + settling_text(built) + remarks_text(built);
}

}  // namespace orrery::calibrate
