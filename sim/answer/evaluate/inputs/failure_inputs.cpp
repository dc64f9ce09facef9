#include "sim/answer/evaluate/inputs/failure_inputs.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "sim/base/files/file.hpp"
#include "sim/scenario/logs/failure_log.hpp"

namespace orrery::evaluate {

namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20U;

bool read_log(const scenario::Scenario& scenario, run::FailureSpec& failures,
              Diagnostics& diagnostics) {
  constexpr std::string_view kKey = "failures.log";
  std::filesystem::path path(failures.log);
  if (path.is_relative()) {
    path = std::filesystem::path(scenario.file).parent_path() / path;
  }
  std::error_code none;
  if (!std::filesystem::exists(path, none)) {
    diagnostics.error(scenario.where(kKey), kKey, fmt::format("there is no file {}", path.string()),
                      "a CSV file, relative to the scenario");
    return false;
  }
  failures.log_lines = scenario::read_failure_log(read_file(path, kMostBytes), path.string(),
                                                  scenario.run->training.start, diagnostics);
  return failures.log_lines.has_value();
}

}  // namespace

bool add_failure_inputs(const scenario::Scenario& scenario, run::FailureSpec& failures,
                        Diagnostics& diagnostics) {
  const hardware::ClusterSpec& cluster = scenario.cluster;
  run::FailureDomains& domains = failures.domains;
  if (!domains.network_switch && !cluster.network.tiers.empty()) {
    domains.network_switch = cluster.network.tiers.front().nodes;
  }
  const std::int64_t nvlink = hardware::nvlink_gpus(cluster);
  if (!domains.rack && nvlink > cluster.gpus_per_node) {
    domains.rack = nvlink / cluster.gpus_per_node;
  }
  return failures.log.empty() || read_log(scenario, failures, diagnostics);
}

}  // namespace orrery::evaluate
