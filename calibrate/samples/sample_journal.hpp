#pragma once

// Which points are measured already? The journal of one calibration: killed half-way, it resumes.
//
//   line 1   {"schema": "orrery-samples/2", "fingerprint": {...}}
//   line n   a sample (sample.hpp)
//
// The journal is the raw evidence beside a profile (`my-cluster.samples.jsonl`): every figure of
// the profile can be computed from it again, on any machine. One of another machine, driver or
// library is refused, with what differs. Every line carries a checksum; journals of before
// (`orrery-samples/1`) have none, and are read but not continued. A point that stands twice counts
// once: the later one holds.
//
// All functions throw Error(io).

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "calibrate/samples/fingerprint.hpp"
#include "calibrate/samples/sample.hpp"
#include "sim/base/journal_file.hpp"

namespace orrery::calibrate {

// A finished or interrupted calibration, for fits and reports.
struct Measurements {
  Fingerprint fingerprint;
  std::vector<Sample> samples;  // in the order in which they were first taken
};

// Reads without changing the file; a last line that was cut is left out.
[[nodiscard]] Measurements read_measurements(const std::filesystem::path& path);

class SampleJournal {
 public:
  // Opens or creates it. Samples of the same fingerprint are kept.
  SampleJournal(std::filesystem::path path, const Fingerprint& fingerprint);

  [[nodiscard]] bool has(const kernels::KernelCase& kernel,
                         Regime regime,
                         const Condition& condition = {}) const;

  [[nodiscard]] const std::vector<Sample>& samples() const {
    return samples_;
  }

  [[nodiscard]] const std::filesystem::path& path() const {
    return file_.path();
  }

  void append(const Sample& sample);
  void close();

 private:
  void keep(const Sample& sample);

  std::vector<Sample> samples_;
  std::map<std::string, std::size_t> by_key_;  // index into samples_
  JournalFile file_;
};

}  // namespace orrery::calibrate
