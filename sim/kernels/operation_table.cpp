#include <algorithm>
#include <array>
#include <utility>

#include "sim/kernels/kernel_case.hpp"
#include "sim/kernels/operation_work.hpp"

namespace orrery::kernels {

namespace {

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
  static const Precisions precisions = {Precision::fp8_tensor,
                                        Precision::fp8_row,
                                        Precision::fp8_block,
                                        Precision::mxfp8,
                                        Precision::nvfp4};
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
                  .precisions = {Precision::bf16,
                                 Precision::fp16,
                                 Precision::tf32,
                                 Precision::fp32,
                                 Precision::fp8_tensor,
                                 Precision::fp8_row,
                                 Precision::fp8_block,
                                 Precision::mxfp8,
                                 Precision::nvfp4},
                  .axes = {"m", "n", "k"},
                  .summary = "C = A B; wgrad_accumulate adds to an fp32 C",
                  .flop = "2 m n k",
                  .read = "e (m k + n k), accumulating + 4 m n",
                  .written = "r m n",
                  .work = gemm_work});
  rows.push_back({.operation = Operation::grouped_gemm,
                  .name = "grouped_gemm",
                  .roles = product_roles(),
                  .precisions = {Precision::bf16,
                                 Precision::fp16,
                                 Precision::fp8_tensor,
                                 Precision::fp8_block,
                                 Precision::mxfp8},
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
void add_stream(std::vector<OperationRow>& rows,
                Operation operation,
                std::string_view name,
                const Roles& roles,
                Axes axes,
                std::array<std::string_view, 3> text,
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
      rows,
      Operation::rms_norm,
      "rms_norm",
      passes(),
      matrix,
      {"y = x w / rms(x); backward dx and dw", "e rows columns, backward x 2", "e rows columns"},
      norm_work);
  add_stream(rows,
             Operation::layer_norm,
             "layer_norm",
             passes(),
             matrix,
             {"y = (x - mean) w / deviation + b; backward dx, dw and db",
              "e rows columns, backward x 2",
              "e rows columns"},
             norm_work);
  add_stream(rows,
             Operation::residual_add,
             "residual_add",
             one_role(),
             matrix,
             {"y = a + b", "2 e rows columns", "e rows columns"},
             residual_work);
  add_stream(rows,
             Operation::rotary,
             "rotary",
             passes(),
             {"tokens", "heads", "dim"},
             {"pairs (i, i + dim / 2) turned by position x frequency",
              "e tokens heads dim",
              "e tokens heads dim"},
             rotary_work);
  add_stream(rows,
             Operation::swiglu,
             "swiglu",
             passes(),
             matrix,
             {"y = silu(gate) up, gate and up side by side; backward their gradients",
              "2 e rows columns, backward 3",
              "e rows columns, backward 2"},
             swiglu_work);
}

void add_token_streams(std::vector<OperationRow>& rows) {
  add_stream(rows,
             Operation::cross_entropy,
             "cross_entropy",
             passes(),
             {"rows", "columns"},
             {"-log softmax of the target; backward softmax - target",
              "e rows columns + 8 rows",
              "8 rows, backward e rows columns"},
             cross_entropy_work);
  add_stream(rows,
             Operation::embedding,
             "embedding",
             passes(),
             {"rows", "columns", "vocabulary"},
             {"rows of a table; backward adds to an fp32 gradient of the table",
              "e rows columns + 8 rows, backward + 4 rows columns",
              "e rows columns, backward 4 rows columns"},
             embedding_work);
  add_stream(rows,
             Operation::permute,
             "permute",
             passes(),
             {"rows", "columns", "copies"},
             {"each token to its `copies` experts; backward adds the copies",
              "e rows columns, backward x copies",
              "e rows columns copies, backward / copies"},
             permute_work);
  add_stream(rows,
             Operation::unpermute,
             "unpermute",
             passes(),
             {"rows", "columns", "copies"},
             {"copies weighted and added; backward of copies and weights",
              "e rows columns copies, backward + e rows columns",
              "e rows columns, backward x copies"},
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
  const auto add = [&rows](Operation operation,
                           std::string_view name,
                           const Precisions& precisions,
                           Axes axes,
                           std::array<std::string_view, 3> text,
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
  copy(
      Operation::copy, "copy", Text{"device memory to device memory", "bytes", "bytes"}, copy_work);
  copy(Operation::host_to_device,
       "host_to_device",
       Text{"from pinned host memory", "0", "bytes"},
       to_device_work);
  copy(Operation::device_to_host,
       "device_to_host",
       Text{"to pinned host memory", "bytes", "0"},
       to_host_work);
  add(Operation::all_reduce,
      "all_reduce",
      added(),
      group,
      {"every rank gets the sum", "bytes", "bytes"},
      exchange_work);
  add(Operation::all_gather,
      "all_gather",
      added(),
      group,
      {"every rank gets the parts of all", "bytes / ranks", "bytes"},
      gather_work);
  add(Operation::reduce_scatter,
      "reduce_scatter",
      added(),
      group,
      {"every rank gets its part of the sum", "bytes", "bytes / ranks"},
      scatter_work);
  add(Operation::all_to_all,
      "all_to_all",
      added(),
      group,
      {"every rank sends a part to every rank", "bytes", "bytes"},
      exchange_work);
  add(Operation::send_receive,
      "send_receive",
      added(),
      group,
      {"every rank sends to its neighbour in a ring", "bytes", "bytes"},
      exchange_work);
}

std::vector<OperationRow> make_table() {
  std::vector<OperationRow> rows;
  add_products(rows);
  add_streams(rows);
  add_token_streams(rows);
  add_casts(rows);
  add_optimizer(rows);
  add_transfers(rows);
  std::sort(rows.begin(), rows.end(), [](const OperationRow& a, const OperationRow& b) {
    return a.operation < b.operation;
  });
  return rows;
}

}  // namespace

std::span<const OperationRow> operation_table() {
  static const std::vector<OperationRow> rows = make_table();
  return rows;
}

}  // namespace orrery::kernels
