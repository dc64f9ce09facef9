#pragma once

// `orrery calibrate`: measures the kernels of a training step on this GPU and writes a profile.
//
//   orrery calibrate -o my-cluster.yaml            full sweep, then the profile
//   orrery calibrate --quick -o my-cluster.yaml    under a minute
//   orrery calibrate --scenario run.yaml ...       the exact shapes of its step first
//   orrery calibrate --check                       checks every kernel's result
//   orrery calibrate --list                        what would be measured; needs no GPU
//   mpirun -np 8 orrery calibrate --collectives -o ...   NCCL between the GPUs, one process each
//   ... --collectives --choices -o ...             then: algorithm and protocol of each of them
//   orrery calibrate --machine                     what this build and this machine offer
//   orrery calibrate --samples FILE -o ...         the profile again from its samples; needs no GPU
//
// Samples go to `my-cluster.samples.jsonl` as they are taken; the same command resumes there. The
// GPU is behind a factory, so that tests run the whole command on a bench of formulas.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "calibrate/profile/kernel_points.hpp"
#include "calibrate/samples/sample.hpp"
#include "calibrate/sweep/bench.hpp"
#include "calibrate/sweep/sweep_runner.hpp"
#include "kernels/nvml/nvml.hpp"
#include "sim/cli/frame/exit_code.hpp"

namespace orrery::calibrate {

// Reports what this build and this machine's GPUs can measure, for `orrery doctor`.
//
//   orrery calibrate --machine        JSON, "orrery-machine/1"; needs no GPU and no driver

struct BuildParts {
  std::string cuda = {};  // "13.0.88"; empty without CUDA
  bool collectives = false;
  bool cudnn_attention = false;
  std::vector<std::string> missing = {};  // libraries without which the program does not start
  std::vector<std::string> absent = {};   // what else is not here, and what that costs
};

[[nodiscard]] std::string to_json(const BuildParts& parts, const kernels::GpuList& machine);

using BenchFactory = std::function<std::unique_ptr<Bench>(int device)>;

// What the command asks of the machine.
struct Devices {
  BenchFactory bench;
  CollectiveRunner collectives;
  BuildParts parts = {};
};

// Throws UsageError and Error as sim/cli/frame/program.hpp says.
[[nodiscard]] cli::ExitCode calibrate_command(int argc, const char* const* argv,
                                              const Devices& devices);

// One-screen summary of a calibration: rates by family, the cost of the power limit, what the
// machine does not offer, and how quiet it was.
//
//   rate of a product or of attention = FLOP / median time; of the rest = bytes moved / median time
//   of copy                           = rate / best rate of the device copies

struct FamilyRates {
  std::string name;  // "gemm fprop bf16"
  bool counts_flop = false;
  std::int64_t points = 0;
  double low = 0.0;  // FLOP/s or byte/s
  double median = 0.0;
  double high = 0.0;
  double noise = 0.0;             // median relative standard error of the medians
  std::optional<double> of_copy;  // of `high`, where bytes count
  std::string implementation;     // of the points; several: "mixed"
};

struct SweepSummary {
  Fingerprint fingerprint;
  std::vector<FamilyRates> families;      // by operation, role, precision
  std::optional<double> burst;            // FLOP/s of the anchor from idle
  std::optional<double> sustained;        // of the same shape
  std::optional<double> burst_clock;      // MHz
  std::optional<double> sustained_clock;  // MHz
  std::vector<std::string> unsupported;   // kinds of cases: "gemm mxfp8"
  std::vector<std::string> failures;      // wrong results and failures: case and what happened
  std::vector<std::string> throttled;     // reasons seen
  std::int64_t points = 0;
  std::int64_t anchors = 0;
  DerivedFigures derived;
  FirstChoices first_choices;
  double anchor_spread = 0.0;  // (largest - smallest) / median of the repeated anchor
  SweepReport report;
};

[[nodiscard]] SweepSummary summarise(const Measurements& measurements, const SweepReport& report);

[[nodiscard]] std::string to_text(const SweepSummary& summary);
[[nodiscard]] std::string to_json(const SweepSummary& summary);  // orrery-calibration/1

// Checks the kernels: runs each case of check_cases() once and compares it with its reference.

struct CheckRow {
  kernels::KernelCase kernel;
  bool supported = true;
  std::string status;  // where it is not
  kernels::Verification verification;
};

struct CheckReport {
  Fingerprint fingerprint;
  std::vector<CheckRow> rows;
  std::int64_t passed = 0;
  std::int64_t failed = 0;
  std::int64_t unsupported = 0;
  std::int64_t not_run = 0;  // after a stop request, or a failure that ended the use of the GPU
  bool lost = false;         // such a failure
};

[[nodiscard]] CheckReport check_all(
    Bench& bench, std::stop_token stop,
    const std::function<void(std::int64_t done, std::int64_t all)>& progress);

[[nodiscard]] std::string to_text(const CheckReport& report);
[[nodiscard]] std::string to_json(const CheckReport& report);  // orrery-kernel-check/1

}  // namespace orrery::calibrate
