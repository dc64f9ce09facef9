#pragma once

// `orrery calibrate`: measures the kernels of a training step on this GPU and writes a profile.
//
//   orrery calibrate -o my-cluster.yaml            full sweep, then the profile
//   orrery calibrate --quick -o my-cluster.yaml    under a minute
//   orrery calibrate --scenario run.yaml ...       the exact shapes of its step first
//   orrery calibrate --check                       checks every kernel's result
//   orrery calibrate --list                        what would be measured; needs no GPU
//   mpirun -np 8 orrery calibrate --collectives -o ...   NCCL between the GPUs, one process each
//   ... --collectives --choices -o ...             then: algorithm and protocol of each of them
//   orrery calibrate --machine                     what this build and this machine offer
//   orrery calibrate --samples FILE -o ...         the profile again from its samples; needs no GPU
//
// Samples go to `my-cluster.samples.jsonl` as they are taken; the same command resumes there. The
// GPU is behind a factory, so that tests run the whole command on a bench of formulas.

#include <functional>
#include <memory>

#include "calibrate/command/machine_report.hpp"
#include "calibrate/sweep/bench.hpp"
#include "calibrate/sweep/collective_request.hpp"
#include "sim/cli/frame/exit_code.hpp"

namespace orrery::calibrate {

using BenchFactory = std::function<std::unique_ptr<Bench>(int device)>;

// What the command asks of the machine.
struct Devices {
  BenchFactory bench;
  CollectiveRunner collectives;
  BuildParts parts = {};
};

// Throws UsageError and Error as sim/cli/frame/program.hpp says.
[[nodiscard]] cli::ExitCode calibrate_command(int argc,
                                              const char* const* argv,
                                              const Devices& devices);

}  // namespace orrery::calibrate
