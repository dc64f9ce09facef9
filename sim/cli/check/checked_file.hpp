#pragma once

// The outcome of `check` for one file and for all of them, from which its reports are built.
//
// verdict of a file | when
// ------------------|---------------------------------------------------------------------------
// its own code      | it cannot be evaluated
// does_not_fit      | it does not fit and no expectation speaks of memory
// failed            | an expectation is not met, or a metric has moved against the baseline
// ok                | otherwise

#include <optional>
#include <string>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/files/baseline.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/cli/frame/exit_code.hpp"

namespace orrery::cli {

struct CheckedFile {
  std::string file = {};
  std::optional<report::Evaluation> evaluation = {};  // absent: `problem` says why
  std::string problem = {};
  bool does_not_fit = false;  // and no expectation mentions the memory
  Diagnostics diagnostics = {};
  ExitCode code = ExitCode::ok;                         // without an evaluation
  std::optional<report::BaselineScenario> answer = {};  // as a baseline would hold it
  std::optional<report::ScenarioChange> change = {};    // absent: no baseline, no evaluation
};

struct CheckReport {
  std::vector<CheckedFile> files = {};
  std::optional<std::string> baseline = {};  // the file compared with
  std::vector<std::string> missing = {};     // scenarios of the baseline that were not checked

  [[nodiscard]] ExitCode code() const;
};

[[nodiscard]] ExitCode verdict_of(const CheckedFile& file);

// Expectations that are met, of all.
struct Tally {
  std::size_t met = 0;
  std::size_t all = 0;
};

[[nodiscard]] Tally tally_of(const CheckedFile& file);

// "scenarios/a.yaml: the file was edited; fits in memory as it did not before"; empty when nothing
// but metrics changed.
[[nodiscard]] std::string change_of_file(const report::ScenarioChange& change);

// orrery-check/1.
[[nodiscard]] std::string to_json(const CheckReport& report);

// One signature a file and one over all of them: the texts in the order of the names.
[[nodiscard]] std::string signature_lines(const CheckReport& report);
[[nodiscard]] std::string signature_of(const CheckReport& report);

}  // namespace orrery::cli
