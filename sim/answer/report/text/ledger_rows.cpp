#include "sim/answer/report/text/ledger_rows.hpp"

#include <algorithm>
#include <array>

#include "sim/base/check.hpp"

namespace orrery::report {

Trust trust_of(const step::StepResult& step) {
  Seconds all;
  for (const Seconds part : step.by_source) {
    all += part;
  }
  Trust trust;
  if (all <= Seconds{}) {
    return trust;
  }
  for (std::size_t i = 0; i < kSourceKindCount; ++i) {
    trust.share[i] = step.by_source[i] / all;
  }
  trust.extrapolated = step.extrapolated / all;
  return trust;
}

namespace {

using run::RunCategory;
using step::StepCategory;

constexpr std::array<std::string_view, step::kStepCategories> kStepLabels = {
    "compute",
    "recomputation",
    "host gaps",
    "host between steps",
    "waiting for input",
    "offload",
    "tensor communication",
    "context communication",
    "expert communication",
    "pipeline messages",
    "data communication",
    "pipeline bubble",
    "stage imbalance",
    "optimizer",
    "waiting for slower GPUs"};

constexpr std::array<std::string_view, static_cast<std::size_t>(RunCategory::count_)> kRunLabels = {
    "training",          "checkpoints",         "lost work",           "discarded work",
    "failure detection", "failure diagnosis",   "restart: scheduling", "restart: communicators",
    "restart: load",     "restart: warm-up",    "waiting for nodes",   "degraded",
    "evaluation",        "planned maintenance", "idle spares",         "nodes in repair",
    "unitemised stops"};

bool is_in_pool(RunCategory category) {
  return category == RunCategory::spare_idle || category == RunCategory::repair;
}

// GPU time that is billed in one category of the run.
Seconds billed_time(const Evaluation& evaluation, RunCategory category) {
  return is_in_pool(category) && !evaluation.plan->pricing.bill_spares
             ? Seconds{}
             : evaluation.run->mean_gpu_time(category);
}

}  // namespace

std::string_view label_of(StepCategory category) {
  return kStepLabels[static_cast<std::size_t>(category)];
}

std::string_view label_of(RunCategory category) {
  return kRunLabels[static_cast<std::size_t>(category)];
}

std::optional<DollarsPerSecond> mean_price(const Evaluation& evaluation) {
  if (!evaluation.plan || !evaluation.run || !evaluation.plan->pricing.priced) {
    return std::nullopt;
  }
  const run::PricePlan& pricing = evaluation.plan->pricing;
  if (pricing.is_simple() && !pricing.fixed.empty()) {
    return pricing.fixed.front().per_node /
           static_cast<double>(evaluation.plan->step.gpus_per_node);
  }
  Seconds billed;
  for (std::size_t i = 0; i < kRunLabels.size(); ++i) {
    billed += billed_time(evaluation, static_cast<RunCategory>(i));
  }
  return billed > Seconds{} ? std::optional(dollars(evaluation.run->cost.mean()) / billed)
                            : std::nullopt;
}

std::vector<StepSaving> step_savings(const step::StepResult& step) {
  if (step.given) {
    return {};
  }
  std::vector<StepSaving> savings = {
      {"hiding all exposed communication",
       1.0 - to_seconds(step.without_communication) / to_seconds(step.step_time),
       {StepCategory::exposed_tensor, StepCategory::exposed_context, StepCategory::exposed_expert,
        StepCategory::exposed_pipeline, StepCategory::exposed_data}},
      {"a pipeline without bubble",
       step.ledger.share(StepCategory::bubble),
       {StepCategory::bubble}},
      {"stages of equal work",
       step.ledger.share(StepCategory::stage_imbalance),
       {StepCategory::stage_imbalance}}};
  std::erase_if(savings, [](const StepSaving& one) { return one.share <= 0.0; });
  return savings;
}

std::vector<CauseRow> cause_rows(const Evaluation& evaluation) {
  std::vector<CauseRow> rows;
  if (!evaluation.run) {
    return rows;
  }
  const std::optional<DollarsPerSecond> price = mean_price(evaluation);
  const auto trials = static_cast<double>(evaluation.run->trials);
  for (std::size_t i = 0; i < evaluation.plan->causes.size(); ++i) {
    const Seconds gpu_time =
        seconds(static_cast<double>(evaluation.run->gpu_time_by_cause[i]) * kNano / trials);
    const run::PlannedCause& cause = evaluation.plan->causes[i];
    const double events = evaluation.run->failures_by_cause[i];
    if (gpu_time > Seconds{} || events > 0.0) {
      rows.push_back({.cause = cause.name,
                      .events = events,
                      .failures = cause.effect == run::StrikeEffect::failure ? events : 0.0,
                      .gpu_time = gpu_time,
                      .dollars = price ? std::optional(*price * gpu_time) : std::nullopt});
    }
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &CauseRow::gpu_time);
  return rows;
}

std::vector<CauseRow> main_cause_rows(const Evaluation& evaluation, std::size_t most) {
  std::vector<CauseRow> rows = cause_rows(evaluation);
  if (rows.size() <= most) {
    return rows;
  }
  CauseRow& rest = rows[most - 1];
  rest.cause = "all others";
  for (std::size_t i = most; i < rows.size(); ++i) {
    rest.events += rows[i].events;
    rest.failures += rows[i].failures;
    rest.gpu_time += rows[i].gpu_time;
    if (rest.dollars) {
      *rest.dollars += rows[i].dollars.value_or(Dollars{});
    }
  }
  rows.resize(most);
  return rows;
}

std::vector<LedgerRow> step_ledger_rows(const Evaluation& evaluation) {
  const std::optional<DollarsPerSecond> price = mean_price(evaluation);
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
  const std::optional<DollarsPerSecond> price = mean_price(evaluation);
  for (std::size_t i = 0; i < kRunLabels.size(); ++i) {
    const auto category = static_cast<RunCategory>(i);
    LedgerRow row = {.category = to_string(category),
                     .label = kRunLabels[i],
                     .gpu_time = evaluation.run->mean_gpu_time(category),
                     .share = evaluation.run->ledger_sum.share(category),
                     .dollars = std::nullopt};
    if (price) {
      row.dollars = *price * billed_time(evaluation, category);
    }
    rows.push_back(row);
  }
  return rows;
}

std::optional<Dollars> training_cost(const Evaluation& evaluation) {
  const std::optional<DollarsPerSecond> price = mean_price(evaluation);
  return price ? std::optional(*price * billed_time(evaluation, RunCategory::productive))
               : std::nullopt;
}

std::vector<MemoryTerm> memory_terms(const step::StageMemory& memory) {
  return {{"parameters", memory.parameters}, {"gradients", memory.gradients},
          {"optimizer", memory.optimizer},   {"activations", memory.activations},
          {"working", memory.working},       {"communication", memory.communication},
          {"overhead", memory.overhead}};
}

}  // namespace orrery::report
