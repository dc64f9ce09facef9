#include "calibrate/import/formats.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/text/text.hpp"
#include "sim/step/cost/nccl_model.hpp"

namespace orrery::calibration_import {

namespace {

using model::CollectiveKind;

struct Operation {
  CollectiveKind kind;
  std::string_view name;     // in tables
  std::string_view program;  // of nccl-tests, without _perf
};

constexpr std::array<Operation, 6> kOperations = {
    {{CollectiveKind::all_reduce, "all_reduce", "all_reduce"},
     {CollectiveKind::all_gather, "all_gather", "all_gather"},
     {CollectiveKind::reduce_scatter, "reduce_scatter", "reduce_scatter"},
     {CollectiveKind::all_to_all, "all_to_all", "alltoall"},
     {CollectiveKind::broadcast, "broadcast", "broadcast"},
     {CollectiveKind::send_receive, "send_receive", "sendrecv"}}};

constexpr std::array<std::pair<std::string_view, std::int64_t>, 14> kTypes = {{{"char", 1},
                                                                               {"int8", 1},
                                                                               {"uint8", 1},
                                                                               {"f8e4m3", 1},
                                                                               {"f8e5m2", 1},
                                                                               {"half", 2},
                                                                               {"bfloat16", 2},
                                                                               {"int", 4},
                                                                               {"int32", 4},
                                                                               {"uint32", 4},
                                                                               {"float", 4},
                                                                               {"int64", 8},
                                                                               {"uint64", 8},
                                                                               {"double", 8}}};

constexpr std::string_view kSuffix = "_perf";

// 2.9 and later have two digits for the minor version.
constexpr std::int64_t kFirstLongCode = 10000;

std::string_view without_suffix(std::string_view program) {
  return program.substr(0, program.find(kSuffix));
}

}  // namespace

std::optional<CollectiveKind> operation_of(std::string_view program) {
  const std::string_view name = without_suffix(base_name(program));
  for (const Operation& operation : kOperations) {
    if (name == operation.program || name == operation.name) {
      return operation.kind;
    }
  }
  return std::nullopt;
}

std::string_view operation_name(CollectiveKind kind) {
  const auto* found =
      std::find_if(kOperations.begin(), kOperations.end(),
                   [kind](const Operation& operation) { return operation.kind == kind; });
  return found == kOperations.end() ? std::string_view("other") : found->name;
}

std::string_view program_in(std::string_view word) {
  std::string_view name = base_name(word);
  const std::size_t at = name.find(kSuffix);
  if (at == std::string_view::npos || at == 0) {
    return {};
  }
  name = name.substr(0, at + kSuffix.size());
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  return plain ? name : std::string_view();
}

std::optional<std::int64_t> type_size(std::string_view type) {
  for (const auto& [name, size] : kTypes) {
    if (name == type) {
      return size;
    }
  }
  if (type.starts_with("fp8") || type.starts_with("float8")) {
    return 1;
  }
  return std::nullopt;
}

std::string nccl_version_text(std::int64_t code) {
  const std::int64_t major_step = code < kFirstLongCode ? 1000 : kFirstLongCode;
  constexpr std::int64_t kMinorStep = 100;
  return fmt::format("{}.{}.{}", code / major_step, code % major_step / kMinorStep,
                     code % kMinorStep);
}

void apply_setting(std::string_view name, std::string_view value, CollectiveLog& log) {
  if (name == "NCCL_NVLS_ENABLE") {
    log.nvls_off = value == "0";
  } else if (name == "NCCL_COLLNET_ENABLE") {
    log.sharp = value == "1";
  } else if (name == "NCCL_ALGO") {
    const std::string wanted = lower_case(value);
    for (const auto& [key, algorithm] : hardware::kForcedAlgorithms) {
      if (algorithm != hardware::CollectiveAlgorithm::automatic &&
          wanted == lower_case(cost::to_string(algorithm))) {
        log.algorithm = algorithm;
      }
    }
  }
}

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
  diagnostics.error({file.name}, "",
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
