#include "sim/cli/check/check_baseline.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sim/base/files/file.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/evaluate/compare/baseline_file.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

fs::path whole(const fs::path& path) {
  std::error_code error;
  fs::path found = fs::weakly_canonical(fs::absolute(path), error);
  return error ? fs::absolute(path) : found;
}

bool is_checked(const CheckReport& report, const std::string& name) {
  return std::any_of(report.files.begin(), report.files.end(), [&name](const CheckedFile& file) {
    return file.answer && file.answer->file == name;
  });
}

}  // namespace

std::optional<report::Baseline> load_baseline(const fs::path& path) {
  Diagnostics diagnostics;
  auto baseline = evaluate::read_baseline(path, diagnostics);
  message_block(to_string(diagnostics));
  return baseline;
}

std::string baseline_name(const fs::path& path, const std::string& file) {
  return whole(file).lexically_relative(whole(path).parent_path()).generic_string();
}

void compare_with_baseline(const report::Baseline& baseline,
                           const fs::path& path,
                           CheckReport& report) {
  report.baseline = path.string();
  std::vector<std::string> broken;  // checked without an answer: said already
  for (CheckedFile& file : report.files) {
    const std::string name = baseline_name(path, file.file);
    if (!file.evaluation) {
      broken.push_back(name);
      continue;
    }
    file.answer = report::baseline_of(*file.evaluation, name);
    file.change = report::compare_with(baseline, *file.answer);
  }
  for (const report::BaselineScenario& scenario : baseline.scenarios) {
    const bool said = std::find(broken.begin(), broken.end(), scenario.file) != broken.end();
    if (!said && !is_checked(report, scenario.file)) {
      report.missing.push_back(scenario.file);
    }
  }
}

report::Baseline updated_baseline(report::Baseline baseline,
                                  const fs::path& path,
                                  const std::vector<CheckedFile>& files) {
  std::vector<report::BaselineScenario>& kept = baseline.scenarios;
  for (const CheckedFile& file : files) {
    if (!file.evaluation) {
      continue;
    }
    report::BaselineScenario answer =
        report::baseline_of(*file.evaluation, baseline_name(path, file.file));
    const auto before = std::find_if(kept.begin(), kept.end(), [&answer](const auto& scenario) {
      return scenario.file == answer.file;
    });
    if (before == kept.end()) {
      kept.push_back(std::move(answer));
    } else {
      answer.tolerances = std::move(before->tolerances);
      *before = std::move(answer);
    }
  }
  const fs::path folder = whole(path).parent_path();
  kept.erase(std::remove_if(kept.begin(),
                            kept.end(),
                            [&folder](const report::BaselineScenario& scenario) {
                              std::error_code error;
                              return !fs::exists(folder / scenario.file, error);
                            }),
             kept.end());
  std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.file < b.file; });
  return baseline;
}

void write_new_baseline(const fs::path& path, const std::vector<CheckedFile>& files) {
  write_file_atomically(path, evaluate::to_yaml(updated_baseline({}, path, files)));
}

}  // namespace orrery::cli
