#include <memory>

#include "calibrate/command/calibrate_command.hpp"
#include "calibrate/validate/validate_command.hpp"
#include "sim/base/error.hpp"
#include "sim/cli/cli.hpp"
#ifdef ORRERY_WITH_DEVICE
#include "calibrate/measure/device_bench.hpp"
#include "calibrate/validate/device_step_bench.hpp"
#endif
#ifdef ORRERY_WITH_COLLECTIVES
#include "calibrate/measure/collective_sweep.hpp"
#endif

namespace {

using namespace orrery::calibrate;

#ifndef ORRERY_WITH_DEVICE
[[noreturn]] void throw_no_cuda() {
  throw orrery::Error(orrery::ErrorKind::device,
                      "this build of orrery-calibrate has no CUDA: build it on a machine with the "
                      "CUDA toolkit");
}
#endif

std::unique_ptr<Bench> make_bench([[maybe_unused]] int device) {
#ifdef ORRERY_WITH_DEVICE
  return std::make_unique<DeviceBench>(device);
#else
  throw_no_cuda();
#endif
}

std::unique_ptr<StepBench> make_step_bench([[maybe_unused]] int device) {
#ifdef ORRERY_WITH_DEVICE
  return std::make_unique<DeviceStepBench>(device);
#else
  throw_no_cuda();
#endif
}

CollectiveOutcome collectives([[maybe_unused]] const CollectiveRequest& request,
                              [[maybe_unused]] const OpenJournal& open_journal) {
#ifdef ORRERY_WITH_COLLECTIVES
  return run_collectives(request, open_journal);
#else
  throw orrery::Error(orrery::ErrorKind::device,
                      "this build of orrery-calibrate has no NCCL: build it on a machine with CUDA "
                      "and NCCL");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  return orrery::cli::run_guarded([argc, argv] {
    if (asks_to_validate(argc, argv)) {
      return validate_command(argc, argv, make_step_bench);
    }
    return calibrate_command(argc, argv, {.bench = make_bench, .collectives = collectives});
  });
}
