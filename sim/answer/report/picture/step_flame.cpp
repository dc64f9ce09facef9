#include "sim/answer/report/picture/step_flame.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "sim/answer/report/text/ledger_rows.hpp"

namespace orrery::report {

namespace {

using step::OperationKind;
using step::OperationNode;
using step::StepCategory;

double share_of(SimTime time, SimTime whole) {
  return whole.ns > 0 ? static_cast<double>(time.ns) / static_cast<double>(whole.ns) : 0.0;
}

bool waits(StepCategory category) {
  return category == StepCategory::bubble || category == StepCategory::stage_imbalance ||
         category == StepCategory::idle;
}

std::string name_of(const OperationNode& node) {
  if (node.kind != OperationKind::wait || node.level != step::TreeLevel::operation) {
    return node.name;
  }
  const std::string label(label_of(node.category));
  return waits(node.category) ? label : "waiting for " + label;
}

// Times are sums over `n` stages; edges of bars are divided as they stand, so that they still meet.
FlameBar bar_of(const OperationNode& node, int depth, SimTime from, SimTime whole, std::int64_t n) {
  return {.name = name_of(node),
          .depth = depth,
          .from = SimTime{from.ns / n},
          .until = SimTime{(from + node.time).ns / n},
          .hidden = SimTime{node.hidden.ns / n},
          .share = share_of(node.time, whole),
          .runs = node.runs / static_cast<double>(n),
          .category = node.category,
          .kind = node.kind};
}

bool communicates(const OperationNode& node) {
  return node.kind == OperationKind::collective || node.kind == OperationKind::message;
}

// Takes time that compute waits from what seems hidden, in proportion; returns what is left of it.
SimTime expose(std::vector<CommunicationRow>& rows, StepCategory category, SimTime time) {
  SimTime hidden;
  for (const CommunicationRow& row : rows) {
    hidden += row.category == category ? row.hidden : SimTime{};
  }
  const SimTime taken = std::min(time, hidden);
  for (CommunicationRow& row : rows) {
    if (row.category == category && hidden > SimTime{}) {
      const SimTime part = to_sim_time(to_seconds(taken) * share_of(row.hidden, hidden));
      row.exposed += part;
      row.hidden = row.hidden - part;
    }
  }
  return time - taken;
}

}  // namespace

std::int64_t busiest_device(const Evaluation& evaluation) {
  const auto& ledgers = evaluation.step.stage_ledgers;
  const auto least = std::ranges::min_element(ledgers, [](const auto& a, const auto& b) {
    return step::waiting_for_others(a) < step::waiting_for_others(b);
  });
  return least - ledgers.begin();
}

std::vector<OperationNode> operation_sums(const Evaluation& evaluation,
                                          std::optional<std::int64_t> device) {
  if (device) {
    return operation_totals(evaluation.step, *device);
  }
  std::vector<OperationNode> sums;
  std::map<std::tuple<std::string, OperationKind, StepCategory>, std::size_t> places;
  for (std::int64_t d = 0; d < stage_count(evaluation); ++d) {
    for (OperationNode& node : operation_totals(evaluation.step, d)) {
      const auto [place, is_new] =
          places.try_emplace({node.name, node.kind, node.category}, sums.size());
      if (is_new) {
        sums.push_back(std::move(node));
        continue;
      }
      OperationNode& sum = sums[place->second];
      sum.time += node.time;
      sum.hidden += node.hidden;
      sum.flop += node.flop;
      sum.bytes += node.bytes;
      sum.runs += node.runs;
    }
  }
  std::ranges::stable_sort(sums, [](const auto& a, const auto& b) { return a.time > b.time; });
  return sums;
}

std::int64_t stage_count(const Evaluation& evaluation) {
  return std::ssize(evaluation.step.stage_ledgers);
}

std::vector<FlameBar> flame_by_operation(const Evaluation& evaluation,
                                         std::optional<std::int64_t> device) {
  const std::vector<OperationNode> sums = operation_sums(evaluation, device);
  if (sums.empty()) {
    return {};
  }
  const std::int64_t n = device ? 1 : stage_count(evaluation);
  SimTime whole;
  for (const OperationNode& node : sums) {
    whole += node.time;
  }
  OperationNode root;
  root.level = step::TreeLevel::stage;
  root.name = device ? "stage " + std::to_string(*device) : "mean of all stages";
  root.time = whole;
  std::vector<FlameBar> bars = {bar_of(root, 0, SimTime{}, whole, n)};
  SimTime from;
  for (const LedgerRow& row : step_ledger_rows(evaluation)) {
    const SimTime begin = from;
    std::vector<FlameBar> below;
    OperationNode account;
    account.level = step::TreeLevel::chunk;
    account.name = std::string(row.label);
    for (const OperationNode& node : sums) {
      if (to_string(node.category) == row.category && node.time > SimTime{}) {
        below.push_back(bar_of(node, 2, from, whole, n));
        from += node.time;
        account.hidden += node.hidden;
        account.category = node.category;
        account.kind = below.front().kind;
      }
    }
    account.time = from - begin;
    if (below.empty()) {
      continue;
    }
    bars.push_back(bar_of(account, 1, begin, whole, n));
    // Waiting for others has nothing below it that would say more.
    if (!waits(account.category) || below.size() > 1) {
      bars.insert(bars.end(), below.begin(), below.end());
    }
  }
  return bars;
}

std::vector<FlameBar> flame_by_layer(const Evaluation& evaluation, std::int64_t device) {
  const std::vector<OperationNode> tree = operation_tree(evaluation.step);
  std::uint32_t stage = 0;
  for (std::int64_t skip = device; skip > 0 && stage < tree.size(); --skip) {
    stage = tree[stage].end;
  }
  if (stage >= tree.size()) {
    return {};
  }
  const SimTime whole = tree[stage].time;
  const std::uint32_t end = tree[stage].end;
  std::vector<FlameBar> bars;
  std::vector<SimTime> next(end - stage);  // where the next child of a node begins
  std::vector<int> depth(end - stage, 0);
  for (std::uint32_t i = stage; i < end; ++i) {
    SimTime from;
    if (i > stage) {
      const std::uint32_t parent = tree[i].parent - stage;
      from = next[parent];
      next[parent] += tree[i].time;
      depth[i - stage] = depth[parent] + 1;
    }
    next[i - stage] = from;
    if (tree[i].time > SimTime{}) {
      bars.push_back(bar_of(tree[i], depth[i - stage], from, whole, 1));
    }
  }
  return bars;
}

std::vector<CommunicationRow> communication_rows(const Evaluation& evaluation) {
  const std::int64_t n = std::max<std::int64_t>(1, stage_count(evaluation));
  std::vector<CommunicationRow> rows;
  std::vector<OperationNode> waiting;
  for (const OperationNode& node : operation_sums(evaluation)) {
    if (communicates(node) && node.time + node.hidden > SimTime{}) {
      rows.push_back({node.name, node.category, SimTime{node.time.ns / n},
                      SimTime{node.hidden.ns / n}, node.runs / static_cast<double>(n)});
    } else if (node.kind == OperationKind::slowdown) {
      rows.push_back({node.name,
                      node.category,
                      SimTime{node.time.ns / n},
                      {},
                      node.runs / static_cast<double>(n)});
    } else if (node.kind == OperationKind::wait && !waits(node.category)) {
      waiting.push_back(node);
    }
  }
  for (const OperationNode& wait : waiting) {
    const SimTime rest = expose(rows, wait.category, SimTime{wait.time.ns / n});
    if (rest > SimTime{}) {
      rows.push_back({name_of(wait), wait.category, rest, {}, wait.runs / static_cast<double>(n)});
    }
  }
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) {
    return a.exposed + a.hidden > b.exposed + b.hidden;
  });
  return rows;
}

}  // namespace orrery::report
