#pragma once

// The features in which two layouts of one model on one cluster differ, so that errors validated on
// measured pairs are applied to the plans that they describe.
//
// feature   | differs when
// ----------|--------------------------------------------------------------------------------------
// tensor    | the degree does
// sequence  | only one of two layouts with tensor groups is sequence parallel
// context   | the degree does
// pipeline  | the depth does
// chunks    | of two pipelines the number of chunks or the schedule does
// expert    | one of the degrees of experts does
// exchange  | of experts on several ranks: how tokens reach them, or what hides it
// micro     | the sequences of a micro-batch do
// recompute | what is recomputed does
// sharding  | what replicas share, or among how many, does
// offload   | what waits in host memory does
// cluster   | the GPU or their number does
//
// Data parallelism follows from the others.

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/scenario/scenario.hpp"

namespace orrery::plan {

enum class Feature : std::uint8_t {
  tensor,
  sequence,
  context,
  pipeline,
  chunks,
  expert,
  exchange,
  micro,
  recompute,
  sharding,
  offload,
  cluster,
  count_
};

inline constexpr std::size_t kFeatures = static_cast<std::size_t>(Feature::count_);

inline constexpr std::array<std::string_view, kFeatures> kFeatureNames = {
    "tensor",   "sequence", "context",   "pipeline", "chunks",  "expert",
    "exchange", "micro",    "recompute", "sharding", "offload", "cluster"};

using FeatureSet = std::bitset<kFeatures>;  // by Feature

// Whether the same waits in host memory, whatever the links.
[[nodiscard]] bool same_offload(const step::OffloadSpec& one, const step::OffloadSpec& other);

[[nodiscard]] FeatureSet differences(const scenario::Scenario& one,
                                     const scenario::Scenario& other);

// "tensor, micro".
[[nodiscard]] std::string words_of(const FeatureSet& features);

}  // namespace orrery::plan
