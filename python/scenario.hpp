#pragma once

// A scenario in Python: the text of a file with keys replaced, as --set does, and the folders that
// are searched for profiles and presets.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "sim/answer/plan/search/step_estimator.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/hardware/profile_search.hpp"

namespace orrery::python {

// Becomes orrery.ScenarioError.
struct Problems {
  Diagnostics diagnostics;
};

using Settings = std::vector<std::pair<std::string, std::string>>;  // key, value

// As the options of `orrery import` say it.
struct Importing {
  std::vector<std::string> names;
  Settings settings;
  std::vector<std::string> profiles;
  std::string model_class;
  std::vector<std::string> ignored;
  std::string pattern;
  std::string failures;  // the file that the restarts in the logs are written to; empty: none
};

class Scenario {
 public:
  // `profiles`: folders that are searched before the usual ones.
  static Scenario named(const std::string& word, const std::vector<std::string>& profiles);
  static Scenario of_text(const std::string& text, const std::string& file,
                          const std::vector<std::string>& profiles);
  // Files and logs of other programs; what none of them says is an error.
  static Scenario imported(const Importing& asked, const std::stop_token& stop);

  void set(const std::string& key, const std::string& value);
  // The key stays as it is, whatever is set, varied or planned beside it (--keep).
  void keep(const std::string& key);
  [[nodiscard]] std::optional<std::string> get(const std::string& key) const;

  // The warnings of the reader stay in `diagnostics`.
  [[nodiscard]] scenario::Scenario read(Diagnostics& diagnostics) const;

  // The step alone, as `orrery run` says it; what layouts share is kept for the next one.
  [[nodiscard]] plan::Estimate estimate();

  // The text with what was set in it, for what varies more keys.
  [[nodiscard]] scenario::ScenarioTemplate base_with_changes() const;

  [[nodiscard]] const std::string& file() const { return base_.file(); }

  // As a file would state it; nothing of what was set since.
  [[nodiscard]] const std::string& text() const { return text_; }

  // orrery-config-import/1, where it was imported: what was read, assumed, left out.
  [[nodiscard]] const std::string& import_report() const { return import_report_; }

  // What was set since, and where profiles are looked for: with text and file all of the scenario.
  [[nodiscard]] Settings changes() const;
  [[nodiscard]] std::vector<std::string> profiles() const;

  [[nodiscard]] bool keeps_data() const { return keeps_data_; }

  [[nodiscard]] const hardware::ProfileSearch& search() const { return search_; }

 private:
  Scenario(std::string text, scenario::ScenarioTemplate base, hardware::ProfileSearch search)
      : text_(std::move(text)), base_(std::move(base)), search_(std::move(search)) {}

  std::string text_;
  std::string import_report_;
  scenario::ScenarioTemplate base_;
  hardware::ProfileSearch search_;
  std::vector<scenario::KeyValue> changes_;
  bool keeps_data_ = false;
  std::shared_ptr<plan::StepEstimator> estimator_;  // used under the interpreter's lock
};

}  // namespace orrery::python
