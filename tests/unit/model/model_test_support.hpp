#pragma once

// Helpers of the model tests: presets by name, sums over passes, and small random models.

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/step/model/shard_dims.hpp"
#include "sim/step/model/transformer_ops.hpp"
#include "tests/shipped_presets.hpp"

namespace orrery::model {

[[nodiscard]] inline ModelSpec preset_spec(std::string_view name) { return shipped::model(name); }

[[nodiscard]] inline double gemm_flop(const Pass& pass) {
  double total = 0.0;
  for (const PassOp& op : pass) {
    if (const auto* gemm = std::get_if<GemmOp>(&op.op)) {
      total += in_flop(flop_count(*gemm));
    }
  }
  return total;
}

[[nodiscard]] inline double attention_flop(const Pass& pass) {
  double total = 0.0;
  for (const PassOp& op : pass) {
    if (const auto* attention = std::get_if<AttentionOp>(&op.op)) {
      total += in_flop(flop_count(*attention));
    }
  }
  return total;
}

[[nodiscard]] inline double all_flop(const Pass& pass) {
  double total = 0.0;
  for (const PassOp& op : pass) {
    total += in_flop(flop_count(op.op));
  }
  return total;
}

[[nodiscard]] inline std::vector<CollectiveOp> collectives(const Pass& pass) {
  std::vector<CollectiveOp> found;
  for (const PassOp& op : pass) {
    if (const auto* collective = std::get_if<CollectiveOp>(&op.op)) {
      found.push_back(*collective);
    }
  }
  return found;
}

[[nodiscard]] inline std::optional<GemmOp> find_gemm(const Pass& pass, std::string_view name,
                                                     Role role = Role::fprop) {
  for (const PassOp& op : pass) {
    const auto* gemm = std::get_if<GemmOp>(&op.op);
    if (gemm != nullptr && part_name(gemm->part) == name && gemm->role == role) {
      return *gemm;
    }
  }
  return std::nullopt;
}

[[nodiscard]] inline std::optional<MemoryOp> find_memory(const Pass& pass, std::string_view name) {
  for (const PassOp& op : pass) {
    const auto* memory = std::get_if<MemoryOp>(&op.op);
    if (memory != nullptr && part_name(memory->part, memory->role) == name) {
      return *memory;
    }
  }
  return std::nullopt;
}

// A dense decoder whose dimensions divide by every degree up to eight.
[[nodiscard]] inline ModelSpec random_dense_model(RandomStream& random) {
  ModelSpec model;
  const auto draw = [&](std::uint64_t bound) {
    return static_cast<std::int64_t>(1 + random.uniform_int(bound));
  };
  model.num_layers = draw(8);
  model.num_query_groups = 8 * draw(2);
  model.num_attention_heads = model.num_query_groups * draw(3);
  model.head_dim = 16 * draw(8);
  model.hidden_size = 64 * draw(16);
  model.ffn_hidden_size = 64 * draw(32);
  model.vocab_size = 64 * draw(512);
  model.sequence_length = 64 * draw(32);
  model.activation = random.uniform_int(2) == 0 ? Activation::swiglu : Activation::gelu;
  return model;
}

// The same as a mixture of experts with experts that divide by eight.
[[nodiscard]] inline ModelSpec random_moe_model(RandomStream& random) {
  ModelSpec model = random_dense_model(random);
  MoeSpec moe;
  moe.num_experts = std::int64_t{8} << random.uniform_int(3);  // rows divide evenly
  moe.top_k = static_cast<std::int64_t>(1 + random.uniform_int(4));
  moe.ffn_hidden_size = 64 * static_cast<std::int64_t>(1 + random.uniform_int(8));
  moe.shared_experts = static_cast<std::int64_t>(random.uniform_int(3));
  model.moe = moe;
  return model;
}

}  // namespace orrery::model
