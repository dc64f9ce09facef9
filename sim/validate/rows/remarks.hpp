#pragma once

// What is known about rows and groups of published data: row_remarks.yaml beside the data set.
//
// A suspicious row is scored like every other and flagged with its reason; statistics without such
// rows stand beside the full ones.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/validate/validation.hpp"

namespace orrery::validate {

inline constexpr std::string_view kRemarksFormat = "row-remarks/1";

struct Remarks {
  std::map<std::string, std::string> suspicious;  // id of a row -> reason
  std::vector<std::string> tuned;                 // ids of rows whose layout a team tuned
  std::vector<GroupRemark> groups;
  std::vector<std::string> notes;
  std::vector<std::filesystem::path> read;  // files that were read, each once
};

// Adds the remarks in the folder of a data set, when there are any.
void read_remarks_beside(const std::filesystem::path& file, Remarks& remarks,
                         Diagnostics& diagnostics);

// Data sets are larger than scenarios.
[[nodiscard]] yaml::Limits data_limits();

}  // namespace orrery::validate
