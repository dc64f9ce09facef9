// Two programs: orrery-calibrate does without CUDA what needs no GPU, and starts on any machine.
// For the rest it becomes orrery-calibrate-cuda, the only program that CUDA's libraries are linked
// to.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "calibrate/command/calibrate_command.hpp"
#include "calibrate/validate/validate_command.hpp"
#include "sim/base/error.hpp"
#include "sim/cli/frame/child_process.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"
#ifdef ORRERY_WITH_DEVICE
#include "calibrate/measure/device_bench.hpp"
#include "calibrate/validate/device_step.hpp"
#include "kernels/device/runtime.hpp"
#endif

namespace {

using namespace orrery::calibrate;

#ifdef ORRERY_WITH_DEVICE

[[noreturn]] void throw_no_collectives() {
  throw orrery::Error(orrery::ErrorKind::device,
                      "this build of orrery-calibrate has no NCCL: build it on a machine with CUDA "
                      "and NCCL");
}

StepBenchFactory step_benches(int /*argc*/, const char* const* /*argv*/) {
  return [](int device) { return std::make_unique<DeviceStepBench>(device); };
}

// Whether a library that is opened when it is needed is here; its absence is one line of `parts`.
[[maybe_unused]] bool is_here(orrery::kernels::LateLibrary library, BuildParts& parts) {
  const std::string absence = orrery::kernels::absence_of(library);
  if (!absence.empty()) {
    parts.absent.push_back(absence);
  }
  return absence.empty();
}

Devices devices(int /*argc*/, const char* const* /*argv*/) {
  Devices devices{
      .bench = [](int device) { return std::make_unique<DeviceBench>(device); },
      .collectives = [](const CollectiveRequest&, const OpenJournal&) -> CollectiveOutcome {
        throw_no_collectives();
      },
      .parts = {.cuda = ORRERY_CUDA_VERSION}};
#ifdef ORRERY_WITH_COLLECTIVES
  devices.collectives = run_collectives;
  devices.parts.collectives = is_here(orrery::kernels::LateLibrary::nccl, devices.parts);
#endif
#ifdef ORRERY_WITH_CUDNN
  devices.parts.cudnn_attention = is_here(orrery::kernels::LateLibrary::cudnn, devices.parts);
#endif
  return devices;
}

bool asks_another(int /*argc*/, const char* const* /*argv*/) { return false; }

#else

constexpr std::string_view kDeviceProgram = "orrery-calibrate-cuda";

std::vector<std::string> missing_for_device() {
  const auto program = orrery::cli::program_beside(kDeviceProgram);
  return program ? orrery::cli::missing_libraries(*program) : std::vector<std::string>{};
}

// Does not return: this needs a GPU.
[[noreturn]] void hand_over(int argc, const char* const* argv) {
  const auto program = orrery::cli::program_beside(kDeviceProgram);
  if (!program) {
    throw orrery::Error(orrery::ErrorKind::device,
                        "this build of orrery-calibrate has no CUDA: build it on a machine with "
                        "the CUDA toolkit");
  }
  if (const auto missing = missing_for_device(); !missing.empty()) {
    throw orrery::Error(
        orrery::ErrorKind::device,
        fmt::format("measuring needs libraries that are not found here: {}; install the CUDA "
                    "toolkit, or name its folder in LD_LIBRARY_PATH",
                    fmt::join(missing, ", ")));
  }
  orrery::cli::become_program(*program, std::vector<std::string>(argv + 1, argv + argc));
}

StepBenchFactory step_benches(int argc, const char* const* argv) {
  return [argc, argv](int) -> std::unique_ptr<StepBench> { hand_over(argc, argv); };
}

Devices devices(int argc, const char* const* argv) {
  return {.bench = [argc, argv](int) -> std::unique_ptr<Bench> { hand_over(argc, argv); },
          .collectives = [argc, argv](const CollectiveRequest&, const OpenJournal&)
              -> CollectiveOutcome { hand_over(argc, argv); },
          .parts = {.missing = missing_for_device()}};
}

// --machine speaks of the program that has CUDA, when that starts.
bool asks_another(int argc, const char* const* argv) {
  const auto program = orrery::cli::program_beside(kDeviceProgram);
  if (argc != 2 || std::string_view(argv[1]) != "--machine" || !program) {
    return false;
  }
  const auto answer = orrery::cli::output_of(*program, {"--machine"});
  if (answer) {
    orrery::cli::deliver(*answer, std::nullopt);
  }
  return answer.has_value();
}

#endif

}  // namespace

int main(int argc, char** argv) {
  return orrery::cli::run_guarded([argc, argv] {
    if (asks_another(argc, argv)) {
      return orrery::cli::ExitCode::ok;
    }
    if (asks_to_validate(argc, argv)) {
      return validate_command(argc, argv, step_benches(argc, argv));
    }
    return calibrate_command(argc, argv, devices(argc, argv));
  });
}
