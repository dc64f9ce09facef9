#include "calibrate/import/import_command.hpp"
#include "sim/cli/frame/program.hpp"

int main(int argc, char** argv) {
  return orrery::cli::run_guarded(
      [argc, argv] { return orrery::calibration_import::import_command(argc, argv); });
}
