// `orrery import`: converts the benchmark logs of a cluster into a form that a scenario can use.

#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Error.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calibrate/import/import_report.hpp"
#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/evaluate/compare/compare_measured.hpp"
#include "sim/answer/trace/event_reader.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/format.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/compare/compare_traces.hpp"
#include "sim/cli/frame/evaluating.hpp"
#include "sim/cli/frame/exit_code.hpp"
#include "sim/cli/frame/number_option.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"

namespace orrery::calibration_import {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBytes = std::size_t{1} << 28U;
constexpr std::size_t kDateLength = 10;  // 2026-11-21

struct CommandOptions {
  std::vector<std::string> files;
  std::vector<std::filesystem::path> profiles;
  std::optional<std::string> output;
  std::optional<std::string> fragment;
  std::string rig;
  std::string gpu;
  std::string operation;
  std::string fabric;
  std::string nic_rate;
  std::string network;
  std::string algorithm;
  std::string as_of;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> nvlink_domain;
  std::optional<std::int64_t> nics;
  bool sharp = false;
  bool in_place = false;
  bool as_samples = false;
  bool json = false;
  bool quiet = false;
  cli::TraceOptions traces;
};

template <typename E, std::size_t N>
std::vector<std::string> names_of(const std::array<hardware::NamedValue<E>, N>& values) {
  std::vector<std::string> names;
  names.reserve(N);
  for (const auto& value : values) {
    names.emplace_back(value.name);
  }
  return names;
}

void add_rig_options(CLI::App& app, CommandOptions& options) {
  constexpr std::int64_t kMost = 10'000'000;
  const CLI::Validator count = cli::count_between(1, kMost).description("");
  app.add_option("--gpu", options.gpu, "GPU profile, where the log does not name the GPU")
      ->type_name("GPU");
  app.add_option("--operation", options.operation, "Operation, where the log does not name it")
      ->type_name("NAME");
  app.add_option("--ranks", options.ranks, "GPUs that took part")->check(count)->type_name("N");
  app.add_option("--nodes", options.nodes, "Hosts that held them")->check(count)->type_name("N");
  app.add_option("--nvlink-domain", options.nvlink_domain,
                 "Ranks that share NVLink, where that is more than a host")
      ->check(count)
      ->type_name("N");
  app.add_option("--network", options.network, "Network preset: fabric, rate and number of NICs")
      ->type_name("NETWORK");
  app.add_option("--fabric", options.fabric, "Transport between hosts")
      ->check(CLI::IsMember(names_of(hardware::kFabricNames)))
      ->type_name("NAME");
  app.add_option("--nic-rate", options.nic_rate, "Line rate of one NIC, such as 400Gbps")
      ->type_name("RATE");
  app.add_option("--nics", options.nics, "NICs of one host, beside its ranks")
      ->check(count)
      ->type_name("N");
  app.add_option("--algorithm", options.algorithm, "NCCL_ALGO, where it was set")
      ->check(CLI::IsMember(names_of(hardware::kForcedAlgorithms)))
      ->type_name("NAME");
  app.add_flag("--sharp", options.sharp, "The switches of the fabric reduced");
}

void add_options(CLI::App& app, CommandOptions& options) {
  app.add_option("FILE", options.files, "Logs of nccl-tests or nvbandwidth, or traces of a step")
      ->required();
  app.add_option("-o,--output", options.output, "Write the tables (or the fragment) to FILE")
      ->type_name("FILE");
  app.add_option("--fragment", options.fragment, "Write the keys for a GPU profile to FILE")
      ->type_name("FILE");
  app.add_option("--rig", options.rig, "Name of the machines, else that of the first file")
      ->type_name("NAME");
  add_rig_options(app, options);
  app.add_flag("--in-place", options.in_place, "Take the times in place, not out of place");
  app.add_option("--as-of", options.as_of, "Date of the figures, else that of the log")
      ->type_name("DATE");
  cli::add_profiles_option(app, options.profiles);
  app.add_flag("--as-samples", options.as_samples,
               "Of a trace: the times of its kernels, as samples of a calibration in -o FILE");
  app.add_flag("--json", options.json, "Summary as JSON, orrery-import/1");
  app.add_flag("-q,--quiet", options.quiet, "No summary of tables");
  cli::add_trace_options(app, options.traces);
}

BytesPerSecond rate_of(const std::string& text) {
  const auto parsed = yaml::kind::Bandwidth::parse(text);
  if (parsed.value && *parsed.value > BytesPerSecond()) {
    return *parsed.value;
  }
  throw cli::UsageError(
      fmt::format("import: --nic-rate: `{}` is no rate, such as 400Gbps or 50GB/s", text));
}

template <typename E, std::size_t N>
E named(const std::array<hardware::NamedValue<E>, N>& values, const std::string& name) {
  return std::ranges::find_if(values, [&name](const auto& value) { return value.name == name; })
      ->value;
}

// The name of a file without folder and ending.
std::string stem_of(const std::string& file) {
  const std::string stem = fs::path(file).stem().string();
  return stem.empty() ? "imported" : stem;
}

RigOptions rig_options(const CommandOptions& options) {
  RigOptions rig;
  rig.rig = options.rig.empty() ? stem_of(options.files.front()) : options.rig;
  rig.gpu = options.gpu.empty() ? std::nullopt : std::optional(options.gpu);
  if (!options.operation.empty()) {
    rig.operation = operation_of(options.operation);
    if (!rig.operation) {
      throw cli::UsageError(
          fmt::format("import: --operation: `{}` is none of all_reduce, all_gather, "
                      "reduce_scatter, all_to_all, broadcast, send_receive",
                      options.operation));
    }
  }
  rig.ranks = options.ranks;
  rig.nodes = options.nodes;
  rig.nvlink_domain = options.nvlink_domain;
  rig.nics = options.nics;
  if (!options.fabric.empty()) {
    rig.fabric = named(hardware::kFabricNames, options.fabric);
  }
  if (!options.nic_rate.empty()) {
    rig.nic_rate = rate_of(options.nic_rate);
  }
  if (!options.network.empty()) {
    rig.network = cli::network_named(options.network, "import", options.profiles);
  }
  if (!options.algorithm.empty()) {
    rig.algorithm = named(hardware::kForcedAlgorithms, options.algorithm);
  }
  rig.sharp = options.sharp;
  rig.in_place = options.in_place;
  return rig;
}

bool is_date(const std::string& text) { return yaml::kind::Date::parse(text).value.has_value(); }

// Date of the newest file, in seconds since 1970.
std::int64_t newest_file(const std::vector<std::string>& files) {
  std::int64_t latest = 0;
  for (const std::string& file : files) {
    struct stat status {};

    if (stat(file.c_str(), &status) == 0) {
      latest = std::max<std::int64_t>(latest, status.st_mtime);
    }
  }
  return latest;
}

// When the figures were gathered: as given, as the logs say, else the newest file's own date.
Fact date_of(const CommandOptions& options, const Findings& findings) {
  if (!options.as_of.empty()) {
    return {"as_of", options.as_of, FactOrigin::option, "--as-of"};
  }
  std::string newest;
  for (const CollectiveLog& log : findings.collectives) {
    newest = std::max(newest, is_date(log.date) ? log.date : std::string());
  }
  if (!newest.empty()) {
    return {"as_of", newest, FactOrigin::log, "start of the test"};
  }
  return {"as_of", format_date_time(newest_file(options.files)).substr(0, kDateLength),
          FactOrigin::assumed, "date of the file; say --as-of"};
}

Findings read_files(const CommandOptions& options, ImportReport& report, Diagnostics& diagnostics) {
  Findings findings;
  for (const std::string& name : options.files) {
    const LogFile file{name, read_file(name, kMaxBytes)};
    const std::string_view format = read_log(file, findings, diagnostics);
    report.files.push_back({name, std::string(format)});
  }
  return findings;
}

std::vector<ImportedTable> import_tables(const Findings& findings, const RigOptions& rig,
                                         const hardware::ProfileSearch& search,
                                         Diagnostics& diagnostics) {
  std::vector<ResolvedLog> resolved;
  std::set<std::string> alone;  // files of which one complaint is enough
  bool sound = true;
  for (const CollectiveLog& log : findings.collectives) {
    if (ran_alone(log) && !alone.insert(log.where.file).second) {
      continue;
    }
    if (auto facts = resolve_log(log, rig, search, diagnostics)) {
      sound = check_rows(*facts, rig.in_place, diagnostics) && sound;
      resolved.push_back(std::move(*facts));
    }
  }
  if (!sound || diagnostics.has_errors() || resolved.empty()) {
    return {};
  }
  hardware::NetworkSpec shipped;
  if (!hardware::load_collective_tables(shipped, search, {}, "collectives", diagnostics)) {
    return {};
  }
  return build_tables(resolved, rig.in_place, shipped.tables, diagnostics);
}

void check_outputs(const CommandOptions& options, const ImportReport& report) {
  if (options.fragment && !report.copies) {
    throw cli::UsageError("import: --fragment, but no file is of nvbandwidth");
  }
  if (options.fragment && options.output && report.tables.empty()) {
    throw cli::UsageError("import: -o and --fragment, but no file is of nccl-tests");
  }
}

void write_files(const CommandOptions& options, ImportReport& report) {
  if (!report.tables.empty() && options.output) {
    write_file_atomically(*options.output, tables_yaml(report));
    report.output = *options.output;
  }
  const std::optional<std::string>& fragment =
      options.fragment || !report.tables.empty() ? options.fragment : options.output;
  if (report.copies && fragment) {
    write_file_atomically(*fragment, fragment_yaml(report));
    report.fragment = *fragment;
  }
}

cli::ExitCode import_files(const CommandOptions& options, const cli::InterruptWatch& watch) {
  const RigOptions rig = rig_options(options);
  if (!options.as_of.empty() && !is_date(options.as_of)) {
    throw cli::UsageError(
        fmt::format("import: --as-of: `{}` is no date, such as 2026-11-21", options.as_of));
  }
  const hardware::ProfileSearch search =
      evaluate::profile_search(options.files.front(), options.profiles);
  Diagnostics diagnostics;
  if (!options.gpu.empty()) {
    if (!hardware::load_gpu_profile(options.gpu, search, {}, "--gpu", diagnostics)) {
      cli::message_block(to_string(diagnostics));
      return cli::ExitCode::device;
    }
  }
  ImportReport report;
  report.rig = rig.rig;
  const Findings findings = read_files(options, report, diagnostics);
  report.as_of = date_of(options, findings);
  report.tables = import_tables(findings, rig, search, diagnostics);
  if (!findings.copies.empty()) {
    report.copies = copy_rates(findings.copies, rig, search, diagnostics);
  }
  cli::message_block(to_string(diagnostics));
  if (diagnostics.has_errors()) {
    return cli::ExitCode::invalid;
  }
  if (report.tables.empty() && !report.copies) {
    cli::message("import: the files hold nothing that can be used");
    return cli::ExitCode::invalid;
  }
  check_outputs(options, report);
  watch.check();
  write_files(options, report);
  if (!options.quiet) {
    cli::deliver(options.json ? summary_json(report, diagnostics) : summary_text(report),
                 std::nullopt);
  }
  return cli::ExitCode::ok;
}

// True when at least one of the files is a trace. Throws Error(io), and cli::UsageError when
// others are none.
bool are_traces(const std::vector<std::string>& files) {
  const auto other = std::find_if_not(files.begin(), files.end(), trace::is_trace_file);
  if (other == files.end()) {
    return true;
  }
  if (std::ranges::any_of(files, trace::is_trace_file)) {
    throw cli::UsageError(
        fmt::format("import: {} is no trace; import traces by themselves", *other));
  }
  return false;
}

// `orrery import TRACE...`: reports a measured training step in the categories of the ledger. The
// prediction beside it is `orrery compare SCENARIO TRACE...`.
struct TraceImport {
  std::vector<std::string> files;
  cli::TraceOptions reading;
  std::optional<std::string> output;  // lines `measured:` for a scenario
  bool json = false;
};

cli::ExitCode import_traces(const TraceImport& asked, const cli::InterruptWatch& watch) {
  const trace::MeasureOptions options = cli::measure_options(asked.reading);
  const auto traces = cli::read_traces(asked.files, watch, false);
  if (!traces) {
    return cli::ExitCode::invalid;
  }
  const trace::MeasuredTrace measured = trace::measure(*traces, options);
  const auto mean = trace::mean_of(measured, asked.reading.step);
  if (!mean) {
    cli::message(measured.problem.empty()
                     ? fmt::format("import: the traces have no step {}; they have {}",
                                   asked.reading.step.value_or(""),
                                   fmt::join(measured.step_names(), ", "))
                     : measured.problem);
    return cli::ExitCode::invalid;
  }
  watch.check();
  if (asked.output) {
    write_file_atomically(*asked.output, evaluate::measured_lines(*mean));
  }
  cli::deliver(asked.json ? cli::measured_json(asked.files, measured, *mean)
                          : evaluate::measured_text(measured, *mean),
               std::nullopt);
  return cli::ExitCode::ok;
}

// `orrery import TRACE --as-samples -o FILE`: times of kernels for `orrery calibrate --samples
// FILE` (trace_samples.hpp). One trace: ranks of one step would count a kernel several times.
struct SampleImport {
  std::vector<std::string> files;
  std::optional<std::string> output;
  std::string taken_at;  // UTC
};

std::string samples_text(const TraceSamples& found) {
  Seconds all = found.taken;
  for (const auto& [reason, time] : found.left_out) {
    all += time;
  }
  std::string text =
      fmt::format("{} calls of {} cases on {}: {:.1f} % of the time of kernels\n", found.calls,
                  found.samples.size(), found.machine.gpu, 100.0 * (found.taken / all));
  for (const auto& [reason, time] : found.left_out) {
    text += fmt::format("  left out {:>5.1f} %: {}\n", 100.0 * (time / all), reason);
  }
  return text;
}

cli::ExitCode import_samples(const SampleImport& asked) {
  if (asked.files.size() != 1) {
    throw cli::UsageError("import: --as-samples takes one trace: that of one rank");
  }
  if (!asked.output) {
    throw cli::UsageError("import: --as-samples: say where the samples go: -o FILE");
  }
  const std::string& file = asked.files.front();
  const TraceSamples found = read_trace_samples(file, asked.taken_at);
  if (!found.problem.empty()) {
    cli::message(fmt::format("{}: {}", file, found.problem));
    return cli::ExitCode::invalid;
  }
  if (found.samples.empty()) {
    cli::message(fmt::format("{}: no kernel can become a sample", file));
    cli::message_block(samples_text(found));
    return cli::ExitCode::invalid;
  }
  if (std::filesystem::exists(*asked.output)) {
    throw Error(ErrorKind::io,
                fmt::format("{} is there already: samples of a trace are not added to others",
                            *asked.output));
  }
  calibrate::SampleJournal journal(*asked.output, found.machine);
  for (const calibrate::Sample& sample : found.samples) {
    journal.append(sample);
  }
  journal.close();
  cli::deliver(samples_text(found) +
                   fmt::format("orrery calibrate --samples {} -o PROFILE makes a profile of them\n",
                               *asked.output),
               std::nullopt);
  return cli::ExitCode::ok;
}

cli::ExitCode import_all(const CommandOptions& options, const cli::InterruptWatch& watch) {
  if (are_traces(options.files)) {
    if (options.as_samples) {
      return import_samples({.files = options.files,
                             .output = options.output,
                             .taken_at = format_date_time(newest_file(options.files))});
    }
    return import_traces({options.files, options.traces, options.output, options.json}, watch);
  }
  if (options.as_samples) {
    throw cli::UsageError("import: --as-samples is for a trace");
  }
  if (options.traces.any()) {
    throw cli::UsageError("import: --marker, --whole-trace, --group and --step are for traces");
  }
  return import_files(options, watch);
}

cli::ExitCode import_command(int argc, const char* const* argv) {
  CLI::App app(
      "Turns logs of nccl-tests into tables of measured collectives, and those of nvbandwidth\n"
      "into keys of a GPU profile. A scenario uses the tables with\n"
      "cluster: {network: {collectives: tables.yaml}}. Traces of training steps become the time\n"
      "of a measured step by category. Configuration files of training stacks have options of\n"
      "their own: orrery import --help.",
      "orrery import");
  app.footer(R"(Examples:
  orrery import all_reduce.log all_gather.log -o tables.yaml
  orrery import 16nodes.log --network infiniband-400g --rig east-1 -o tables.yaml
  orrery import nvbandwidth.json --gpu h100-sxm-80gb -o host.yaml
  orrery import rank0.json.gz rank1.json.gz
  orrery import rank0.json.gz --as-samples -o mine.samples.jsonl

Exit codes: 0 ok, 2 usage, 3 a log is broken or says too little, 5 no such GPU profile, 6 input or
output.)");
  CommandOptions options;
  add_options(app, options);
  return cli::run_program(app, argc, argv, "import", [&](const cli::InterruptWatch& watch) {
    return import_all(options, watch);
  });
}

}  // namespace

}  // namespace orrery::calibration_import

int main(int argc, char** argv) {
  return orrery::cli::run_guarded(
      [argc, argv] { return orrery::calibration_import::import_command(argc, argv); });
}
