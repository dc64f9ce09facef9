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

void add_answers(std::vector<Key>& keys) {
  keys.push_back(section_at(
      {.path = "rollout",
       .note = "the data are there",
       .meaning = "Reinforcement learning: between two updates answers are generated and judged.",
       .example = "{prompts: 64, samples: 16, prompt_length: 1024, answer_mean: 4000, "
                  "answer_cap: 8192, tokens_per_second: 1500, token_time: 12ms}"},
      ORRERY_AT(scenario.rollout)));
  keys.push_back(count_key({.path = "rollout.prompts",
                            .aliases = {"num_prompts_per_step", "train_batch_size"},
                            .meaning = "Prompts of a step.",
                            .example = "64",
                            .required = true},
                           {1, kMostAnswers}, ORRERY_AT(scenario.rollout->prompts)));
  keys.push_back(count_key({.path = "rollout.samples",
                            .aliases = {"num_generations_per_prompt", "num_generations"},
                            .fallback = "1",
                            .meaning = "Answers to each prompt.",
                            .example = "16"},
                           {1, kMostAnswers}, ORRERY_AT(scenario.rollout->samples)));
  keys.push_back(count_key({.path = "rollout.prompt_length",
                            .meaning = "Tokens of a prompt, mean.",
                            .example = "1024",
                            .required = true},
                           {0, kLongestAnswer}, ORRERY_AT(scenario.rollout->prompt_length)));
  keys.push_back(value_key<kind::Number>({.path = "rollout.answer_mean",
                                          .meaning = "Tokens of an answer, mean.",
                                          .example = "4000",
                                          .required = true},
                                         above(0.0), ORRERY_AT(scenario.rollout->answer_mean)));
  keys.push_back(count_key({.path = "rollout.answer_cap",
                            .aliases = {"max_response_length", "max_new_tokens"},
                            .meaning = "Tokens at which an answer is cut off.",
                            .example = "8192",
                            .required = true},
                           {1, kLongestAnswer}, ORRERY_AT(scenario.rollout->answer_cap)));
  keys.push_back(value_key<kind::Number>(
      {.path = "rollout.answer_sigma",
       .fallback = "0.8",
       .meaning = "Standard deviation of the logarithm of an answer's length (log-normal); the "
                  "longest of all answers follows, and with it the tail of the generation.",
       .example = "0.6"},
      between(0.0, 4.0), ORRERY_AT(scenario.rollout->answer_sigma)));
}

void add_generation(std::vector<Key>& keys) {
  keys.push_back(value_key<kind::Number>(
      {.path = "rollout.tokens_per_second",
       .meaning = "Tokens that one GPU decodes in a second at rollout.concurrency: measured with "
                  "the server that generates. A roofline is half off.",
       .example = "1500",
       .required = true},
      above(0.0), ORRERY_AT(scenario.rollout->tokens_per_second)));
  keys.push_back(count_key({.path = "rollout.concurrency",
                            .note = "all answers of the GPU at once",
                            .meaning = "Answers that a GPU decodes at once at that rate.",
                            .example = "64"},
                           {1, kMostAnswers}, ORRERY_AT(scenario.rollout->concurrency)));
  keys.push_back(value_key<kind::Time>(
      {.path = "rollout.token_time",
       .meaning = "Time of a token of an answer that is alone: what the longest answer waits for.",
       .example = "12ms",
       .required = true},
      between(Seconds{}, seconds(10.0)), ORRERY_AT(scenario.rollout->token_time)));
  keys.push_back(count_key({.path = "rollout.gpus",
                            .note = "the trainer's, in turn",
                            .meaning = "GPUs of a pool that only generates, beside `cluster`.",
                            .example = "32"},
                           {1, kMostAnswers}, ORRERY_AT(scenario.rollout->gpus)));
  keys.push_back(count_key({.path = "rollout.lag",
                            .fallback = "0",
                            .meaning = "Steps by which generation may be ahead: 0 waits for every "
                                       "update, 1 is one step off, more is asynchronous.",
                            .example = "1",
                            .idle = {kOnePool}},
                           {0, 64}, ORRERY_AT(scenario.rollout->lag)));
}

void add_rollout_phases(std::vector<Key>& keys) {
  keys.push_back(flag_key({.path = "rollout.old_log_probs",
                           .fallback = "true",
                           .meaning = "The trainer runs its forward over all answers first.",
                           .example = "false"},
                          ORRERY_AT(scenario.rollout->old_log_probs)));
  keys.push_back(flag_key({.path = "rollout.reference",
                           .fallback = "false",
                           .meaning = "So does a frozen reference model of the same size.",
                           .example = "true"},
                          ORRERY_AT(scenario.rollout->reference)));
  keys.push_back(section_at(
      {.path = "rollout.critic",
       .note = "none: GRPO and its like",
       .meaning = "A value model beside the policy (PPO): it runs over all answers once and is "
                  "trained on them like the policy, on the same GPUs, in turn.",
       .example = "{size: 1}"},
      ORRERY_AT(scenario.rollout->critic)));
  keys.push_back(
      value_key<kind::Number>({.path = "rollout.critic.size",
                               .fallback = "1",
                               .meaning = "Its parameters / those of the policy: its times and its "
                                          "states are that share of the policy's.",
                               .example = "0.25"},
                              {0.0, 1.0, true}, ORRERY_AT(scenario.rollout->critic->size)));
  keys.push_back(flag_key({.path = "rollout.critic.offloaded",
                           .fallback = "false",
                           .meaning = "Its states leave the GPUs while the policy is trained; the "
                                      "copies are part of rollout.switching.",
                           .example = "true"},
                          ORRERY_AT(scenario.rollout->critic->offloaded)));
  keys.push_back(count_key({.path = "rollout.epochs",
                            .fallback = "1",
                            .meaning = "Times that the answers are trained on.",
                            .example = "2"},
                           {1, 100}, ORRERY_AT(scenario.rollout->epochs)));
  keys.push_back(value_key<kind::Time>({.path = "rollout.reward",
                                        .fallback = "0",
                                        .meaning = "Judging the answers, beyond their generation.",
                                        .example = "10s"},
                                       between(Seconds{}, hours(24.0)),
                                       ORRERY_AT(scenario.rollout->reward)));
  keys.push_back(value_key<kind::Time>(
      {.path = "rollout.weight_sync",
       .note = "the bytes of the weights at 8 GB/s",
       .meaning =
           "New weights to the generator. Published: 8 GB/s tensor by tensor through NCCL, 59 "
           "to 76 GB/s by checkpoint-engine, 2 GB/s and less where nobody tuned it.",
       .example = "4s"},
      between(Seconds{}, hours(24.0)), ORRERY_AT(scenario.rollout->weight_sync)));
  keys.push_back(value_key<kind::Time>(
      {.path = "rollout.switching",
       .fallback = "5s",
       .meaning = "Offload and wake where trainer and generator share GPUs.",
       .example = "10s",
       .idle = {ORRERY_WHEN(d.scenario.rollout && d.scenario.rollout->gpus,
                            "the generator has GPUs of its own (rollout.gpus)")}},
      between(Seconds{}, hours(24.0)), ORRERY_AT(scenario.rollout->switching)));
}

}  // namespace

std::vector<Key> rollout_keys() {
  std::vector<Key> keys;
  add_answers(keys);
  add_generation(keys);
  add_rollout_phases(keys);
  return keys;
}

}  // namespace orrery::scenario
