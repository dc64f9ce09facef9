// Adapters and rollouts.

#include "tests/unit/scenario/dump_lines.hpp"
#include "tests/unit/scenario/key_effect.hpp"

namespace orrery::scenario {

void dump_post_training(Lines& lines, const Scenario& scenario) {
  lines.add("model.reference", scenario.model.reference);
  if (const auto& lora = scenario.model.lora) {
    lines.add("model.lora.kind", lora->kind);
    lines.add("model.lora.rank", lora->rank);
    lines.add("model.lora.targets.qkv", lora->targets.qkv);
    lines.add("model.lora.targets.proj", lora->targets.proj);
    lines.add("model.lora.targets.fc1", lora->targets.fc1);
    lines.add("model.lora.targets.fc2", lora->targets.fc2);
    lines.add("model.lora.dropout", lora->dropout);
    lines.add("model.lora.base", lora->base);
    lines.add("model.lora.fp32", lora->fp32);
  }
  if (const auto& modules = scenario.model.trainable) {
    lines.add("model.trainable.embedding", modules->embedding);
    lines.add("model.trainable.head", modules->head);
    lines.add("model.trainable.attention", modules->attention);
    lines.add("model.trainable.mlp", modules->mlp);
  }
  if (const auto& rollout = scenario.rollout) {
    lines.add("rollout.prompts", rollout->prompts);
    lines.add("rollout.samples", rollout->samples);
    lines.add("rollout.prompt_length", rollout->prompt_length);
    lines.add("rollout.answer_mean", rollout->answer_mean);
    lines.add("rollout.answer_cap", rollout->answer_cap);
    lines.add("rollout.answer_sigma", rollout->answer_sigma);
    lines.add("rollout.tokens_per_second", rollout->tokens_per_second);
    lines.add("rollout.concurrency", rollout->concurrency);
    lines.add("rollout.token_time", rollout->token_time);
    lines.add("rollout.gpus", rollout->gpus);
    lines.add("rollout.lag", rollout->lag);
    lines.add("rollout.old_log_probs", rollout->old_log_probs);
    lines.add("rollout.reference", rollout->reference);
    if (rollout->critic) {
      lines.add("rollout.critic.size", rollout->critic->size);
      lines.add("rollout.critic.offloaded", rollout->critic->offloaded);
    }
    lines.add("rollout.epochs", rollout->epochs);
    lines.add("rollout.reward", rollout->reward);
    lines.add("rollout.weight_sync", rollout->weight_sync);
    lines.add("rollout.switching", rollout->switching);
    lines.add("rollout.gpu_hour", rollout->gpu_hour);
  }
}

const std::vector<Effect>& post_training_effects() {
  using Pairs = ScenarioText::Pairs;
  static const Pairs adapters = {{"model.lora.rank", "8"}};
  static const Pairs answers = {{"training", ""},
                                {"rollout.prompts", "64"},
                                {"rollout.prompt_length", "1000"},
                                {"rollout.answer_mean", "2000"},
                                {"rollout.answer_cap", "8000"},
                                {"rollout.tokens_per_second", "900"},
                                {"rollout.token_time", "10ms"}};
  static const Pairs apart = [] {
    Pairs pairs = answers;
    pairs.emplace_back("rollout.gpus", "16");
    return pairs;
  }();
  static const Pairs valued = [] {
    Pairs pairs = answers;
    pairs.emplace_back("rollout.critic.size", "1");
    return pairs;
  }();
  static const std::vector<Effect> effects = {
      {"model.reference", "true"},
      {"rollout.critic.size", "0.5", {}, valued},
      {"rollout.critic.offloaded", "true", {}, valued},
      {"model.lora.kind", "dora", "model.lora.kind = #1", adapters},
      {"model.lora.rank", "16", {}, adapters},
      {"model.lora.targets", "[qkv, proj]",
       "model.lora.targets.fc1 = false; model.lora.targets.fc2 = false", adapters},
      {"model.lora.dropout", "0.1", {}, adapters},
      {"model.lora.base", "nf4", "model.lora.base = #1", adapters},
      {"model.lora.dtype", "fp32", "model.lora.fp32 = true", adapters},
      {"model.trainable", "[embed_tokens, head]",
       "model.trainable.embedding = true; model.trainable.head = true; "
       "model.trainable.attention = false; model.trainable.mlp = false",
       adapters},
      {"rollout.prompts", "32", {}, answers},
      {"rollout.samples", "4", {}, answers},
      {"rollout.prompt_length", "500", {}, answers},
      {"rollout.answer_mean", "1500", {}, answers},
      {"rollout.answer_cap", "4000", {}, answers},
      {"rollout.answer_sigma", "0.5", {}, answers},
      {"rollout.tokens_per_second", "1200", {}, answers},
      {"rollout.concurrency", "24", {}, answers},
      {"rollout.token_time", "20ms", "rollout.token_time = 0.02 s", answers},
      {"rollout.gpus", "8", {}, apart},
      {"rollout.lag", "1", {}, apart},
      {"rollout.old_log_probs", "false", {}, answers},
      {"rollout.reference", "true", {}, answers},
      {"rollout.epochs", "2", {}, answers},
      {"rollout.reward", "10s", "rollout.reward = 10 s", answers},
      {"rollout.weight_sync", "4s", "rollout.weight_sync = 4 s", answers},
      {"rollout.switching", "10s", "rollout.switching = 10 s", answers}};
  return effects;
}

}  // namespace orrery::scenario
