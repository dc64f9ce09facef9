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
// call   | the host operation (below) that was running when the | -    | cuda_runtime
//        | kernel was launched, on the same thread; else that of its      |      | correlation,
//        | External id                                                    |      | External id
//
// A traced kernel ran within a step: its caches are warm, its clock is that of the step and is not
// known. A kernel whose shape the trace lacks gives no sample; each reason is reported with the
// share of the kernel time that it costs.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/samples/sample_journal.hpp"
#include "sim/base/units.hpp"
#include "sim/kernels/kernel_case.hpp"
#include "sim/trace/event_reader.hpp"

namespace orrery::calibration_import {

// Maps a PyTorch call to a kernel case by the operands that the profiler recorded. Nothing is
// guessed: a call whose trace lacks what the case needs is refused, with the reason.
//
// call                                  | case                      | is taken from
// --------------------------------------|---------------------------|------------------------------
// aten::mm, aten::addmm                 | gemm in bf16, fp16        | sizes; the role from strides
// aten::_scaled_mm                      | gemm in fp8_tensor        | the same, of one scale each
// aten::_scaled_dot_product_flash_,     | attention forward and     | sizes of Q, K, V and the
// efficient_ and cudnn_attention        | backward                  | value of is_causal
//
//   role of a product A B, by which operand is transposed in memory (its first stride is 1)
//     y = x W^T: B    dx = dy W: none    dW = dy^T x: A
//
// Signatures: aten/src/ATen/native/native_functions.yaml of PyTorch.

struct TracedCall {
  std::optional<kernels::KernelCase> kernel;
  std::string refusal;  // where there is none
};

// A call whose kernels can become samples.
[[nodiscard]] bool is_known_call(std::string_view name);

[[nodiscard]] TracedCall call_of(std::string_view name, const trace::Operands& operands);

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
