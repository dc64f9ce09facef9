#pragma once

// Host side of collective.hpp: element counts, where a buffer starts when it is used in place, and
// the values that check a result exactly.
//
//   value(rank, i) = integer(seed of rank, i mod period) in [0, values)
//
// symbol | meaning                                                        | unit | origin
// -------|----------------------------------------------------------------|------|---------------
// period | of the pattern; prime, so that parts of a buffer differ        | 1    | chosen
// values | 4, or 2 above 64 ranks: sums stay whole numbers that bf16      | 1    | chosen
//        | holds exactly up to 256 ranks                                  |      |
//
// Sums of whole numbers do not depend on the order in which ranks are added.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/device/element.hpp"
#include "sim/kernels/kernel_case.hpp"

namespace orrery::kernels {

struct CollectivePlan {
  Operation operation = Operation::all_reduce;
  Element element = Element::fp32;
  int rank = 0;
  int ranks = 1;
  bool in_place = false;
  std::int64_t part = 0;           // c: elements of a part; of the whole buffer where it has none
  std::int64_t send_elements = 0;  // of this rank
  std::int64_t receive_elements = 0;
  std::int64_t bytes = 0;  // largest buffer

  // Where the input starts inside the output in place, in elements, and the reverse.
  [[nodiscard]] std::int64_t input_in_output() const;
  [[nodiscard]] std::int64_t output_in_input() const;
};

struct PlannedCollective {
  std::optional<CollectivePlan> plan;
  std::string problem;  // one sentence
};

[[nodiscard]] PlannedCollective plan_collective(const KernelCase& kernel,
                                                int rank,
                                                int ranks,
                                                int nodes);

inline constexpr std::int64_t kPatternPeriod = 65'537;

// Element i of the input of a rank.
[[nodiscard]] float input_value(const CollectivePlan& plan, int rank, std::int64_t i);

// Element i of the output of plan.rank.
[[nodiscard]] double expected_value(const CollectivePlan& plan, std::int64_t i);

// What a sum may differ: nothing up to 256 ranks.
[[nodiscard]] double allowed_error(const CollectivePlan& plan, double expected);

// Elements to look at: ends and pseudo-random ones of up to 16 parts, ascending.
[[nodiscard]] std::vector<std::int64_t> sampled_elements(const CollectivePlan& plan);

}  // namespace orrery::kernels
