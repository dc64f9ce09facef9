// Files about machines: profiles, tables, the journal of a calibration, logs of benchmarks.

#include <string>
#include <vector>

#include "calibrate/import/import_report.hpp"
#include "calibrate/samples/sample_journal.hpp"
#include "sim/base/error.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "tests/checkout.hpp"
#include "tests/fuzz/exercise_files.hpp"
#include "tests/fuzz/promises.hpp"
#include "tests/shipped_presets.hpp"

namespace orrery::fuzz {

namespace {

using namespace calibration_import;

const hardware::ProfileSearch& shipped() {
  static const hardware::ProfileSearch search = {
      .directories = {std::string(kSourceDir) + "/scenarios/profiles"}};
  return search;
}

// Tables of a file, as a scenario names it; nothing with an error.
bool reads_tables(const std::string& path, Diagnostics& diagnostics) {
  hardware::NetworkSpec network;
  network.collectives = path;
  const bool read = hardware::load_collective_tables(network, {}, {"s.yaml", 1, 1},
                                                     "cluster.network.collectives", diagnostics);
  ORRERY_CHECK(read != diagnostics.has_errors(), "tables or errors, not both");
  return read;
}

// What an import writes can be read again.
void check_written(const std::string& yaml) {
  Diagnostics diagnostics;
  const MemoryFile file(yaml);
  ORRERY_CHECK(reads_tables(file.path(), diagnostics), "{}", to_string(diagnostics));
}

}  // namespace

void exercise_profile(std::string_view text) {
  const MemoryFile file(text);
  const SourceLocation where = {"s.yaml", 1, 1};
  try {
    Diagnostics of_gpu;
    const auto gpu =
        hardware::load_gpu_profile(file.path(), shipped(), where, "cluster.gpu", of_gpu);
    ORRERY_CHECK(gpu.has_value() != of_gpu.has_errors(), "a GPU or errors, not both");
    check_shown(of_gpu);
  } catch (const Error& error) {
    ORRERY_CHECK(error.kind() == ErrorKind::device, "another kind of error");
  }
  Diagnostics of_stack;
  const auto stack =
      hardware::load_software_profile(file.path(), shipped(), where, "software", of_stack);
  ORRERY_CHECK(stack.has_value() != of_stack.has_errors(), "a stack or errors, not both");
  check_shown(of_stack);
  Diagnostics of_tables;
  static_cast<void>(reads_tables(file.path(), of_tables));
  check_shown(of_tables);
}

void exercise_samples(std::string_view text) {
  // As it stands, and as lines whose checksums fit.
  for (const std::string& content : {std::string(text), sealed_lines(text)}) {
    const MemoryFile file(content);
    try {
      const calibrate::Measurements found = calibrate::read_measurements(file.path());
      for (const calibrate::Sample& sample : found.samples) {
        const auto again = calibrate::read_sample(calibrate::to_line(sample));
        ORRERY_CHECK(again && calibrate::to_line(*again) == calibrate::to_line(sample),
                     "a sample does not come back");
      }
    } catch (const Error& error) {
      ORRERY_CHECK(error.kind() == ErrorKind::io, "another kind of error");
    }
  }
}

void exercise_benchmark_log(std::string_view text) {
  Findings findings;
  Diagnostics diagnostics;
  const LogFile file{"fuzz.log", std::string(text)};
  const std::string_view format = read_log(file, findings, diagnostics);
  check_shown(diagnostics);
  ORRERY_CHECK(!format.empty() || diagnostics.has_errors(), "no format and no error");
  RigOptions rig;
  rig.rig = "fuzz";
  rig.gpu = "h100-sxm-80gb";
  rig.network = shipped::network("infiniband-400g");
  ImportReport report;
  report.files = {{"fuzz.log", std::string(format)}};
  report.rig = rig.rig;
  report.as_of = {"as_of", "2026-11-22", FactOrigin::option, ""};
  std::vector<ResolvedLog> resolved;
  for (const CollectiveLog& log : findings.collectives) {
    auto facts = resolve_log(log, rig, shipped(), diagnostics);
    if (facts && check_rows(*facts, false, diagnostics)) {
      resolved.push_back(*std::move(facts));
    }
  }
  if (!diagnostics.has_errors() && !resolved.empty()) {
    report.tables = build_tables(resolved, false, {}, diagnostics);
  }
  if (!findings.copies.empty()) {
    report.copies = copy_rates(findings.copies, rig, shipped(), diagnostics);
  }
  check_shown(diagnostics);
  if (diagnostics.has_errors()) {
    return;
  }
  if (!report.tables.empty()) {
    check_written(tables_yaml(report));
  }
  static_cast<void>(summary_text(report));
  static_cast<void>(summary_json(report, diagnostics));
}

}  // namespace orrery::fuzz
