// Keys of `rollout`: answers that are generated between the steps of the trainer.

#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using yaml::above;
using yaml::between;
namespace kind = yaml::kind;

constexpr std::int64_t kMostAnswers = 1'000'000;
constexpr std::int64_t kLongestAnswer = std::int64_t{1} << 30U;
constexpr Idle kOnePool = ORRERY_WHEN(d.scenario.rollout && !d.scenario.rollout->gpus,
                                      "trainer and generator share their GPUs (rollout.gpus)");

void add_answers(Rows& keys) {
  keys.part("rollout",
            "Reinforcement learning: between two updates answers are generated and judged.",
            "{prompts: 64, samples: 16, prompt_length: 1024, answer_mean: 4000, answer_cap: 8192, "
            "tokens_per_second: 1500, token_time: 12ms}",
            ORRERY_AT(scenario.rollout), {.note = "the data are there"});
  keys.count("rollout.prompts", "Prompts of a step.", "64", {1, kMostAnswers},
             ORRERY_AT(scenario.rollout->prompts),
             {.aliases = {"num_prompts_per_step", "train_batch_size"}, .required = true});
  keys.count("rollout.samples", "Answers to each prompt.", "16", {1, kMostAnswers},
             ORRERY_AT(scenario.rollout->samples),
             {.aliases = {"num_generations_per_prompt", "num_generations"}, .fallback = "1"});
  keys.count("rollout.prompt_length", "Tokens of a prompt, mean.", "1024", {0, kLongestAnswer},
             ORRERY_AT(scenario.rollout->prompt_length), {.required = true});
  keys.value<kind::Number>("rollout.answer_mean", "Tokens of an answer, mean.", "4000", above(0.0),
                           ORRERY_AT(scenario.rollout->answer_mean), {.required = true});
  keys.count("rollout.answer_cap", "Tokens at which an answer is cut off.", "8192",
             {1, kLongestAnswer}, ORRERY_AT(scenario.rollout->answer_cap),
             {.aliases = {"max_response_length", "max_new_tokens"}, .required = true});
  keys.value<kind::Number>(
      "rollout.answer_sigma",
      "Standard deviation of the logarithm of an answer's length (log-normal); the longest of all "
      "answers follows, and with it the tail of the generation.",
      "0.6", between(0.0, 4.0), ORRERY_AT(scenario.rollout->answer_sigma), {.fallback = "0.8"});
}

void add_generation(Rows& keys) {
  keys.value<kind::Number>("rollout.tokens_per_second",
                           "Tokens that one GPU decodes in a second at rollout.concurrency: "
                           "measured with the server that generates. A roofline is half off.",
                           "1500", above(0.0), ORRERY_AT(scenario.rollout->tokens_per_second),
                           {.required = true});
  keys.count("rollout.concurrency", "Answers that a GPU decodes at once at that rate.", "64",
             {1, kMostAnswers}, ORRERY_AT(scenario.rollout->concurrency),
             {.note = "all answers of the GPU at once"});
  keys.value<kind::Time>(
      "rollout.token_time",
      "Time of a token of an answer that is alone: what the longest answer waits for.", "12ms",
      between(Seconds{}, seconds(10.0)), ORRERY_AT(scenario.rollout->token_time),
      {.required = true});
  keys.count("rollout.gpus", "GPUs of a pool that only generates, beside `cluster`.", "32",
             {1, kMostAnswers}, ORRERY_AT(scenario.rollout->gpus),
             {.note = "the trainer's, in turn"});
  keys.count("rollout.lag",
             "Steps by which generation may be ahead: 0 waits for every update, 1 is one step off, "
             "more is asynchronous.",
             "1", {0, 64}, ORRERY_AT(scenario.rollout->lag), {.fallback = "0", .idle = {kOnePool}});
}

void add_rollout_phases(Rows& keys) {
  keys.flag("rollout.old_log_probs", "The trainer runs its forward over all answers first.",
            "false", ORRERY_AT(scenario.rollout->old_log_probs), {.fallback = "true"});
  keys.flag("rollout.reference", "So does a frozen reference model of the same size.", "true",
            ORRERY_AT(scenario.rollout->reference), {.fallback = "false"});
  keys.part("rollout.critic",
            "A value model beside the policy (PPO): it runs over all answers once and is trained "
            "on them like the policy, on the same GPUs, in turn.",
            "{size: 1}", ORRERY_AT(scenario.rollout->critic), {.note = "none: GRPO and its like"});
  keys.value<kind::Number>("rollout.critic.size",
                           "Its parameters / those of the policy: its times and its states are "
                           "that share of the policy's.",
                           "0.25", {0.0, 1.0, true}, ORRERY_AT(scenario.rollout->critic->size),
                           {.fallback = "1"});
  keys.flag("rollout.critic.offloaded",
            "Its states leave the GPUs while the policy is trained; the copies are part of "
            "rollout.switching.",
            "true", ORRERY_AT(scenario.rollout->critic->offloaded), {.fallback = "false"});
  keys.count("rollout.epochs", "Times that the answers are trained on.", "2", {1, 100},
             ORRERY_AT(scenario.rollout->epochs), {.fallback = "1"});
  keys.value<kind::Time>("rollout.reward", "Judging the answers, beyond their generation.", "10s",
                         between(Seconds{}, hours(24.0)), ORRERY_AT(scenario.rollout->reward),
                         {.fallback = "0"});
  keys.value<kind::Time>(
      "rollout.weight_sync",
      "New weights to the generator. Published: 8 GB/s tensor by tensor through NCCL, 59 to 76 "
      "GB/s by checkpoint-engine, 2 GB/s and less where nobody tuned it.",
      "4s", between(Seconds{}, hours(24.0)), ORRERY_AT(scenario.rollout->weight_sync),
      {.note = "the bytes of the weights at 8 GB/s"});
  keys.value<kind::Time>(
      "rollout.switching", "Offload and wake where trainer and generator share GPUs.", "10s",
      between(Seconds{}, hours(24.0)), ORRERY_AT(scenario.rollout->switching),
      {.fallback = "5s",
       .idle = {ORRERY_WHEN(d.scenario.rollout && d.scenario.rollout->gpus,
                            "the generator has GPUs of its own (rollout.gpus)")}});
}

}  // namespace

void rollout_keys(Rows& keys) {
  add_answers(keys);
  add_generation(keys);
  add_rollout_phases(keys);
}

}  // namespace orrery::scenario
