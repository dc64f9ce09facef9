#include <memory>

#include "calibrate/command/calibrate_command.hpp"
#include "sim/base/error.hpp"
#include "sim/cli/cli.hpp"
#ifdef ORRERY_WITH_DEVICE
#include "calibrate/measure/device_bench.hpp"
#endif
#ifdef ORRERY_WITH_COLLECTIVES
#include "calibrate/measure/collective_sweep.hpp"
#endif

namespace {

using namespace orrery::calibrate;

std::unique_ptr<Bench> make_bench([[maybe_unused]] int device) {
#ifdef ORRERY_WITH_DEVICE
  return std::make_unique<DeviceBench>(device);
#else
  throw orrery::Error(orrery::ErrorKind::device,
                      "this build of orrery-calibrate has no CUDA: build it on a machine with the "
                      "CUDA toolkit");
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
    return calibrate_command(argc, argv, {.bench = make_bench, .collectives = collectives});
  });
}
