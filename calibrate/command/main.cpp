#include <memory>

#include "calibrate/command/calibrate_command.hpp"
#include "sim/base/error.hpp"
#include "sim/cli/cli.hpp"
#ifdef ORRERY_WITH_DEVICE
#include "calibrate/measure/device_bench.hpp"
#endif

namespace {

std::unique_ptr<orrery::calibrate::Bench> make_bench([[maybe_unused]] int device) {
#ifdef ORRERY_WITH_DEVICE
  return std::make_unique<orrery::calibrate::DeviceBench>(device);
#else
  throw orrery::Error(orrery::ErrorKind::device,
                      "this build of orrery-calibrate has no CUDA: build it on a machine with the "
                      "CUDA toolkit");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  return orrery::cli::run_guarded(
      [argc, argv] { return orrery::calibrate::calibrate_command(argc, argv, make_bench); });
}
