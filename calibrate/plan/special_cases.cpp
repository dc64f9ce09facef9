#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "calibrate/plan/sweep_cases.hpp"
#include "sim/base/check.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Operation;
using Extents8 = std::array<std::int64_t, kernels::kMaxAxes>;

// By operation; a set that a role or precision cannot have is left out there.
std::vector<Extents8> extents_of(Operation operation) {
  switch (operation) {
    case Operation::gemm:
      return {{256, 384, 512}, {1040, 272, 336}};
    case Operation::grouped_gemm:
      return {{4, 192, 256, 384, 256}, {3, 160, 272, 336, 160}, {4, 256, 384, 192, 256}};
    case Operation::attention:
      return {{2, 8, 2, 256, 256, 64, 64, 1},
              {1, 4, 4, 320, 320, 128, 128, 0},
              {1, 4, 4, 256, 256, 192, 128, 1},
              {1, 2, 1, 192, 448, 128, 128, 0}};
    case Operation::rms_norm:
    case Operation::layer_norm:
      return {{333, 1024}, {40, 8192}, {7, 5120}, {9, 12288}, {1001, 128}, {77, 96}};
    case Operation::residual_add:
    case Operation::swiglu:
      return {{333, 1024}, {40, 8192}, {7, 5120}};
    case Operation::rotary:
      return {{333, 6, 128}, {64, 3, 64}};
    case Operation::cross_entropy:
      return {{77, 32064}, {16, 4096}};
    case Operation::embedding:
      return {{300, 1024, 5000}, {64, 640, 96}};
    case Operation::quantize:
    case Operation::quantize_transpose:
      return {{256, 1024}, {384, 640}};
    case Operation::permute:
    case Operation::unpermute:
      return {{301, 1024, 4}, {128, 640, 1}, {64, 1024, 8}};
    case Operation::gradient_norm:
    case Operation::adamw:
      return {{1000003}, {4096}};
    case Operation::copy:
    case Operation::host_to_device:
    case Operation::device_to_host:
      return {{1 << 20}, {12345}};
    default:
      return {};
  }
}

}  // namespace

std::vector<KernelCase> check_cases() {
  std::vector<KernelCase> cases;
  for (const kernels::OperationRow& row : kernels::operation_table()) {
    for (const kernels::Role role : row.roles) {
      for (const kernels::Precision precision : row.precisions) {
        for (const Extents8& extents : extents_of(row.operation)) {
          const KernelCase kernel{row.operation, role, precision, extents};
          if (!kernels::problem_of(kernel)) {
            cases.push_back(kernel);
          }
        }
      }
    }
  }
  return cases;
}

namespace {

constexpr std::array kOperations = {Operation::all_reduce, Operation::all_gather,
                                    Operation::reduce_scatter, Operation::all_to_all,
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

KernelCase case_of(Operation operation, const CollectiveShape& shape, std::int64_t bytes,
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

namespace {

using Point = std::vector<double>;

double squared_distance(const Point& a, const Point& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return sum;
}

std::vector<Point> logarithms(std::span<const Extents> candidates) {
  std::vector<Point> points;
  points.reserve(candidates.size());
  for (const Extents& extents : candidates) {
    ORRERY_CHECK(extents.size() == candidates.front().size(), "candidates of {} and {} extents",
                 extents.size(), candidates.front().size());
    Point point;
    for (const std::int64_t extent : extents) {
      ORRERY_CHECK(extent > 0, "an extent of {} has no logarithm", extent);
      point.push_back(std::log(static_cast<double>(extent)));
    }
    points.push_back(std::move(point));
  }
  return points;
}

Point mean_of(const std::vector<Point>& points) {
  Point mean(points.front().size(), 0.0);
  for (const Point& point : points) {
    for (std::size_t i = 0; i < point.size(); ++i) {
      mean[i] += point[i] / static_cast<double>(points.size());
    }
  }
  return mean;
}

}  // namespace

std::vector<std::size_t> farthest_points(std::span<const Extents> candidates, std::size_t count) {
  std::vector<std::size_t> chosen;
  if (candidates.empty() || count == 0) {
    return chosen;
  }
  const std::vector<Point> points = logarithms(candidates);
  const Point mean = mean_of(points);
  std::size_t next = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (squared_distance(points[i], mean) < squared_distance(points[next], mean)) {
      next = i;
    }
  }
  std::vector<double> nearest(points.size(), std::numeric_limits<double>::infinity());
  while (chosen.size() < std::min(count, points.size())) {
    chosen.push_back(next);
    nearest[next] = -1.0;  // never again
    std::size_t farthest = next;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (nearest[i] >= 0.0) {
        nearest[i] = std::min(nearest[i], squared_distance(points[i], points[chosen.back()]));
      }
      if (nearest[i] > nearest[farthest]) {
        farthest = i;
      }
    }
    next = farthest;
  }
  return chosen;
}

}  // namespace orrery::calibrate
