#include "sim/report/ledger_rows.hpp"

#include <array>

#include "sim/base/check.hpp"

namespace orrery::report {

namespace {

using run::RunCategory;
using step::StepCategory;

constexpr std::array<std::string_view, step::kStepCategories> kStepLabels = {
    "compute",
    "recomputed activations",
    "gaps between kernels",
    "waiting for data",
    "offload to the host",
    "tensor-parallel communication",
    "context-parallel communication",
    "expert-parallel communication",
    "pipeline communication",
    "data-parallel communication",
    "bubble: waiting for other stages",
    "optimizer update",
    "idle: waiting for slower GPUs"};

constexpr std::array<std::string_view, static_cast<std::size_t>(RunCategory::count_)> kRunLabels = {
    "productive training",
    "stopped to save checkpoints",
    "work lost to failures",
    "work thrown away on purpose",
    "noticing failures",
    "finding the cause",
    "placing and launching again",
    "building communicators",
    "loading checkpoints",
    "warming up again",
    "waiting for nodes",
    "running smaller or slower",
    "evaluation of the model",
    "planned maintenance",
    "idle spare nodes",
    "nodes out for repair",
    "stops that nobody itemised"};

std::optional<DollarsPerSecond> price_of(const Evaluation& evaluation) {
  return evaluation.plan ? evaluation.plan->prices.gpu_hour : std::nullopt;
}

// GPU time that is billed in one category of the run.
Seconds billed_time(const Evaluation& evaluation, RunCategory category, Seconds gpu_time) {
  const run::RunPlan& plan = *evaluation.plan;
  const bool in_pool = category == RunCategory::spare_idle || category == RunCategory::repair;
  if (plan.prices.bill_spares || !in_pool) {
    return gpu_time;
  }
  if (category == RunCategory::spare_idle) {
    return {};
  }
  const auto spare_gpus = static_cast<double>(plan.allocated_gpus() - plan.job_gpus());
  const Seconds spares = seconds(evaluation.run->wall.mean()) * spare_gpus;
  const Seconds pool = gpu_time + evaluation.run->mean_gpu_time(RunCategory::spare_idle);
  return pool - spares;
}

}  // namespace

std::vector<LedgerRow> step_ledger_rows(const Evaluation& evaluation) {
  const std::optional<DollarsPerSecond> price = price_of(evaluation);
  const step::StepLedger& ledger = evaluation.step.ledger;
  std::vector<LedgerRow> rows;
  for (std::size_t i = 0; i < step::kStepCategories; ++i) {
    const auto category = static_cast<StepCategory>(i);
    LedgerRow row = {.category = to_string(category),
                     .label = evaluation.step.given ? "as the scenario states it" : kStepLabels[i],
                     .gpu_time = ledger.gpu_time(category),
                     .share = ledger.share(category),
                     .dollars = std::nullopt};
    if (price) {
      row.dollars = *price * row.gpu_time;
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<LedgerRow> run_ledger_rows(const Evaluation& evaluation) {
  std::vector<LedgerRow> rows;
  if (!evaluation.run) {
    return rows;
  }
  ORRERY_CHECK(evaluation.plan.has_value(), "an evaluation holds a run without its plan");
  const std::optional<DollarsPerSecond> price = price_of(evaluation);
  for (std::size_t i = 0; i < kRunLabels.size(); ++i) {
    const auto category = static_cast<RunCategory>(i);
    LedgerRow row = {.category = to_string(category),
                     .label = kRunLabels[i],
                     .gpu_time = evaluation.run->mean_gpu_time(category),
                     .share = evaluation.run->ledger_sum.share(category),
                     .dollars = std::nullopt};
    if (price) {
      row.dollars = *price * billed_time(evaluation, category, row.gpu_time);
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<MemoryTerm> memory_terms(const step::StageMemory& memory) {
  return {{"parameters", memory.parameters},
          {"gradients", memory.gradients},
          {"optimizer", memory.optimizer},
          {"activations", memory.activations},
          {"working", memory.working},
          {"communication", memory.communication},
          {"overhead", memory.overhead}};
}

}  // namespace orrery::report
