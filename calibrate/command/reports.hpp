#pragma once

// One-screen summary of a calibration: rates by family, the cost of the power limit, what the
// machine does not offer, and how quiet it was.
//
//   rate of a product or of attention = FLOP / median time; of the rest = bytes moved / median time
//   of copy                           = rate / best rate of the device copies

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "calibrate/profile/kernel_points.hpp"
#include "calibrate/samples/sample_journal.hpp"
#include "calibrate/sweep/bench.hpp"
#include "calibrate/sweep/sweep_notes.hpp"
#include "calibrate/sweep/sweep_runner.hpp"

namespace orrery::calibrate {

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
