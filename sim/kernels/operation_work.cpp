#include "sim/kernels/operation_work.hpp"

#include <algorithm>

namespace orrery::kernels {

namespace {

constexpr double kFp32 = 4.0;
constexpr double kSixteenBits = 2.0;
constexpr double kTokenId = 8.0;
constexpr double kFusedBackwardFactor = 2.5;  // five products where the forward has two

double at(const KernelCase& kernel, std::size_t axis) {
  return static_cast<double>(kernel.extents[axis]);
}

double element(const KernelCase& kernel) {
  return in_bytes(element_bytes(kernel.precision));
}

Work moves(double read, double written) {
  return {.flop = flop(0.0), .read = bytes(read), .written = bytes(written)};
}

Work streams(const KernelCase& kernel, double read, double written) {
  const double one = at(kernel, 0) * at(kernel, 1) * element(kernel);
  return moves(read * one, written * one);
}

bool is_backward(const KernelCase& kernel) {
  return kernel.role == Role::backward;
}

Work products(const KernelCase& kernel, double count, std::size_t first) {
  const double m = at(kernel, first);
  const double n = at(kernel, first + 1);
  const double k = at(kernel, first + 2);
  const double e = element(kernel);
  const bool accumulates = kernel.role == Role::wgrad_accumulate;
  const double result = accumulates ? kFp32 : std::max(e, kSixteenBits);
  const double addend = accumulates ? kFp32 : 0.0;
  return {.flop = flop(2.0 * count * m * n * k),
          .read = bytes(count * ((m * k + n * k) * e + m * n * addend)),
          .written = bytes(count * m * n * result)};
}

// Bytes of the scales per element; fp8_tensor: one number for the tensor, fp8_row: for the row.
double scale_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp8_block:
      return kFp32 / 128.0;
    case Precision::mxfp8:
      return 1.0 / 32.0;
    case Precision::nvfp4:
      return 1.0 / 16.0;
    default:
      return 0.0;
  }
}

}  // namespace

Work gemm_work(const KernelCase& kernel) {
  return products(kernel, 1.0, 0);
}

Work grouped_gemm_work(const KernelCase& kernel) {
  return products(kernel, at(kernel, 0), 1);
}

Work attention_work(const KernelCase& kernel) {
  const double sequences = at(kernel, 0);
  const double query_rows = sequences * at(kernel, 1) * at(kernel, 3);
  const double key_rows = sequences * at(kernel, 2) * at(kernel, 4);
  const double dim_qk = at(kernel, 5);
  const double dim_v = at(kernel, 6);
  const double share = kernel.extents[7] != 0 ? 0.5 : 1.0;
  const double forward = 2.0 * query_rows * at(kernel, 4) * (dim_qk + dim_v) * share;
  const double queries = query_rows * dim_qk * element(kernel);
  const double outputs = query_rows * dim_v * element(kernel);
  const double keys_values = key_rows * (dim_qk + dim_v) * element(kernel);
  const double statistics = query_rows * kFp32;
  if (is_backward(kernel)) {
    return {.flop = flop(kFusedBackwardFactor * forward),
            .read = bytes(queries + keys_values + 2.0 * outputs + statistics),
            .written = bytes(queries + keys_values)};
  }
  return {.flop = flop(forward),
          .read = bytes(queries + keys_values),
          .written = bytes(outputs + statistics)};
}

Work norm_work(const KernelCase& kernel) {
  return streams(kernel, is_backward(kernel) ? 2.0 : 1.0, 1.0);
}

Work residual_work(const KernelCase& kernel) {
  return streams(kernel, 2.0, 1.0);
}

Work rotary_work(const KernelCase& kernel) {
  return streams(kernel, at(kernel, 2), at(kernel, 2));
}

Work swiglu_work(const KernelCase& kernel) {
  return is_backward(kernel) ? streams(kernel, 3.0, 2.0) : streams(kernel, 2.0, 1.0);
}

Work cross_entropy_work(const KernelCase& kernel) {
  const double ids = at(kernel, 0) * kTokenId;
  const double one = at(kernel, 0) * at(kernel, 1) * element(kernel);
  return is_backward(kernel) ? moves(one + ids, one)
                             : moves(one + ids, 2.0 * kFp32 * at(kernel, 0));
}

Work embedding_work(const KernelCase& kernel) {
  const double ids = at(kernel, 0) * kTokenId;
  const double elements = at(kernel, 0) * at(kernel, 1);
  if (is_backward(kernel)) {
    return moves(elements * (element(kernel) + kFp32) + ids, elements * kFp32);
  }
  return moves(elements * element(kernel) + ids, elements * element(kernel));
}

Work quantize_work(const KernelCase& kernel) {
  const double elements = at(kernel, 0) * at(kernel, 1);
  const double reads = kernel.precision == Precision::nvfp4 ? 2.0 : 1.0;
  return moves(elements * kSixteenBits * reads,
               elements * (element(kernel) + scale_bytes(kernel.precision)));
}

Work quantize_transpose_work(const KernelCase& kernel) {
  const double elements = at(kernel, 0) * at(kernel, 1);
  const double reads = kernel.precision == Precision::nvfp4     ? 2.0
                       : kernel.precision == Precision::fp8_row ? 3.0
                                                                : 1.0;
  return moves(elements * kSixteenBits * reads,
               2.0 * elements * (element(kernel) + scale_bytes(kernel.precision)));
}

Work permute_work(const KernelCase& kernel) {
  const double copies = at(kernel, 2);
  return is_backward(kernel) ? streams(kernel, copies, 1.0) : streams(kernel, 1.0, copies);
}

Work unpermute_work(const KernelCase& kernel) {
  const double copies = at(kernel, 2);
  return is_backward(kernel) ? streams(kernel, 1.0 + copies, copies) : streams(kernel, copies, 1.0);
}

Work gradient_norm_work(const KernelCase& kernel) {
  return moves(at(kernel, 0) * element(kernel), 0.0);
}

Work adamw_work(const KernelCase& kernel) {
  const double elements = at(kernel, 0);
  return moves(elements * (3.0 * kFp32 + element(kernel)), elements * (3.0 * kFp32 + kSixteenBits));
}

Work copy_work(const KernelCase& kernel) {
  return moves(at(kernel, 0), at(kernel, 0));
}

Work to_device_work(const KernelCase& kernel) {
  return moves(0.0, at(kernel, 0));
}

Work to_host_work(const KernelCase& kernel) {
  return moves(at(kernel, 0), 0.0);
}

Work exchange_work(const KernelCase& kernel) {
  return moves(at(kernel, 2), at(kernel, 2));
}

Work gather_work(const KernelCase& kernel) {
  return moves(at(kernel, 2) / at(kernel, 0), at(kernel, 2));
}

Work scatter_work(const KernelCase& kernel) {
  return moves(at(kernel, 2), at(kernel, 2) / at(kernel, 0));
}

}  // namespace orrery::kernels
