#pragma once

// `orrery import TRACE...`: reports a measured training step in the categories of the ledger. The
// prediction beside it is `orrery compare SCENARIO TRACE...`.

#include <optional>
#include <string>
#include <vector>

#include "sim/cli/compare/compare_traces.hpp"
#include "sim/cli/frame/exit_code.hpp"

namespace orrery::calibration_import {

struct TraceImport {
  std::vector<std::string> files;
  cli::TraceOptions reading;
  std::optional<std::string> output;  // lines `measured:` for a scenario
  bool json = false;
};

// True when at least one of the files is a trace. Throws Error(io), and cli::UsageError when
// others are none.
[[nodiscard]] bool are_traces(const std::vector<std::string>& files);

[[nodiscard]] cli::ExitCode import_traces(const TraceImport& asked,
                                          const cli::InterruptWatch& watch);

// `orrery import TRACE --as-samples -o FILE`: times of kernels for `orrery calibrate --samples
// FILE` (trace_samples.hpp). One trace: ranks of one step would count a kernel several times.
struct SampleImport {
  std::vector<std::string> files;
  std::optional<std::string> output;
  std::string taken_at;  // UTC
};

[[nodiscard]] cli::ExitCode import_samples(const SampleImport& asked);

}  // namespace orrery::calibration_import
