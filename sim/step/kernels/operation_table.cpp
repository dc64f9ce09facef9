#include <algorithm>
#include <array>
#include <utility>

#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::kernels {

namespace {

// The work of one call of each operation: FLOP and bytes. One formula per row of operation_table(),
// which spells it out; kernel_case.hpp states what is counted. Used inside sim/step/kernels only.

constexpr double kFp32 = 4.0;
constexpr double kSixteenBits = 2.0;
constexpr double kTokenId = 8.0;
constexpr double kFusedBackwardFactor = 2.5;  // five products where the forward has two

double at(const KernelCase& kernel, std::size_t axis) {
  return static_cast<double>(kernel.extents[axis]);
}

double element(const KernelCase& kernel) { return in_bytes(element_bytes(kernel.precision)); }

Work moves(double read, double written) {
  return {.flop = flop(0.0), .read = bytes(read), .written = bytes(written)};
}

Work streams(const KernelCase& kernel, double read, double written) {
  const double one = at(kernel, 0) * at(kernel, 1) * element(kernel);
  return moves(read * one, written * one);
}

bool is_backward(const KernelCase& kernel) { return kernel.role == Role::backward; }

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

Work gemm_work(const KernelCase& kernel) { return products(kernel, 1.0, 0); }

Work grouped_gemm_work(const KernelCase& kernel) { return products(kernel, at(kernel, 0), 1); }

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

Work residual_work(const KernelCase& kernel) { return streams(kernel, 2.0, 1.0); }

Work rotary_work(const KernelCase& kernel) { return streams(kernel, at(kernel, 2), at(kernel, 2)); }

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

Work copy_work(const KernelCase& kernel) { return moves(at(kernel, 0), at(kernel, 0)); }

Work to_device_work(const KernelCase& kernel) { return moves(0.0, at(kernel, 0)); }

Work to_host_work(const KernelCase& kernel) { return moves(at(kernel, 0), 0.0); }

Work exchange_work(const KernelCase& kernel) { return moves(at(kernel, 2), at(kernel, 2)); }

Work gather_work(const KernelCase& kernel) {
  return moves(at(kernel, 2) / at(kernel, 0), at(kernel, 2));
}

Work scatter_work(const KernelCase& kernel) {
  return moves(at(kernel, 2), at(kernel, 2) / at(kernel, 0));
}

using Roles = std::vector<Role>;
using Precisions = std::vector<Precision>;
using Axes = std::vector<std::string_view>;

const Roles& one_role() {
  static const Roles roles = {Role::none};
  return roles;
}

const Roles& passes() {
  static const Roles roles = {Role::forward, Role::backward};
  return roles;
}

const Roles& product_roles() {
  static const Roles roles = {Role::fprop, Role::dgrad, Role::wgrad, Role::wgrad_accumulate};
  return roles;
}

const Precisions& sixteen_bits() {
  static const Precisions precisions = {Precision::bf16, Precision::fp16};
  return precisions;
}

const Precisions& narrow() {
  static const Precisions precisions = {Precision::fp8_tensor, Precision::fp8_row,
                                        Precision::fp8_block, Precision::mxfp8, Precision::nvfp4};
  return precisions;
}

const Precisions& one_precision() {  // only bytes are moved
  static const Precisions precisions = {Precision::bf16};
  return precisions;
}

const Precisions& added() {
  static const Precisions precisions = {Precision::bf16, Precision::fp16, Precision::fp32};
  return precisions;
}

void add_products(std::vector<OperationRow>& rows) {
  rows.push_back({.operation = Operation::gemm,
                  .name = "gemm",
                  .roles = product_roles(),
                  .precisions = {Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp32,
                                 Precision::fp8_tensor, Precision::fp8_row, Precision::fp8_block,
                                 Precision::mxfp8, Precision::nvfp4},
                  .axes = {"m", "n", "k"},
                  .summary = "C = A B; wgrad_accumulate adds to an fp32 C",
                  .flop = "2 m n k",
                  .read = "e (m k + n k), accumulating + 4 m n",
                  .written = "r m n",
                  .work = gemm_work});
  rows.push_back({.operation = Operation::grouped_gemm,
                  .name = "grouped_gemm",
                  .roles = product_roles(),
                  .precisions = {Precision::bf16, Precision::fp16, Precision::fp8_tensor,
                                 Precision::fp8_block, Precision::mxfp8},
                  .axes = {"groups", "m", "n", "k", "largest"},
                  .summary = "one product per expert, their rows differ",
                  .flop = "2 groups m n k",
                  .read = "groups (e (m k + n k), accumulating + 4 m n)",
                  .written = "r groups m n",
                  .work = grouped_gemm_work});
  rows.push_back(
      {.operation = Operation::attention,
       .name = "attention",
       .roles = passes(),
       .precisions = {Precision::bf16, Precision::fp16, Precision::fp8_tensor},
       .axes = {"sequences", "heads", "groups", "queries", "keys", "dim_qk", "dim_v", "causal"},
       .summary = "softmax(Q K^T) V fused, or dQ, dK, dV",
       .flop = "2 sequences heads queries keys (dim_qk + dim_v), causal / 2, backward x 2.5",
       .read = "Q, K, V; backward also O, dO and 4 bytes per query",
       .written = "O and 4 bytes per query; backward dQ, dK, dV",
       .work = attention_work});
}

// Rows of families that differ in name, passes, axes and bytes only; `text`: summary, read,
// written.
void add_stream(std::vector<OperationRow>& rows, Operation operation, std::string_view name,
                const Roles& roles, Axes axes, std::array<std::string_view, 3> text,
                Work (*work)(const KernelCase&)) {
  rows.push_back({.operation = operation,
                  .name = name,
                  .roles = roles,
                  .precisions = sixteen_bits(),
                  .axes = std::move(axes),
                  .summary = text[0],
                  .flop = "0",
                  .read = text[1],
                  .written = text[2],
                  .work = work});
}

void add_streams(std::vector<OperationRow>& rows) {
  const Axes matrix = {"rows", "columns"};
  add_stream(
      rows, Operation::rms_norm, "rms_norm", passes(), matrix,
      {"y = x w / rms(x); backward dx and dw", "e rows columns, backward x 2", "e rows columns"},
      norm_work);
  add_stream(rows, Operation::layer_norm, "layer_norm", passes(), matrix,
             {"y = (x - mean) w / deviation + b; backward dx, dw and db",
              "e rows columns, backward x 2", "e rows columns"},
             norm_work);
  add_stream(rows, Operation::residual_add, "residual_add", one_role(), matrix,
             {"y = a + b", "2 e rows columns", "e rows columns"}, residual_work);
  add_stream(rows, Operation::rotary, "rotary", passes(), {"tokens", "heads", "dim"},
             {"pairs (i, i + dim / 2) turned by position x frequency", "e tokens heads dim",
              "e tokens heads dim"},
             rotary_work);
  add_stream(rows, Operation::swiglu, "swiglu", passes(), matrix,
             {"y = silu(gate) up, gate and up side by side; backward their gradients",
              "2 e rows columns, backward 3", "e rows columns, backward 2"},
             swiglu_work);
}

void add_token_streams(std::vector<OperationRow>& rows) {
  add_stream(rows, Operation::cross_entropy, "cross_entropy", passes(), {"rows", "columns"},
             {"-log softmax of the target; backward softmax - target", "e rows columns + 8 rows",
              "8 rows, backward e rows columns"},
             cross_entropy_work);
  add_stream(rows, Operation::embedding, "embedding", passes(), {"rows", "columns", "vocabulary"},
             {"rows of a table; backward adds to an fp32 gradient of the table",
              "e rows columns + 8 rows, backward + 4 rows columns",
              "e rows columns, backward 4 rows columns"},
             embedding_work);
  add_stream(rows, Operation::permute, "permute", passes(), {"rows", "columns", "copies"},
             {"each token to its `copies` experts; backward adds the copies",
              "e rows columns, backward x copies", "e rows columns copies, backward / copies"},
             permute_work);
  add_stream(
      rows, Operation::unpermute, "unpermute", passes(), {"rows", "columns", "copies"},
      {"copies weighted and added; backward of copies and weights",
       "e rows columns copies, backward + e rows columns", "e rows columns, backward x copies"},
      unpermute_work);
}

void add_casts(std::vector<OperationRow>& rows) {
  rows.push_back({.operation = Operation::quantize,
                  .name = "quantize",
                  .roles = passes(),
                  .precisions = narrow(),
                  .axes = {"rows", "columns"},
                  .summary = "bf16 to 8 or 4 bits, with the largest magnitude or the scales found",
                  .flop = "0",
                  .read = "2 rows columns, nvfp4 x 2",
                  .written = "(e + s) rows columns",
                  .work = quantize_work});
  rows.push_back({.operation = Operation::quantize_transpose,
                  .name = "quantize_transpose",
                  .roles = passes(),
                  .precisions = narrow(),
                  .axes = {"rows", "columns"},
                  .summary = "the same, and a transposed copy scaled along its own rows",
                  .flop = "0",
                  .read = "2 rows columns, nvfp4 x 2, fp8_row x 3",
                  .written = "2 (e + s) rows columns",
                  .work = quantize_transpose_work});
}

void add_optimizer(std::vector<OperationRow>& rows) {
  const Precisions gradients = {Precision::bf16, Precision::fp32};
  rows.push_back({.operation = Operation::gradient_norm,
                  .name = "gradient_norm",
                  .roles = one_role(),
                  .precisions = gradients,
                  .axes = {"elements"},
                  .summary = "square root of the sum of squares",
                  .flop = "0",
                  .read = "e elements",
                  .written = "0",
                  .work = gradient_norm_work});
  rows.push_back({.operation = Operation::adamw,
                  .name = "adamw",
                  .roles = one_role(),
                  .precisions = gradients,
                  .axes = {"elements"},
                  .summary = "fp32 weights and two moments updated, bf16 weights written",
                  .flop = "0",
                  .read = "(12 + e) elements",
                  .written = "14 elements",
                  .work = adamw_work});
}

void add_transfers(std::vector<OperationRow>& rows) {
  const auto add = [&rows](Operation operation, std::string_view name, const Precisions& precisions,
                           Axes axes, std::array<std::string_view, 3> text,
                           Work (*work)(const KernelCase&)) {
    rows.push_back({.operation = operation,
                    .name = name,
                    .roles = one_role(),
                    .precisions = precisions,
                    .axes = std::move(axes),
                    .summary = text[0],
                    .flop = "0",
                    .read = text[1],
                    .written = text[2],
                    .work = work});
  };
  const Axes group = {"ranks", "nodes", "bytes", "in_place"};
  const auto copy = [&](Operation operation, std::string_view name, auto text, auto* work) {
    add(operation, name, one_precision(), {"bytes"}, text, work);
  };
  using Text = std::array<std::string_view, 3>;
  copy(Operation::copy, "copy", Text{"device memory to device memory", "bytes", "bytes"},
       copy_work);
  copy(Operation::host_to_device, "host_to_device", Text{"from pinned host memory", "0", "bytes"},
       to_device_work);
  copy(Operation::device_to_host, "device_to_host", Text{"to pinned host memory", "bytes", "0"},
       to_host_work);
  add(Operation::all_reduce, "all_reduce", added(), group,
      {"every rank gets the sum", "bytes", "bytes"}, exchange_work);
  add(Operation::all_gather, "all_gather", added(), group,
      {"every rank gets the parts of all", "bytes / ranks", "bytes"}, gather_work);
  add(Operation::reduce_scatter, "reduce_scatter", added(), group,
      {"every rank gets its part of the sum", "bytes", "bytes / ranks"}, scatter_work);
  add(Operation::all_to_all, "all_to_all", added(), group,
      {"every rank sends a part to every rank", "bytes", "bytes"}, exchange_work);
  add(Operation::send_receive, "send_receive", added(), group,
      {"every rank sends to its neighbour in a ring", "bytes", "bytes"}, exchange_work);
}

std::vector<OperationRow> make_table() {
  std::vector<OperationRow> rows;
  add_products(rows);
  add_streams(rows);
  add_token_streams(rows);
  add_casts(rows);
  add_optimizer(rows);
  add_transfers(rows);
  std::ranges::sort(rows, {}, &OperationRow::operation);
  return rows;
}

}  // namespace

std::span<const OperationRow> operation_table() {
  static const std::vector<OperationRow> rows = make_table();
  return rows;
}

}  // namespace orrery::kernels
