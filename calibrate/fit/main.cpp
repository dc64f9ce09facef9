#include "calibrate/fit/fit_command.hpp"
#include "sim/cli/frame/program.hpp"

int main(int argc, char** argv) {
  return orrery::cli::run_guarded([argc, argv] { return orrery::fit::fit_command(argc, argv); });
}
