#pragma once

// Constants of the laws of step/cost that were fitted to measured kernels and collectives, one row
// each. They hold for every GPU, some by architecture; a GPU whose profile states one under
// `coefficients` has its own:
//
//   coefficients:
//     wave_exponent: {value: 0.8, source: measured, citation: "products of this card"}
//
// field   | meaning
// --------|----------------------------------------------------------------------------------------
// key     | as in a profile
// member  | where GpuCoefficients holds it
// value   | for every GPU, in seconds, bytes or 1
// of_arch | in place of it for these architectures
// range   | of the value
// source  | where the value comes from
// meaning | for people; the law is that of the file named
//
// A new constant is a member, a row, and its use. What stays in the code of the laws, and why, says
// decision 34.

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "sim/base/units.hpp"
#include "sim/base/yaml/kinds.hpp"

namespace orrery::hardware {

enum class GpuArch;

struct GpuCoefficients {
  double exposed_memory = 0.0;
  double grouped_exposed_memory = 0.0;
  double wave_exponent = 0.0;
  double misaligned_time = 0.0;
  double block_ratio = 0.0;
  double attention_full_ratio = 0.0;
  double attention_backward_ratio = 0.0;
  double attention_head_64 = 0.0;
  double deterministic_time = 0.0;
  double deterministic_fa2_time = 0.0;
  double nvls_share = 0.0;
  double direct_share = 0.0;
  double ring_share = 0.0;
  double message_share = 0.0;
  Seconds call_time;
  Seconds network_hop;
  Seconds node_message;
  Seconds network_message;
  Seconds direct_base;
  Seconds rail_hop;
  Seconds remote_rank;
  Seconds exchange_base;
  Seconds exchange_network;
  Seconds exchange_node;
  double fill_per_latency = 0.0;
  Bytes fill_bytes;
  double fill_exponent = 0.0;
};

using GpuCoefficientMember =
    std::variant<double GpuCoefficients::*, Seconds GpuCoefficients::*, Bytes GpuCoefficients::*>;

struct OfArch {
  GpuArch arch = {};
  double value = 0.0;  // 0: none
};

struct GpuCoefficient {
  std::string_view key;
  GpuCoefficientMember member;
  double value;
  std::array<OfArch, 5> of_arch = {};
  yaml::Range<double> range = {};
  std::string_view source;
  std::string_view meaning;

  [[nodiscard]] double get(const GpuCoefficients& coefficients) const;
  void set(GpuCoefficients& coefficients, double value) const;
};

[[nodiscard]] std::span<const GpuCoefficient> gpu_coefficients();

// Those of a GPU whose profile states none.
[[nodiscard]] const GpuCoefficients& usual_coefficients(GpuArch arch);

}  // namespace orrery::hardware
