#pragma once

// The profiles that the rows of a data set need, each read once for hundreds of rows.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::validate {

// Stands in for a GPU that no profile names (hardware/profile_search.hpp).
inline constexpr std::string_view kUnknownGpu = "h100-sxm-80gb";

class ProfileShelf {
 public:
  explicit ProfileShelf(hardware::ProfileSearch search)
      : search_(std::move(search)),
        presets_(std::make_shared<const scenario::PresetLibrary>(search_)) {}

  // nullptr when there is no such profile or it has errors: then in `diagnostics`, once.
  // `where`: what names it.
  const hardware::GpuProfile* gpu(const std::string& name, Diagnostics& diagnostics,
                                  const SourceLocation& where = {});
  // The profile that a data set names in words; nullptr when no profile has that name.
  const hardware::GpuProfile* gpu_named(std::string_view words, Diagnostics& diagnostics);

  const hardware::SoftwareProfile* software(const std::string& name, Diagnostics& diagnostics,
                                            const SourceLocation& where = {});

  // The shipped tables of measured collectives; nullptr when there are none or one has errors.
  const hardware::SharedCollectiveTables& collectives(Diagnostics& diagnostics);

  [[nodiscard]] const std::shared_ptr<const scenario::PresetLibrary>& presets() const {
    return presets_;
  }

 private:
  hardware::ProfileSearch search_;
  std::shared_ptr<const scenario::PresetLibrary> presets_;
  std::optional<std::vector<hardware::GpuName>> gpu_names_;
  std::map<std::string, std::optional<hardware::GpuProfile>> gpus_;
  std::map<std::string, std::optional<hardware::SoftwareProfile>> software_;
  std::optional<hardware::SharedCollectiveTables> collectives_;
};

}  // namespace orrery::validate
