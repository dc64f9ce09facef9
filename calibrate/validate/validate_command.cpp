#include "calibrate/validate/validate_command.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Error.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/profile/build_profile.hpp"
#include "calibrate/validate/step_comparison.hpp"
#include "sim/answer/evaluate/catalog.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/interrupt.hpp"
#include "sim/cli/frame/number_option.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/cli/frame/progress.hpp"
#include "sim/step/hardware/calibration_profile.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Precision;

class Validation {
 public:
  Validation(StepBench& bench, const ValidationOptions& options)
      : bench_(bench), options_(options) {}

  ValidationRecord run();

 private:
  void check(const StepShape& shape);
  void time(const StepShape& shape);
  void time(const KernelCase& kernel);
  void advance();

  // What `work` throws becomes a status; empty when it throws nothing.
  template <typename Work>
  std::string status_of(const Work& work);

  [[nodiscard]] bool ended() const { return lost_ || options_.stop.stop_requested(); }

  StepBench& bench_;
  const ValidationOptions& options_;
  ValidationRecord record_;
  std::set<KernelCase> known_;
  std::set<std::pair<Precision, bool>> wrong_;  // and whether a mixture
  std::int64_t done_ = 0;
  bool lost_ = false;
};

void Validation::advance() {
  ++done_;
  if (options_.keep) {
    options_.keep(record_);
  }
  if (options_.progress) {
    options_.progress(done_, static_cast<std::int64_t>(options_.shapes.size()));
  }
}

template <typename Work>
std::string Validation::status_of(const Work& work) {
  try {
    work();
  } catch (const kernels::Unsupported& unsupported) {
    return unsupported.status();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) {
      throw;
    }
    lost_ = !bench_.kernels().usable();
    return fmt::format("{}{}", kFailedStatus, error.what());
  }
  return {};
}

void Validation::check(const StepShape& shape) {
  RecordedCheck entry{.shape = shape, .check = {}, .status = {}};
  entry.status = status_of([&] { entry.check = bench_.check_step(make_step_program(shape)); });
  if (!entry.status.empty() || !entry.check.passed) {
    wrong_.insert({shape.precision, shape.experts.has_value()});
  }
  record_.checks.push_back(entry);
}

void keep(const StepTiming& timing, RecordedStep& step) {
  step.us = timing.step.median;
  step.p10 = timing.step.p10;
  step.p90 = timing.step.p90;
  step.count = static_cast<std::int64_t>(timing.step.count);
  if (timing.launched) {
    step.launched_us = timing.launched->median;
  }
  step.sm_clock = timing.state.sm_clock;
  step.power = timing.state.power;
  for (const std::string& reason : timing.state.throttled) {
    step.throttled += (step.throttled.empty() ? "" : " ") + reason;
  }
}

void Validation::time(const StepShape& shape) {
  const StepProgram program = make_step_program(shape);
  RecordedStep step;
  step.shape = shape;
  if (wrong_.contains({shape.precision, shape.experts.has_value()})) {
    step.status = "its small step is not right on this GPU";
  } else {
    step.status = status_of([&] { keep(bench_.time_step(program, options_.timing), step); });
  }
  record_.steps.push_back(step);
  if (!step.status.empty()) {
    return;
  }
  for (const StepOperation& operation : program.operations) {
    if (!ended()) {
      time(operation.kernel);
    }
  }
}

void Validation::time(const KernelCase& kernel) {
  if (!known_.insert(kernel).second) {
    return;
  }
  RecordedKernel entry{.kernel = kernel};
  entry.status = status_of([&] {
    const Sample sample = bench_.kernels().measure(kernel, {.power = false});
    entry.us = summarise(sample.times).median;
    entry.implementation = sample.implementation;
    entry.sm_clock = sample.state.sm_clock;
  });
  record_.kernels.push_back(entry);
}

ValidationRecord Validation::run() {
  Bench& single = bench_.kernels();
  record_.fingerprint = machine_id(single.fingerprint());
  record_.gpu = single.fingerprint().gpu;
  record_.measured_at = single.now();
  for (const bool mixture : {false, true}) {
    for (const Precision precision : {Precision::bf16, Precision::fp8_tensor}) {
      if (!ended() && (!mixture || precision == Precision::bf16)) {
        check(small_shape(precision, mixture));
      }
    }
  }
  if (!ended()) {
    single.soak(options_.soak);
  }
  if (!ended()) {
    time(transfer_case());  // before the steps, which may run out of time
  }
  for (const StepShape& shape : options_.shapes) {
    if (ended()) {
      break;
    }
    time(shape);
    advance();
  }
  return record_;
}

}  // namespace

