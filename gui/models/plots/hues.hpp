#pragma once

// Hues of the step categories, the same in every chart and on the timeline; related categories
// share a hue and differ in lightness.

#include <array>

#include "sim/step/step_result.hpp"

namespace orrery::gui {

[[nodiscard]] constexpr int step_hue(step::StepCategory category) {
  constexpr int kLighter = 8;
  constexpr int kBlue = 0;
  constexpr int kOrange = 1;
  constexpr int kGreen = 2;
  constexpr int kPink = 3;
  constexpr int kSky = 4;
  constexpr int kRed = 5;
  constexpr int kOlive = 6;
  constexpr int kGrey = 7;
  constexpr std::array<int, step::kStepCategories> kHues = {kBlue,
                                                            kBlue + kLighter,
                                                            kSky,
                                                            kPink + kLighter,
                                                            kRed + kLighter,
                                                            kGreen + kLighter,
                                                            kOrange,
                                                            kOrange + kLighter,
                                                            kOlive,
                                                            kGreen,
                                                            kRed,
                                                            kGrey,
                                                            kSky + kLighter,
                                                            kPink,
                                                            kGrey + kLighter};
  return kHues[static_cast<std::size_t>(category)];
}

}  // namespace orrery::gui
