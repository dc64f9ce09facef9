#include "calibrate/plan/check_cases.hpp"

#include <array>

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

}  // namespace orrery::calibrate
