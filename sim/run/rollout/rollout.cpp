#include "sim/run/rollout/rollout.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

namespace orrery::run {

namespace {

// Tokens of the longest of `answers` log-normal lengths.
double longest_of(const RolloutSpec& spec, std::int64_t answers) {
  if (answers <= 1) {
    return std::min(spec.answer_mean, static_cast<double>(spec.answer_cap));
  }
  const double share = 1.0 / static_cast<double>(answers);
  const double z = std::numbers::sqrt2 * boost::math::erfc_inv(2.0 * share);
  const double sigma = spec.answer_sigma;
  const double longest = spec.answer_mean * std::exp(-sigma * sigma / 2.0 + sigma * z);
  return std::min(std::max(longest, spec.answer_mean), static_cast<double>(spec.answer_cap));
}

struct Generation {
  Seconds lone;          // c
  double work = 0.0;     // answers x tokens
  Seconds per_token;     // k
  double longest = 0.0;  // L

  [[nodiscard]] Seconds time(double gpus) const {
    return lone * longest + per_token * (work / gpus);
  }
};

Generation generation(const RolloutSpec& spec, std::int64_t answers, std::int64_t gpus) {
  const double at_once =
      std::max(1.0, spec.concurrency ? static_cast<double>(*spec.concurrency)
                                     : static_cast<double>(answers) / static_cast<double>(gpus));
  const Seconds shared = seconds(1.0 / spec.tokens_per_second);
  const Seconds alone = std::min(spec.token_time, shared * at_once);
  return {.lone = alone,
          .work = static_cast<double>(answers) * spec.answer_mean,
          .per_token = shared - alone / at_once,
          .longest = longest_of(spec, answers)};
}

}  // namespace

RolloutResult compose_rollout(const RolloutSpec& spec, const TrainerTimes& trainer) {
  RolloutResult result;
  result.answers = spec.prompts * spec.samples;
  result.tokens = static_cast<double>(result.answers) *
                  (static_cast<double>(spec.prompt_length) + spec.answer_mean);
  result.generators = spec.gpus.value_or(trainer.gpus);
  result.gpus = trainer.gpus + spec.gpus.value_or(0);
  const Generation generated = generation(spec, result.answers, result.generators);
  const auto pool = static_cast<double>(result.generators);
  result.longest = generated.longest;
  const Seconds making = generated.time(pool);
  result.tail =
      generated.lone * (generated.longest - std::min(spec.answer_mean, generated.longest));
  const double steps = result.tokens / trainer.tokens;
  const Seconds pass = trainer.forward * steps;
  const Seconds old = spec.old_log_probs ? pass : Seconds{};
  const Seconds reference = spec.reference ? pass : Seconds{};
  const Seconds update = trainer.update * (steps * static_cast<double>(spec.epochs));
  const double critic = spec.critic ? spec.critic->size : 0.0;
  const Seconds values = pass * critic;
  const Seconds critic_update = update * critic;
  const Seconds sync = spec.weight_sync.value_or(trainer.weights / kWeightSyncRate);
  const Seconds switching = spec.gpus ? Seconds{} : spec.switching;
  const Seconds made = making + spec.reward;
  const Seconds trained = old + reference + values + critic_update + update;
  if (!spec.gpus || spec.lag == 0) {
    result.step = made + trained + sync + switching;
    result.generator_waits = spec.gpus ? trained + sync : Seconds{};
    result.trainer_waits = spec.gpus ? made + sync : Seconds{};
  } else {
    // Further ahead, answers of several steps share the pool: its throughput counts, and a longest
    // answer has as many steps of time.
    const double ahead = 1.0 + static_cast<double>(spec.lag);
    const Seconds steady = seconds(generated.work / (spec.tokens_per_second * pool)) + spec.reward;
    const Seconds busy =
        spec.lag == 1 ? made : std::max(steady, generated.lone * (generated.longest / ahead));
    result.step = std::max(busy, trained) + sync;
    result.generator_waits = result.step - busy;
    result.trainer_waits = result.step - trained;
  }
  if (spec.gpu_hour) {
    const auto gpus = static_cast<double>(result.gpus);
    result.answer = *spec.gpu_hour * result.step * (gpus / static_cast<double>(result.answers));
  }
  const Seconds left = trained - spec.reward - generated.lone * generated.longest;
  if (left > Seconds{}) {
    result.balanced = generated.per_token * generated.work / left;
  }
  for (const RolloutPhase& phase :
       {RolloutPhase{"generation", making}, RolloutPhase{"reward", spec.reward},
        RolloutPhase{"old log probabilities", old},
        RolloutPhase{"reference log probabilities", reference},
        RolloutPhase{"values of the critic", values},
        RolloutPhase{"update of the critic", critic_update}, RolloutPhase{"update", update},
        RolloutPhase{"weight synchronisation", sync},
        RolloutPhase{"offload and wake", switching}}) {
    if (phase.time > Seconds{}) {
      result.phases.push_back(phase);
    }
  }
  return result;
}

}  // namespace orrery::run
