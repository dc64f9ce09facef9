#include "calibrate/command/check_report.hpp"

#include <fmt/core.h>

#include "calibrate/plan/check_cases.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text/json_text.hpp"

namespace orrery::calibrate {

namespace {

CheckRow check_one(Bench& bench, const kernels::KernelCase& kernel) {
  CheckRow row{.kernel = kernel, .supported = true, .status = {}, .verification = {}};
  try {
    row.verification = bench.verify(kernel);
  } catch (const kernels::Unsupported& unsupported) {
    row.supported = false;
    row.status = unsupported.status();
  } catch (const Error& error) {
    row.verification.where = error.what();  // the other kernels are checked all the same
  }
  return row;
}

std::string_view verdict(const CheckRow& row) {
  if (!row.supported) {
    return "absent";
  }
  return row.verification.passed ? "pass" : "FAIL";
}

}  // namespace

CheckReport check_all(Bench& bench,
                      std::stop_token stop,
                      const std::function<void(std::int64_t done, std::int64_t all)>& progress) {
  CheckReport report;
  report.fingerprint = bench.fingerprint();
  const std::vector<kernels::KernelCase> cases = check_cases();
  for (const kernels::KernelCase& kernel : cases) {
    if (stop.stop_requested() || report.lost) {
      ++report.not_run;
      continue;
    }
    CheckRow row = check_one(bench, kernel);
    report.lost = row.supported && !row.verification.passed && !bench.usable();
    if (!row.supported) {
      ++report.unsupported;
    } else {
      ++(row.verification.passed ? report.passed : report.failed);
    }
    report.rows.push_back(std::move(row));
    progress(static_cast<std::int64_t>(report.rows.size()),
             static_cast<std::int64_t>(cases.size()));
  }
  return report;
}

std::string to_text(const CheckReport& report) {
  std::string text = fmt::format("{}, compute capability {}\n\n",
                                 report.fingerprint.gpu,
                                 report.fingerprint.compute_capability);
  for (const CheckRow& row : report.rows) {
    const std::string& why = row.supported ? row.verification.where : row.status;
    const bool explains = verdict(row) != "pass";
    text += fmt::format("{:<6}  {:>9}  {}{}{}\n",
                        verdict(row),
                        row.supported ? fmt::format("{:.3f}", row.verification.worst_error) : "-",
                        kernels::to_text(row.kernel),
                        explains ? "\n                   " : "",
                        explains ? why : "");
  }
  if (report.lost) {
    text += "\nthe GPU answers no more after that: the rest needs another run\n";
  }
  if (report.not_run > 0) {
    text += fmt::format("\n{} cases were not run\n", report.not_run);
  }
  text += fmt::format(
      "\n{} passed, {} failed, {} not offered by this GPU or its libraries; the figure is the "
      "largest error\nin tolerances of the format.\n",
      report.passed,
      report.failed,
      report.unsupported);
  return text;
}

std::string to_json(const CheckReport& report) {
  const auto row_json = [](const CheckRow& row) {
    Json json = {{"case", kernels::to_text(row.kernel)}, {"verdict", verdict(row)}};
    if (row.supported) {
      json["error"] = row.verification.worst_error;
      json["compared"] = row.verification.compared;
      json["where"] = row.verification.where;
    } else {
      json["status"] = row.status;
    }
    return json;
  };
  return json_text({{"schema", "orrery-kernel-check/1"},
                    {"fingerprint", json_of(report.fingerprint)},
                    {"passed", report.passed},
                    {"failed", report.failed},
                    {"unsupported", report.unsupported},
                    {"not_run", report.not_run},
                    {"rows", json_list(report.rows, row_json)}});
}

}  // namespace orrery::calibrate
