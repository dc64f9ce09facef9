#pragma once

// Cards of the dashboard: the key figures of an answer and their change against the baseline.

#include <QString>
#include <vector>

#include "gui/models/tables/table.hpp"
#include "sim/answer/report/files/figures.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::gui {

struct Card {
  QString name = {};
  QString value = {};              // median over the trials where it varies, else the value
  QString detail = {};             // in which 8 of 10 lie, or a related figure
  QString change = {};             // against the baseline, with its sign; empty without
  Tone change_tone = Tone::plain;  // good or bad, where more is better or worse
  QString tip = {};
  Tone tone = Tone::plain;    // faint for figures of what cannot be
  QString table = "Metrics";  // that has more of it
};

struct Dashboard {
  QString title = {};  // name of the scenario
  QString badge = {};  // how it stands: "fits tightly", "does not fit"
  bool impossible = false;
  QString verdict = {};  // the answer in one sentence
  QString loss = {};     // the part of it that names what takes most
  int loss_hue = -1;
  QString why = {};                   // fine, tight, bad or impossible: the reason
  Tone tone = Tone::plain;            // of the badge
  QString subtitle = {};              // model, GPUs
  std::vector<QString> reasons = {};  // why it is not feasible
  std::vector<std::pair<QString, std::vector<scenario::KeyValue>>> advice = {};  // what would fit
  std::vector<Card> step = {};
  std::vector<Card> run = {};
};

// Good or bad where more is better or worse, else plain.
[[nodiscard]] Tone tone_of_change(report::MetricId id, double change);

// `baseline` may be null; `error`: of the change from it to the evaluation.
[[nodiscard]] Dashboard dashboard(const report::Evaluation& evaluation,
                                  const report::Evaluation* baseline,
                                  const std::optional<report::ChangeError>& error = {});

}  // namespace orrery::gui
