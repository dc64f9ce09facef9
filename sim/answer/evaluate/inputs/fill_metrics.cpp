#include "sim/answer/evaluate/inputs/fill_metrics.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/step/model/flops.hpp"
#include "sim/step/simulate/shared_links/step_network.hpp"
#include "sim/step/simulate/stages/documents.hpp"

namespace orrery::evaluate {

namespace {

using report::MetricId;
using step::StepCategory;

constexpr double kWattsPerKilowatt = kKilo;

void set(report::Evaluation& evaluation, MetricId id, double value) {
  evaluation.metrics.set({.id = id, .value = value, .trials = std::nullopt});
}

void set(report::Evaluation& evaluation, MetricId id, run::Distribution trials) {
  const double mean = trials.mean();
  evaluation.metrics.set({.id = id, .value = mean, .trials = std::move(trials)});
}

std::int64_t recomputed_layers(const scenario::Scenario& scenario, const layout::Layout& layout) {
  if (!scenario.step.recompute.layers) {
    return scenario.model.num_layers + scenario.model.mtp_layers;
  }
  std::int64_t sum = 0;
  for (const auto& device : layout.stages) {
    for (const layout::ChunkLayers& chunk : device) {
      sum += std::min(*scenario.step.recompute.layers, chunk.num_layers);
    }
  }
  return sum;
}

// The scores that the kernels compute: fused ones skip what a causal mask hides.
model::FlopConvention executed(const scenario::Scenario& scenario,
                               hardware::AttentionImplementation attention) {
  const bool skips = scenario.model.causal && attention == hardware::AttentionImplementation::fused;
  return skips ? model::FlopConvention::palm_causal : model::FlopConvention::palm;
}

void fill_utilisation(const scenario::Scenario& scenario, FlopPerSecond peak_of_gpu,
                      const ExecutedPasses& passes, TokensPerSecond rate,
                      report::Evaluation& evaluation) {
  const auto gpus = static_cast<double>(evaluation.step.gpus);
  const FlopPerSecond peak = peak_of_gpu * gpus;
  const auto share = [&](Flop per_token) {
    return per_token * in_tokens_per_second(rate) * per_second(1.0) / peak;
  };
  const auto model_flop = [&](model::FlopConvention convention) {
    return model::model_flop_per_token(scenario.model, convention);
  };
  const double mfu = share(model_flop(model::FlopConvention::palm));
  set(evaluation, MetricId::mfu, mfu);
  set(evaluation, MetricId::mfu_causal, share(model_flop(model::FlopConvention::palm_causal)));
  set(evaluation, MetricId::mfu_6nd, share(model_flop(model::FlopConvention::six_nd)));
  set(evaluation, MetricId::hfu,
      share(executed_flop_per_token(scenario, passes, evaluation.echo.layout)));
  set(evaluation, MetricId::model_flops_per_gpu, in_flop_per_second(peak * (mfu / gpus)));
}

void fill_money(report::Evaluation& evaluation) {
  const run::PricePlan& pricing = evaluation.plan->pricing;
  const run::MonteCarloResult& run = *evaluation.run;
  if (pricing.energy) {
    set(evaluation, MetricId::site_energy, run.energy);
    if (pricing.energy->kilograms_per_kilowatt_hour) {
      set(evaluation, MetricId::carbon, run.carbon);
    }
  }
  if (!pricing.priced) {
    return;
  }
  set(evaluation, MetricId::cost, run.cost);
  // A run that trained nothing has no cost per token.
  if (run.tokens.least() > 0.0) {
    set(evaluation, MetricId::cost_per_million_tokens,
        run.cost_per_token.mapped([](double dollars) { return dollars * kMega; }));
  }
  Dollars idle;
  for (const run::CostCategory category :
       {run::CostCategory::spares, run::CostCategory::repair, run::CostCategory::reservation}) {
    idle += run.bill_sum.of(category);
  }
  set(evaluation, MetricId::idle_cost, in_dollars(idle) / static_cast<double>(run.trials));
  Dollars failures;
  for (const report::CauseRow& row : report::cause_rows(evaluation)) {
    failures += row.dollars.value_or(Dollars{});
  }
  set(evaluation, MetricId::failure_cost, in_dollars(failures));
}

}  // namespace

Flop executed_flop_per_token(const scenario::Scenario& scenario, const ExecutedPasses& passes,
                             const layout::Layout& layout) {
  return model::hardware_flop_per_token(scenario.model, executed(scenario, passes.attention),
                                        passes.recompute, recomputed_layers(scenario, layout),
                                        passes.modules);
}

Tokens tokens_per_step(const scenario::Scenario& scenario) {
  return tokens(static_cast<double>(scenario.batch.global) *
                static_cast<double>(scenario.model.sequence_length));
}

FlopPerSecond dense_peak(const hardware::GpuProfile& gpu, model::Dtype compute) {
  const hardware::GemmRate* rate = gpu.find_gemm(compute);
  if (rate == nullptr) {
    rate = gpu.find_gemm(model::Dtype::bf16);
  }
  return rate != nullptr ? rate->peak.value() : gpu.gemm.front().peak.value();
}

void fill_step_metrics(const scenario::Scenario& scenario, FlopPerSecond peak,
                       const ExecutedPasses& passes, report::Evaluation& evaluation) {
  const step::StepResult& step = evaluation.step;
  const Seconds time = to_seconds(step.step_time);
  const TokensPerSecond rate = tokens_per_step(scenario) / time;
  set(evaluation, MetricId::step_time, in_seconds(time));
  if (!step.draws.empty()) {
    std::vector<double> draws;
    for (const SimTime draw : step.draws) {
      draws.push_back(in_seconds(to_seconds(draw)));
    }
    evaluation.metrics.set({.id = MetricId::step_time,
                            .value = in_seconds(time),
                            .trials = run::Distribution(std::move(draws))});
  }
  if (scenario.step.data.document_length) {
    const step::DocumentShape shape =
        step::document_shape(scenario.step.data, scenario.model.sequence_length);
    set(evaluation, MetricId::useful_tokens_per_second, in_tokens_per_second(rate) * shape.useful);
  }
  set(evaluation, MetricId::tokens_per_second, in_tokens_per_second(rate));
  set(evaluation, MetricId::tokens_per_second_per_gpu,
      in_tokens_per_second(rate) / static_cast<double>(step.gpus));
  fill_utilisation(scenario, peak, passes, rate, evaluation);
  if (!step.given) {
    set(evaluation, MetricId::bubble_fraction, step.ledger.share(StepCategory::bubble));
    set(evaluation, MetricId::exposed_communication_fraction, step::exposed_share(step.ledger));
  }
  if (step.network && !step.given) {
    set(evaluation, MetricId::link_sharing, in_seconds(to_seconds(step.network->sharing)));
  }
  if (!step.memory.empty()) {
    set(evaluation, MetricId::peak_memory, in_bytes(worst_peak(step)));
    set(evaluation, MetricId::memory_headroom, in_bytes(step.feasibility.headroom));
    if (scenario.step.offload.any()) {
      set(evaluation, MetricId::host_memory, in_bytes(step.feasibility.host));
    }
  }
}

void fill_rollout_metrics(report::Evaluation& evaluation) {
  const run::RolloutResult& rollout = *evaluation.rollout;
  set(evaluation, MetricId::rollout_step_time, in_seconds(rollout.step));
  set(evaluation, MetricId::gpu_seconds_per_answer,
      in_seconds(rollout.step) * static_cast<double>(rollout.gpus) /
          static_cast<double>(rollout.answers));
  if (rollout.answer) {
    set(evaluation, MetricId::cost_per_thousand_answers, in_dollars(*rollout.answer) * kKilo);
  }
}

void fill_budget(const scenario::Scenario& scenario, report::Evaluation& evaluation) {
  const report::MetricValue* trained = evaluation.metrics.find(MetricId::tokens_trained);
  if (!scenario.run || !scenario.run->training.budget || trained == nullptr ||
      !(trained->value > 0.0)) {
    return;
  }
  const auto active = static_cast<double>(model::count_parameters(scenario.model).active);
  const Flop* stated = std::get_if<Flop>(&*scenario.run->training.budget);  // else what money buys
  const double flop_per_token = run::kFlopOfTraining * active;
  const Flop compute = stated != nullptr ? *stated : flop(flop_per_token * trained->value);
  evaluation.budget = run::BudgetAnswer{compute, active, in_flop(compute) / flop_per_token};
  const run::LawOptimum best = run::optimum(run::kScalingLaws.front(), compute);
  set(evaluation, MetricId::budget_compute, in_flop(compute));
  set(evaluation, MetricId::optimal_parameters, best.parameters);
  set(evaluation, MetricId::optimal_tokens, best.tokens);
}

void fill_run_metrics(double watts, std::optional<std::int64_t> start,
                      report::Evaluation& evaluation) {
  const run::RunPlan& plan = *evaluation.plan;
  const run::MonteCarloResult& run = *evaluation.run;
  set(evaluation, MetricId::finish_time, run.wall);
  if (start) {
    const auto origin = static_cast<double>(*start);
    set(evaluation, MetricId::finish_date,
        run.wall.mapped([origin](double wall) { return origin + wall; }));
  }
  set(evaluation, MetricId::steps_done, run.steps);
  set(evaluation, MetricId::tokens_trained, run.tokens);
  set(evaluation, MetricId::goodput, run.goodput);
  set(evaluation, MetricId::ettr, run.ettr);
  set(evaluation, MetricId::failures, run.failures);
  const auto gpus = static_cast<double>(plan.job_gpus());
  const auto per_gpu = [gpus](double gpu_seconds) { return gpu_seconds / gpus; };
  set(evaluation, MetricId::lost_work, run.lost_work.mapped(per_gpu));
  set(evaluation, MetricId::waiting, run.waiting.mapped(per_gpu));
  const auto hours_of = [](double gpu_seconds) { return in_hours(seconds(gpu_seconds)); };
  set(evaluation, MetricId::gpu_hours, run.held.mapped(hours_of));
  const double kilowatts = watts / kWattsPerKilowatt;
  set(evaluation, MetricId::energy,
      run.held.mapped([&](double gpu_seconds) { return hours_of(gpu_seconds) * kilowatts; }));
  fill_money(evaluation);
  if (plan.mtbf) {
    set(evaluation, MetricId::mtbf, in_seconds(*plan.mtbf));
  }
  if (plan.checkpoint_steps) {
    set(evaluation, MetricId::checkpoint_interval,
        in_seconds(to_seconds(plan.step.step_time) * static_cast<double>(*plan.checkpoint_steps)));
    set(evaluation, MetricId::checkpoint_stall, in_seconds(to_seconds(plan.stall)));
    set(evaluation, MetricId::checkpoint_durable, in_seconds(to_seconds(plan.durable)));
  }
}

}  // namespace orrery::evaluate
