#pragma once

// What does the log of each program say? One pair of functions per flavour, each in its own file;
// training_log.cpp has them in a table. Internal to import_config/.
//
// program         | its settings                                     | its steps
// ----------------|--------------------------------------------------|--------------------------
// Megatron-LM     | `name ..... value`, one a line                   | elapsed time per iteration
// Megatron-Bridge | YAML between two rules of dashes                 | the same
// NeMo            | YAML, indented, after `Experiment configuration` | train_step_timing in s
// torchtitan      | sentences                                        | tps: of one GPU
// DeepSpeed       | JSON after `json =`, `name .... value`           | CurrSamplesPerSec, iter time
// HF Trainer      | sentences, JSON after `Model config`, DeepSpeed's | bar, train_runtime
// nanotron        | Python's repr() of a dataclass                   | time_per_iteration_ms

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/training_log.hpp"

namespace orrery::import_config {

// Settings as the readers of formats take them; none after an error, or where a log has none.
using LogSettingsReader = std::vector<LogPart> (*)(std::string_view text,
                                                   const std::string& file,
                                                   Diagnostics& diagnostics);

// The steps whose time is printed, in order.
using LogStepsReader = std::vector<LoggedStep> (*)(std::string_view text, const std::string& file);

struct LogFlavour {
  ConfigFormat format;
  std::string_view begins;  // in the first line of the settings of a run
  LogSettingsReader settings;
  LogStepsReader steps;
};

[[nodiscard]] std::vector<LogPart> megatron_log_settings(std::string_view text,
                                                         const std::string& file,
                                                         Diagnostics& diagnostics);
[[nodiscard]] std::vector<LoggedStep> megatron_log_steps(std::string_view text,
                                                         const std::string& file);

[[nodiscard]] std::vector<LogPart> bridge_log_settings(std::string_view text,
                                                       const std::string& file,
                                                       Diagnostics& diagnostics);

[[nodiscard]] std::vector<LogPart> nemo_log_settings(std::string_view text,
                                                     const std::string& file,
                                                     Diagnostics& diagnostics);
[[nodiscard]] std::vector<LoggedStep> nemo_log_steps(std::string_view text,
                                                     const std::string& file);

[[nodiscard]] std::vector<LogPart> torchtitan_log_settings(std::string_view text,
                                                           const std::string& file,
                                                           Diagnostics& diagnostics);
[[nodiscard]] std::vector<LoggedStep> torchtitan_log_steps(std::string_view text,
                                                           const std::string& file);

[[nodiscard]] std::vector<LogPart> deepspeed_log_settings(std::string_view text,
                                                          const std::string& file,
                                                          Diagnostics& diagnostics);
[[nodiscard]] std::vector<LoggedStep> deepspeed_log_steps(std::string_view text,
                                                          const std::string& file);

[[nodiscard]] std::vector<LogPart> trainer_log_settings(std::string_view text,
                                                        const std::string& file,
                                                        Diagnostics& diagnostics);
[[nodiscard]] std::vector<LoggedStep> trainer_log_steps(std::string_view text,
                                                        const std::string& file);

[[nodiscard]] std::vector<LogPart> nanotron_log_settings(std::string_view text,
                                                         const std::string& file,
                                                         Diagnostics& diagnostics);
[[nodiscard]] std::vector<LoggedStep> nanotron_log_steps(std::string_view text,
                                                         const std::string& file);

}  // namespace orrery::import_config
