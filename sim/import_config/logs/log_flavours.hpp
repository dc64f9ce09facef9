#pragma once

// The settings that the log of a program prints in a form of its own: a function for each, in its
// own file. Internal to import_config/.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/logs/log_scan.hpp"
#include "sim/import_config/logs/training_log.hpp"
#include "sim/import_config/trees/draft.hpp"

namespace orrery::import_config {

// By the row or the function of the format; none where its log holds facts alone.
[[nodiscard]] std::vector<LogPart> settings_of_text(ConfigFormat format, std::string_view text,
                                                    const std::string& file,
                                                    Diagnostics& diagnostics);

[[nodiscard]] std::vector<LogPart> megatron_log_settings(std::string_view text,
                                                         const std::string& file,
                                                         Diagnostics& diagnostics);
[[nodiscard]] std::vector<LogPart> torchtitan_log_settings(std::string_view text,
                                                           const std::string& file,
                                                           Diagnostics& diagnostics);
[[nodiscard]] std::vector<LogPart> deepspeed_log_settings(std::string_view text,
                                                          const std::string& file,
                                                          Diagnostics& diagnostics);
[[nodiscard]] std::vector<LogPart> trainer_log_settings(std::string_view text,
                                                        const std::string& file,
                                                        Diagnostics& diagnostics);

// What DeepSpeed prints of its settings, whoever starts it.
// The file it was given, then what it settled: `auto` has its value only there.
[[nodiscard]] std::vector<LogPart> deepspeed_parts(const std::vector<LogLine>& lines,
                                                   const std::string& file,
                                                   Diagnostics& diagnostics);

// An object of JSON that begins in line `begin` at the brace, up to the line of its closing brace.
// Each line loses `prefix`. Nothing after an error.
[[nodiscard]] std::optional<yaml::Value> printed_json(const std::vector<LogLine>& lines,
                                                      std::size_t begin, std::string_view prefix,
                                                      const std::string& file,
                                                      Diagnostics& diagnostics);

// The trainer_state.json of transformers, whose means are of the whole run.
[[nodiscard]] ScannedLog scan_trainer_state(std::string_view text, const std::string& file);

// What the sentences of a log say of the job, as keys of a scenario.

struct NamedLog {
  std::string file;
  std::shared_ptr<const ScannedLog> log;
};

// What a run has measured stands beside what it had set: of several logs the one with most steps.
void take_steps(std::span<const NamedLog> logs, Draft& draft, Diagnostics& diagnostics);

// Whether the log trains an output layer that the model's file ties to the embedding: then it is
// its own from now on.
[[nodiscard]] bool unties_embedding(const Pending& pending, const ImportedModel& model,
                                    Draft& draft);

// Of the last run in the log. `alone`: no file holds its settings, so that the defaults of the
// program do not hold.
void read_log_facts(const ScannedLog& log, const std::string& file, bool alone, Draft& draft,
                    Pending& pending);

// What only the settings say, where no file holds them.
void ask_for_arguments(const std::string& file, Draft& draft, const Pending& pending);

// An error where a count of parameters that the log prints is not the model's, or not all of them
// are trained.
void check_printed_counts(const Pending& pending, const ImportedModel& model, const Draft& draft,
                          Diagnostics& diagnostics);

// An error where the log tells of another task than to continue texts, and no file of its arguments
// says which (`told`).
void check_task(const Pending& pending, bool told, const Draft& draft, Diagnostics& diagnostics);

// What the log says of its GPU, and an error, where that is not the GPU of the scenario.
std::string check_card(const Pending& pending, const Draft& draft, Diagnostics& diagnostics);

}  // namespace orrery::import_config
