#include "sim/answer/plan/result/reason.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/answer/plan/search/objective.hpp"
#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"

namespace orrery::plan {

namespace {

using run::RunCategory;
using step::StepCategory;

std::size_t part_of(RunCategory category) {
  return step::kStepCategories + static_cast<std::size_t>(category);
}

bool is_pool(RunCategory category) {
  return category == RunCategory::spare_idle || category == RunCategory::repair;
}

bool counts_pool(Objective objective) {
  return objective != Objective::finish_time && objective != Objective::fewest_gpus;
}

void split_by_step(const report::Evaluation& evaluation, double amount, Account& account) {
  for (std::size_t i = 0; i < step::kStepCategories; ++i) {
    account.parts[i] += amount * evaluation.step.ledger.share(static_cast<StepCategory>(i));
  }
}

std::string stages_text(const layout::Layout& layout) {
  const std::string chunks =
      layout.virtual_stages > 1 ? fmt::format(" of {} chunks", layout.virtual_stages) : "";
  return fmt::format("{} stages{} for {} micro-batch{}", layout.pipeline, chunks,
                     layout.micro_batches, layout.micro_batches == 1 ? "" : "es");
}

std::string sharding_text(const layout::Layout& layout) {
  switch (layout.sharding) {
    case layout::Sharding::none:
      return fmt::format("{} replicas, nothing sharded", layout.data);
    case layout::Sharding::zero1:
    case layout::Sharding::zero2:
      return fmt::format("{} replicas", layout.data);
    case layout::Sharding::zero3:
    case layout::Sharding::hsdp:
      return fmt::format("parameters gathered over {} ranks", layout.shard_group);
  }
  return {};
}

std::string compute_text(const Contestant& winner, const Contestant& other) {
  const layout::Layout& from = winner.evaluation.echo.layout;
  const layout::Layout& to = other.evaluation.echo.layout;
  if (winner.evaluation.echo.gpu_profile != other.evaluation.echo.gpu_profile) {
    return other.evaluation.echo.gpu_profile;
  }
  if (to.tensor > from.tensor) {
    return fmt::format("products cut {} ways", to.tensor);
  }
  if (to.micro_batch < from.micro_batch) {
    return fmt::format("micro-batches of {}", to.micro_batch);
  }
  return to.context > from.context ? fmt::format("sequences cut {} ways", to.context)
                                   : std::string();
}

std::string tensor_text(const Contestant& other) {
  const layout::Layout& layout = other.evaluation.echo.layout;
  if (layout.tensor <= 1) {
    return {};
  }
  const std::int64_t domains =
      (layout.tensor + other.facts.nvlink_domain - 1) / other.facts.nvlink_domain;
  return domains > 1
             ? fmt::format("tensor {} reaches over {} NVLink domains", layout.tensor, domains)
             : fmt::format("tensor {}{}", layout.tensor,
                           layout.sequence_parallel ? "" : " without sequence_parallel");
}

std::string step_fact(StepCategory category, const Contestant& winner, const Contestant& other) {
  const layout::Layout& layout = other.evaluation.echo.layout;
  switch (category) {
    case StepCategory::compute:
      return compute_text(winner, other);
    case StepCategory::recompute:
      return other.facts.recompute.empty() ? std::string()
                                           : fmt::format("recompute {}", other.facts.recompute);
    case StepCategory::launch_gap:
    case StepCategory::host_step:
      return fmt::format("{} micro-batches of {}", layout.micro_batches, layout.micro_batch);
    case StepCategory::exposed_tensor:
      return tensor_text(other);
    case StepCategory::exposed_context:
      return fmt::format("context {}", layout.context);
    case StepCategory::exposed_expert:
      return fmt::format("expert {}", layout.expert);
    case StepCategory::exposed_pipeline:
      return stages_text(layout);
    case StepCategory::exposed_data:
      return sharding_text(layout);
    case StepCategory::bubble:
    case StepCategory::stage_imbalance:
      return layout.pipeline > 1 ? stages_text(layout) : std::string();
    case StepCategory::optimizer:
      return layout.shard_group > 1 ? fmt::format("states over {} ranks", layout.shard_group)
                                    : std::string("states not sharded");
    case StepCategory::data_stall:
    case StepCategory::offload:
    case StepCategory::idle:
    case StepCategory::count_:
      break;
  }
  return {};
}

// A fact that both share explains nothing.
std::string run_fact(RunCategory category, const Contestant& winner, const Contestant& other) {
  switch (category) {
    case RunCategory::checkpoint_stall:
    case RunCategory::lost_work:
      if (other.facts.checkpoints == winner.facts.checkpoints) {
        return {};
      }
      return other.facts.checkpoints.empty()
                 ? std::string("no checkpoints")
                 : fmt::format("checkpoints {}", other.facts.checkpoints);
    case RunCategory::waiting_for_capacity:
    case RunCategory::spare_idle:
      if (other.facts.spares == winner.facts.spares) {
        return {};
      }
      return fmt::format("{} spare{}", other.facts.spares,
                         other.facts.spares == 1 ? " node" : " nodes");
    default:
      return {};
  }
}

}  // namespace

Account account_of(const report::Evaluation& evaluation, Objective objective) {
  Account account;
  const std::optional<double> value = objective_value(
      evaluation, objective == Objective::fewest_gpus ? Objective::finish_time : objective);
  if (!value) {
    return account;
  }
  account.total = *value;
  if (objective == Objective::step_time || !evaluation.run) {
    split_by_step(evaluation, *value, account);
    return account;
  }
  const run::RunLedger& ledger = evaluation.run->ledger_sum;
  double all = 0.0;
  std::array<double, kRunCategories> times{};
  for (std::size_t i = 0; i < kRunCategories; ++i) {
    const auto category = static_cast<RunCategory>(i);
    if (!is_pool(category) || counts_pool(objective)) {
      times[i] = in_seconds(ledger.gpu_time(category));
      all += times[i];
    }
  }
  if (all <= 0.0) {
    return account;
  }
  for (std::size_t i = 0; i < kRunCategories; ++i) {
    const double amount = *value * times[i] / all;
    if (static_cast<RunCategory>(i) == RunCategory::productive) {
      split_by_step(evaluation, amount, account);
    } else {
      account.parts[part_of(static_cast<RunCategory>(i))] = amount;
    }
  }
  return account;
}

std::vector<LedgerChange> ledger_changes(Objective objective, const Contestant& winner,
                                         const Contestant& other) {
  const Account from = account_of(winner.evaluation, objective);
  const Account to = account_of(other.evaluation, objective);
  std::vector<std::size_t> order(kAccountParts);
  std::array<double, kAccountParts> change{};
  for (std::size_t i = 0; i < kAccountParts; ++i) {
    order[i] = i;
    change[i] = to.parts[i] - from.parts[i];
  }
  // What makes it lose comes first, then what it gains.
  const bool behind = to.total >= from.total;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return behind ? change[a] > change[b] : change[a] < change[b];
  });
  std::vector<LedgerChange> changes;
  const double largest = std::abs(change[order.front()]);
  constexpr double kMatters = 0.25;
  constexpr std::size_t kMost = 3;
  const auto add = [&](std::size_t i) {
    if (change[i] == 0.0 || std::abs(change[i]) < kMatters * largest || changes.size() == kMost) {
      return;
    }
    LedgerChange one;
    one.change = change[i];
    if (i < step::kStepCategories) {
      const auto category = static_cast<StepCategory>(i);
      one.category = report::label_of(category);
      one.because = step_fact(category, winner, other);
    } else {
      const auto category = static_cast<RunCategory>(i - step::kStepCategories);
      one.category = report::label_of(category);
      one.because = run_fact(category, winner, other);
    }
    changes.push_back(std::move(one));
  };
  add(order.front());
  if (kAccountParts > 1) {
    add(order[1]);
    add(order.back());
  }
  return changes;
}

std::string reason(Objective objective, const Contestant& winner, const Contestant& other) {
  const report::Dimension dimension =
      dimension_of(objective == Objective::fewest_gpus ? Objective::finish_time : objective);
  std::string text;
  for (const LedgerChange& change : ledger_changes(objective, winner, other)) {
    const bool worse = change.change > 0.0;
    text += fmt::format("{}{} {}{}{}", text.empty() ? "" : "; ",
                        report::format_change(dimension, change.change), change.category,
                        worse && !change.because.empty() ? ": " : "", worse ? change.because : "");
  }
  return text.empty() ? "no difference in the ledger" : text;
}

}  // namespace orrery::plan
