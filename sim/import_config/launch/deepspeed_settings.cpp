// DeepSpeed: what ds_config.json says of a scenario (hugging_face/deepspeed.cpp reads it).

#include <fmt/core.h>

#include <array>

#include "sim/import_config/launch/launch_settings.hpp"

namespace orrery::import_config {

namespace {

using scenario::Scenario;

void add_zero(const Scenario& scenario, std::vector<LaunchSetting>& settings) {
  const auto sharding = scenario.layout.sharding;
  const auto stage = sharding == layout::Sharding::hsdp ? 3 : static_cast<int>(sharding);
  settings.push_back({"zero_optimization.stage", fmt::format("{}", stage)});
  if (sharding == layout::Sharding::hsdp && scenario.layout.shard_group) {
    settings.push_back(
        {"zero_optimization.mics_shard_size", fmt::format("{}", *scenario.layout.shard_group)});
  }
  if (scenario.step.bucket) {
    constexpr double kBytesOfElement = 2.0;
    settings.push_back(
        {"zero_optimization.reduce_bucket_size",
         fmt::format(
             "{}", static_cast<std::int64_t>(in_bytes(*scenario.step.bucket) / kBytesOfElement))});
  }
}

}  // namespace

std::vector<LaunchSetting> deepspeed_settings(const Scenario& scenario) {
  const layout::LayoutSpec& layout = scenario.layout;
  const std::int64_t data = scenario.cluster.nodes * scenario.cluster.gpus_per_node /
                            (layout.tensor * layout.context * layout.pipeline);
  std::vector<LaunchSetting> settings = {
      {"train_batch_size", fmt::format("{}", scenario.batch.global)},
      {"train_micro_batch_size_per_gpu", fmt::format("{}", scenario.batch.micro)},
      {"gradient_accumulation_steps",
       fmt::format("{}", scenario.batch.global / (data * scenario.batch.micro))}};
  const std::string compute = value_at(scenario, "precision.compute");
  settings.push_back({compute == "fp16" ? "fp16.enabled" : "bf16.enabled", "true"});
  add_zero(scenario, settings);
  add_rows(scenario, "deepspeed", settings);
  return settings;
}

}  // namespace orrery::import_config
