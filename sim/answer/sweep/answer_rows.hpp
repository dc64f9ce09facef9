#pragma once

// Helpers shared by the answers: points of their own, evaluated by the team. Internal to sweep/.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/answer/sweep/answer.hpp"
#include "sim/answer/sweep/point_evaluator.hpp"
#include "sim/answer/sweep/sweep.hpp"

namespace orrery::sweep {

// The question under way.
struct Asking {
  const Question& question;
  Team& team;
  Diagnostics& diagnostics;
};

// A sweep's results by column name.
struct Rows {
  Sweep sweep;
  std::vector<PointResult> results;

  // The figure of a point, or nothing.
  [[nodiscard]] std::optional<double> at(std::size_t point, std::string_view column) const;
  [[nodiscard]] report::Cell cell(std::size_t point, std::string_view column) const;
  [[nodiscard]] bool has(std::string_view column) const;  // some point has the figure
};

// The question's sweep with these axes, all combinations, and these figures. Nothing after an
// error; throws Error(interrupted) after a stop request.
[[nodiscard]] std::optional<Rows> evaluate_rows(const Asking& asking, std::vector<Axis> axes,
                                                const std::vector<std::string>& operands);

// The axis of the question for this key, or these values.
[[nodiscard]] std::optional<Axis> axis_or(const Asking& asking, std::string_view key,
                                          std::vector<std::string> values);

// The end of the run where it differs, what was trained in the window where that does.
void add_extent_columns(const Rows& rows, Answer& answer);

// An error at the key of the scenario: why the question has no answer.
void no_answer(const Asking& asking, std::string_view key, std::string_view why);

// Whether the scenario itself states the key.
[[nodiscard]] bool states(const Asking& asking, std::string_view key);

// The one point of the scenario as it is, whole; nothing after an error. `progress`: of its trials.
[[nodiscard]] std::optional<report::Evaluation> evaluate_base(
    const Asking& asking, const PointEvaluator::Progress& progress = {});

[[nodiscard]] Answer begin_answer(const Asking& asking);

[[nodiscard]] std::optional<Answer> best_checkpoint_interval(const Asking& asking);
[[nodiscard]] std::optional<Answer> sync_against_async(const Asking& asking);
[[nodiscard]] std::optional<Answer> enough_spares(const Asking& asking);
[[nodiscard]] std::optional<Answer> sensitivity(const Asking& asking);
[[nodiscard]] std::optional<Answer> progress_fan(const Asking& asking);
[[nodiscard]] std::optional<Answer> done_by(const Asking& asking);
[[nodiscard]] std::optional<Answer> spot_break_even(const Asking& asking);

}  // namespace orrery::sweep
