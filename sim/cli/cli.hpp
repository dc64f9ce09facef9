#pragma once

// The command `orrery`: everything but `main`, so that tests can call it. What it shares with the
// other programs is in frame/program.hpp.

namespace orrery::sweep {
class Team;
}

namespace orrery::cli {

[[nodiscard]] int run_cli(int argc, const char* const* argv);

// The same with somebody else to evaluate the points of a sweep: the processes of mpirun.
[[nodiscard]] int run_cli(int argc, const char* const* argv, sweep::Team& team);

}  // namespace orrery::cli
