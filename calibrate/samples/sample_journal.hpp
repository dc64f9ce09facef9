#pragma once

// Journal of one calibration: records measured points, so that an interrupted one resumes.
//
//   line 1   {"schema": "orrery-samples/2", "fingerprint": {...}}
//   line n   a sample, or how clock and time settled (sample.hpp)
//
// The journal is the raw evidence beside a profile (`my-cluster.samples.jsonl`): every figure of
// the profile can be recomputed from it, on any machine. Resuming a journal of another machine,
// board, driver or library is refused, with what differs: boards of one type differ by several per
// cent, and one profile must not mix two. Of a point that appears twice, the later one counts.
// Every line carries a checksum. The schema orrery-samples/1, which did not say which board ran, is
// refused by name.
//
// All functions throw Error(io).

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "calibrate/samples/sample.hpp"
#include "sim/base/files/journal_file.hpp"

namespace orrery::calibrate {

// A finished or interrupted calibration, for fits and reports.
struct Measurements {
  Fingerprint fingerprint;
  std::vector<Sample> samples;               // in the order in which they were first taken
  std::vector<SettlingCurve> settling = {};  // one for each time the GPU was loaded from idle
};

// Reads without changing the file; a last line that was cut is left out.
[[nodiscard]] Measurements read_measurements(const std::filesystem::path& path);

class SampleJournal {
 public:
  // Opens or creates it. Samples of the same fingerprint are kept.
  SampleJournal(std::filesystem::path path, const Fingerprint& fingerprint);

  // A sample that drifted does not count as measured: the next run takes it again.
  [[nodiscard]] bool has(const kernels::KernelCase& kernel, Regime regime,
                         const Condition& condition = {}) const;

  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }

  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }

  [[nodiscard]] const std::vector<SettlingCurve>& settling() const { return settling_; }

  void append(const Sample& sample);
  void append(const SettlingCurve& curve);
  void close();

 private:
  void keep(const Sample& sample);

  std::vector<Sample> samples_;
  std::vector<SettlingCurve> settling_;
  std::map<std::string, std::size_t> by_key_;  // index into samples_
  JournalFile file_;
};

}  // namespace orrery::calibrate
