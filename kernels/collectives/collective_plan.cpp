#include <fmt/format.h>

#include <algorithm>

#include "kernels/collectives/collective.hpp"
#include "kernels/device/random.hpp"
#include "kernels/families.hpp"

namespace orrery::kernels {

namespace {

bool has_parts(Operation operation) {
  return operation == Operation::all_gather || operation == Operation::reduce_scatter ||
         operation == Operation::all_to_all;
}

bool sums(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::reduce_scatter;
}

}  // namespace

std::int64_t CollectivePlan::input_in_output() const {
  return operation == Operation::all_gather ? rank * part : 0;
}

std::int64_t CollectivePlan::output_in_input() const {
  return operation == Operation::reduce_scatter ? rank * part : 0;
}

PlannedCollective plan_collective(const KernelCase& kernel, int rank, int ranks, int nodes) {
  if (extent(kernel, "ranks") != ranks || extent(kernel, "nodes") != nodes) {
    return {std::nullopt,
            fmt::format("the case is for {} ranks on {} nodes, the group has {} on {}",
                        extent(kernel, "ranks"), extent(kernel, "nodes"), ranks, nodes)};
  }
  CollectivePlan plan;
  plan.operation = kernel.operation;
  plan.element = element_of(kernel.precision);
  plan.rank = rank;
  plan.ranks = ranks;
  plan.in_place = extent(kernel, "in_place") != 0;
  if (plan.in_place &&
      (plan.operation == Operation::all_to_all || plan.operation == Operation::send_receive)) {
    return {std::nullopt, fmt::format("{} is not defined in place", to_string(plan.operation))};
  }
  const std::int64_t parts = has_parts(plan.operation) ? ranks : 1;
  const std::int64_t element = bytes_of(plan.element, 1);
  plan.part = extent(kernel, "bytes") / (parts * element);
  if (plan.part == 0) {
    return {std::nullopt, fmt::format("bytes={} is less than one element for each of {} ranks",
                                      extent(kernel, "bytes"), ranks)};
  }
  const std::int64_t whole = plan.part * parts;
  plan.send_elements = plan.operation == Operation::all_gather ? plan.part : whole;
  plan.receive_elements = plan.operation == Operation::reduce_scatter ? plan.part : whole;
  plan.bytes = whole * element;
  return {plan, ""};
}

float input_value(const CollectivePlan& plan, int rank, std::int64_t i) {
  constexpr int kManyRanks = 64;
  const std::uint32_t values = plan.ranks > kManyRanks ? 2 : 4;
  const auto seed = static_cast<std::uint64_t>(rank) + 1;
  return static_cast<float>(
      integer_at(seed, static_cast<std::uint64_t>(i % kPatternPeriod), values));
}

double expected_value(const CollectivePlan& plan, std::int64_t i) {
  const auto value = [&plan](int rank, std::int64_t at) {
    return static_cast<double>(input_value(plan, rank, at));
  };
  const int part = static_cast<int>(i / plan.part);
  switch (plan.operation) {
    case Operation::all_gather:
      return value(part, i % plan.part);
    case Operation::all_to_all:
      return value(part, plan.rank * plan.part + i % plan.part);
    case Operation::send_receive:
      return value((plan.rank + plan.ranks - 1) % plan.ranks, i);
    default:
      break;
  }
  const std::int64_t at =
      plan.operation == Operation::reduce_scatter ? plan.rank * plan.part + i : i;
  double sum = 0.0;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    sum += value(rank, at);
  }
  return sum;
}

double allowed_error(const CollectivePlan& plan, double expected) {
  constexpr int kExactRanks = 256;        // whole numbers of bf16
  constexpr double kRounding = 0x1.0p-5;  // many roundings of 2^-9
  return sums(plan.operation) && plan.ranks > kExactRanks ? kRounding * expected : 0.0;
}

std::vector<std::int64_t> sampled_elements(const CollectivePlan& plan) {
  constexpr std::int64_t kParts = 16;
  constexpr std::int64_t kEdge = 32;
  constexpr std::uint64_t kRandom = 64;
  constexpr std::uint64_t kSeed = 99;
  const std::int64_t parts = plan.receive_elements / plan.part;
  std::vector<std::int64_t> elements;
  std::uint64_t draw = 0;
  for (std::int64_t p = 0; p < std::min(parts, kParts); ++p) {
    const std::int64_t start = p * parts / std::min(parts, kParts) * plan.part;
    const std::int64_t edge = std::min(kEdge, plan.part);
    for (std::int64_t i = 0; i < edge; ++i) {
      elements.push_back(start + i);
      elements.push_back(start + plan.part - 1 - i);
    }
    for (std::uint64_t i = 0; i < kRandom; ++i) {
      elements.push_back(start +
                         static_cast<std::int64_t>(static_cast<double>(uniform_at(kSeed, ++draw)) *
                                                   static_cast<double>(plan.part)));
    }
  }
  std::ranges::sort(elements);
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  return elements;
}

}  // namespace orrery::kernels
