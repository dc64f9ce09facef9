#include "sim/answer/evaluate/spot_break_even.hpp"

#include <algorithm>

#include "sim/run/monte_carlo.hpp"

namespace orrery::evaluate {

namespace {

struct Means {
  double cost = 0.0;
  double tokens = 0.0;
};

std::optional<Means> means(const run::RunPlan& plan, const LeverOptions& options) {
  const auto run = run::simulate(plan, {.threads = options.threads, .stop = options.stop});
  if (!run || run->finished < run->trials || run->tokens.mean() <= 0.0) {
    return std::nullopt;
  }
  return Means{run->cost.mean(), run->tokens.mean()};
}

}  // namespace

void without_spot(run::RunPlan& plan) {
  plan.capacity.spot.reset();
  plan.pricing.spot.reset();
  plan.pricing.traced_spot = false;
}

std::optional<DollarsPerSecond> spot_break_even(const run::RunPlan& plan,
                                                const LeverOptions& options) {
  if (!plan.capacity.spot || plan.pricing.fixed.empty()) {
    return std::nullopt;
  }
  run::RunPlan changed = plan;
  changed.simulation.trials = std::min(plan.simulation.trials, options.trials);
  changed.pricing.traced_spot = false;
  const auto at_price = [&](double per_gpu_hour) {
    changed.pricing.spot =
        dollars_per_hour(per_gpu_hour) * static_cast<double>(plan.step.gpus_per_node);
    return means(changed, options);
  };
  const std::optional<Means> free = at_price(0.0);
  const std::optional<Means> paid = at_price(1.0);
  without_spot(changed);
  const std::optional<Means> held = means(changed, options);
  if (!free || !paid || !held || paid->cost <= free->cost) {
    return std::nullopt;
  }
  const double same_work = held->cost * free->tokens / held->tokens;
  return dollars_per_hour(std::max(0.0, (same_work - free->cost) / (paid->cost - free->cost)));
}

}  // namespace orrery::evaluate
