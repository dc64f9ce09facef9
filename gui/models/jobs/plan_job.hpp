#pragma once

// Searches for the best layout of a scenario's text on a worker thread: text -> PlanOutcome.
//
// keep_best() ends the search as Ctrl-C ends `orrery plan`: the best so far is delivered, and says
// how far it got. cancel() wants no result.

#include <QString>
#include <QStringList>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "gui/models/jobs/evaluation_job.hpp"
#include "sim/answer/plan/make_plan.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/base/units.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::gui {

// Options of a plan that the user can set before the search: the keys of `plan:`, with types from
// the key table and values from the scenario.
//
// What is typed overrides the file for this plan only, as options of `orrery plan` do; the
// scenario stays as it is. An axis takes values as the command does: 1,2,4 or auto; `fixed` keeps
// what the scenario has.

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

struct PlanRequest {
  std::string text;
  std::string file_name;
  std::vector<scenario::KeyValue> changes = {};  // keys of `plan:`, before what the text states
  std::vector<std::string> pareto = {};          // two of plan::kFrontFigures; empty: as they fit
  std::optional<std::int64_t> trials = {};
};

struct PlanOutcome {
  PlanRequest request;
  std::shared_ptr<const plan::Plan> plan;  // null after errors
  Diagnostics diagnostics;
};

using PlanPtr = std::shared_ptr<const PlanOutcome>;

struct PlanProgress {
  plan::Stage stage = plan::Stage::search;
  std::int64_t done = 0;
  std::int64_t all = 0;
  std::optional<Seconds> left = {};  // at the pace so far
  std::optional<Seconds> best = {};  // step of the best layout so far
};

// "Searching: 12,345 of 60,000 layouts, 12 s left".
[[nodiscard]] QString progress_text(const PlanProgress& progress);

// On the calling thread. Throws Error.
[[nodiscard]] PlanPtr plan_text(const PlanRequest& request, const std::stop_token& stop = {},
                                const std::function<void(const PlanProgress&)>& report = {});

class PlanJob : public LatestTask {
  Q_OBJECT

 public:
  using LatestTask::LatestTask;

  void request(PlanRequest request);
  void keep_best();

 signals:
  void advanced(const orrery::gui::PlanProgress& progress);
  void finished(const orrery::gui::PlanPtr& outcome);

 private:
  std::stop_source keep_{std::nostopstate};
  std::uint64_t newest_ = 0;
};

// A plan of the outcome as the text of a scenario: the very text that `orrery plan -o` writes for
// the best one. `proposal` is one of the plan's.
struct PlanFileRequest {
  PlanPtr outcome;
  plan::Proposal proposal;
};

struct PlanFile {
  QString text;
  QString problem;  // a sentence; empty: there is a text
};

[[nodiscard]] PlanFile plan_file(const PlanFileRequest& request);

// As `orrery plan` prints it, by the ending: csv, txt, else JSON. A sentence, empty: saved.
[[nodiscard]] QString save_plan_file(const plan::Plan& plan, const QString& path);

// What is wrong, a line each: "plan.deadline: fewest_gpus needs a deadline (plan.deadline: 60d)".
[[nodiscard]] QString problem_lines(const Diagnostics& diagnostics);

}  // namespace orrery::gui
