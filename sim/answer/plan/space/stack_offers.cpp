#include "sim/answer/plan/space/stack_offers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sim/step/layout/layout_spec.hpp"

namespace orrery::plan {

namespace {

using layout::Sharding;
using schedule::ScheduleKind;

std::string names_of(const std::vector<Sharding>& shardings) {
  std::string names;
  for (const Sharding sharding : shardings) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ",
                         sharding == Sharding::none ? "no sharding" : name_of(sharding));
  }
  return names;
}

bool has_word(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

bool StackOffer::offers(Sharding sharding, bool with_pipeline) const {
  return has_word(with_pipeline ? beside_pipeline : shardings, name_of(sharding));
}

bool StackOffer::offers(ScheduleKind schedule) const {
  return schedule == ScheduleKind::none ||
         (pipeline && (chunks || schedule != ScheduleKind::interleaved));
}

bool StackOffer::offers(Axis axis) const {
  switch (axis) {
    case Axis::tensor:
      return has_word(splits, "tensor");
    case Axis::sequence_parallel:
      return has_word(splits, "sequence");
    case Axis::context:
      return has_word(splits, "context");
    case Axis::expert_dispatcher:
      return has_word(exchange, "deepep");
    case Axis::expert_overlap:
      return has_word(exchange, "hidden");
    default:
      return true;
  }
}

std::vector<std::string> lacks_of(const StackOffer& offer, const PlanSpec& spec, bool mixture) {
  std::vector<std::string> lacks;
  const auto add = [&](Axis axis, bool offered, std::string words) {
    if (!offered && spec[axis].mode == AxisChoice::Mode::automatic) {
      lacks.push_back(std::move(words));
    }
  };
  add(Axis::tensor, offer.offers(Axis::tensor), "tensor parallelism");
  add(Axis::sequence_parallel, !offer.offers(Axis::tensor) || offer.offers(Axis::sequence_parallel),
      "sequence parallelism");
  add(Axis::context, offer.offers(Axis::context), "context parallelism");
  add(Axis::expert_dispatcher, !mixture || offer.offers(Axis::expert_dispatcher), "DeepEP");
  add(Axis::expert_overlap, !mixture || offer.offers(Axis::expert_overlap),
      "that exchange behind compute");
  add(Axis::schedule, offer.pipeline, "pipelines");
  add(Axis::schedule, offer.chunks || !offer.pipeline, "interleaved schedules");
  std::vector<Sharding> never;
  std::vector<Sharding> alone;
  for (std::size_t i = 0; i < layout::kShardingNames.size(); ++i) {
    const auto sharding = static_cast<Sharding>(i);
    if (!offer.offers(sharding, false)) {
      never.push_back(sharding);
    } else if (offer.pipeline && !offer.offers(sharding, true)) {
      alone.push_back(sharding);
    }
  }
  add(Axis::sharding, never.empty(), names_of(never));
  add(Axis::sharding, alone.empty(), names_of(alone) + " beside a pipeline");
  add(Axis::recompute, offer.selective, "selective recomputation");
  add(Axis::recompute, offer.layers, "recomputation of some layers");
  return lacks;
}

}  // namespace orrery::plan
