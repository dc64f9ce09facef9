#pragma once

// Hues of the ledgers' rows: those that the timeline draws the same work, wait or loss in.

#include <array>

#include "gui/timeline/category.hpp"
#include "sim/run/run_result.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::gui {

inline constexpr int kCategoryHues = 64;  // from here on a hue is a category of the timeline

[[nodiscard]] constexpr int hue_of(timeline::Category category) {
  return kCategoryHues + static_cast<int>(category);
}

// What of the timeline a hue stands for; nothing for other colours of charts.
[[nodiscard]] constexpr timeline::CategorySet lit_by(int hue) {
  return hue < kCategoryHues ? 0 : family_of(static_cast<timeline::Category>(hue - kCategoryHues));
}

// Of what waits: it is hatched.
[[nodiscard]] constexpr bool is_wait_hue(int hue) {
  return hue >= kCategoryHues && is_wait(static_cast<timeline::Category>(hue - kCategoryHues));
}

// In the order of step::StepCategory.
inline constexpr std::array kStepHues = {
    timeline::Category::forward,        timeline::Category::recompute,
    timeline::Category::host,           timeline::Category::wait_other,
    timeline::Category::wait_input,     timeline::Category::copy,
    timeline::Category::tensor,         timeline::Category::context,
    timeline::Category::expert,         timeline::Category::pipeline,
    timeline::Category::data_reduce,    timeline::Category::wait_bubble,
    timeline::Category::wait_imbalance, timeline::Category::optimizer,
    timeline::Category::wait_slower};

// In the order of run::RunCategory.
inline constexpr std::array kRunHues = {
    timeline::Category::training,   timeline::Category::checkpoint,   timeline::Category::lost,
    timeline::Category::rework,     timeline::Category::detection,    timeline::Category::diagnosis,
    timeline::Category::scheduling, timeline::Category::communicator, timeline::Category::load,
    timeline::Category::warm_up,    timeline::Category::waiting,      timeline::Category::backward,
    timeline::Category::evaluation, timeline::Category::maintenance,  timeline::Category::host,
    timeline::Category::wait_other, timeline::Category::unitemised};

static_assert(kStepHues.size() == step::kStepCategories);
static_assert(kRunHues.size() == run::kRunCategoryNames.size());

[[nodiscard]] constexpr int step_hue(step::StepCategory row) {
  return hue_of(kStepHues[static_cast<std::size_t>(row)]);
}

// By the name of the row in JSON and CSV.
[[nodiscard]] constexpr int ledger_hue(std::string_view category) {
  for (std::size_t i = 0; i < kStepHues.size(); ++i) {
    if (step::kStepCategoryNames[i] == category) {
      return hue_of(kStepHues[i]);
    }
  }
  for (std::size_t i = 0; i < kRunHues.size(); ++i) {
    if (run::kRunCategoryNames[i] == category) {
      return hue_of(kRunHues[i]);
    }
  }
  return -1;
}

}  // namespace orrery::gui
