#pragma once

// What a scenario says of rollouts; rollout.hpp has the symbols and the formulas.

#include <cstdint>
#include <optional>

#include "sim/base/units.hpp"

namespace orrery::run {

// A value model that the trainer's GPUs hold and train in turn with the policy (PPO).
struct CriticSpec {
  double size = 1.0;       // its parameters / those of the policy
  bool offloaded = false;  // its states leave the GPUs while the policy is trained
};

struct RolloutSpec {
  std::int64_t prompts = 0;
  std::int64_t samples = 1;  // answers to a prompt
  std::int64_t prompt_length = 0;
  double answer_mean = 0.0;
  std::int64_t answer_cap = 0;
  double answer_sigma = 0.8;
  double tokens_per_second = 0.0;  // of a GPU
  std::optional<std::int64_t> concurrency = {};
  Seconds token_time = {};
  std::optional<std::int64_t> gpus = {};  // of a pool that only generates; absent: the trainer's
  std::int64_t lag = 0;                   // steps by which generation may be ahead
  bool old_log_probs = true;
  bool reference = false;
  std::optional<CriticSpec> critic = {};
  std::int64_t epochs = 1;
  Seconds reward = {};
  std::optional<Seconds> weight_sync = {};
  Seconds switching = seconds(5.0);  // offload and wake of a pool that trainer and generator share
  std::optional<DollarsPerSecond> gpu_hour = {};  // price of a GPU of either pool
};

}  // namespace orrery::run
