#pragma once

// Which profiles do the rows of a data set need? Each read once, for hundreds of rows.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/hardware/profile_reader.hpp"

namespace orrery::validate {

class ProfileShelf {
 public:
  explicit ProfileShelf(hardware::ProfileSearch search) : search_(std::move(search)) {}

  // nullptr when there is no such profile, or when it has errors (then in `diagnostics`).
  const hardware::GpuProfile* gpu(const std::string& name, Diagnostics& diagnostics);
  // The profile that a data set names in words; nullptr when no profile has that name.
  const hardware::GpuProfile* gpu_named(std::string_view words, Diagnostics& diagnostics);

  const hardware::SoftwareProfile* software(const std::string& name, Diagnostics& diagnostics);

  // The shipped tables of measured collectives; nullptr when there are none or one has errors.
  const hardware::SharedCollectiveTables& collectives(Diagnostics& diagnostics);

  // The profile of a training stack: of its own name, else by the table of stacks.
  const hardware::SoftwareProfile* software_of_stack(const std::string& stack,
                                                     Diagnostics& diagnostics);

 private:
  hardware::ProfileSearch search_;
  std::optional<std::vector<hardware::GpuName>> gpu_names_;
  std::map<std::string, std::optional<hardware::GpuProfile>> gpus_;
  std::map<std::string, std::optional<hardware::SoftwareProfile>> software_;
  std::optional<hardware::SharedCollectiveTables> collectives_;
};

}  // namespace orrery::validate
