#pragma once

// Classification of GPU kernels by name: a table, read from the top; the first row whose word is in
// the name decides.
//
// symbol    | meaning                                                         | origin
// ----------|-----------------------------------------------------------------|-------------------
// word      | part of the name, upper and lower case alike                    | the table
// Work      | kind of work; what no row knows is `unknown`, counted as compute | the table
// Operation | of communication: what NCCL does                                | the table, or what
//           |                                                                 | the event states
//
// The words are those of the libraries that training stacks call: cuBLAS, CUTLASS, cuDNN, Tensile,
// FlashAttention, Transformer Engine, Apex, PyTorch, Triton, NCCL and RCCL. A name says what a
// kernel is, not why it runs: recomputed activations look like a forward pass.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace orrery::trace {

enum class Work : std::uint8_t {
  gemm,
  attention,
  experts,    // routing and moving tokens for experts
  memory,     // element by element, normalisation, reductions, copies on the device
  unknown,    // compute, by default
  optimizer,  // update, and the norms and scaling around it
  copy,       // between host and device, or devices
  communication,
  count_
};

inline constexpr std::size_t kWorks = static_cast<std::size_t>(Work::count_);

inline constexpr std::array<std::string_view, kWorks> kWorkNames = {"matrix multiplication",
                                                                    "attention",
                                                                    "routing of experts",
                                                                    "memory-bound kernels",
                                                                    "unknown kernels",
                                                                    "optimizer",
                                                                    "copies",
                                                                    "communication"};

[[nodiscard]] constexpr std::string_view to_string(Work work) {
  return kWorkNames[static_cast<std::size_t>(work)];
}

enum class Operation : std::uint8_t {
  none,
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  send_receive,
  broadcast,
  other,
  count_
};

inline constexpr std::size_t kOperations = static_cast<std::size_t>(Operation::count_);

inline constexpr std::array<std::string_view, kOperations> kOperationNames = {
    "",           "all_reduce",   "reduce_scatter", "all_gather",
    "all_to_all", "send_receive", "broadcast",      "other"};

[[nodiscard]] constexpr std::string_view to_string(Operation operation) {
  return kOperationNames[static_cast<std::size_t>(operation)];
}

struct KernelRule {
  std::string_view word;
  Work work = Work::unknown;
  Operation operation = Operation::none;
  std::string_view where;  // whose kernels they are
};

[[nodiscard]] std::span<const KernelRule> kernel_rules();

struct KernelKind {
  Work work = Work::unknown;
  Operation operation = Operation::none;

  friend bool operator==(const KernelKind&, const KernelKind&) = default;
};

// Of a kernel, a copy ("Memcpy HtoD ...") or a fill ("Memset ...").
[[nodiscard]] KernelKind kind_of_kernel(std::string_view name);

// What PyTorch writes as "Collective name" of a kernel: "allreduce", "_allgather_base",
// "all_to_allv", "send", ...; none when it is none of these.
[[nodiscard]] Operation operation_of(std::string_view collective_name);

}  // namespace orrery::trace
