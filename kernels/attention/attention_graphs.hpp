#pragma once

// Describes attention to cuDNN as graphs of cudnn-frontend: one node that its headers expand into
// products, masks and a softmax, in 16 bits or, with scales, in 8.
//
// Tensors are named by numbers: Name for those of the case, NumberName for what 8 bits add, each
// one fp32 number. Values are stored times a scale and read times its inverse; the largest
// magnitudes are results.
//
// Only attention_graphs.cpp and attention_cudnn.cpp include this: the headers of the frontend take
// most of a minute to compile. Describing throws what the frontend throws (std::runtime_error where
// no kernel suits).

#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <cstdint>
#include <memory>

#include "kernels/attention/attention_case.hpp"

namespace orrery::kernels {

using AttentionGraph = cudnn_frontend::graph::Graph;

enum Name : std::int64_t { kQ = 1, kK, kV, kO, kLogSum, kOutputGradient, kDq, kDk, kDv };

enum NumberName : std::int64_t {
  kUnscaleQ = 16,
  kUnscaleK,
  kUnscaleV,
  kUnscaleO,
  kUnscaleP,
  kUnscaleDo,
  kUnscaleDs,
  kScaleO,
  kScaleP,
  kScaleDs,
  kScaleDq,
  kScaleDk,
  kScaleDv,
  kFirstLargest,  // kLargest results follow
};

constexpr std::size_t kLargest = 6;  // P and O; dQ, dK, dV and dS
constexpr std::size_t kNumbers = kFirstLargest - kUnscaleQ + kLargest;

[[nodiscard]] std::unique_ptr<AttentionGraph> describe_forward(const AttentionShape& shape);
[[nodiscard]] std::unique_ptr<AttentionGraph> describe_backward(const AttentionShape& shape);

}  // namespace orrery::kernels
