#pragma once

// Random training steps that are valid: models, layouts, schedules, stacks and GPUs in every
// combination that the rules allow.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {

class RandomSteps {
 public:
  explicit RandomSteps(std::uint64_t seed) : random_(seed, 0, Purpose::property_test) {}

  // The next case whose rules hold, with its cost model.
  Prepared next() {
    for (;;) {
      what_ = draw();
      const cost::CostModel& costs = costs_for();
      if (const auto input = try_input(what_, costs)) {
        const auto outcome = simulate_step(*input, costs, {.timeline = false, .operations = false});
        if (std::holds_alternative<StepResult>(outcome)) {
          return {*input, costs};
        }
      }
    }
  }

  [[nodiscard]] std::string describe() const {
    const layout::LayoutSpec& l = what_.layout;
    const auto number = [](std::int64_t value) { return std::to_string(value); };
    return what_.model + " on " + number(what_.nodes) + " x " + number(what_.gpus_per_node) + " " +
           what_.gpu + ", " + what_.software + ", " + what_.network + ": tp " + number(l.tensor) +
           (l.sequence_parallel ? " sp" : "") + " cp " + number(l.context) + " pp " +
           number(l.pipeline) + " vpp " + number(l.virtual_stages) + " ep " + number(l.expert) +
           ", sharding " + number(static_cast<int>(l.sharding)) + ", " +
           std::string(to_string(what_.step.schedule)) + ", global batch " +
           number(what_.batch.global) + ", micro " + number(what_.batch.micro) + ", recompute " +
           number(static_cast<int>(what_.step.recompute.policy)) + ", overlap " +
           number(what_.step.overlap.data) + number(what_.step.overlap.tensor) +
           number(what_.step.overlap.pipeline);
  }

 private:
  std::int64_t below(std::uint64_t bound) {
    return static_cast<std::int64_t>(random_.uniform_int(bound));
  }

  bool coin() { return below(2) == 1; }

  std::int64_t power_of_two(std::uint64_t exponents) { return std::int64_t{1} << below(exponents); }

  template <typename T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[random_.uniform_int(choices.size())];
  }

  void draw_layout(layout::LayoutSpec& layout) {
    using layout::Axis;
    using layout::Sharding;
    layout.tensor = power_of_two(4);
    layout.sequence_parallel = coin();
    layout.context = power_of_two(below(3) == 0 ? 3 : 1);
    layout.pipeline = one_of<std::int64_t>({1, 1, 2, 3, 4, 8});
    layout.expert = power_of_two(4);
    layout.sharding = one_of<Sharding>(
        {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3, Sharding::hsdp});
    if (layout.sharding == Sharding::hsdp || below(4) == 0) {
      layout.shard_group = power_of_two(4);
    }
    layout.order = coin() ? std::vector{Axis::tensor, Axis::context, Axis::data, Axis::pipeline}
                          : std::vector{Axis::tensor, Axis::context, Axis::pipeline, Axis::data};
  }

  void draw_step(Case& what) {
    using schedule::ScheduleKind;
    what.step.schedule =
        what.layout.pipeline == 1
            ? ScheduleKind::none
            : one_of<ScheduleKind>(
                  {ScheduleKind::gpipe, ScheduleKind::one_f_one_b, ScheduleKind::interleaved,
                   ScheduleKind::interleaved, ScheduleKind::looped_bfs, ScheduleKind::eager_1f1b,
                   ScheduleKind::zb_h1, ScheduleKind::zb_h2, ScheduleKind::interleaved_combined});
    const bool chunks = what.step.schedule == ScheduleKind::interleaved ||
                        what.step.schedule == ScheduleKind::looped_bfs ||
                        what.step.schedule == ScheduleKind::interleaved_combined;
    what.layout.virtual_stages = chunks ? 2 + below(2) : 1;
    what.step.recompute.policy = one_of<model::Recompute>(
        {model::Recompute::none, model::Recompute::selective, model::Recompute::full});
    if (what.step.recompute.policy == model::Recompute::full && coin()) {
      what.step.recompute.layers = below(5);
    }
    what.step.overlap = {.data = coin(), .tensor = coin(), .pipeline = coin()};
    if (coin()) {
      what.step.bucket = gigabytes(0.1 + 2.0 * random_.uniform01());
    }
    if (below(3) == 0) {
      what.step.reduction = coin() ? hardware::GradientReduction::per_micro_batch
                                   : hardware::GradientReduction::per_step;
    }
    what.step.precision.compute = coin() ? model::Dtype::bf16 : model::Dtype::fp8;
    what.step.precision.gradient = coin() ? model::Dtype::bf16 : model::Dtype::fp32;
  }

  Case draw() {
    Case what;
    what.model = std::string(
        one_of<std::string_view>({"llama3-8b", "llama2-70b", "gpt3-175b", "bloom-176b",
                                  "qwen2.5-1.5b", "mixtral-8x7b", "deepseek-v2", "deepseek-v3"}));
    what.gpu = std::string(one_of<std::string_view>(
        {"h100-sxm-80gb", "a100-sxm-80gb", "b200-sxm", "rtx-4090", "v100-sxm-32gb"}));
    what.software = std::string(
        one_of<std::string_view>({"megatron-core", "megatron-lm", "megatron-core-no-overlap",
                                  "torchtitan-fsdp2", "pytorch-ddp", "internevo"}));
    what.network =
        std::string(one_of<std::string_view>({"infiniband-400g", "ethernet-100g", "clos-400g"}));
    what.gpus_per_node = one_of<std::int64_t>({8, 8, 4});
    what.nodes = one_of<std::int64_t>({1, 2, 3, 4, 8, 16});
    draw_layout(what.layout);
    draw_step(what);
    const std::int64_t replicas = what.nodes * what.gpus_per_node /
                                  (what.layout.tensor * what.layout.context * what.layout.pipeline);
    what.batch.micro = 1 + below(2);
    what.batch.global = what.batch.micro * std::max<std::int64_t>(replicas, 1) * (1 + below(16));
    return what;
  }

  // Reading profiles takes longer than a step: one cost model per machine.
  const cost::CostModel& costs_for() {
    const std::string key = what_.gpu + " " + what_.software + " " + what_.network + " " +
                            std::to_string(what_.nodes) + " " + std::to_string(what_.gpus_per_node);
    return known_.try_emplace(key, costs_of(what_)).first->second;
  }

  RandomStream random_;
  Case what_;
  std::map<std::string, cost::CostModel> known_;
};

// Names a failing round, so that it can be drawn again.
inline std::string steps_in_round(std::uint64_t seed, const RandomSteps& steps, int round) {
  return "seed " + std::to_string(seed) + ", round " + std::to_string(round) + ": " +
         steps.describe();
}

}  // namespace orrery::step::test
