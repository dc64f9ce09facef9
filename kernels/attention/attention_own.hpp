#pragma once

// Attention without cuDNN: three kernels that keep the scores in registers.
//
//   forward    a block takes 64 queries and walks over tiles of 64 keys with a running softmax
//   delta      d_i = sum over dim of dO_i O_i
//   dQ         a block takes 64 queries and walks over tiles of 32 keys: P from log_sum, then
//              dS = P (dO V^T - d), dQ = scale dS K
//   dK, dV     a block takes 64 keys and walks over tiles of 32 queries of all heads of its group
//
// symbol | meaning                                             | unit | origin
// -------|-----------------------------------------------------|------|-------
// tile   | rows of an operand in shared memory                 | 1    | chosen
// P, dS  | probabilities and their gradients, rounded to T     | -    | computed
//
// Products are mma.m16n8k16 with fp32 sums, one warp to 16 rows. Backward computes seven products
// where the fastest kernels compute five, and needs no atomics: results do not change from run to
// run. It is correct but not fast: samples are marked with the implementation `own`.
// Source: Dao 2023 (arXiv 2307.08691); fragments as in the PTX manual, mma.m16n8k16.

#include <cstdint>

#include "kernels/attention/attention_case.hpp"

namespace orrery::kernels {

// Head dimensions that are compiled, of keys and values: 64 and 64, 128 and 128, 192 and 128.
[[nodiscard]] bool own_attention_offers(const AttentionShape& shape);

// Raises the limit of shared memory of the kernels of a shape; once before a launch.
void prepare_own_attention(const AttentionShape& shape);

void own_attention_forward(const AttentionShape& shape, const AttentionSet& set, Stream stream);
void own_attention_backward(const AttentionShape& shape, const AttentionSet& set, Stream stream);

}  // namespace orrery::kernels
