#pragma once

// Hues of the ledgers' rows: those that the timeline draws the same work, wait or loss in.

#include "gui/timeline/category.hpp"
#include "sim/run/run_category.hpp"
#include "sim/step/step_result.hpp"

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

[[nodiscard]] constexpr int step_hue(step::StepCategory row) {
  using step::StepCategory;
  using timeline::Category;
  switch (row) {
    case StepCategory::compute:
      return hue_of(Category::forward);
    case StepCategory::recompute:
      return hue_of(Category::recompute);
    case StepCategory::launch_gap:
      return hue_of(Category::host);
    case StepCategory::host_step:
      return hue_of(Category::wait_other);
    case StepCategory::data_stall:
      return hue_of(Category::wait_input);
    case StepCategory::offload:
      return hue_of(Category::copy);
    case StepCategory::exposed_tensor:
      return hue_of(Category::tensor);
    case StepCategory::exposed_context:
      return hue_of(Category::context);
    case StepCategory::exposed_expert:
      return hue_of(Category::expert);
    case StepCategory::exposed_pipeline:
      return hue_of(Category::pipeline);
    case StepCategory::exposed_data:
      return hue_of(Category::data_reduce);
    case StepCategory::bubble:
      return hue_of(Category::wait_bubble);
    case StepCategory::stage_imbalance:
      return hue_of(Category::wait_imbalance);
    case StepCategory::optimizer:
      return hue_of(Category::optimizer);
    case StepCategory::idle:
    case StepCategory::count_:
      return hue_of(Category::wait_slower);
  }
  return hue_of(Category::other);
}

[[nodiscard]] constexpr int run_hue(run::RunCategory row) {
  using run::RunCategory;
  using timeline::Category;
  switch (row) {
    case RunCategory::productive:
      return hue_of(Category::training);
    case RunCategory::checkpoint_stall:
      return hue_of(Category::checkpoint);
    case RunCategory::lost_work:
      return hue_of(Category::lost);
    case RunCategory::rework:
      return hue_of(Category::rework);
    case RunCategory::detection:
      return hue_of(Category::detection);
    case RunCategory::diagnosis:
      return hue_of(Category::diagnosis);
    case RunCategory::restart_scheduling:
      return hue_of(Category::scheduling);
    case RunCategory::restart_communicator:
      return hue_of(Category::communicator);
    case RunCategory::restart_load:
      return hue_of(Category::load);
    case RunCategory::restart_warm_up:
      return hue_of(Category::warm_up);
    case RunCategory::waiting_for_capacity:
      return hue_of(Category::waiting);
    case RunCategory::degraded:
      return hue_of(Category::backward);
    case RunCategory::evaluation:
      return hue_of(Category::evaluation);
    case RunCategory::planned_maintenance:
      return hue_of(Category::maintenance);
    case RunCategory::spare_idle:
      return hue_of(Category::host);
    case RunCategory::repair:
      return hue_of(Category::wait_other);
    case RunCategory::unitemised:
    case RunCategory::count_:
      return hue_of(Category::unitemised);
  }
  return hue_of(Category::other);
}

// By the name of the row in JSON and CSV.
[[nodiscard]] constexpr int ledger_hue(std::string_view category) {
  for (std::size_t i = 0; i < step::kStepCategories; ++i) {
    if (step::kStepCategoryNames[i] == category) {
      return step_hue(static_cast<step::StepCategory>(i));
    }
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(run::RunCategory::count_); ++i) {
    if (to_string(static_cast<run::RunCategory>(i)) == category) {
      return run_hue(static_cast<run::RunCategory>(i));
    }
  }
  return -1;
}

}  // namespace orrery::gui
