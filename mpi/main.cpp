// orrery-mpi: `orrery` where several processes share the points of a sweep. `orrery sweep` becomes
// this program by itself under mpirun.

#include <memory>

#include "mpi/mpi_mail.hpp"
#include "sim/answer/sweep/team.hpp"
#include "sim/cli/cli.hpp"

int main(int argc, char** argv) {
  orrery::sweep::Team team(std::make_unique<orrery::mpi::MpiMail>());
  return orrery::cli::run_cli(argc, argv, team);
}
