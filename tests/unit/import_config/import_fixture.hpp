#pragma once

// Imports texts and the files under configs/, and looks up the outcome of one key.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/import_config/import_config.hpp"
#include "sim/import_config/logs/training_log.hpp"

namespace orrery::import_config::testing {

struct Imported {
  ImportResult result;
  Diagnostics diagnostics;

  // "" when the scenario has no such key.
  [[nodiscard]] std::string value(const std::string& path) const;
  [[nodiscard]] std::string origin(const std::string& path) const;  // read, derived, default, ...
  [[nodiscard]] std::string why(const std::string& path) const;
  [[nodiscard]] int line(const std::string& path) const;

  [[nodiscard]] bool asks(const std::string& path) const;
  // none, small, large, unknown, unread; "" when the key is not among those left out.
  [[nodiscard]] std::string effect(const std::string& key) const;
  [[nodiscard]] bool notes(const std::string& piece) const;
  [[nodiscard]] std::string problems() const;
};

// What no file says, so that a scenario is complete: machines, batch, length, vocabulary.
[[nodiscard]] std::vector<GivenKey> machines(int nodes = 16);

using Given = std::vector<GivenKey>;

// Files of configs/ by their names.
[[nodiscard]] Imported import_named(const std::vector<std::string>& names, const Given& given = {});

// Texts as files: {name, text}.
[[nodiscard]] Imported import_texts(const std::vector<std::pair<std::string, std::string>>& files,
                                    const Given& given = {});

// The steps of a log that is called a.log. What is wrong with it fails the test.
[[nodiscard]] std::optional<LoggedSteps> steps_in(const std::string& log, ConfigFormat format);

// A config.json with --as.
[[nodiscard]] Imported import_as(const std::string& model_class, const std::string& text);

[[nodiscard]] std::string config_text(const std::string& name);
// Files of configs/, or of a folder below it.
[[nodiscard]] std::vector<std::string> config_names(const std::string& below = "");

}  // namespace orrery::import_config::testing
