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
#include <string>
#include <vector>

#include "calibrate/sweep/bench.hpp"
#include "kernels/nvml/nvml.hpp"
#include "sim/cli/frame/exit_code.hpp"

namespace orrery::calibrate {

// Reports what this build and this machine's GPUs can measure, for `orrery doctor`.
//
//   orrery calibrate --machine        JSON, "orrery-machine/1"; needs no GPU and no driver
//
// symbol  | meaning                                                    | origin
// --------|------------------------------------------------------------|-----------------
// cuda    | toolkit of this build; null without one                    | CMake
// missing | libraries of CUDA that the program would need and the loader does not find
// absent  | "libcudnn.so.9 is not on this machine: ...": opened when it is needed, not required
// profile | shipped profile of a GPU by its name; null when none       | hardware/gpu_names

struct BuildParts {
  std::string cuda = {};  // "13.0.88"; empty without CUDA
  bool collectives = false;
  bool cudnn_attention = false;
  std::vector<std::string> missing = {};  // orrery-calibrate-cuda is there, but cannot be started
  std::vector<std::string> absent = {};   // what else is not here, and what that costs
};

[[nodiscard]] std::string to_json(const BuildParts& parts, const kernels::GpuList& machine);

using BenchFactory = std::function<std::unique_ptr<Bench>(int device)>;

// What the command asks of the machine.
struct Devices {
  BenchFactory bench;
  CollectiveRunner collectives;
  BuildParts parts = {};
};

// Throws UsageError and Error as sim/cli/frame/program.hpp says.
[[nodiscard]] cli::ExitCode calibrate_command(int argc, const char* const* argv,
                                              const Devices& devices);

}  // namespace orrery::calibrate
