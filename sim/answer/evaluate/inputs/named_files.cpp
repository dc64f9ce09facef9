#include "sim/answer/evaluate/inputs/named_files.hpp"

#include <filesystem>
#include <optional>

#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::evaluate {

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
