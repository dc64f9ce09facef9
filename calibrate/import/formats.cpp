#include "calibrate/import/formats.hpp"

#include <array>

namespace orrery::calibration_import {

namespace {

// More special formats first: the text of nccl-tests is what is left.
constexpr std::array<LogFormat, 5> kFormats = {
    {{"nccl-tests JSON", is_nccl_json, read_nccl_json},
     {"nvbandwidth JSON", is_nvbandwidth_json, read_nvbandwidth_json},
     {"nvbandwidth text", is_nvbandwidth_text, read_nvbandwidth_text},
     {"nccl-tests CSV", is_nccl_csv, read_nccl_csv},
     {"nccl-tests text", is_nccl_text, read_nccl_text}}};

}  // namespace

std::string_view read_log(const LogFile& file, Findings& findings, Diagnostics& diagnostics) {
  for (const LogFormat& format : kFormats) {
    if (format.recognises(file)) {
      format.read(file, findings, diagnostics);
      return format.name;
    }
  }
  // A configuration above this is not taken for one (import_config::kMostBytes).
  constexpr std::size_t kLargestConfiguration = std::size_t{4} << 20U;
  if (file.text.empty()) {
    diagnostics.error({file.name}, "", "is empty");
    return {};
  }
  if (file.text.starts_with("\x1F\x8B")) {
    diagnostics.error({file.name}, "", "is packed with gzip", "the file behind gunzip -k");
    return {};
  }
  diagnostics.error({file.name},
                    "",
                    file.text.size() > kLargestConfiguration
                        ? "holds no results of a known program, and is too large for a training "
                          "configuration (4 MiB)"
                        : "holds no results of a known program",
                    "text, CSV or JSON of nccl-tests, text or JSON of nvbandwidth, or the "
                    "configuration or log of a training run, see orrery import --help; of a log "
                    "of another program, orrery import --pattern says where the time of a step "
                    "stands");
  return {};
}

}  // namespace orrery::calibration_import
