#include "calibrate/plan/collective_cases.hpp"

#include <array>

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Operation;

constexpr std::array kOperations = {Operation::all_reduce,
                                    Operation::all_gather,
                                    Operation::reduce_scatter,
                                    Operation::all_to_all,
                                    Operation::send_receive};
constexpr std::int64_t kSmallest = std::int64_t{1} << 10;
constexpr std::int64_t kSmallestConcurrent = std::int64_t{1} << 20;
constexpr std::int64_t kLargest = std::int64_t{1} << 30;
constexpr std::int64_t kStep = 4;
constexpr std::int64_t kBackground = std::int64_t{256} << 20U;

bool has_in_place(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::all_gather ||
         operation == Operation::reduce_scatter;
}

KernelCase case_of(Operation operation,
                   const CollectiveShape& shape,
                   std::int64_t bytes,
                   std::int64_t in_place) {
  return {.operation = operation,
          .role = kernels::Role::none,
          .precision = kernels::Precision::fp32,
          .extents = {shape.ranks, shape.nodes, bytes, in_place}};
}

}  // namespace

std::vector<CollectiveShape> collective_shapes(std::int64_t ranks, std::int64_t nodes) {
  std::vector<CollectiveShape> shapes = {{ranks, nodes}};
  const std::int64_t in_node = ranks / nodes;
  const bool even_nodes = ranks % nodes == 0;
  if (nodes > 1 && in_node > 1) {
    shapes.push_back({in_node, 1});
  }
  for (std::int64_t part = in_node; part > 2 && part % 2 == 0; part /= 2) {
    shapes.push_back({part / 2, 1});
  }
  if (even_nodes && in_node > 2 && in_node % 2 == 0) {
    shapes.push_back({.ranks = in_node / 2, .nodes = 1, .concurrent = true});
  }
  if (even_nodes && nodes > 1 && in_node > 1) {
    shapes.push_back({.ranks = nodes, .nodes = nodes, .stride = in_node});
    shapes.push_back({.ranks = nodes, .nodes = nodes, .stride = in_node, .concurrent = true});
  }
  return shapes;
}

std::int64_t group_of(const CollectiveShape& shape, std::int64_t rank) {
  return rank / (shape.ranks * shape.stride) * shape.stride + rank % shape.stride;
}

std::vector<KernelCase> background_cases(const CollectiveShape& shape) {
  std::vector<KernelCase> cases;
  if (shape.concurrent) {
    return cases;
  }
  for (const Operation operation :
       {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter}) {
    const KernelCase kernel = case_of(operation, shape, kBackground, 0);
    if (!kernels::problem_of(kernel)) {
      cases.push_back(kernel);
    }
  }
  return cases;
}

std::vector<KernelCase> collective_cases(const CollectiveShape& shape) {
  std::vector<KernelCase> cases;
  for (const Operation operation : kOperations) {
    for (std::int64_t bytes = shape.concurrent ? kSmallestConcurrent : kSmallest; bytes <= kLargest;
         bytes *= kStep) {
      for (const std::int64_t in_place : {0, 1}) {
        const KernelCase kernel = case_of(operation, shape, bytes, in_place);
        const bool wanted = in_place == 0 || (has_in_place(operation) && !shape.concurrent);
        if (wanted && !kernels::problem_of(kernel)) {
          cases.push_back(kernel);
        }
      }
    }
  }
  return cases;
}

}  // namespace orrery::calibrate
