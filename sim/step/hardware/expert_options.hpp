#pragma once

// What is switched on in the mixture-of-experts layers of a training stack. One layout on one GPU
// takes 1.5 to 2.9 times as long by these alone (Megatron Bridge performance summaries, 25.09 to
// 26.06). The words are those of Megatron Core.
//
// option       | meaning
// -------------|----------------------------------------------------------------------------------
// dispatcher   | how tokens reach their experts. alltoall: a copy to every expert's rank, by NCCL.
//              | deepep, hybridep: one copy to every node that holds one of them, and one to every
//              | rank there over NVLink (DeepEP; its HybridEP branch needs fewer kernels)
// grouped_gemm | per_expert: a loop of library calls, one for every expert of the rank.
//              | grouped: one kernel for all of them. fused: activation and casts inside it too
// cuda_graphs  | parts of a layer that are launched as a graph, so that the host launches them at
//              | once: attn, mlp (of dense layers), moe_router (with the shared experts),
//              | moe_preprocess, layer (all of it), full_iteration (the whole step)
// attention_fp8 | attention multiplies in 8 bits
//
// Whether tokens are dropped is a matter of the model (capacity_factor).
//
// Sources: Megatron Core, docs/user-guide/features/cuda_graph.md and token_dispatcher.py; DeepEP.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery::hardware {

enum class ExpertDispatcher { alltoall, deepep, hybridep };
enum class GroupedGemm { per_expert, grouped, fused };
enum class GraphScope { attn, mlp, moe_router, moe_preprocess, layer, full_iteration };

inline constexpr std::array<std::string_view, 3> kDispatcherNames = {"alltoall", "deepep",
                                                                     "hybridep"};
inline constexpr std::array<std::string_view, 3> kGroupedGemmNames = {"per_expert", "grouped",
                                                                      "fused"};
inline constexpr std::array<std::string_view, 6> kGraphScopeNames = {
    "attn", "mlp", "moe_router", "moe_preprocess", "layer", "full_iteration"};

[[nodiscard]] constexpr std::string_view name_of(ExpertDispatcher dispatcher) {
  return kDispatcherNames[static_cast<std::size_t>(dispatcher)];
}

// Which parts are graphs.
class GraphScopes {
 public:
  constexpr void add(GraphScope scope) { bits_ |= bit(scope); }

  // Stated as it is.
  [[nodiscard]] constexpr bool has(GraphScope scope) const { return (bits_ & bit(scope)) != 0; }

  // `layer` and `full_iteration` hold all others.
  [[nodiscard]] constexpr bool covers(GraphScope scope) const {
    const std::uint8_t wider =
        bit(GraphScope::full_iteration) |
        (scope == GraphScope::full_iteration ? std::uint8_t{0} : bit(GraphScope::layer));
    return (bits_ & (bit(scope) | wider)) != 0;
  }

  friend constexpr bool operator==(const GraphScopes&, const GraphScopes&) = default;

 private:
  static constexpr std::uint8_t bit(GraphScope scope) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(scope));
  }

  std::uint8_t bits_ = 0;
};

struct ExpertOptions {
  ExpertDispatcher dispatcher = ExpertDispatcher::alltoall;
  GroupedGemm grouped_gemm = GroupedGemm::grouped;
  GraphScopes cuda_graphs = {};
  bool attention_fp8 = false;

  friend bool operator==(const ExpertOptions&, const ExpertOptions&) = default;
};

// What a scenario states of them; absent: as the stack does it.
struct ExpertChoices {
  std::optional<ExpertDispatcher> dispatcher = {};
  std::optional<GroupedGemm> grouped_gemm = {};
  std::optional<GraphScopes> cuda_graphs = {};
  std::optional<bool> attention_fp8 = {};

  [[nodiscard]] constexpr ExpertOptions over(const ExpertOptions& stack) const {
    return {.dispatcher = dispatcher.value_or(stack.dispatcher),
            .grouped_gemm = grouped_gemm.value_or(stack.grouped_gemm),
            .cuda_graphs = cuda_graphs.value_or(stack.cuda_graphs),
            .attention_fp8 = attention_fp8.value_or(stack.attention_fp8)};
  }

  friend bool operator==(const ExpertChoices&, const ExpertChoices&) = default;
};

}  // namespace orrery::hardware
