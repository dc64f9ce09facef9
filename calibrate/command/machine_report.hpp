#pragma once

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

#include <string>
#include <vector>

#include "kernels/nvml/gpu_list.hpp"

namespace orrery::calibrate {

struct BuildParts {
  std::string cuda = {};  // "13.0.88"; empty without CUDA
  bool collectives = false;
  bool cudnn_attention = false;
  std::vector<std::string> missing = {};  // orrery-calibrate-cuda is there, but cannot be started
  std::vector<std::string> absent = {};   // what else is not here, and what that costs
};

[[nodiscard]] std::string to_json(const BuildParts& parts, const kernels::GpuList& machine);

}  // namespace orrery::calibrate
