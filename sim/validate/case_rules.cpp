#include "sim/validate/case_rules.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace orrery::validate {

namespace {

// Where the first of the names stands in the text; npos without one.
std::size_t place_of(const std::string& words, std::initializer_list<std::string_view> names) {
  std::size_t place = std::string::npos;
  for (const std::string_view name : names) {
    place = std::min(place, words.find(name));
  }
  return place;
}

}  // namespace

bool Case::says_one(std::initializer_list<std::string_view> list) const {
  return place_of(words, list) != std::string::npos;
}

Figures Case::pick(std::initializer_list<Named> values) const {
  std::vector<std::pair<std::size_t, Figure>> found;
  Figures in_order;
  for (const Named& value : values) {
    in_order.push_back(value.value);
    if (const std::size_t place = place_of(words, value.names); place != std::string::npos) {
      found.emplace_back(place, value.value);
    }
  }
  if (wanted == values.size() && found.size() < values.size()) {
    return in_order;
  }
  std::stable_sort(
      found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Figures picked;
  for (std::size_t i = 0; i < std::min(wanted, found.size()); ++i) {
    picked.push_back(found[i].second);
  }
  return picked;
}

const CaseRule* rule_for(const Case& asked) {
  for (const auto& rules :
       {scripted_run_rules(), fleet_rules(), failure_rules(), checkpoint_rules(), amount_rules()}) {
    for (const CaseRule& rule : rules) {
      if (rule.applies(asked)) {
        return &rule;
      }
    }
  }
  return nullptr;
}

}  // namespace orrery::validate
