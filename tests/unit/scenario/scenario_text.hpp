#pragma once

// Writes the text of a test's scenario: dotted keys with their values become nested YAML.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::scenario {

class ScenarioText {
 public:
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  ScenarioText(Pairs pairs) : pairs_(std::move(pairs)) {}

  // Replaces the key, or adds it; an empty value removes it. A value for a whole section replaces
  // the keys below it, and the other way round.
  ScenarioText& set(const std::string& key, const std::string& value);

  [[nodiscard]] std::string yaml() const;

 private:
  Pairs pairs_;
};

// Two nodes, a spelled-out dense model, a run in which nodes fail. Every section that keys of the
// tests live in has an effect.
[[nodiscard]] ScenarioText base_text();

}  // namespace orrery::scenario
