#include "sim/step/layout/stage_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace orrery::layout {

namespace {

// Stages from the middle outwards, so that remainders stay away from the embedding and the loss.
std::vector<std::size_t> middle_first(std::size_t stages) {
  std::vector<std::size_t> order(stages);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto distance = [stages](std::size_t g) {
    return std::abs(2 * static_cast<std::int64_t>(g) + 1 - static_cast<std::int64_t>(stages));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
  return order;
}

std::optional<LayoutProblem> check_stage_layers(const std::vector<std::int64_t>& layers,
                                                std::int64_t stages, std::int64_t num_layers) {
  if (static_cast<std::int64_t>(layers.size()) != stages) {
    return LayoutProblem{"layout.stage_layers",
                         fmt::format("has {} entries, pipeline x virtual_stages = {} are needed",
                                     layers.size(), stages),
                         fmt::format("auto, or {} numbers", stages)};
  }
  const auto sum = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  if (sum != num_layers) {
    return LayoutProblem{"layout.stage_layers",
                         fmt::format("adds up to {}, the model has {} layers", sum, num_layers),
                         "auto"};
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::int64_t> balanced_stage_layers(std::int64_t num_layers, std::int64_t stages,
                                                std::int64_t mtp_layers) {
  const auto count = static_cast<std::size_t>(stages);
  if (mtp_layers > 0 && stages > 1) {
    const std::int64_t behind = 2 * mtp_layers + 1;
    const std::int64_t slots = (num_layers + behind + stages - 1) / stages;
    const std::int64_t last = std::max<std::int64_t>(slots - behind, 0);
    const std::int64_t others = num_layers - last;
    std::vector<std::int64_t> layers(count, others / (stages - 1));
    for (std::int64_t i = 0; i < others % (stages - 1); ++i) {
      ++layers[count - 2 - static_cast<std::size_t>(i)];
    }
    layers.back() = last;
    return layers;
  }
  if (stages > 1 && (num_layers + 2) % stages == 0 && num_layers % stages != 0) {
    std::vector<std::int64_t> layers(count, (num_layers + 2) / stages);
    --layers.front();
    --layers.back();
    return layers;
  }
  std::vector<std::int64_t> layers(count, num_layers / stages);
  auto remainder = static_cast<std::size_t>(num_layers % stages);
  for (const std::size_t g : middle_first(count)) {
    if (remainder == 0) {
      break;
    }
    ++layers[g];
    --remainder;
  }
  return layers;
}

StagePlan plan_stages(const LayoutSpec& spec, const model::ModelSpec& model,
                      StagePlacement placement) {
  StagePlan plan;
  const bool twice = placement == StagePlacement::bidirectional;
  const std::int64_t stages = stages_of(placement, spec.pipeline, spec.virtual_stages);
  if (spec.pipeline > 1 && stages > most_stages(model)) {
    plan.problem =
        LayoutProblem{spec.virtual_stages > 1 ? "layout.virtual_stages" : "layout.pipeline",
                      fmt::format("pipeline x virtual_stages = {} x {} = {} stages for {} layers",
                                  spec.pipeline, spec.virtual_stages, stages, model.num_layers),
                      fmt::format("at most {} stages", most_stages(model))};
    return plan;
  }
  std::vector<std::int64_t> layers;
  if (spec.stage_layers) {
    plan.problem = check_stage_layers(*spec.stage_layers, stages, model.num_layers);
    if (plan.problem) {
      return plan;
    }
    layers = *spec.stage_layers;
  } else {
    layers = balanced_stage_layers(model.num_layers, stages, model.mtp_layers);
  }
  plan.stages.resize(static_cast<std::size_t>(spec.pipeline),
                     std::vector<ChunkLayers>(static_cast<std::size_t>(spec.virtual_stages)));
  const auto at = [&plan](std::int64_t device, std::int64_t chunk) -> ChunkLayers& {
    return plan.stages[static_cast<std::size_t>(device)][static_cast<std::size_t>(chunk)];
  };
  std::int64_t first = 0;
  for (std::int64_t g = 0; g < stages; ++g) {
    const std::int64_t chunk = g / spec.pipeline;
    const std::int64_t along = g % spec.pipeline;
    const bool back = placement == StagePlacement::vee && chunk % 2 == 1;
    const ChunkLayers part = {.first_layer = first,
                              .num_layers = layers[static_cast<std::size_t>(g)],
                              .has_embedding = g == 0,
                              .has_head = g == stages - 1};
    at(back ? spec.pipeline - 1 - along : along, chunk) = part;
    if (twice) {
      at(spec.pipeline - 1 - g, 1) = part;
    }
    first += part.num_layers;
  }
  return plan;
}

}  // namespace orrery::layout
