#include "sim/answer/evaluate/inputs/named_files.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "sim/base/files/file.hpp"
#include "sim/scenario/logs/failure_log.hpp"
#include "sim/step/hardware/profile_reader.hpp"

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

std::vector<FileStamp> named_files(const scenario::Scenario& scenario) {
  std::vector<FileStamp> files;
  const auto add = [&files](const std::optional<std::filesystem::path>& path) {
    constexpr std::size_t kMostBytes = std::size_t{64} << 20U;  // as it is read
    if (path) {
      files.push_back(stamp_of(*path, read_file(*path, kMostBytes)));
    }
  };
  const SourceLocation here{scenario.file, 0, 0};
  add(hardware::named_profile(scenario.cluster.gpu, here));
  for (const hardware::MixedNodes& block : scenario.cluster.mixed) {
    add(hardware::named_profile(block.gpu, here));
  }
  add(hardware::named_profile(scenario.software, here));
  add(hardware::named_tables(scenario.cluster.network, here));
  if (!scenario.run) {
    return files;
  }
  if (!scenario.run->failures.log.empty()) {
    add(hardware::file_beside(scenario.run->failures.log, here));
  }
  if (scenario.run->capacity.spot) {
    for (const auto& zone : scenario.run->capacity.spot->zones) {
      if (!zone.path.empty()) {
        add(hardware::file_beside(zone.path, here));
      }
    }
  }
  return files;
}

}  // namespace orrery::evaluate
