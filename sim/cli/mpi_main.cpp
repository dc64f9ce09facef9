// orrery-mpi: `orrery` where several processes share the points of a sweep. `orrery sweep` becomes
// this program by itself under mpirun.

#include "sim/cli/cli.hpp"
#include "sim/cli/mpi_crew.hpp"

int main(int argc, char** argv) {
  orrery::cli::MpiCrew crew;
  return orrery::cli::run_cli(argc, argv, crew);
}
