#include <algorithm>
#include <array>

#include "sim/run/failure_spec.hpp"

namespace orrery::run {

namespace {

constexpr double kThousandNodes = kKilo;

// The counts of Table 5 (they add up to the 419 of the text; the printed percentages do not).
std::vector<FailureCause> llama3_causes() {
  using enum FailureCategory;
  return {failure_cause("faulty GPU", gpu, 148),
          failure_cause("GPU HBM3 memory", gpu, 72),
          failure_cause("software bug", software, 54),
          failure_cause("network switch or cable", network, 35),
          failure_cause("host maintenance", maintenance, 32),
          failure_cause("GPU SRAM memory", gpu, 19),
          failure_cause("GPU system processor", gpu, 17),
          failure_cause("NIC", host, 7),
          failure_cause("NCCL watchdog timeout", unknown, 7),
          failure_cause("silent data corruption", gpu, 6),
          failure_cause("GPU thermal interface or sensor", gpu, 6),
          failure_cause("SSD", host, 3),
          failure_cause("power supply", host, 3),
          failure_cause("server chassis", host, 2),
          failure_cause("IO expansion board", host, 2),
          failure_cause("dependency", dependency, 2),
          failure_cause("CPU", host, 2),
          failure_cause("system memory", host, 2)};
}

// 419 unexpected and 47 planned interruptions in 54 days on 2,048 nodes. How long a planned stop
// took was not published: 10 min is an assumption (a published restart of 8,192 GPUs takes 6.5
// min).
FailureSpec llama3() {
  constexpr double kWindowDays = 54.0;
  constexpr double kUnexpected = 419.0;
  constexpr double kPlanned = 47.0;
  constexpr double kNodes = 2048.0;
  FailureSpec spec;
  spec.node_rate = per_day(kUnexpected / kWindowDays / kNodes);
  spec.causes = llama3_causes();
  spec.maintenance = MaintenanceSpec{per_day(kPlanned / kWindowDays), minutes(10.0)};
  return spec;
}

FailureSpec node_failures(double per_thousand, std::string_view name) {
  FailureSpec spec;
  spec.node_rate = per_thousand_node_days(per_thousand);
  spec.causes = {failure_cause(name, FailureCategory::host, 1.0)};
  return spec;
}

// About one GPU a week on 48 nodes.
FailureSpec bloom() {
  constexpr double kDaysPerFailure = 7.0;
  constexpr double kNodes = 48.0;
  FailureSpec spec;
  spec.node_rate = per_day(1.0 / kDaysPerFailure / kNodes);
  spec.causes = {failure_cause("faulty GPU", FailureCategory::gpu, 1.0)};
  return spec;
}

// At least 35 manual and an estimated 70 automatic restarts in about 60 days on 124 nodes.
FailureSpec opt() {
  constexpr double kRestarts = 105.0;
  constexpr double kDays = 60.0;
  constexpr double kNodes = 124.0;
  FailureSpec spec;
  spec.node_rate = per_day(kRestarts / kDays / kNodes);
  spec.causes = {failure_cause("host failure", FailureCategory::host, 1.0)};
  return spec;
}

std::array<FailurePreset, 6> make_presets() {
  return {{{.name = "none", .summary = "nothing ever fails", .source = "definition", .spec = {}},
           {.name = "llama3-2024",
            .summary = "3.79 per 1,000 node-days, 18 causes, 0.87 planned stops a day",
            .source = "Llama 3 (arXiv 2407.21783) sec. 3.3.4 and Table 5, by count: 419 unexpected "
                      "and 47 planned interruptions in 54 days on 16,384 H100; length of a planned "
                      "stop assumed",
            .spec = llama3()},
           {.name = "rsc1-2024",
            .summary = "6.50 per 1,000 node-days",
            .source = "Meta RSC-1, 16K A100 (HPCA 2025, arXiv 2410.21680)",
            .spec = node_failures(6.50, "node failure")},
           {.name = "rsc2-2024",
            .summary = "2.34 per 1,000 node-days",
            .source = "Meta RSC-2, 8K A100 (HPCA 2025, arXiv 2410.21680)",
            .spec = node_failures(2.34, "node failure")},
           {.name = "bloom-2022",
            .summary = "2.98 per 1,000 node-days: about one GPU a week on 48 nodes",
            .source = "BigScience tr11-176B chronicles (hangs and maintenance not included)",
            .spec = bloom()},
           {.name = "opt-2022",
            .summary = "14.1 per 1,000 node-days",
            .source = "OPT-175B (arXiv 2205.01068) sec. 2.5: 35 manual and 70 automatic restarts "
                      "in 2 months on 992 A100; the chronicles give 12.8 by restarts and 16.1 by "
                      "machines",
            .spec = opt()}}};
}

}  // namespace

std::string_view to_string(FailureCategory category) {
  constexpr std::array<std::string_view, kFailureCategoryCount> kNames = {
      "gpu", "network", "host", "maintenance", "software", "dependency", "unknown"};
  return kNames[static_cast<std::size_t>(category)];
}

std::string_view to_string(FailureScope scope) {
  constexpr std::array<std::string_view, kFailureScopeCount> kNames = {
      "gpu", "node", "rack", "switch", "power_domain", "storage", "job"};
  return kNames[static_cast<std::size_t>(scope)];
}

bool takes_node_by_default(FailureCategory category) {
  using enum FailureCategory;
  return category == gpu || category == network || category == host || category == maintenance;
}

FailureCause failure_cause(std::string_view name, FailureCategory category, double weight) {
  FailureCause cause;
  cause.name = name;
  cause.category = category;
  cause.weight = weight;
  return cause;
}

PerSecond per_thousand_node_days(double failures) {
  return per_day(failures / kThousandNodes);
}

double in_per_thousand_node_days(PerSecond rate) {
  return in_per_day(rate) * kThousandNodes;
}

std::span<const FailurePreset> failure_presets() {
  static const std::array<FailurePreset, 6> kPresets = make_presets();
  return kPresets;
}

const FailurePreset* find_failure_preset(std::string_view name) {
  const std::span<const FailurePreset> presets = failure_presets();
  const auto found = std::find_if(
      presets.begin(), presets.end(), [&](const FailurePreset& p) { return p.name == name; });
  return found == presets.end() ? nullptr : &*found;
}

}  // namespace orrery::run
