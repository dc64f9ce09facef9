#include "calibrate/command/calibrate_command.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Error.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "calibrate/plan/sweep_cases.hpp"
#include "calibrate/profile/build_profile.hpp"
#include "calibrate/samples/sample.hpp"
#include "calibrate/sweep/sweep_runner.hpp"
#include "calibrate/sweep/timing_protocol.hpp"
#include "calibrate/validate/step_program.hpp"
#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/base/files/file.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/evaluating.hpp"
#include "sim/cli/frame/interrupt.hpp"
#include "sim/cli/frame/number_option.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/cli/frame/progress.hpp"
#include "sim/scenario/load.hpp"
#include "sim/step/hardware/cluster_spec.hpp"

namespace orrery::calibrate {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostExactShapes = 120;

struct CommandOptions {
  std::optional<std::string> output;
  std::optional<std::string> samples;
  std::vector<std::string> scenarios;
  std::vector<std::filesystem::path> profiles;
  std::string base;
  std::string network;
  std::string rig;
  std::int64_t nvlink_domain = 0;
  int device = 0;
  std::uint64_t seed = 1;
  bool quick = false;
  bool list = false;
  bool check = false;
  bool machine = false;
  bool collectives = false;
  CollectiveRequest group;
  bool json = false;
  bool quiet = false;
};

void add_options(CLI::App& app, CommandOptions& options) {
  app.add_option("-o,--output", options.output,
                 "Write the profile to FILE, its samples beside it; with --check the report")
      ->type_name("FILE");
  app.add_flag("--quick", options.quick, "A small part of each family, in less than a minute");
  app.add_option("--scenario", options.scenarios, "Measure the exact shapes of its step first")
      ->type_name("SCENARIO");
  app.add_option("--samples", options.samples, "Compute the profile from these samples, no GPU")
      ->type_name("FILE");
  auto* list = app.add_flag("--list", options.list, "Only say what would be measured, no GPU");
  app.add_flag("--check", options.check, "Only compare every kernel with its reference")
      ->excludes(list);
  app.add_flag("--machine", options.machine,
               "Only say which GPUs are here, as orrery-machine/1, no CUDA");
  auto* collectives = app.add_flag("--collectives", options.collectives,
                                   "NCCL between GPUs: one process each, by mpirun or srun");
  app.add_flag("--choices", options.group.choices,
               "Only add which algorithm and protocol NCCL chooses to collectives measured before")
      ->needs(collectives);
  app.add_option("--meet", options.group.meeting, "Where ranks meet: file:PATH or tcp:HOST:PORT")
      ->type_name("PLACE")
      ->needs(collectives);
  app.add_option("--rank", options.group.rank, "Of this process, where no launcher says it")
      ->check(cli::count_between(0, 1'000'000).description(""))
      ->needs(collectives);
  app.add_option("--ranks", options.group.ranks, "Processes in all")
      ->check(cli::count_between(1, 1'000'000).description(""))
      ->needs(collectives);
  app.add_option("--local-rank", options.group.local_rank, "Place among those of this node")
      ->check(cli::count_between(0, 1'000'000).description(""))
      ->needs(collectives);
  app.add_option("--device", options.device, "Which GPU, counted from 0")
      ->check(cli::count_between(0, 1023));
  app.add_option("--seed", options.seed, "Of the order in which cases are measured")
      ->check(cli::count_between(0));
  app.add_option("--base", options.base, "GPU profile for what is not measured, else by its name")
      ->type_name("GPU");
  app.add_option("--network", options.network, "Preset of the wires that collectives ran on")
      ->type_name("NETWORK");
  app.add_option("--rig", options.rig, "Name of the machines, else that of the profile")
      ->type_name("NAME");
  app.add_option("--nvlink-domain", options.nvlink_domain, "GPUs that share NVLink, else a node's")
      ->check(cli::count_between(1, 1'000'000))
      ->type_name("N");
  cli::add_profiles_option(app, options.profiles);
  app.add_flag("--json", options.json, "orrery-calibration/1 on standard output");
  app.add_flag("-q,--quiet", options.quiet, "No progress");
}

// The shapes of the scenarios, the largest shares first; nothing after their problems were printed.
std::optional<std::vector<SweepCase>> exact_cases(const CommandOptions& options) {
  std::vector<SweepCase> cases;
  for (const std::string& word : options.scenarios) {
    const std::string file = cli::scenario_file(word, options.quiet);
    Diagnostics diagnostics;
    const hardware::ProfileSearch search = evaluate::profile_search(file, options.profiles);
    const auto scenario = scenario::load_file(file, diagnostics, search);
    std::optional<evaluate::Resolved> resolved;
    if (scenario) {
      resolved = evaluate::resolve(*scenario, search, diagnostics);
    }
    cli::message_block(to_string(diagnostics));
    if (!resolved) {
      return std::nullopt;
    }
    for (const StepCase& one :
         step_cases(evaluate::step_input(*scenario, *resolved), resolved->costs)) {
      if (cases.size() < kMostExactShapes) {
        cases.push_back({one.kernel, "scenario", Regime::sustained});
      }
    }
  }
  return cases;
}

Depth depth_of(const CommandOptions& options) { return options.quick ? Depth::quick : Depth::full; }

std::string list_text(const std::vector<SweepCase>& exact, const std::vector<SweepCase>& cases) {
  std::string text;
  for (const std::vector<SweepCase>* part : {&exact, &cases}) {
    for (const SweepCase& planned : *part) {
      const bool burst = planned.regime == Regime::burst;
      const std::string how = burst ? "burst" : to_text(planned.condition);
      text += fmt::format("{:<10}  {}{}\n", planned.block, kernels::to_text(planned.kernel),
                          how.empty() ? how : fmt::format("  ({})", how));
    }
  }
  return text;
}

fs::path samples_path(const CommandOptions& options) {
  fs::path path = options.output.value_or("profile.yaml");
  path.replace_extension(".samples.jsonl");
  return path;
}

cli::ExitCode check_kernels(Bench& bench, const CommandOptions& options,
                            const cli::InterruptWatch& watch) {
  cli::ProgressLine progress("check", !options.quiet, "cases");
  const CheckReport report =
      check_all(bench, watch.token(),
                [&](std::int64_t done, std::int64_t all) { progress.update(done, all); });
  cli::deliver(options.json ? to_json(report) : to_text(report), std::nullopt);
  if (options.output) {
    cli::deliver(to_json(report), *options.output);
  }
  watch.check();
  return report.failed == 0 ? cli::ExitCode::ok : cli::ExitCode::device;
}

// The wires of the collectives; nothing where nobody says which they were.
std::optional<CollectiveRig> rig_of(const CommandOptions& options, const Fingerprint& machine) {
  if (options.network.empty()) {
    return std::nullopt;
  }
  const hardware::NetworkSpec network =
      cli::network_named(options.network, "calibrate", options.profiles);
  const std::string stem = fs::path(options.output.value_or("profile.yaml")).stem().string();
  return CollectiveRig{
      .rig = options.rig.empty() ? stem : options.rig,
      .nvlink_domain = options.nvlink_domain > 0 ? options.nvlink_domain : machine.gpus,
      .fabric = network.fabric,
      .nic_rate = network.nic_rate,
      .nics_per_node = network.nics_per_node};
}

bool is_collective(const Sample& sample) {
  return sample.kernel.operation >= kernels::Operation::all_reduce;
}

bool any_evidence(const Measurements& measurements, bool (*wanted)(const Sample&)) {
  return std::ranges::any_of(measurements.samples, [wanted](const Sample& sample) {
    return sample.supported && !sample.functional && wanted(sample);
  });
}

bool is_kernel(const Sample& sample) { return !is_collective(sample); }

// The summary goes to standard output, the profile to its file.
cli::ExitCode deliver_profile(const Measurements& measurements, const fs::path& samples,
                              SweepReport report, const CommandOptions& options) {
  const std::vector<std::string> notes = sweep_notes(measurements.samples);
  report.warnings.insert(report.warnings.end(), notes.begin(), notes.end());
  const SweepSummary summary = summarise(measurements, report);
  cli::deliver(options.json ? to_json(summary) : to_text(summary), std::nullopt);
  if (!any_evidence(measurements, is_kernel)) {
    cli::message(fmt::format(
        "no profile yet: the kernels are not measured; orrery calibrate -o {} adds them to {}",
        *options.output, samples.string()));
    return cli::ExitCode::ok;
  }
  std::vector<std::string> warnings = report.warnings;
  warnings.insert(warnings.end(), summary.failures.begin(), summary.failures.end());
  const ProfileRequest request{.base = options.base,
                               .raw_file = samples.filename().string(),
                               .protocol = protocol_lines(),
                               .rig = rig_of(options, measurements.fingerprint),
                               .warnings = std::move(warnings),
                               .step = reference_calls()};
  if (!request.rig && any_evidence(measurements, is_collective)) {
    cli::message("the profile holds no collectives: say --network, the wires they ran on");
  }
  Diagnostics diagnostics;
  const hardware::ProfileSearch search = evaluate::profile_search(fs::path(), options.profiles);
  const std::optional<std::string> profile =
      write_profile(measurements, request, search, diagnostics);
  cli::message_block(to_string(diagnostics));
  if (!profile) {
    return cli::ExitCode::invalid;  // of what was asked: measuring again would change nothing
  }
  write_file_atomically(*options.output, *profile);
  cli::message(
      fmt::format("{} is the profile, {} its samples; orrery validate --hardware {} judges it",
                  *options.output, samples.string(), *options.output));
  return summary.failures.empty() ? cli::ExitCode::ok : cli::ExitCode::device;
}

cli::ExitCode measure(const std::vector<SweepCase>& exact, Bench& bench,
                      const CommandOptions& options, const cli::InterruptWatch& watch) {
  const fs::path path = samples_path(options);
  SampleJournal journal(path, bench.fingerprint());
  SweepReport report;
  {
    cli::ProgressLine progress("calibrate", !options.quiet, "cases");
    SweepOptions how;
    how.seed = options.seed;
    how.stop = watch.token();
    how.progress = [&](std::int64_t done, std::int64_t all) { progress.update(done, all); };
    report = run_sweep(exact, sweep_cases(depth_of(options)), bench, journal, how);
  }
  journal.close();
  if (report.interrupted) {
    cli::message(fmt::format("{} samples are in {}; the same command goes on from there",
                             journal.samples().size(), path.string()));
  }
  watch.check();
  return deliver_profile({bench.fingerprint(), journal.samples(), journal.settling()}, path, report,
                         options);
}

cli::ExitCode measure_collectives(const CommandOptions& options, const Devices& devices,
                                  const cli::InterruptWatch& watch) {
  cli::ProgressLine progress("collectives", !options.quiet, "cases");
  CollectiveRequest request = options.group;
  request.stop = watch.token();
  request.progress = [&](std::int64_t done, std::int64_t all) { progress.update(done, all); };
  const fs::path path = samples_path(options);
  const CollectiveOutcome outcome = devices.collectives(request, [&](const Fingerprint& machine) {
    return std::make_unique<SampleJournal>(path, machine);
  });
  watch.check();
  if (!outcome.first) {
    return cli::ExitCode::ok;
  }
  if (outcome.functional) {
    cli::message(
        "these ranks share a GPU, or there is one: the calls work, their times are no evidence");
  }
  return deliver_profile(read_measurements(path), path, {}, options);
}

cli::ExitCode run(const CommandOptions& options, const Devices& devices,
                  const cli::InterruptWatch& watch) {
  if (options.machine) {
    cli::deliver(to_json(devices.parts, kernels::list_gpus()), std::nullopt);
    return cli::ExitCode::ok;
  }
  if (!options.output && !options.list && !options.check) {
    throw cli::UsageError("calibrate: say where the profile goes: -o FILE");
  }
  if (options.samples) {
    return deliver_profile(read_measurements(*options.samples), *options.samples, {}, options);
  }
  const auto exact = exact_cases(options);
  if (!exact) {
    return cli::ExitCode::invalid;
  }
  if (options.list) {
    cli::deliver(list_text(*exact, sweep_cases(depth_of(options))), std::nullopt);
    return cli::ExitCode::ok;
  }
  if (options.collectives) {
    return measure_collectives(options, devices, watch);
  }
  const std::unique_ptr<Bench> bench = devices.bench(options.device);
  for (const std::string& absence : devices.parts.absent) {
    cli::message(absence);
  }
  if (options.check) {
    return check_kernels(*bench, options, watch);
  }
  return measure(*exact, *bench, options, watch);
}

}  // namespace

cli::ExitCode calibrate_command(int argc, const char* const* argv, const Devices& devices) {
  CLI::App app("Measures the kernels of a training step on this GPU and writes a profile.",
               "orrery calibrate");
  CommandOptions options;
  add_options(app, options);
  return cli::run_program(app, argc, argv, "calibrate", [&](const cli::InterruptWatch& watch) {
    return run(options, devices, watch);
  });
}

}  // namespace orrery::calibrate
