#pragma once

// What the sentences of a log say of the job, as keys of a scenario. Internal to import_config/.

#include <memory>
#include <span>
#include <string>

#include "sim/import_config/logs/log_scan.hpp"
#include "sim/import_config/trees/draft.hpp"

namespace orrery::import_config {

struct NamedLog {
  std::string file;
  std::shared_ptr<const ScannedLog> log;
};

// What a run has measured stands beside what it had set: of several logs the one with most steps.
void take_steps(std::span<const NamedLog> logs, Draft& draft, Diagnostics& diagnostics);

// Whether the log trains an output layer that the model's file ties to the embedding: then it is
// its own from now on.
[[nodiscard]] bool unties_embedding(const Pending& pending,
                                    const ImportedModel& model,
                                    Draft& draft);

// Of the last run in the log. `alone`: no file holds its settings, so that the defaults of the
// program do not hold.
void read_log_facts(
    const ScannedLog& log, const std::string& file, bool alone, Draft& draft, Pending& pending);

// What only the settings say, where no file holds them.
void ask_for_arguments(const std::string& file, Draft& draft, const Pending& pending);

// An error where a count of parameters that the log prints is not the model's, or not all of them
// are trained.
void check_printed_counts(const Pending& pending,
                          const ImportedModel& model,
                          const Draft& draft,
                          Diagnostics& diagnostics);

}  // namespace orrery::import_config
