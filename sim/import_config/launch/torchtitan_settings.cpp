// torchtitan: what its TOML says of a scenario (torchtitan/torchtitan.cpp reads it).

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sim/import_config/launch/launch_file.hpp"
#include "sim/import_config/torchtitan/torchtitan_flavors.hpp"
#include "sim/import_config/trees/key_fates.hpp"

namespace orrery::import_config {

namespace {

using scenario::Scenario;

bool has_dimensions(const Scenario& scenario, const TorchtitanFlavor& flavor) {
  std::string_view rest = flavor.facts;
  while (!rest.empty()) {
    std::string_view value = cut(rest, ' ');
    const std::string_view key = cut(value, '=');
    if (!key.empty() && value_at(scenario, fmt::format("model.{}", key)) != value) {
      return false;
    }
  }
  return (flavor.facts.find("moe.") != std::string_view::npos) == scenario.model.moe.has_value();
}

class Titan {
 public:
  explicit Titan(const Scenario& scenario) : scenario_(scenario) {}

  std::vector<LaunchSetting> settings() {
    add_model();
    add_rows(scenario_, "torchtitan", settings_);
    add_batch();
    add_sharding();
    add_pipeline();
    add_recompute();
    add_run();
    return std::move(settings_);
  }

 private:
  void add(std::string key, std::string value) {
    settings_.push_back({std::move(key), std::move(value)});
  }

  void add(std::string key, std::int64_t value) { add(std::move(key), fmt::format("{}", value)); }

  void add_model() {
    for (const TorchtitanFlavor& flavor : torchtitan_flavors()) {
      if (has_dimensions(scenario_, flavor)) {
        add("model.name", std::string(flavor.model));
        add("model.flavor", std::string(flavor.flavor));
        return;
      }
    }
  }

  [[nodiscard]] std::int64_t data() const {
    const layout::LayoutSpec& layout = scenario_.layout;
    return scenario_.cluster.nodes * scenario_.cluster.gpus_per_node /
           (layout.tensor * layout.context * layout.pipeline);
  }

  void add_batch() {
    const bool pipeline = scenario_.layout.pipeline > 1;
    const std::int64_t local = pipeline ? scenario_.batch.global / data() : scenario_.batch.micro;
    add("training.local_batch_size", local);
    add("training.global_batch_size", scenario_.batch.global);
    if (pipeline) {
      add("parallelism.pipeline_parallel_microbatch_size", scenario_.batch.micro);
    }
  }

  // By default all ranks share.
  void add_sharding() {
    const std::int64_t all = data() * scenario_.layout.context;
    const auto sharding = scenario_.layout.sharding;
    if (sharding == layout::Sharding::hsdp) {
      const std::int64_t group = scenario_.layout.shard_group.value_or(all);
      add("parallelism.data_parallel_replicate_degree", all / group);
      add("parallelism.data_parallel_shard_degree", group / scenario_.layout.context);
    } else if (sharding == layout::Sharding::none && all > 1) {
      add("parallelism.data_parallel_replicate_degree", all);
      add("parallelism.data_parallel_shard_degree", 1);
    }
  }

  void add_pipeline() {
    const layout::LayoutSpec& layout = scenario_.layout;
    if (layout.pipeline <= 1) {
      return;
    }
    if (const auto name = torchtitan_schedule(value_at(scenario_, "layout.schedule"))) {
      add("parallelism.pipeline_parallel_schedule", std::string(*name));
    }
    const std::int64_t stages = layout.pipeline * layout.virtual_stages;
    if (scenario_.model.num_layers % stages == 0) {  // embedding and output count as no layers
      add("parallelism.pipeline_parallel_first_stage_less_layers", 0);
      add("parallelism.pipeline_parallel_last_stage_less_layers", 0);
      add("parallelism.pipeline_parallel_layers_per_stage", scenario_.model.num_layers / stages);
    }
  }

  void add_recompute() {
    const std::int64_t stages = scenario_.layout.pipeline * scenario_.layout.virtual_stages;
    const auto layers = scenario_.step.recompute.layers;
    if (layers && *layers > 0) {
      add("activation_checkpoint.mode", "selective");
      add("activation_checkpoint.selective_ac_option",
          scenario_.model.num_layers / stages / *layers);
    }
    if (scenario_.step.compile) {
      add("compile.enable", value_at(scenario_, "compile"));
    }
  }

  void add_run() {
    const std::string interval = value_at(scenario_, "checkpoint.interval");
    if (const std::size_t steps = interval.find(" steps"); steps != std::string::npos) {
      add("checkpoint.enable", "true");
      add("checkpoint.interval", interval.substr(0, steps));
      add("checkpoint.async_mode",
          value_at(scenario_, "checkpoint.mode") == "async" ? "async" : "disabled");
    }
  }

  const Scenario& scenario_;
  std::vector<LaunchSetting> settings_;
};

}  // namespace

std::vector<LaunchSetting> torchtitan_settings(const Scenario& scenario) {
  return Titan(scenario).settings();
}

}  // namespace orrery::import_config
