#pragma once

// Extracts kernel samples from a traced training step, as the journal of a calibration: for users
// who have a trace but no time on the machine (the method of vTrain: profile the operators of one
// step, simulate whole runs from them).
//
//   time of a call = sum of the kernels that it launched
//   sample         = all calls of one case, in the order of the trace
//
// symbol | meaning                                                        | unit | origin
// -------|----------------------------------------------------------------|------|------------
// kernel | activity on a stream; communication and copies are left out    | us   | trace
// call   | the host operation (trace_calls.hpp) that was running when the | -    | cuda_runtime
//        | kernel was launched, on the same thread; else that of its      |      | correlation,
//        | External id                                                    |      | External id
//
// A traced kernel ran within a step: its caches are warm, its clock is that of the step and is not
// known. A kernel whose shape the trace lacks gives no sample; each reason is reported with the
// share of the kernel time that it costs.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "calibrate/samples/sample_journal.hpp"
#include "sim/base/units.hpp"

namespace orrery::calibration_import {

struct TraceSamples {
  calibrate::Fingerprint machine;
  std::vector<calibrate::Sample> samples;
  std::map<std::string, Seconds> left_out;  // time of kernels, by the reason
  Seconds taken;                            // time of kernels that are in samples
  std::int64_t calls = 0;
  std::string problem;  // empty: the trace was read
};

// `taken_at`: UTC, of all samples.
[[nodiscard]] TraceSamples read_trace_samples(const std::filesystem::path& path,
                                              const std::string& taken_at);

}  // namespace orrery::calibration_import
