#pragma once

// Options of a plan that the user can set before the search: the keys of `plan:`, with types from
// the key table and values from the scenario.
//
// What is typed overrides the file for this plan only, as options of `orrery plan` do; the
// scenario stays as it is. An axis takes values as the command does: 1,2,4 or auto; `fixed` keeps
// what the scenario has.

#include <QString>
#include <QStringList>
#include <map>
#include <string>
#include <vector>

#include "sim/scenario/variant.hpp"

namespace orrery::gui {

struct PlanOption {
  enum class Group { goal, constraint, run, layout };

  std::string key;  // plan.search.tensor
  Group group = Group::layout;
  QString name;         // "tensor"
  QString without;      // what holds when nothing is typed
  bool stated = false;  // by the scenario
  QString tip;
  QStringList choices = {};  // the words that it takes, where it takes nothing else
};

// Goal first, then constraints, cluster and run, layout. Empty for a text that is no scenario.
[[nodiscard]] std::vector<PlanOption> plan_options(const std::string& text);

// By key; blank: nothing is chosen.
using PlanChoices = std::map<std::string, QString>;

// What of the choices stands before the text's own `plan:`.
[[nodiscard]] std::vector<scenario::KeyValue> plan_changes(const std::string& text,
                                                           const PlanChoices& choices);

}  // namespace orrery::gui
