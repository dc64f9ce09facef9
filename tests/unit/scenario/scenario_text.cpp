#include "tests/unit/scenario/scenario_text.hpp"

#include <algorithm>

namespace orrery::scenario {

namespace {

using Pairs = ScenarioText::Pairs;

bool below(std::string_view key, std::string_view section) {
  return key.size() > section.size() && key.starts_with(section) && key[section.size()] == '.';
}

void write(const Pairs& pairs, const std::string& indent, std::string& text) {
  std::vector<std::string> done;
  for (const auto& [key, value] : pairs) {
    const std::string head = key.substr(0, key.find('.'));
    if (std::find(done.begin(), done.end(), head) != done.end()) {
      continue;
    }
    done.push_back(head);
    if (head == key) {
      text += indent + key + ": " + value + "\n";
      continue;
    }
    Pairs inner;
    for (const auto& [other, other_value] : pairs) {
      if (below(other, head)) {
        inner.emplace_back(other.substr(head.size() + 1), other_value);
      }
    }
    text += indent + head + ":\n";
    write(inner, indent + "  ", text);
  }
}

}  // namespace

ScenarioText& ScenarioText::set(const std::string& key, const std::string& value) {
  const auto same = std::find_if(pairs_.begin(), pairs_.end(),
                                 [&](const auto& pair) { return pair.first == key; });
  if (same != pairs_.end() && !value.empty()) {
    same->second = value;
    return *this;
  }
  pairs_.erase(std::remove_if(pairs_.begin(), pairs_.end(),
                              [&](const auto& pair) {
                                return pair.first == key || below(pair.first, key) ||
                                       below(key, pair.first);
                              }),
               pairs_.end());
  if (!value.empty()) {
    pairs_.emplace_back(key, value);
  }
  return *this;
}

std::string ScenarioText::yaml() const {
  std::string text;
  write(pairs_, "", text);
  return text;
}

ScenarioText base_text() {
  return ScenarioText({{"format", "orrery/1"},
                       {"name", "base"},
                       {"model.num_layers", "8"},
                       {"model.hidden_size", "1024"},
                       {"model.num_attention_heads", "16"},
                       {"model.vocab_size", "32000"},
                       {"model.sequence_length", "2048"},
                       {"cluster.gpu", "h100-sxm-80gb"},
                       {"cluster.nodes", "2"},
                       {"cluster.network.nic_rate", "400Gbps"},
                       {"cluster.network.nics_per_node", "8"},
                       {"batch.global", "64"},
                       {"software.recipe", "plain"},
                       {"training.steps", "1000"},
                       {"failures.node_rate", "0.01/d"}});
}

}  // namespace orrery::scenario