ValidationRecord run_validation(StepBench& bench, const ValidationOptions& options) {
  return Validation(bench, options).run();
}

ValidationOptions validation_options(bool quick) {
  ValidationOptions options;
  options.shapes = held_out_shapes();
  if (quick) {
    constexpr std::size_t kFew = 2;  // bf16, of two and eight layers
    options.shapes.resize(kFew);
    options.timing.warm_up = seconds(1.0);
    options.timing.loop = seconds(2.0);
    options.soak = seconds(2.0);
  }
  return options;
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{16} << 20U;  // of a file that is read

struct CommandOptions {
  std::string profile;
  std::optional<std::string> output;
  std::optional<std::string> record;
  std::vector<std::string> torch;
  std::optional<std::string> again;
  std::vector<std::filesystem::path> profiles;
  std::optional<double> loop;  // s
  int device = 0;
  bool allow_foreign = false;
  bool quick = false;
  bool rows = false;
  bool json = false;
  bool quiet = false;
};

void add_options(CLI::App& app, CommandOptions& options) {
  app.add_option("--validate", options.profile,
                 "What is judged: a calibration profile, or a GPU profile, whose laws predict")
      ->type_name("PROFILE")
      ->required();
  app.add_option("-o,--output", options.output, "Keep what was measured in FILE")
      ->type_name("FILE");
  app.add_option("--record", options.record, "Compare with what was measured before, no GPU")
      ->type_name("FILE");
  app.add_option("--torch", options.torch, "Steps and calls that calibrate/torch_step.py has timed")
      ->type_name("FILE");
  app.add_option("--again", options.again, "Profile of a second sweep of the same machine")
      ->type_name("PROFILE");
  app.add_flag("--quick", options.quick, "One shape, in less than a minute");
  app.add_option("--loop", options.loop, "Time every step for so long, 5 s by default")
      ->type_name("SECONDS")
      ->check(cli::number_between(0.1, 3600.0));
  app.add_option("--device", options.device, "Which GPU, counted from 0")
      ->check(cli::count_between(0, 1023));
  cli::add_profiles_option(app, options.profiles);
  app.add_flag("--allow-foreign-profile", options.allow_foreign,
               "Accept a profile that was measured on another GPU");
  app.add_flag("--rows", options.rows, "Every kernel, not only the worst");
  app.add_flag("--json", options.json, "orrery-hardware-validation/1");
  app.add_flag("-q,--quiet", options.quiet, "No progress");
}

struct LoadedProfile {
  std::optional<hardware::GpuProfile> gpu;  // absent: its problems were printed
  cli::ExitCode failure = cli::ExitCode::invalid;
};

LoadedProfile load_profile(const CommandOptions& options) {
  Diagnostics diagnostics;
  hardware::ProfileSearch search = evaluate::profile_search({}, options.profiles);
  search.allow_foreign = options.allow_foreign;
  auto gpu =
      hardware::load_gpu_profile(options.profile, search, {options.profile}, "", diagnostics);
  const bool lacks = !gpu && !fs::exists(options.profile);
  cli::message_block(to_string(diagnostics));
  return {std::move(gpu), lacks ? cli::ExitCode::device : cli::ExitCode::invalid};
}

fs::path record_path(const CommandOptions& options) {
  if (options.output) {
    return *options.output;
  }
  fs::path path = options.profile;
  path.replace_extension(".validation.yaml");
  return path;
}

ValidationRecord measure(const CommandOptions& options, const StepBenchFactory& make_bench,
                         const cli::InterruptWatch& watch) {
  check_writable(record_path(options));
  const std::unique_ptr<StepBench> bench = make_bench(options.device);
  ValidationRecord record;
  {
    cli::ProgressLine progress("validate", !options.quiet, "steps");
    ValidationOptions how = validation_options(options.quick);
    if (options.loop) {
      how.timing.loop = seconds(*options.loop);
      how.timing.warm_up = std::min(how.timing.warm_up, how.timing.loop);
    }
    how.stop = watch.token();
    how.keep = [&](const ValidationRecord& so_far) {
      write_file_atomically(record_path(options), to_yaml(so_far));
    };
    how.progress = [&](std::int64_t done, std::int64_t all) { progress.update(done, all); };
    record = run_validation(*bench, how);
  }
  cli::deliver(to_yaml(record), record_path(options));
  watch.check();
  return record;
}

std::optional<ValidationRecord> load_record(const std::string& file) {
  Diagnostics diagnostics;
  auto record = read_record(read_file(file, kMostBytes), file, diagnostics);
  cli::message_block(to_string(diagnostics));
  return record;
}

bool load_torch(const std::vector<std::string>& files, Companions& beside) {
  for (const std::string& file : files) {
    const ReadTorch read = read_torch(read_file(file, kMostBytes));
    if (!read.problem.empty()) {
      cli::message(fmt::format("{}: {}", file, read.problem));
      return false;
    }
    beside.steps.insert(beside.steps.end(), read.steps.begin(), read.steps.end());
    beside.kernels.insert(beside.kernels.end(), read.kernels.begin(), read.kernels.end());
  }
  return true;
}

// The clock of the profile's products, its choices of algorithms, and every sustained case that a
// second sweep measured too. False after a problem was printed.
bool load_sweeps(const CommandOptions& options, bool calibrated, Companions& beside) {
  if (!calibrated && options.again) {
    cli::message(
        fmt::format("--again: {} was not measured, there is no first sweep", options.profile));
  }
  if (!calibrated) {
    return !options.again;
  }
  Diagnostics diagnostics;
  const auto first = hardware::load_calibration(options.profile, diagnostics);
  const auto second =
      options.again ? hardware::load_calibration(*options.again, diagnostics) : std::nullopt;
  cli::message_block(to_string(diagnostics));
  if (!first || (options.again && !second)) {
    return false;
  }
  beside.step_clock = first->find_derived(hardware::kStepClock);
  beside.first_choices = first_choice_losses(*first);
  if (!second) {
    return true;
  }
  if (first->id != second->id) {
    throw Error(ErrorKind::device,
                fmt::format("{} was measured on another machine, board or with other libraries "
                            "than {}: two sweeps of one machine are compared",
                            *options.again, options.profile));
  }
  beside.again = repeat_errors(*first, *second);
  return true;
}

// Refuses what was measured on another GPU.
void check_machine(const hardware::GpuProfile& gpu, const ValidationRecord& record) {
  if (gpu.calibration && gpu.calibration->device != record.gpu) {
    throw Error(ErrorKind::device,
                fmt::format("the profile was measured on {}, this is {}: --allow-foreign-profile "
                            "compares them all the same",
                            gpu.calibration->device, record.gpu));
  }
}

cli::ExitCode run(const CommandOptions& options, const StepBenchFactory& make_bench,
                  const cli::InterruptWatch& watch) {
  const auto [gpu, failure] = load_profile(options);
  if (!gpu) {
    return failure;
  }
  Companions beside;
  if (!load_torch(options.torch, beside) ||
      !load_sweeps(options, gpu->calibration.has_value(), beside)) {
    return cli::ExitCode::invalid;
  }
  const std::optional<ValidationRecord> record =
      options.record ? load_record(*options.record)
                     : std::optional(measure(options, make_bench, watch));
  if (!record) {
    return cli::ExitCode::invalid;
  }
  if (!options.allow_foreign) {
    check_machine(*gpu, *record);
  }
  const StepValidation validation = compare_steps(*record, *gpu, beside);
  cli::deliver(options.json ? to_json(validation) : to_text(validation, options.rows),
               std::nullopt);
  return passed(validation) ? cli::ExitCode::ok : cli::ExitCode::expectation_failed;
}

}  // namespace

bool asks_to_validate(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--validate" || word.starts_with("--validate=")) {
      return true;
    }
  }
  return false;
}

cli::ExitCode validate_command(int argc, const char* const* argv,
                               const StepBenchFactory& make_bench) {
  CLI::App app("Compares training steps on this GPU with what a calibration profile predicts.",
               "orrery validate --hardware");
  CommandOptions options;
  add_options(app, options);
  return cli::run_program(app, argc, argv, "validate", [&](const cli::InterruptWatch& watch) {
    return run(options, make_bench, watch);
  });
}

}  // namespace orrery::calibrate
