// The section ROLLOUT of the screen: a step of reinforcement learning by phase.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/answer/report/text/text_sections.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::report {

namespace {

std::string pools_text(const run::RolloutResult& rollout) {
  const std::int64_t trainers = rollout.gpus - rollout.generators;
  return trainers > 0 ? fmt::format("{} GPUs generate, {} train", rollout.generators, trainers)
                      : fmt::format("{} GPUs generate and train in turn", rollout.generators);
}

}  // namespace

void add_rollout(TextPage& page, const Evaluation& evaluation) {
  if (!evaluation.rollout) {
    return;
  }
  const run::RolloutResult& rollout = *evaluation.rollout;
  page.section("ROLLOUT", fmt::format("{} from update to update: {} answers, {} tokens; {}",
                                      page.paint(Ink::strong, format_time(rollout.step)),
                                      format_integer(rollout.answers), format_count(rollout.tokens),
                                      pools_text(rollout)));
  constexpr std::size_t kLabel = 28;
  constexpr std::size_t kShare = 10;
  constexpr std::size_t kTime = 11;
  constexpr std::size_t kBar = 34;
  for (const run::RolloutPhase& phase : rollout.phases) {
    const double share = phase.time / rollout.step;
    page.line(pad_right(std::string(phase.name), kLabel) + pad_left(share_text(share), kShare) +
              pad_left(format_time(phase.time), kTime) + "  " +
              page.bar(std::min(share, 1.0), kBar));
  }
  page.line(fmt::format("the longest answer, {} tokens, takes {} more than the mean one",
                        format_integer(static_cast<std::int64_t>(std::llround(rollout.longest))),
                        format_time(rollout.tail)));
  if (rollout.answer) {
    page.line(fmt::format("a thousand answers cost {}", format_money(*rollout.answer * kKilo)));
  }
  if (rollout.gpus > rollout.generators) {
    page.line(fmt::format("the trainer waits {} of it, the generator {}",
                          format_time(rollout.trainer_waits),
                          format_time(rollout.generator_waits)));
  }
  if (rollout.balanced) {
    page.line(fmt::format("{} generating GPUs would keep pace with the trainer",
                          format_count(std::ceil(*rollout.balanced))));
  }
}

}  // namespace orrery::report
