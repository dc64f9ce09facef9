#pragma once

// A kernel case: the call of a kernel that is measured, and the work it does. A case is one row of
// one table: operation, role, precision and the extent of each axis. Everything that handles
// measurements (plan, samples, fits, profiles, predictions, reports) speaks of cases; only kernels/
// knows how to launch them.
//
// symbol      | meaning                                                        | unit | origin
// ------------|----------------------------------------------------------------|------|--------
// operation   | family of kernels, a row of operation_table()                  | -    | plan
// role        | which of its passes: forward, backward, fprop, dgrad, wgrad... | -    | plan
// precision   | element type of the operands and how they are scaled           | -    | plan
// axes        | extents, in the order of the table's row                       | 1    | plan
// flop        | 2 m n k of products, attention as in step/model/op.hpp; 0 where | FLOP | computed
//             | the kernel only moves bytes                                    |      |
// read,       | bytes that must cross the memory interface once                | byte | computed
// written     |                                                                |      |
//
// The text form names a case in files, on the command line and in messages, and reads back:
//
//   gemm fprop bf16 m=8192 n=28672 k=4096
//
// A role or precision that is the operation's only one is left out: copy bytes=1048576.
//
// Axes. Products follow model::GemmOp: fprop and dgrad have tokens in m, wgrad in k. A grouped
// product has `groups` products of m x n x k on average; the busiest has `largest` tokens, the
// others share the rest (group_rows). causal and in_place are switches, 0 or 1. `bytes` of a
// collective is what nccl-tests prints: the largest buffer of one rank. cross_entropy's columns
// are the vocabulary, swiglu's the width of its result, rotary's heads those of queries and keys
// together.
//
// Assumptions: dense, contiguous operands; caches are cold (measure/ rotates the operands). As in
// step/model, what has one value per row or column beside a matrix (norm weights and statistics,
// tables of angles, routing) and the scales of products are not counted; scales that a cast writes
// are. cross_entropy is one fused kernel per pass, while step/model counts the copies of unfused
// stacks.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::kernels {

enum class Operation {
  gemm,
  grouped_gemm,
  attention,
  rms_norm,
  layer_norm,
  residual_add,
  rotary,
  swiglu,
  cross_entropy,
  embedding,
  quantize,            // cast to 8 bit with the largest magnitude found
  quantize_transpose,  // the same, and the transposed copy that dgrad and wgrad read
  permute,             // tokens into the order of their experts
  unpermute,           // back, weighted and added
  gradient_norm,
  adamw,
  copy,            // device to device
  host_to_device,  // pinned host memory
  device_to_host,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  send_receive,
};

inline constexpr std::array kOperations = {
    Operation::gemm,           Operation::grouped_gemm, Operation::attention,
    Operation::rms_norm,       Operation::layer_norm,   Operation::residual_add,
    Operation::rotary,         Operation::swiglu,       Operation::cross_entropy,
    Operation::embedding,      Operation::quantize,     Operation::quantize_transpose,
    Operation::permute,        Operation::unpermute,    Operation::gradient_norm,
    Operation::adamw,          Operation::copy,         Operation::host_to_device,
    Operation::device_to_host, Operation::all_reduce,   Operation::all_gather,
    Operation::reduce_scatter, Operation::all_to_all,   Operation::send_receive};

// Passes of an operation. `none`: the operation has one.
enum class Role { none, forward, backward, fprop, dgrad, wgrad, wgrad_accumulate };

// All but `none`, which has no word.
inline constexpr std::array kRoles = {Role::forward, Role::backward, Role::fprop,
                                      Role::dgrad,   Role::wgrad,    Role::wgrad_accumulate};

// Element type and scaling of the operands. Products add up in fp32. Optimizer: the gradient's
// type. Casts: the narrow type, from bf16; in the role backward fp8_tensor is E5M2.
enum class Precision {
  fp32,
  tf32,
  bf16,
  fp16,
  fp8_tensor,  // one fp32 scale per tensor; gradients are E5M2
  fp8_row,     // one fp32 scale per row or column
  fp8_block,   // 1 x 128 of tokens, 128 x 128 of weights
  mxfp8,       // 32 values share an E8M0 scale
  nvfp4,       // 16 values share an E4M3 scale
};

inline constexpr std::array kPrecisions = {
    Precision::fp32,      Precision::tf32,       Precision::bf16,
    Precision::fp16,      Precision::fp8_tensor, Precision::fp8_row,
    Precision::fp8_block, Precision::mxfp8,      Precision::nvfp4};

inline constexpr std::size_t kMaxAxes = 8;

struct KernelCase {
  Operation operation = Operation::copy;
  Role role = Role::none;
  Precision precision = Precision::bf16;
  std::array<std::int64_t, kMaxAxes> extents = {};  // by axis of the row, unused ones 0

  friend auto operator<=>(const KernelCase& a, const KernelCase& b) = default;
};

struct Work {
  Flop flop;
  Bytes read;
  Bytes written;

  [[nodiscard]] Bytes moved() const { return read + written; }
};

// One row of the table of operations: what the docs, the reader and the sweep know of a family.
struct OperationRow {
  Operation operation;
  std::string_view name;               // in text forms
  std::vector<Role> roles;             // allowed
  std::vector<Precision> precisions;   // allowed
  std::vector<std::string_view> axes;  // names, in the order of KernelCase::extents
  std::string_view summary;            // what one call does
  std::string_view flop;               // formulas in the names of the axes, for the docs;
  std::string_view read;               // e: bytes of an element, r: of a result, s: of its scales
  std::string_view written;
  Work (*work)(const KernelCase& kernel);
};

[[nodiscard]] std::span<const OperationRow> operation_table();
[[nodiscard]] const OperationRow& row_of(Operation operation);

[[nodiscard]] std::string_view to_string(Operation operation);
[[nodiscard]] std::string_view to_string(Role role);  // "" for none
[[nodiscard]] std::string_view to_string(Precision precision);

// Between GPUs: predicted from tables by group and size (sim/step/hardware/collective_tables.hpp).
[[nodiscard]] bool is_collective(Operation operation);

// The time follows from the bytes that are moved.
[[nodiscard]] bool is_memory_bound(Operation operation);

// Bytes of an element, without scales: 0.5 for nvfp4.
[[nodiscard]] Bytes element_bytes(Precision precision);

// The extent of a named axis; a program error when the operation has no such axis.
[[nodiscard]] std::int64_t extent(const KernelCase& kernel, std::string_view axis);

[[nodiscard]] Work work_of(const KernelCase& kernel);

// Tokens of each group of a grouped product: `largest` in the first, the rest spread evenly.
[[nodiscard]] std::vector<std::int64_t> group_rows(const KernelCase& kernel);

[[nodiscard]] std::string to_text(const KernelCase& kernel);

// What is wrong with a text or a case (unknown word with the nearest one, an axis missing or twice,
// an extent that is not positive, a role or precision that the operation does not have, axes that
// contradict each other, more work than 2^62 bytes or FLOP); nothing when it is sound.
struct ParsedCase {
  std::optional<KernelCase> kernel;
  std::string problem;  // one sentence, when there is no case
};

[[nodiscard]] ParsedCase parse_case(std::string_view text);
[[nodiscard]] std::optional<std::string> problem_of(const KernelCase& kernel);

}  // namespace orrery::kernels
