#include "tests/fuzz/exercise_scenario.hpp"

#include <algorithm>
#include <string>

#include "sim/base/check.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/reader.hpp"
#include "sim/scenario/load.hpp"

namespace orrery::scenario {

namespace {

constexpr const char* kName = "fuzz.yaml";

// A diagnostic reaches a terminal as one line with a place inside the file.
void check_diagnostics(const Diagnostics& diagnostics, int lines) {
  // Limits of the YAML reader, of the mapping reader, and one warning for each key that can idle.
  constexpr std::size_t kMostWarnings = 100;
  const std::size_t most = yaml::Limits{}.max_problems + yaml::kMaxReaderProblems + kMostWarnings;
  ORRERY_CHECK(diagnostics.all().size() <= most, "too many diagnostics");
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    ORRERY_CHECK(!diagnostic.message.empty(), "a diagnostic says nothing");
    ORRERY_CHECK(diagnostic.where.file == kName, "a diagnostic names another file");
    ORRERY_CHECK(diagnostic.where.line <= lines, "line {} lies behind the end of the file",
                 diagnostic.where.line);
    for (const char c : to_string(diagnostic)) {
      const auto byte = static_cast<unsigned char>(c);
      ORRERY_CHECK(byte >= 0x20 && byte != 0x7F, "a diagnostic holds byte {}", int{byte});
    }
  }
}

// What later stages rely on without looking again.
void check_scenario(const Scenario& scenario) {
  const model::ModelSpec& model = scenario.model;
  ORRERY_CHECK(model.num_layers > 0 && model.hidden_size > 0 && model.num_attention_heads > 0 &&
                   model.num_query_groups > 0 && model.head_dim > 0 && model.ffn_hidden_size > 0 &&
                   model.vocab_size > 0 && model.sequence_length > 0,
               "a dimension of the model is missing");
  ORRERY_CHECK(!model.name.empty() && !scenario.cluster.gpu.empty(), "a name is missing");
  ORRERY_CHECK(scenario.cluster.nodes > 0 && scenario.cluster.gpus_per_node > 0, "no GPUs");
  ORRERY_CHECK(scenario.batch.global > 0 && scenario.batch.micro > 0, "no batch");
  ORRERY_CHECK(scenario.layout.order.size() == layout::kAxisCount, "an axis is missing");
  for (const ExpectationText& expectation : scenario.expect) {
    ORRERY_CHECK(!expectation.text.empty(), "an expectation is empty");
  }
  for (const auto& [key, where] : scenario.locations) {
    ORRERY_CHECK(where.line > 0 && scenario.where(key) == where, "{} has no place", key);
  }
}

}  // namespace

void exercise(std::string_view text) {
  Diagnostics diagnostics;
  const auto scenario = load_text(text, kName, diagnostics);
  ORRERY_CHECK(scenario.has_value() != diagnostics.has_errors(), "a scenario or errors, not both");
  const auto lines = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
  check_diagnostics(diagnostics, lines);
  if (scenario) {
    check_scenario(*scenario);
  }
  Diagnostics again;
  ORRERY_CHECK(load_text(text, kName, again).has_value() == scenario.has_value() &&
                   to_string(again) == to_string(diagnostics),
               "reading twice gives two answers");
}

}  // namespace orrery::scenario
