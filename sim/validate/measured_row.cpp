#include "sim/validate/measured_row.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>

#include "sim/model/presets.hpp"
#include "sim/validate/run_tables.hpp"

namespace orrery::validate {

namespace {

using layout::Sharding;
using model::Dtype;
using model::Fp8Scaling;
using model::ModelSpec;
using schedule::ScheduleKind;

// Collects what is wrong; the first reason is the one that is reported.
struct Mapping {
  MappedRun run;
  std::string reason;

  void refuse(std::string why) {
    if (reason.empty()) {
      reason = std::move(why);
    }
  }

  std::int64_t need(const DataRow& row, std::string_view key) {
    const auto value = row.integer(key);
    if (!value || *value < 1) {
      refuse(fmt::format("{} is missing", key));
    }
    return value.value_or(1);
  }

  void note(std::string text) {
    run.notes.push_back(std::move(text));
  }
};

void map_experts(const DataRow& model, ModelSpec& spec, Mapping& mapping) {
  if (model.has("moe")) {
    const DataRow row = model.row("moe");
    model::MoeSpec moe;
    moe.num_experts = mapping.need(row, "experts");
    moe.top_k = mapping.need(row, "topk");
    moe.ffn_hidden_size = mapping.need(row, "expert_ffn");
    moe.shared_experts = row.integer("shared_expert_ffn").value_or(0) / moe.ffn_hidden_size;
    moe.dense_layers = row.integer("dense_layers").value_or(0);
    spec.moe = moe;
  }
  if (model.has("mla")) {
    const DataRow row = model.row("mla");
    spec.mla = model::MlaSpec{.q_lora_rank = row.integer("q_lora").value_or(0),
                              .kv_lora_rank = mapping.need(row, "kv_lora"),
                              .qk_nope_head_dim = mapping.need(row, "qk_head"),
                              .qk_rope_head_dim = mapping.need(row, "qk_rope"),
                              .v_head_dim = mapping.need(row, "v_head")};
  }
}

void map_model(const DataRow& row, Mapping& mapping) {
  const DataRow model = row.row("model");
  ModelSpec& spec = mapping.run.scenario.model;
  spec.name = model.text("name");
  spec.num_layers = mapping.need(model, "layers");
  spec.hidden_size = mapping.need(model, "hidden");
  spec.num_attention_heads = mapping.need(model, "heads");
  spec.num_query_groups = model.integer("kv_heads").value_or(0);
  spec.head_dim = model.integer("head_dim").value_or(0);
  spec.ffn_hidden_size = model.integer("ffn_hidden").value_or(0);
  spec.vocab_size = mapping.need(model, "vocab");
  spec.sequence_length = mapping.need(model, "seq_len");
  spec.mtp_layers = model.integer("mtp_layers").value_or(0);
  const bool gated = model.flag("gated").value_or(false);
  const ModelFamily& family = model_family(spec.name, gated);
  spec.activation = gated ? model::Activation::swiglu : family.activation;
  if (!gated && spec.activation == model::Activation::swiglu) {
    spec.activation = model::Activation::gelu;
  }
  spec.norm = family.norm;
  spec.position = family.position;
  spec.linear_bias = family.linear_bias;
  spec.qkv_bias = family.qkv_bias;
  spec.embedding_norm = family.embedding_norm;
  if (model.text("position").starts_with("alibi")) {
    spec.position = model::PositionEmbedding::alibi;
  }
  if (!model.has("tied_embeddings")) {
    mapping.note("tied_embeddings as the model's family has them");
  }
  spec.tie_embeddings = model.flag("tied_embeddings").value_or(family.tied_embeddings);
  map_experts(model, spec, mapping);
}

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

void map_cluster(const DataRow& row, Mapping& mapping) {
  const DataRow hardware = row.row("hardware");
  hardware::ClusterSpec& cluster = mapping.run.scenario.cluster;
  const std::string gpu = hardware.text("gpu");
  const auto profile = gpu_profile_of(gpu);
  if (!profile) {
    mapping.refuse(fmt::format("no GPU profile for `{}`", gpu));
    return;
  }
  cluster.gpu = std::string(*profile);
  const std::int64_t count = mapping.need(hardware, "count");
  cluster.gpus_per_node = std::min(count, hardware.integer("gpus_per_node").value_or(8));
  if (cluster.gpus_per_node < 1 || count % cluster.gpus_per_node != 0) {
    mapping.refuse(fmt::format("{} GPUs on nodes of {}", count, hardware.text("gpus_per_node")));
    return;
  }
  cluster.nodes = count / cluster.gpus_per_node;
  cluster.network.nics_per_node = cluster.gpus_per_node;
  cluster.network.nvlink_domain = nvlink_domain(gpu, count);
  const auto rate = hardware.number("inter_node_gbit_per_s_per_gpu");
  if (cluster.nodes == 1) {
    cluster.network.nics_per_node = 0;
    cluster.network.nic_rate = BytesPerSecond{};
  } else if (rate) {
    cluster.network.nic_rate = gigabits_per_second(*rate);
  } else {
    mapping.note(fmt::format("network rate is not stated: {:.0f} Gbit/s per GPU",
                             in_gigabits_per_second(cluster.network.nic_rate)));
  }
}

std::set<std::string> missing_keys(const DataRow& row) {
  const auto list = row.texts("missing");
  return {list.begin(), list.end()};
}

void map_schedule(const DataRow& layout, bool chunks_missing, Mapping& mapping) {
  scenario::Scenario& scenario = mapping.run.scenario;
  const std::string name = layout.text("schedule");
  std::int64_t& chunks = scenario.layout.virtual_stages;
  chunks = layout.integer("vpp").value_or(1);
  ScheduleKind& kind = scenario.step.schedule;
  if (scenario.layout.pipeline == 1) {
    kind = ScheduleKind::none;
    chunks = 1;
    return;
  }
  if (name.empty() || name == "none") {
    kind = chunks > 1 ? ScheduleKind::interleaved : ScheduleKind::one_f_one_b;
    return;
  }
  const auto found =
      std::find(schedule::kScheduleNames.begin(), schedule::kScheduleNames.end(), name);
  if (found == schedule::kScheduleNames.end()) {
    mapping.refuse(fmt::format("schedule `{}` is not known", name));
    return;
  }
  kind = static_cast<ScheduleKind>(found - schedule::kScheduleNames.begin());
  if (kind == ScheduleKind::interleaved && chunks < 2) {
    chunks = 2;
    mapping.note(chunks_missing ? "vpp is missing: 2" : "interleaved with vpp 1 means at least 2");
  }
  if (kind == ScheduleKind::one_f_one_b && chunks > 1) {
    kind = ScheduleKind::interleaved;
  }
}

void map_sharding(const DataRow& layout, Mapping& mapping) {
  layout::LayoutSpec& spec = mapping.run.scenario.layout;
  const std::string name = layout.text("sharding");
  if (name.empty() || name == "none") {
    spec.sharding = Sharding::none;
    return;
  }
  if (name == "zero1" || name == "zero2" || name == "zero3" || name == "hsdp") {
    spec.sharding = name == "zero1"   ? Sharding::zero1
                    : name == "zero2" ? Sharding::zero2
                    : name == "zero3" ? Sharding::zero3
                                      : Sharding::hsdp;
  } else {
    mapping.refuse(fmt::format("sharding `{}` is not known", name));
    return;
  }
  spec.shard_group = layout.integer("shard_group");
  const std::int64_t replicas = spec.data.value_or(1) * spec.context;
  if (spec.shard_group && *spec.shard_group >= replicas) {
    spec.shard_group.reset();
  }
  if (spec.shard_group && spec.sharding == Sharding::zero3) {
    spec.sharding = Sharding::hsdp;
  }
}

void map_layout(const DataRow& row, Mapping& mapping) {
  const DataRow layout = row.row("layout");
  scenario::Scenario& scenario = mapping.run.scenario;
  layout::LayoutSpec& spec = scenario.layout;
  spec.tensor = layout.integer("tp").value_or(1);
  spec.sequence_parallel = layout.flag("sp").value_or(false);
  spec.context = layout.integer("cp").value_or(1);
  spec.pipeline = layout.integer("pp").value_or(1);
  spec.expert = layout.integer("ep").value_or(1);
  spec.expert_tensor = layout.integer("etp");
  spec.data = layout.integer("dp");
  if (spec.tensor < 1 || spec.context < 1 || spec.pipeline < 1) {
    mapping.refuse("a degree of the layout is below 1");
    return;
  }
  const std::int64_t gpus = scenario.cluster.nodes * scenario.cluster.gpus_per_node;
  const std::int64_t shards = spec.tensor * spec.context * spec.pipeline;
  if (!spec.data || *spec.data * shards != gpus) {
    if (spec.data && gpus % shards == 0) {
      mapping.note(fmt::format("dp {} does not fit {} GPUs: {}", *spec.data, gpus, gpus / shards));
    }
    spec.data = gpus % shards == 0 ? std::optional(gpus / shards) : spec.data;
  }
  const std::set<std::string> missing = missing_keys(row);
  map_schedule(layout, missing.contains("vpp"), mapping);
  map_sharding(layout, mapping);
  scenario.batch.global = mapping.need(row.row("batch"), "global_sequences");
  scenario.batch.micro = row.row("batch").integer("micro").value_or(1);
  if (missing.contains("micro batch")) {
    mapping.note(fmt::format("micro batch is missing: {}", scenario.batch.micro));
  }
  // Stacks pad the inner width to what their shards need.
  std::int64_t& ffn = scenario.model.ffn_hidden_size;
  ffn = (ffn + spec.tensor - 1) / spec.tensor * spec.tensor;
}

void map_precision(const DataRow& row, Mapping& mapping) {
  model::PrecisionSpec& precision = mapping.run.scenario.step.precision;
  const std::string name = row.text("precision");
  if (name == "bf16" || name.empty()) {
    return;
  }
  if (name == "fp16") {
    precision.compute = Dtype::fp16;
    precision.activation = Dtype::fp16;
    precision.parameter = Dtype::fp16;
    mapping.run.scenario.step.gradient_dtype = Dtype::fp16;
    return;
  }
  if (name.starts_with("nvfp4") || name.starts_with("fp4")) {
    precision.compute = Dtype::fp4;
    precision.fp8_scaling = Fp8Scaling::block;
    return;
  }
  if (name.find("fp8") == std::string::npos) {
    mapping.refuse(fmt::format("precision `{}` is not known", name));
    return;
  }
  precision.compute = Dtype::fp8;
  precision.fp8_scaling = Fp8Scaling::delayed;
  if (name.find("tensorwise") != std::string::npos || name.find("current") != std::string::npos) {
    precision.fp8_scaling = Fp8Scaling::tensorwise;
  } else if (name.find("rowwise") != std::string::npos) {
    precision.fp8_scaling = Fp8Scaling::tensorwise;
    mapping.note("row-wise scales cost what tensor-wise ones do");
  } else if (name.find("block") != std::string::npos || name.starts_with("mx")) {
    precision.fp8_scaling = Fp8Scaling::block;
  }
}

void map_recompute(const DataRow& row, Mapping& mapping) {
  model::Recompute& policy = mapping.run.scenario.step.recompute.policy;
  const std::string name = row.text("recompute");
  if (name == "full") {
    policy = model::Recompute::full;
  } else if (name == "selective") {
    policy = model::Recompute::selective;
  } else if (!name.empty() && name != "none") {
    mapping.refuse(fmt::format("recompute `{}` is not known", name));
  }
}

// Field of a keyword: at the top of the row, or of its hardware.
bool mentions(const DataRow& row, const Keyword& keyword) {
  return row.mentions(keyword.field, keyword.words) ||
         row.row("hardware").mentions(keyword.field, keyword.words);
}

void apply_keywords(const DataRow& row, Mapping& mapping) {
  scenario::Scenario& scenario = mapping.run.scenario;
  hardware::NetworkSpec& network = scenario.cluster.network;
  std::optional<bool> data;
  std::optional<bool> tensor;
  const auto set_once = [](std::optional<bool>& flag, bool value) { flag = flag.value_or(value); };
  for (const Keyword& keyword : keywords()) {
    if (!mentions(row, keyword)) {
      continue;
    }
    switch (keyword.effect) {
      case KeywordEffect::no_overlap:
        set_once(data, false);
        set_once(tensor, false);
        scenario.step.overlap.pipeline = false;
        break;
      case KeywordEffect::data_overlap:
      case KeywordEffect::no_data_overlap:
        set_once(data, keyword.effect == KeywordEffect::data_overlap);
        break;
      case KeywordEffect::tensor_overlap:
      case KeywordEffect::no_tensor_overlap:
        set_once(tensor, keyword.effect == KeywordEffect::tensor_overlap);
        break;
      case KeywordEffect::fp8_parameters:
        scenario.step.precision.parameter = Dtype::fp8;
        break;
      case KeywordEffect::capacity_one:
        if (scenario.model.moe) {
          scenario.model.moe->capacity_factor = 1.0;
        }
        break;
      case KeywordEffect::four_nics:
        if (scenario.cluster.nodes > 1 && network.nics_per_node > 4) {
          network.nic_rate *= static_cast<double>(network.nics_per_node) / 4.0;
          network.nics_per_node = 4;
        }
        break;
    }
  }
  scenario.step.overlap.data = data.value_or(true);
  scenario.step.overlap.tensor = tensor.value_or(false);
}

}  // namespace

std::variant<MappedRun, std::string> map_run(const DataRow& row) {
  Mapping mapping;
  if (row.value().kind != yaml::Value::Kind::mapping) {
    return std::string("the row is no mapping");
  }
  map_model(row, mapping);
  map_cluster(row, mapping);
  if (mapping.reason.empty()) {
    map_layout(row, mapping);
  }
  map_precision(row, mapping);
  map_recompute(row, mapping);
  if (row.row("layout").text("fsdp_mixed_precision") == "PURE") {
    mapping.run.scenario.step.gradient_dtype = mapping.run.scenario.step.precision.activation;
  }
  apply_keywords(row, mapping);
  if (!mapping.reason.empty()) {
    return mapping.reason;
  }
  scenario::Scenario& scenario = mapping.run.scenario;
  scenario.name = scenario.model.name;
  scenario.software = row.text("stack");
  if (scenario.model.hidden_size % scenario.model.num_attention_heads != 0 &&
      scenario.model.head_dim == 0 && !scenario.model.mla) {
    return fmt::format("{} heads do not divide hidden {}",
                       scenario.model.num_attention_heads,
                       scenario.model.hidden_size);
  }
  scenario.model = model::resolve(scenario.model);
  if (const auto problem = hardware::network_problem(scenario.cluster)) {
    return *problem;
  }
  return std::move(mapping.run);
}

}  // namespace orrery::validate
