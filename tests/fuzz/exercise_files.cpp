#include "tests/fuzz/exercise_files.hpp"

#include <cmath>
#include <string>

#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/files/saved_evaluation.hpp"
#include "sim/answer/sweep/journal.hpp"
#include "sim/answer/trace/measured_trace.hpp"
#include "sim/base/check.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/journal_file.hpp"
#include "sim/base/text/text.hpp"
#include "sim/import_config/import_config.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/logs/failure_log.hpp"
#include "sim/scenario/logs/spot_trace_file.hpp"
#include "tests/fuzz/promises.hpp"
#include "tests/unit/base/disk_model.hpp"

namespace orrery::fuzz {

void exercise_spot_trace(std::string_view text) {
  Diagnostics diagnostics;
  const auto trace =
      scenario::read_spot_trace_text(text, "fuzz.csv", {"s.yaml", 1, 1}, "traces", diagnostics);
  ORRERY_CHECK(trace.has_value() != diagnostics.has_errors(), "a trace or errors, not both");
  check_shown(diagnostics);
  if (!trace) {
    return;
  }
  ORRERY_CHECK(!trace->rows.empty() && trace->rows.front().from == SimTime{}, "no begin");
  for (std::size_t i = 0; i < trace->rows.size(); ++i) {
    ORRERY_CHECK(trace->rows[i].available >= 0, "a negative number of nodes");
    ORRERY_CHECK(i == 0 || trace->rows[i - 1].from <= trace->rows[i].from, "time goes back");
    ORRERY_CHECK(trace->rows[i].from <= trace->length, "a row behind the end");
  }
}

void exercise_failure_log(std::string_view text) {
  Diagnostics diagnostics;
  constexpr std::int64_t kStart = 1'700'000'000;
  const auto failures = scenario::read_failure_log(text, "fuzz.csv", kStart, diagnostics);
  ORRERY_CHECK(failures.has_value() != diagnostics.has_errors(), "a log or errors, not both");
  check_shown(diagnostics);
  constexpr std::size_t kMostProblems = 30;
  ORRERY_CHECK(diagnostics.all().size() <= kMostProblems, "too many diagnostics");
  if (failures) {
    for (const run::LoggedFailure& failure : *failures) {
      ORRERY_CHECK(failure.at >= Seconds{} && failure.at <= days(25'000.0), "outside all runs");
      ORRERY_CHECK(!failure.cause.empty() && failure.nodes.value_or(0) >= 0, "no cause");
      ORRERY_CHECK(failure.outage.value_or(Seconds{}) >= Seconds{}, "a negative outage");
    }
  }
}

void exercise_kineto(std::string_view text) {
  const MemoryFile file(text);
  trace::ReadLimits limits;
  limits.most_bytes = std::uint64_t{1} << 26U;
  static_cast<void>(trace::is_trace_file(file.path()));
  const trace::GpuReading reading = trace::read_gpu_trace(file.path(), limits);
  ORRERY_CHECK(reading.problem.empty() == (reading.trace != nullptr), "a trace or a problem");
  if (!reading.trace) {
    return;
  }
  const trace::MeasuredTrace measured = trace::measure({reading.trace}, {});
  for (const trace::MeasuredRank& rank : measured.ranks) {
    for (const trace::MeasuredStep& step : rank.steps) {
      ORRERY_CHECK(step.ledger.total() == Int128{step.span.length()},
                   "the ledger of step {} is not its length", printable(step.name));
    }
  }
  if (const auto mean = trace::mean_of(measured)) {
    ORRERY_CHECK(std::isfinite(in_seconds(mean->step_time)), "no mean");
  }
}

void exercise_journal(std::string_view text) {
  const std::string header = R"({"schema":"orrery-sweep-journal/2","version":"1"})";
  constexpr sweep::LineShape kShape = {.values = 1, .cells = 2};
  const std::string path = "/model/journal";
  test::DiskModel disk;
  // As it stands, and as the lines of a journal whose checksums fit.
  std::string lines = sealed(header) + "\n" + sealed_lines(text);
  for (const std::string& content : {std::string(text), lines}) {
    disk.put(path, content);
    try {
      const sweep::Journal journal(path, header, kShape, true, disk);
      for (const auto& [point, result] : journal.finished()) {
        const auto again = read_journal_line(journal_line(point, result), kShape);
        ORRERY_CHECK(again.problem.empty() && again.point == point && again.result == result,
                     "a point does not come back");
        ORRERY_CHECK(point.size() == 1 && result.cells.size() == 2, "a point of another sweep");
      }
    } catch (const Error& error) {
      ORRERY_CHECK(error.kind() == ErrorKind::io, "another kind of error");
    }
  }
}

void exercise_saved_answer(std::string_view text) {
  static_cast<void>(report::is_saved_evaluation(text));
  const report::SavedReading reading = report::read_saved_evaluations(text);
  ORRERY_CHECK(reading.problem.empty() == !reading.evaluations.empty() || !reading.problem.empty(),
               "answers or a problem");
  if (!reading.problem.empty()) {
    return;
  }
  for (const report::Figures& saved : reading.evaluations) {
    const std::vector<report::Figures> both = {saved, saved};
    for (const report::DifferenceRow& row : report::differences(both)) {
      for (const report::Compared& value : row.values) {
        if (value.value) {
          static_cast<void>(report::format_value(row.dimension, *value.value));
        }
        if (value.change) {
          static_cast<void>(report::format_change(row.dimension, *value.change));
        }
      }
    }
  }
}

void exercise_import(std::string_view text) {
  static_cast<void>(import_config::is_python(text));
  const auto format = import_config::recognise(text);
  if (!format || text.size() > import_config::kMostBytes) {
    return;
  }
  const std::vector<import_config::ConfigFile> files = {{"fuzz", std::string(text), format}};
  Diagnostics diagnostics;
  const import_config::ImportResult result = import_config::import_configs(files, {}, diagnostics);
  check_shown(diagnostics);
  ORRERY_CHECK(result.scenario.empty() == diagnostics.has_errors(), "a scenario or errors");
  static_cast<void>(report_json(result, diagnostics));
  static_cast<void>(report_text(result));
  Diagnostics read;
  static_cast<void>(scenario::load_text(result.scenario, "fuzz.yaml", read));
  check_shown(read);
}

}  // namespace orrery::fuzz
