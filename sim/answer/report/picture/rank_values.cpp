#include "sim/answer/report/picture/rank_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "sim/step/layout/placement.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"

namespace orrery::report {

namespace {

std::vector<double> waits_of(const step::StepResult& step, const RankValues& ranks,
                             std::size_t stages) {
  using enum step::StepCategory;
  std::vector<double> means(stages);  // of the paces
  for (std::size_t rank = 0; rank < ranks.paces.size(); ++rank) {
    means[ranks.stages[rank]] +=
        ranks.paces[rank] * static_cast<double>(stages) / static_cast<double>(ranks.paces.size());
  }
  std::vector<double> waits;
  for (std::size_t rank = 0; rank < ranks.stages.size(); ++rank) {
    const std::size_t stage = ranks.stages[rank];
    const step::StepLedger& ledger = step.stage_ledgers[stage];
    double share = ledger.share(bubble) + ledger.share(stage_imbalance) + ledger.share(idle);
    if (!ranks.paces.empty()) {
      const double works =
          ledger.share(compute) + ledger.share(recompute) + ledger.share(optimizer);
      share = std::max(share + works * (1.0 - ranks.paces[rank] / means[stage]), 0.0);
    }
    waits.push_back(in_seconds(to_seconds(step.step_time)) * share);
  }
  return waits;
}

}  // namespace

RankValues rank_values(const Evaluation& evaluation) {
  const step::StepResult& step = evaluation.step;
  RankValues ranks;
  const layout::RankMap places(evaluation.echo.layout);
  for (std::int32_t rank = 0; rank < step.gpus; ++rank) {
    ranks.stages.push_back(static_cast<std::size_t>(places.coordinates(RankId{rank}).pipeline));
  }
  if (step.operation_timeline) {
    ranks.paces = step.operation_timeline->gpu_times;
  }
  if (!step.memory.empty()) {
    for (const std::size_t stage : ranks.stages) {
      ranks.memory.push_back(in_bytes(step.memory[stage].peak()));
    }
  }
  if (!step.stage_ledgers.empty()) {
    ranks.waits = waits_of(step, ranks, static_cast<std::size_t>(evaluation.echo.layout.pipeline));
  }
  return ranks;
}

std::string extremes_sentence(const RankValues& ranks, std::string_view does, Dimension dimension,
                              const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax_element(values);
  const auto stage = [&](auto value) {
    return ranks.stages[static_cast<std::size_t>(value - values.begin())];
  };
  return *least == *most ? std::string()
                         : fmt::format("Stage {} {} most, {}; stage {} least, {}.", stage(most),
                                       does, format_value(dimension, *most), stage(least),
                                       format_value(dimension, *least));
}

}  // namespace orrery::report
