// orrery-mpi: `orrery` where several processes share the points of a sweep. `orrery sweep` becomes
// this program by itself under mpirun.

#include "mpi/mpi_crew.hpp"
#include "sim/cli/cli.hpp"

int main(int argc, char** argv) {
  orrery::mpi::MpiCrew crew;
  return orrery::cli::run_cli(argc, argv, crew);
}
