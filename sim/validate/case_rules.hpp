#pragma once

// Which function of the run stage answers a case? Rules by what is asked for and what is stated.
//
// A rule looks at the words of the quantity and at the inputs, never at the id. The first rule that
// applies answers. A rule whose inputs are incomplete gives nothing; the case then says what it
// would have needed. Internal to validate/.

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/validate/case_figure.hpp"
#include "sim/validate/case_inputs.hpp"

namespace orrery::validate {

struct Case {
  std::string words;                                // what is asked for, in lower case
  CaseInputs in;                                    // what is stated
  std::size_t wanted = 1;                           // how many values are expected
  std::string unit;                                 // of the first of them, in lower case
  std::vector<std::filesystem::path> folders = {};  // where files that it names may lie
  int threads = 0;
  std::string reason = {};              // why there is no answer, when inputs are not the reason
  std::vector<std::string> notes = {};  // what the answer had to assume

  [[nodiscard]] bool says(std::string_view word) const {
    return words.find(word) != std::string::npos;
  }

  [[nodiscard]] bool says_one(std::initializer_list<std::string_view> list) const;

  // Keeps of several values in the order of a rule those that are asked for: all of them when as
  // many are expected, else the one whose word comes first in the quantity.
  struct Named {
    std::initializer_list<std::string_view> names;
    Figure value;
  };

  [[nodiscard]] Figures pick(std::initializer_list<Named> values) const;
};

struct CaseRule {
  std::string_view group;
  bool (*applies)(const Case& asked);
  Figures (*answer)(Case& asked);
};

[[nodiscard]] std::span<const CaseRule> scripted_run_rules();  // runs that are simulated
[[nodiscard]] std::span<const CaseRule> fleet_rules();         // repairs, recovery by GPUs
[[nodiscard]] std::span<const CaseRule> checkpoint_rules();    // intervals, run time, sizes, rates
[[nodiscard]] std::span<const CaseRule> failure_rules();       // rates, shares, spares, placement
[[nodiscard]] std::span<const CaseRule> amount_rules();        // FLOPs, dollars, energy, sums

// The rule that answers, or nothing.
[[nodiscard]] const CaseRule* rule_for(const Case& asked);

}  // namespace orrery::validate
