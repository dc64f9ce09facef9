// Keys of one cause of failures, in any of the lists of `failures`.

#include "sim/scenario/keys/cause_keys.hpp"

#include <fmt/core.h>

#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using run::FailureCategory;
using run::FailureScope;
namespace kind = yaml::kind;

std::vector<yaml::Choice<FailureCategory>> categories() {
  std::vector<yaml::Choice<FailureCategory>> result;
  for (std::size_t i = 0; i < run::kFailureCategoryCount; ++i) {
    const auto category = static_cast<FailureCategory>(i);
    result.push_back({run::to_string(category), category});
  }
  return result;
}

std::vector<yaml::Choice<FailureScope>> scopes() {
  std::vector<yaml::Choice<FailureScope>> result;
  for (std::size_t i = 0; i < run::kFailureScopeCount; ++i) {
    const auto scope = static_cast<FailureScope>(i);
    result.push_back({run::to_string(scope), scope});
  }
  return result;
}

void add_who(std::vector<Key>& keys, const std::string& path, const CauseOf& cause) {
  keys.push_back(text_key(
      {.path = path + ".name",
       .meaning = "What reports call the cause.",
       .example = "GPU memory",
       .required = true},
      [cause](Draft & draft) -> auto& { return cause(draft).name; }));
  keys.push_back(choice_key<FailureCategory>(
      {.path = path + ".category",
       .fallback = "unknown",
       .meaning = "Row of the failure table. gpu, network, host and maintenance take the node "
                  "away; gpu, network, host and unknown feel heat, burn-in and lemons.",
       .example = "gpu"},
      categories(), [cause](Draft & draft) -> auto& { return cause(draft).category; }));
  keys.push_back(choice_key<FailureScope>(
      {.path = path + ".scope",
       .fallback = "node",
       .meaning = "What one strike hits: a GPU or node (its node), a rack, switch or power_domain "
                  "(all nodes of failures.domains), the storage or the job (no node).",
       .example = "rack"},
      scopes(), [cause](Draft & draft) -> auto& { return cause(draft).scope; }));
  keys.push_back(choice_key<run::Symptom>(
      {.path = path + ".symptom",
       .fallback = "crash",
       .meaning = "A crash ends the job at once; a hang is found by recovery.watchdog or "
                  "recovery.inspection.",
       .example = "hang"},
      {{"crash", run::Symptom::crash}, {"hang", run::Symptom::hang}},
      [cause](Draft & draft) -> auto& { return cause(draft).symptom; }));
}

void add_law(std::vector<Key>& keys, const std::string& path, const CauseOf& cause) {
  keys.push_back(value_key<kind::EventRate>(
      {.path = path + ".rate",
       .note = "a share of node_rate by weight",
       .meaning = "Strikes of one unit of the scope per time: of one GPU, node, rack, switch, "
                  "power domain, of the storage or of the job.",
       .example = "0.002/d"},
      {}, [cause](Draft& draft, const PerSecond& value) {
        cause(draft).life = run::ExponentialLaw{1.0 / value};
      }));
  add_life_keys(
      keys,
      {.path = path + ".life",
       .note = "exponential, by rate or weight",
       .meaning = "Law of the time from the repair of one unit to its next failure; its "
                  "age survives restarts of the job. A time is the mean of an "
                  "exponential law.",
       .example = "{mean: 400d, shape: 0.8}"},
      [cause](Draft & draft) -> auto& { return cause(draft).life; });
  keys.push_back(age_key(
      {.path = path + ".age",
       .fallback = "stationary",
       .meaning = "Age of the components at the start: stationary (as in a "
                  "fleet long in use), new, or one age for all.",
       .example = "new"},
      [cause](Draft & draft) -> auto& { return cause(draft).age; }));
}

void add_consequences(std::vector<Key>& keys, const std::string& path, const CauseOf& cause) {
  keys.push_back(count_key(
      {.path = path + ".takes_nodes",
       .note = "all that are hit, where the category takes nodes away",
       .meaning = "Nodes that one strike takes out; they are replaced or repaired before training "
                  "resumes. 0: the same nodes go on.",
       .example = "0"},
      {0, 1'000'000}, [cause](Draft & draft) -> auto& { return cause(draft).takes_nodes; }));
  keys.push_back(section_key({.path = path + ".recovery",
                              .note = "as `recovery`",
                              .meaning = "Stages that last differently after this cause.",
                              .example = "{diagnose: 2h}"}));
  add_recovery_keys(
      keys, path + ".recovery", "as `recovery`",
      [cause](Draft& draft) -> run::RecoveryStages& { return cause(draft).recovery; });
}

}  // namespace

void add_cause_keys(std::vector<Key>& keys, const std::string& path, const CauseOf& cause) {
  add_who(keys, path, cause);
  add_law(keys, path, cause);
  add_consequences(keys, path, cause);
}

}  // namespace orrery::scenario
