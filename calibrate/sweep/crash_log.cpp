#include "calibrate/sweep/crash_log.hpp"

#include <fstream>
#include <string>
#include <system_error>
#include <utility>

namespace orrery::calibrate {

CrashLog::CrashLog(std::filesystem::path path) : path_(std::move(path)) {
  std::ifstream file(path_);
  std::string line;
  while (std::getline(file, line)) {
    if (const kernels::ParsedCase parsed = kernels::parse_case(line); parsed.kernel) {
      ended_.push_back(*parsed.kernel);
    }
  }
}

void CrashLog::begin(const kernels::KernelCase& kernel) const {
  write(&kernel);
}

void CrashLog::end() const {
  write(nullptr);
}

void CrashLog::forget() const {
  std::error_code ignored;  // what stays is read as one crash, which proves nothing
  std::filesystem::remove(path_, ignored);
}

void CrashLog::write(const kernels::KernelCase* current) const {
  if (current == nullptr && ended_.empty()) {
    return forget();
  }
  std::ofstream file(path_, std::ios::trunc);
  for (const kernels::KernelCase& kernel : ended_) {
    file << kernels::to_text(kernel) << '\n';
  }
  if (current != nullptr) {
    file << kernels::to_text(*current) << '\n';
  }
}

}  // namespace orrery::calibrate
