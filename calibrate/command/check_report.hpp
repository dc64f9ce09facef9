#pragma once

// Checks the kernels: runs each case of check_cases() once and compares it with its reference.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "calibrate/sweep/bench.hpp"

namespace orrery::calibrate {

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
    Bench& bench,
    std::stop_token stop,
    const std::function<void(std::int64_t done, std::int64_t all)>& progress);

[[nodiscard]] std::string to_text(const CheckReport& report);
[[nodiscard]] std::string to_json(const CheckReport& report);  // orrery-kernel-check/1

}  // namespace orrery::calibrate
