#pragma once

// What did a training run print of its own settings, and how long did its steps take? Internal to
// import_config/ but for `orrery compare`, which asks for the steps.
//
// program                  | its settings                              | its steps
// -------------------------|-------------------------------------------|--------------------------
// Megatron-LM, -DeepSpeed  | the block `name ..... value` of arguments | elapsed time per iteration
// torchtitan               | model, device mesh, batch, recomputation  | tps: tokens/s of one GPU
//
// Prefixes of srun, torchrun and timestamps do not disturb. Of a run that was begun again the last
// settings count. The step time is the median over the steps with the commonest batch, less the
// first one, which warms up.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/import_config/import_config.hpp"
#include "sim/yaml/document.hpp"

namespace orrery::import_config {

// The settings under the names that the reader of the format knows; nothing after an error.
[[nodiscard]] std::optional<yaml::Value> settings_of_log(std::string_view text,
                                                         const std::string& file,
                                                         ConfigFormat format,
                                                         Diagnostics& diagnostics);

struct LoggedSteps {
  std::size_t count = 0;  // steps behind the median
  Seconds median;
  Seconds tenth;                 // percentiles over these steps
  Seconds ninetieth;             // percentiles over these steps
  std::optional<double> tflops;  // per GPU as the program counts them, median
  SourceLocation first;          // of these steps
};

// Nothing when no step with a time was printed. torchtitan's steps need the tokens of a step and
// the GPUs, which its own lines state.
[[nodiscard]] std::optional<LoggedSteps> steps_of_log(std::string_view text,
                                                      const std::string& file,
                                                      ConfigFormat format);

// The name of the GPU, where the program prints it; empty otherwise.
[[nodiscard]] std::string gpu_of_log(std::string_view text);

}  // namespace orrery::import_config
