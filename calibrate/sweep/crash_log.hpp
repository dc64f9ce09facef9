#pragma once

// Log of the cases during which earlier processes crashed: a file beside the journal that names the
// case in progress. A kernel or a library that takes the process with it leaves its name there.
//
//   line = a case (sim/kernels); the last is in progress, those before it ended a process
//
// A process that is killed from outside leaves a line too, so that one line proves nothing.
//
// Errors: none. Where the file cannot be written, crashes are forgotten.

#include <filesystem>
#include <vector>

#include "sim/kernels/kernel_case.hpp"

namespace orrery::calibrate {

class CrashLog {
 public:
  // Reads what earlier processes left.
  explicit CrashLog(std::filesystem::path path);

  [[nodiscard]] const std::vector<kernels::KernelCase>& ended() const {
    return ended_;
  }

  void begin(const kernels::KernelCase& kernel) const;
  void end() const;

  // After a sweep that came to its end: the next one has no crashes behind it.
  void forget() const;

 private:
  void write(const kernels::KernelCase* current) const;

  std::filesystem::path path_;
  std::vector<kernels::KernelCase> ended_;
};

}  // namespace orrery::calibrate
