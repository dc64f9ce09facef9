// Cluster, layout, schedule and batch of a measured run.

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "sim/base/check.hpp"
#include "sim/layout/sharding_names.hpp"
#include "sim/validate/rows/row_mapping.hpp"
#include "sim/validate/rows/run_tables.hpp"

namespace orrery::validate {

namespace {

using layout::Sharding;
using schedule::ScheduleKind;

// Racks of 72 GPUs; jobs of a power of two leave eight of them out.
std::optional<std::int64_t> nvlink_domain(std::string_view gpu, std::int64_t count) {
  if (!gpu.starts_with("GB200") && !gpu.starts_with("GB300")) {
    return std::nullopt;
  }
  constexpr std::int64_t kRack = 72;
  constexpr std::int64_t kPowerOfTwo = 64;
  const std::int64_t used = count % kRack == 0 ? kRack : kPowerOfTwo;
  return std::min(used, count);
}

// The count of GPUs that the degrees of the layout need, for rows that do not state it.
std::int64_t gpus_of_layout(const DataRow& layout) {
  std::int64_t product = 1;
  for (const std::string_view key : {"tp", "cp", "pp", "dp"}) {
    product *= std::max<std::int64_t>(1, layout.integer(key).value_or(1));
  }
  return product;
}

// Chunks per device where the row does not say: as published recipes, two layers or more in each.
std::int64_t usual_chunks(std::int64_t layers, std::int64_t pipeline) {
  constexpr std::int64_t kMostChunks = 8;
  const std::int64_t per_device = (layers + 2) / pipeline;  // embedding and loss take a slot each
  return std::clamp<std::int64_t>(per_device / 2, 1, kMostChunks);
}

ScheduleKind schedule_named(const std::string& name, Mapping& mapping) {
  const auto found =
      std::find(schedule::kScheduleNames.begin(), schedule::kScheduleNames.end(), name);
  if (found != schedule::kScheduleNames.end()) {
    return static_cast<ScheduleKind>(found - schedule::kScheduleNames.begin());
  }
  mapping.note(fmt::format("schedule `{}`: 1f1b", name));
  return ScheduleKind::one_f_one_b;
}

void map_schedule(const DataRow& row, Mapping& mapping) {
  const DataRow layout = row.row("layout");
  scenario::Scenario& scenario = mapping.run.scenario;
  const std::string name = layout.text("schedule");
  const auto stated = layout.integer("vpp");
  const bool open = !stated || lists_as_missing(row, "vpp");
  std::int64_t& chunks = scenario.layout.virtual_stages;
  chunks = std::max<std::int64_t>(1, stated.value_or(1));
  ScheduleKind& kind = scenario.step.schedule;
  if (scenario.layout.pipeline == 1) {
    kind = ScheduleKind::none;
    chunks = 1;
    return;
  }
  const bool unnamed = name.empty() || name == "none";
  kind = unnamed ? ScheduleKind::one_f_one_b : schedule_named(name, mapping);
  const bool interleaved = kind == ScheduleKind::interleaved;
  if (chunks < 2 && open && (interleaved || name.empty())) {
    chunks = usual_chunks(scenario.model.num_layers, scenario.layout.pipeline);
    mapping.note(fmt::format("vpp is missing: {}", chunks));
    mapping.run.chunks_missing = true;
  }
  if (interleaved && chunks < 2) {
    chunks = 2;
    mapping.note("interleaved with vpp 1 means at least 2");
  }
  if (kind == ScheduleKind::one_f_one_b && chunks > 1) {
    kind = ScheduleKind::interleaved;
  }
}

std::optional<Sharding> sharding_named(std::string_view name) {
  struct Name {
    std::string_view words;
    Sharding sharding;
  };

  constexpr std::array<Name, 9> kNames = {{{"hsdp", Sharding::hsdp},
                                           {"zero1", Sharding::zero1},
                                           {"zero2", Sharding::zero2},
                                           {"zero3", Sharding::zero3},
                                           {"none", Sharding::none},
                                           {"fsdp", Sharding::zero3},
                                           {"dist", Sharding::zero1},
                                           {"ddp", Sharding::none},
                                           {"false", Sharding::none}}};
  for (const Name& entry : kNames) {
    if (name.find(entry.words) != std::string_view::npos) {
      return entry.sharding;
    }
  }
  return std::nullopt;
}

void map_sharding(const DataRow& row, Mapping& mapping) {
  const DataRow layout = row.row("layout");
  layout::LayoutSpec& spec = mapping.run.scenario.layout;
  const std::string name = layout.text("sharding");
  const std::string stack = row.text("stack");
  const std::optional<Sharding> stated = sharding_named(name);
  const bool open = name.empty() || lists_as_missing(row, "sharding") ||
                    lists_as_missing(row, "optimizer sharding");
  spec.sharding = stated.value_or(usual_sharding(stack));
  if (open && (!stated || *stated == Sharding::none)) {
    spec.sharding = usual_sharding(stack);
  }
  if (!stated || spec.sharding != *stated) {
    mapping.note(fmt::format("sharding{}{} as its stack has it: {}",
                             name.empty() ? "" : " ",
                             name,
                             name_of(spec.sharding)));
  }
  spec.shard_group = layout.integer("shard_group");
  const std::int64_t replicas = spec.data.value_or(1) * spec.context;
  if (spec.shard_group && (*spec.shard_group >= replicas || *spec.shard_group < 1)) {
    spec.shard_group.reset();
  }
  if (spec.sharding == Sharding::none) {
    spec.shard_group.reset();
  }
  if (spec.shard_group && replicas % *spec.shard_group != 0) {
    spec.shard_group = divisor_at_most(replicas, *spec.shard_group);
    mapping.note(fmt::format("shard_group does not divide {}: {}", replicas, *spec.shard_group));
  }
  if (spec.shard_group && spec.sharding == Sharding::zero3) {
    spec.sharding = Sharding::hsdp;
  }
  if (!spec.shard_group && spec.sharding == Sharding::hsdp) {
    spec.sharding = Sharding::zero3;
    mapping.note("hsdp without a smaller group is zero3");
  }
}

void map_degrees(const DataRow& layout, Mapping& mapping) {
  scenario::Scenario& scenario = mapping.run.scenario;
  layout::LayoutSpec& spec = scenario.layout;
  const auto degree = [&layout](std::string_view key) {
    return std::max<std::int64_t>(1, layout.integer(key).value_or(1));
  };
  spec.tensor = degree("tp");
  spec.sequence_parallel = layout.flag("sp").value_or(false);
  if (!layout.has("sp") && spec.tensor > 1) {
    spec.sequence_parallel = true;
    mapping.note("sp is missing: on");
  }
  spec.context = degree("cp");
  spec.pipeline = degree("pp");
  spec.expert = degree("ep");
  spec.expert_tensor = layout.integer("etp");
  spec.data = layout.integer("dp");
  const std::int64_t gpus = scenario.cluster.nodes * scenario.cluster.gpus_per_node;
  for (std::int64_t* axis : {&spec.pipeline, &spec.context, &spec.tensor}) {
    const std::int64_t others = spec.tensor * spec.context * spec.pipeline / *axis;
    if (gpus % (others * *axis) == 0) {
      break;
    }
    const std::int64_t fits = gpus % others == 0 ? divisor_at_most(gpus / others, *axis) : 1;
    mapping.note(
        fmt::format("the layout does not fit {} GPUs: a degree of {}, not {}", gpus, fits, *axis));
    *axis = fits;
  }
  const std::int64_t data = gpus / (spec.tensor * spec.context * spec.pipeline);
  if (spec.data && *spec.data != data) {
    mapping.note(fmt::format("dp {} does not fit {} GPUs: {}", *spec.data, gpus, data));
  }
  spec.data = data;
}

// Expert degrees that experts and GPUs allow.
void settle_experts(Mapping& mapping) {
  layout::LayoutSpec& spec = mapping.run.scenario.layout;
  const auto& moe = mapping.run.scenario.model.moe;
  const std::int64_t stated = spec.expert;
  if (!moe) {
    spec.expert = 1;
    spec.expert_tensor.reset();
  } else {
    const std::int64_t pool = spec.tensor * spec.context * spec.data.value_or(1);
    spec.expert = divisor_at_most(moe->num_experts, spec.expert);
    if (pool % (spec.expert * spec.expert_tensor.value_or(spec.tensor)) != 0) {
      mapping.note("experts are not split by tensor parallelism");
      spec.expert_tensor = 1;
    }
    while (pool % spec.expert != 0) {
      spec.expert = divisor_at_most(moe->num_experts, spec.expert - 1);
    }
  }
  if (spec.expert != stated) {
    mapping.note(fmt::format("ep {} does not fit the model and its GPUs: {}", stated, spec.expert));
  }
}

// Widths that the shards divide: stacks pad them.
void pad_model(Mapping& mapping) {
  model::ModelSpec& model = mapping.run.scenario.model;
  const layout::LayoutSpec& spec = mapping.run.scenario.layout;
  model.ffn_hidden_size = multiple_at_least(spec.tensor, model.ffn_hidden_size);
  if (model.num_attention_heads % spec.tensor != 0) {
    const std::int64_t padded = multiple_at_least(spec.tensor, model.num_attention_heads);
    mapping.note(fmt::format("heads padded from {} to {}", model.num_attention_heads, padded));
    if (model.head_dim == 0 && !model.mla) {
      model.head_dim = model.hidden_size / model.num_attention_heads;
    }
    model.num_attention_heads = padded;
  }
  std::int64_t& groups = model.num_query_groups;
  if (groups > 0 && !model.mla && groups % spec.tensor != 0 && spec.tensor % groups != 0) {
    mapping.note(
        fmt::format("kv_heads {} on {} tensor ranks: {}", groups, spec.tensor, spec.tensor));
    groups = spec.tensor;
  }
  ORRERY_CHECK(spec.context >= 1 && spec.tensor >= 1, "degrees are settled before shapes");
  const std::int64_t slice = std::lcm(spec.context > 1 ? 2 * spec.context : 1,
                                      spec.sequence_parallel ? spec.tensor * spec.context : 1);
  if (model.sequence_length % slice != 0) {
    model.sequence_length = multiple_at_least(slice, model.sequence_length);
    mapping.note(fmt::format("sequences padded to {} tokens", model.sequence_length));
  }
}

void map_batch(const DataRow& row, Mapping& mapping) {
  const DataRow batch = row.row("batch");
  scenario::Scenario& scenario = mapping.run.scenario;
  const std::int64_t data = scenario.layout.data.value_or(1);
  std::int64_t& micro = scenario.batch.micro;
  micro = std::max<std::int64_t>(1, batch.integer("micro").value_or(1));
  if (!batch.has("micro") || lists_as_missing(row, "micro batch") ||
      lists_as_missing(row, "micro")) {
    mapping.note(fmt::format("micro batch is missing: {}", micro));
  }
  constexpr std::int64_t kUsualDepth = 8;
  std::int64_t global = batch.integer("global_sequences").value_or(0);
  if (global < 1) {
    const auto tokens = batch.integer("global_tokens");
    global = tokens ? std::max<std::int64_t>(1, *tokens / scenario.model.sequence_length)
                    : data * micro * kUsualDepth * scenario.layout.pipeline;
    mapping.note(fmt::format("the global batch is not stated in sequences: {}", global));
  }
  if (global % data != 0) {
    const std::int64_t padded = multiple_at_least(data, global);
    mapping.note(fmt::format("{} sequences on {} replicas: {}", global, data, padded));
    global = padded;
  }
  if (global / data % micro != 0) {
    const std::int64_t fits = divisor_at_most(global / data, micro);
    mapping.note(
        fmt::format("micro batch {} does not divide {} sequences: {}", micro, global / data, fits));
    micro = fits;
  }
  scenario.batch.global = global;
}

}  // namespace

void map_cluster(const DataRow& row, Mapping& mapping) {
  const DataRow hardware = row.row("hardware");
  hardware::ClusterSpec& cluster = mapping.run.scenario.cluster;
  const std::string gpu = hardware.text("gpu");
  cluster.gpu = gpu;
  const std::int64_t count = mapping.count(hardware, "count", gpus_of_layout(row.row("layout")));
  const std::int64_t usual = std::min<std::int64_t>(8, count);
  const std::int64_t stated =
      std::clamp<std::int64_t>(hardware.integer("gpus_per_node").value_or(usual), 1, count);
  cluster.gpus_per_node = divisor_at_most(count, stated);
  if (cluster.gpus_per_node != stated) {
    mapping.note(
        fmt::format("{} GPUs on nodes of {}: {} on each", count, stated, cluster.gpus_per_node));
  }
  cluster.nodes = count / cluster.gpus_per_node;
  cluster.network.nics_per_node = cluster.gpus_per_node;
  cluster.network.nvlink_domain = nvlink_domain(gpu, count);
  const auto rate = hardware.number("inter_node_gbit_per_s_per_gpu");
  if (cluster.nodes == 1) {
    cluster.network.nics_per_node = 0;
    cluster.network.nic_rate = BytesPerSecond{};
  } else if (rate && *rate > 0.0) {
    cluster.network.nic_rate = gigabits_per_second(*rate);
  } else {
    mapping.note(fmt::format("network rate is not stated: {:.0f} Gbit/s per GPU",
                             in_gigabits_per_second(cluster.network.nic_rate)));
  }
}

void map_layout(const DataRow& row, Mapping& mapping) {
  map_degrees(row.row("layout"), mapping);
  settle_experts(mapping);
  map_schedule(row, mapping);
  map_sharding(row, mapping);
  pad_model(mapping);
  map_batch(row, mapping);
}

}  // namespace orrery::validate
