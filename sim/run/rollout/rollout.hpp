#pragma once

// One step of reinforcement learning with rollouts (GRPO, DAPO, PPO): answers are
// generated, judged, run through the trainer once for their log probabilities, and trained on.
//
//   n        = prompts x samples                        answers of a step
//   tau(b)   = c + k b,  r = b / tau(b)                 time of a token of each of b answers
//   k        = 1 / r - c / b
//   T_gen    = L c + (n / G) E k                        the longest answer, and the work of all
//   L        = min(cap, E exp(sigma^2 / -2 + sigma z)), z: quantile 1 - 1 / n of the normal law
//   T_train  = (logs + q) x T_forward + epochs x (1 + q) x T_update
//   colocated, or lag 0:  step = T_gen + T_reward + T_train + T_sync + T_switch
//   lag 1:                step = max(T_gen + T_reward, T_train) + T_sync
//   lag >= 2:             step = max(n E / (r G) + T_reward, L c / (1 + lag), T_train) + T_sync
//   balanced: G with T_gen(G) + T_reward = T_train
//
// symbol   | meaning                                                    | unit     | origin
// ---------|------------------------------------------------------------|----------|----------
// G        | GPUs that generate: their own pool, or those of the trainer | GPUs    | scenario
// r        | tokens per second of a GPU that decodes b answers at once  | tokens/s | measured
// b        | answers at once on a GPU; default n / G                    | answers  | scenario
// c        | time of a token of an answer that is alone                 | s        | measured
// E, sigma | mean of the answers' lengths, spread of their logarithm    | tokens   | scenario
// T_update | time in which the trainer runs all tokens through its step | s        | step/
// T_forward| the same for its forward passes alone                      | s        | step/
// q        | parameters of a critic / those of the policy; 0: none        | -        | scenario
// logs     | old log probabilities and reference: 0 to 2 passes         | -        | scenario
//
// The rate of decoding is an input: rooflines of it are 50 % off on published runs. Left out: what
// staleness does to learning, speculative decoding, tools and environments beyond a reward's time,
// pre-emption of answers where their keys and values do not fit.
//
// Source: phases as verl and NeMo RL time them.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/run/rollout/rollout_spec.hpp"

namespace orrery::run {

// What the trainer takes for the tokens of one of its steps.
struct TrainerTimes {
  double tokens = 0.0;
  Seconds update;
  Seconds forward;
  std::int64_t gpus = 0;
  Bytes weights;  // as they are served
};

// Bytes per second at which new weights reach the generator where nobody states the time: NCCL,
// tensor by tensor, as verl measured it from Megatron to vLLM.
inline constexpr BytesPerSecond kWeightSyncRate = bytes_per_second(8.0 * kGiga);

struct RolloutPhase {
  std::string_view name;
  Seconds time;
};

struct RolloutResult {
  std::int64_t answers = 0;
  double tokens = 0.0;               // prompts and answers
  double longest = 0.0;              // tokens of the longest answer
  std::int64_t generators = 0;       // GPUs
  std::int64_t gpus = 0;             // of both pools
  std::vector<RolloutPhase> phases;  // those that take time, in order; they may overlap
  Seconds tail;  // of the generation: from the mean answer's end to the longest's
  Seconds step;
  Seconds generator_waits;
  Seconds trainer_waits;
  std::optional<double> balanced;  // GPUs of a generating pool that keep the trainer busy
  std::optional<Dollars> answer;   // step x GPUs of both pools x price / answers
};

[[nodiscard]] RolloutResult compose_rollout(const RolloutSpec& spec, const TrainerTimes& trainer);

}  // namespace orrery::run
