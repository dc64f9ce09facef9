#pragma once

// A step rank by rank: memory, waiting and how fast the GPUs compute.
//
//   waits = step time * (bubbles + imbalance + slower GPUs of its stage
//                        + compute of its stage * (1 - own pace / mean pace of the stage)), >= 0
//
// Shares are those of the ledger of the stage; a pace is time of compute / nominal. A rank that is
// slower than the mean of its stage waits less for others, by as much.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/metrics.hpp"

namespace orrery::report {

struct RankValues {
  std::vector<std::size_t> stages;  // by rank, as all that follows
  std::vector<double> memory;       // bytes at the peak; empty: not looked at
  std::vector<double> waits;        // s in a step; empty: not known
  std::vector<double> paces;        // empty: no GPU differs from another
};

[[nodiscard]] RankValues rank_values(const Evaluation& evaluation);

// "Stage 0 waits most, 1.46 s; stage 15 least, 938 ms."; empty where all ranks do alike.
[[nodiscard]] std::string extremes_sentence(const RankValues& ranks, std::string_view does,
                                            Dimension dimension, const std::vector<double>& values);

}  // namespace orrery::report
