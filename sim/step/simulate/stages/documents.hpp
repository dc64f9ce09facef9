#pragma once

// Effect of documents of unequal length on the sequences of a batch:
//
//   pieces    = a document of L tokens is cut into floor(L / s) sequences and a rest
//   useful    = padded: E[min(L, s)] / s; packed: 1
//   length    = masked: E[l^2] / E[l] over pieces: the token-weighted mean, since the attention of
//               a sequence costs sum l^2; packed and padded: s
//   spread    = masked: sqrt(n Var(l^2 - length l)) / (n E[l^2]), n = s / E[l] pieces a sequence
//   imbalance = E_max(D) spread / sqrt(sequences): the slowest of D replicas above their mean
//
// symbol    | meaning                                                        | unit      | origin
// ----------|----------------------------------------------------------------|-----------|--------
// L         | length of a document: lognormal of this mean, or fixed         | tokens    | scenario
// s         | sequence length of the batch                                   | tokens    | model
// sequences | that one replica adds up before it meets the others            | sequences | layout
// E_max     | expected maximum of D standard normals                         | 1         | closed
//
// The spread is the delta method for a sum of pieces that fills a fixed number of tokens. Fused
// kernels skip what is masked; unfused attention computes all s^2 scores.

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/simulate/step_input.hpp"

namespace orrery::step {

struct DocumentShape {
  double useful = 1.0;
  double length = 0.0;  // that attention sees, tokens
  double spread = 0.0;  // of one sequence's attention, relative
};

[[nodiscard]] DocumentShape document_shape(const DataSpec& data, std::int64_t sequence_length);

// How attention differs from that over whole sequences.
struct MaskedAttention {
  double length_share = 1.0;  // length / s
  double imbalance = 0.0;     // of the slowest replica over the mean

  friend bool operator==(const MaskedAttention&, const MaskedAttention&) = default;
};

[[nodiscard]] MaskedAttention masked_attention(const StepInput& input,
                                               const cost::CostModel& costs);

}  // namespace orrery::step
