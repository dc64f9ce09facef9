#include "tests/unit/scenario/scenario_dump.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "sim/scenario/table/key_table.hpp"
#include "sim/scenario/table/read_keys.hpp"
#include "tests/unit/scenario/dump_lines.hpp"

namespace orrery::scenario {

namespace {

void dump_model(Lines& lines, const model::ModelSpec& model) {
  lines.add("model.name", model.name);
  lines.add("model.num_layers", model.num_layers);
  lines.add("model.hidden_size", model.hidden_size);
  lines.add("model.num_attention_heads", model.num_attention_heads);
  lines.add("model.num_query_groups", model.num_query_groups);
  lines.add("model.head_dim", model.head_dim);
  lines.add("model.ffn_hidden_size", model.ffn_hidden_size);
  lines.add("model.vocab_size", model.vocab_size);
  lines.add("model.sequence_length", model.sequence_length);
  lines.add("model.tie_embeddings", model.tie_embeddings);
  lines.add("model.activation", model.activation);
  lines.add("model.norm", model.norm);
  lines.add("model.position", model.position);
  lines.add("model.max_positions", model.max_positions);
  lines.add("model.linear_bias", model.linear_bias);
  lines.add("model.qkv_bias", model.qkv_bias);
  lines.add("model.embedding_norm", model.embedding_norm);
  lines.add("model.causal", model.causal);
  lines.add("model.output_gate", model.output_gate);
  lines.add("model.mtp_layers", model.mtp_layers);
  lines.add("model.mtp_shared", model.mtp_shared);
  for (std::size_t i = 0; i < model.layer_types.size(); ++i) {
    lines.add(fmt::format("model.layer_types[{}]", i), model.layer_types[i]);
  }
  if (model.linear_attention) {
    lines.add("model.linear_attention.value_heads", model.linear_attention->value_heads);
    lines.add("model.linear_attention.key_heads", model.linear_attention->key_heads);
    lines.add("model.linear_attention.key_dim", model.linear_attention->key_dim);
    lines.add("model.linear_attention.value_dim", model.linear_attention->value_dim);
    lines.add("model.linear_attention.conv", model.linear_attention->conv);
    lines.add("model.linear_attention.chunk", model.linear_attention->chunk);
  }
  if (model.full_attention) {
    lines.add("model.full_attention.num_query_groups", model.full_attention->num_query_groups);
    lines.add("model.full_attention.head_dim", model.full_attention->head_dim);
    lines.add("model.full_attention.shared_key_value", model.full_attention->shared_key_value);
  }
  if (model.sparse_attention) {
    lines.add("model.sparse_attention.index_heads", model.sparse_attention->heads);
    lines.add("model.sparse_attention.index_head_dim", model.sparse_attention->dim);
    lines.add("model.sparse_attention.top_k", model.sparse_attention->top_k);
  }
  if (model.compressed_attention) {
    lines.add("model.compressed_attention.q_lora_rank", model.compressed_attention->q_lora_rank);
    lines.add("model.compressed_attention.output_groups",
              model.compressed_attention->output_groups);
    lines.add("model.compressed_attention.output_rank", model.compressed_attention->output_rank);
  }
  lines.add("model.residual_streams", model.residual_streams);
  if (model.moe) {
    lines.add("model.moe.num_experts", model.moe->num_experts);
    lines.add("model.moe.top_k", model.moe->top_k);
    lines.add("model.moe.ffn_hidden_size", model.moe->ffn_hidden_size);
    lines.add("model.moe.shared_experts", model.moe->shared_experts);
    lines.add("model.moe.dense_layers", model.moe->dense_layers);
    lines.add("model.moe.capacity_factor", model.moe->capacity_factor);
    lines.add("model.moe.imbalance", model.moe->imbalance);
    lines.add("model.moe.load_spread", model.moe->load_spread);
    lines.add("model.moe.router_skew", model.moe->router_skew);
    lines.add("model.moe.node_limit", model.moe->node_limit);
    lines.add("model.moe.dense_branch", model.moe->dense_branch);
    lines.add("model.moe.latent_size", model.moe->latent_size);
  }
  if (model.attention_window) {
    lines.add("model.attention_window.size", model.attention_window->size);
    lines.add("model.attention_window.full_every", model.attention_window->full_every);
  }
  if (model.mla) {
    lines.add("model.mla.q_lora_rank", model.mla->q_lora_rank);
    lines.add("model.mla.kv_lora_rank", model.mla->kv_lora_rank);
    lines.add("model.mla.qk_nope_head_dim", model.mla->qk_nope_head_dim);
    lines.add("model.mla.qk_rope_head_dim", model.mla->qk_rope_head_dim);
    lines.add("model.mla.v_head_dim", model.mla->v_head_dim);
  }
}

void dump_cluster(Lines& lines, const hardware::ClusterSpec& cluster) {
  lines.add("cluster.preset", cluster.preset);
  lines.add("cluster.gpu", cluster.gpu);
  lines.add("cluster.nodes", cluster.nodes);
  lines.add("cluster.gpus_per_node", cluster.gpus_per_node);
  for (std::size_t i = 0; i < cluster.mixed.size(); ++i) {
    lines.add(fmt::format("cluster.mixed[{}].gpu", i), cluster.mixed[i].gpu);
    lines.add(fmt::format("cluster.mixed[{}].nodes", i), cluster.mixed[i].nodes);
  }
  lines.add("network.preset", cluster.network.preset);
  lines.add("network.nvlink_domain", cluster.network.nvlink_domain);
  lines.add("network.domain_gpus", cluster.network.domain_gpus);
  lines.add("network.nic_rate", cluster.network.nic_rate);
  lines.add("network.nics_per_node", cluster.network.nics_per_node);
  for (std::size_t i = 0; i < cluster.network.tiers.size(); ++i) {
    const hardware::NetworkTier& tier = cluster.network.tiers[i];
    const std::string field = fmt::format("tiers[{}].", i);
    lines.add(field + "name", tier.name);
    lines.add(field + "nodes", tier.nodes);
    lines.add(field + "oversubscription", tier.oversubscription);
    lines.add(field + "latency", tier.latency);
  }
  lines.add("network.fabric", cluster.network.fabric);
  lines.add("network.routing", cluster.network.routing);
  lines.add("network.cross_rail", cluster.network.cross_rail);
  lines.add("network.algorithm", cluster.network.algorithm);
  lines.add("network.sharp", cluster.network.sharp);
  lines.add("network.collectives", cluster.network.collectives);
  for (std::size_t i = 0; i < cluster.network.links_down.size(); ++i) {
    const std::string field = fmt::format("links_down[{}].", i);
    lines.add(field + "node", cluster.network.links_down[i].node);
    lines.add(field + "nics", cluster.network.links_down[i].nics);
  }
  lines.add("network.detail", cluster.network.detail);
  for (std::size_t i = 0; i < cluster.network.faults.size(); ++i) {
    const hardware::NetworkFault& fault = cluster.network.faults[i];
    const std::string field = fmt::format("faults[{}].", i);
    lines.add(field + "node", fault.node);
    lines.add(field + "nic", fault.nic);
    lines.add(field + "tier", fault.tier);
    lines.add(field + "block", fault.block);
    lines.add(field + "rail", fault.rail);
    lines.add(field + "uplinks", fault.uplinks);
    lines.add(field + "part", fault.part);
    lines.add(field + "share", fault.share);
    lines.add(field + "from", fault.from);
    lines.add(field + "until", fault.until);
  }
}

void dump_layout(Lines& lines, const Scenario& scenario) {
  const layout::LayoutSpec& layout = scenario.layout;
  lines.add("layout.tensor", layout.tensor);
  lines.add("layout.sequence_parallel", layout.sequence_parallel);
  lines.add("layout.context", layout.context);
  lines.add("layout.pipeline", layout.pipeline);
  lines.add("layout.virtual_stages", layout.virtual_stages);
  lines.add("layout.expert", layout.expert);
  lines.add("layout.expert_tensor", layout.expert_tensor);
  lines.add("layout.data", layout.data);
  std::string order;
  for (const layout::Axis axis : layout.order) {
    order += show(axis);
  }
  lines.add("layout.order", order);
  lines.add("layout.sharding", layout.sharding);
  lines.add("layout.shard_group", layout.shard_group);
  lines.add("layout.context_method", layout.context_method);
  lines.add("layout.context_balanced", layout.context_balanced);
  std::string layers;
  for (const std::int64_t count : layout.stage_layers.value_or(std::vector<std::int64_t>{})) {
    layers += fmt::format("{} ", count);
  }
  lines.add("layout.stage_layers", layout.stage_layers ? layers : "auto");
  lines.add("batch.global", scenario.batch.global);
  lines.add("batch.micro", scenario.batch.micro);
}

std::string module_names(const model::RecomputeModules& modules) {
  std::string names;
  const auto add = [&names](bool named, std::string_view name) {
    if (named) {
      names += (names.empty() ? "" : " ") + std::string(name);
    }
  };
  add(modules.core_attention, "core_attention");
  add(modules.layernorm, "layernorm");
  add(modules.mla_up_projection, "mla_up_projection");
  add(modules.mlp_activation, "mlp_activation");
  add(modules.moe_activation, "moe_activation");
  add(modules.mlp, "mlp");
  add(modules.shared_experts, "shared_experts");
  add(modules.moe, "moe");
  return names;
}

std::string graph_names(const std::optional<hardware::GraphScopes>& graphs) {
  std::string names;
  for (std::size_t i = 0; graphs && i < hardware::kGraphScopeNames.size(); ++i) {
    if (graphs->has(static_cast<hardware::GraphScope>(i))) {
      names += (names.empty() ? "" : " ") + std::string(hardware::kGraphScopeNames[i]);
    }
  }
  return names;
}

void dump_step(Lines& lines, const step::StepSpec& step) {
  lines.add("step.compute", step.precision.compute);
  lines.add("step.activation", step.precision.activation);
  lines.add("step.parameter", step.precision.parameter);
  lines.add("step.gradient_dtype", step.gradient_dtype);
  lines.add("step.fp8_parameters", step.fp8_parameters);
  lines.add("step.dropout", step.dropout);
  lines.add("step.fuses_gradients", step.precision.fuses_gradients);
  lines.add("step.optimizer_bytes", step.precision.optimizer_bytes);
  lines.add("step.fp8_scaling", step.precision.fp8_scaling);
  lines.add("step.deterministic", step.precision.deterministic);
  lines.add("step.recompute.policy", step.recompute.policy);
  lines.add("step.recompute.layers", step.recompute.layers);
  lines.add("step.recompute.modules", module_names(step.recompute.modules));
  lines.add("step.recompute.memory_budget", step.recompute.memory_budget);
  lines.add("step.overlap.data", step.overlap.data);
  lines.add("step.overlap.tensor", step.overlap.tensor);
  lines.add("step.overlap.pipeline", step.overlap.pipeline);
  lines.add("step.overlap.expert", step.overlap.expert);
  lines.add("step.experts.dispatcher", step.experts.dispatcher);
  lines.add("step.experts.grouped_gemm", step.experts.grouped_gemm);
  lines.add("step.experts.cuda_graphs", graph_names(step.experts.cuda_graphs));
  lines.add("step.experts.attention_fp8", step.experts.attention_fp8);
  lines.add("step.dispatch", step.precision.dispatch);
  lines.add("step.kept_attention_output", step.precision.kept_attention_output);
  lines.add("step.kept_expert_inner", step.precision.kept_expert_inner);
  lines.add("step.schedule", step.schedule);
  for (std::size_t i = 0; i < step.variation.slow_gpus.size(); ++i) {
    const std::string field = fmt::format("variation.slow_gpus[{}].", i);
    lines.add(field + "node", step.variation.slow_gpus[i].node);
    lines.add(field + "gpu", step.variation.slow_gpus[i].gpu);
    lines.add(field + "factor", step.variation.slow_gpus[i].factor);
  }
  lines.add("step.bucket", step.bucket);
  lines.add("step.first_bucket", step.first_bucket);
  lines.add("step.cycle", step.cycle);
  lines.add("step.reduction", step.reduction);
  lines.add("step.given_time", step.given_time);
  lines.add("step.compile", step.compile);
  lines.add("step.fsdp.prefetch", step.fsdp.prefetch);
  lines.add("step.fsdp.backward_prefetch", step.fsdp.backward_prefetch);
  lines.add("step.fsdp.reshard", step.fsdp.reshard);
  lines.add("step.fsdp.reshard_group", step.fsdp.reshard_group);
  lines.add("step.fsdp.quantized_weights", step.fsdp.quantized_weights);
  lines.add("step.fsdp.quantized_gradients", step.fsdp.quantized_gradients);
}

std::string show_life(const std::optional<run::LifeLaw>& life) {
  if (!life) {
    return "absent";
  }
  if (const auto* law = std::get_if<run::ExponentialLaw>(&*life)) {
    return fmt::format("exponential {:.10g} s", in_seconds(law->mean));
  }
  if (const auto* law = std::get_if<run::WeibullLaw>(&*life)) {
    return fmt::format("weibull {} {:.10g} s", law->shape, in_seconds(law->scale));
  }
  if (const auto* law = std::get_if<run::LognormalLaw>(&*life)) {
    return fmt::format("lognormal {:.10g} s {}", in_seconds(law->median), law->sigma);
  }
  std::string list = "times";
  for (const Seconds time : std::get<run::EmpiricalLaw>(*life).values) {
    list += " " + show(time);
  }
  return list;
}

void dump_causes(Lines& lines, const std::string& name, const std::vector<run::FailureCause>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const run::FailureCause& cause = all[i];
    const std::string field = fmt::format("{}[{}].", name, i);
    lines.add(field + "name", cause.name);
    lines.add(field + "category", cause.category);
    lines.add(field + "weight", cause.weight);
    lines.add(field + "takes_node", cause.takes_node);
    lines.add(field + "takes_nodes", cause.takes_nodes);
    lines.add(field + "scope", cause.scope);
    lines.add(field + "symptom", cause.symptom);
    lines.add(field + "life", show_life(cause.life));
    lines.add(field + "age.kind", cause.age.kind);
    lines.add(field + "age", cause.age.age);
    lines.stages(field + "recovery", cause.recovery);
  }
}

void dump_hazards(Lines& lines, const run::FailureSpec& failures) {
  lines.add("domains.rack", failures.domains.rack);
  lines.add("domains.switch", failures.domains.network_switch);
  lines.add("domains.power_domain", failures.domains.power_domain);
  if (failures.burn_in) {
    lines.add("burn_in.factor", failures.burn_in->factor);
    lines.add("burn_in.decay", failures.burn_in->decay);
    lines.add("burn_in.age", failures.burn_in->age);
  }
  std::string hours;
  for (const double factor : failures.by_hour) {
    hours += fmt::format("{:.4g} ", factor);
  }
  lines.add("by_hour", hours);
  for (std::size_t i = 0; i < failures.episodes.size(); ++i) {
    const std::string field = fmt::format("episodes[{}].", i);
    lines.add(field + "begin", failures.episodes[i].begin);
    lines.add(field + "end", failures.episodes[i].end);
    lines.add(field + "factor", failures.episodes[i].factor);
  }
  if (failures.lemons) {
    lines.add("lemons.fraction", failures.lemons->fraction);
    lines.add("lemons.factor", failures.lemons->factor);
    lines.add("lemons.remove_after", failures.lemons->remove_after);
  }
  lines.add("failures.log", failures.log);
}

void dump_slowdowns(Lines& lines, const std::string& name,
                    const std::vector<run::SlowdownSpec>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string field = fmt::format("{}[{}].", name, i);
    lines.add(field + "name", all[i].name);
    lines.add(field + "node_rate", all[i].node_rate);
    lines.add(field + "job_rate", all[i].job_rate);
    lines.add(field + "slowdown", all[i].slowdown.median);
    lines.add(field + "spread", all[i].slowdown.sigma);
    if (const std::optional<run::LinkFault>& fault = all[i].fault) {
      lines.add(field + "fault.nics", fault->nics);
      lines.add(field + "fault.tier", fault->tier);
      lines.add(field + "fault.uplinks", fault->uplinks);
      lines.add(field + "fault.share", fault->share);
    }
    lines.law(field + "duration", all[i].duration);
    lines.add(field + "evict_after", all[i].evict_after);
    lines.stages(field + "recovery", all[i].recovery);
  }
}

void dump_silent(Lines& lines, const run::FailureSpec& failures) {
  dump_slowdowns(lines, "failures.stragglers", failures.stragglers);
  dump_slowdowns(lines, "failures.network", failures.network);
  if (failures.silent) {
    lines.add("sdc.node_rate", failures.silent->node_rate);
    lines.add("sdc.job_rate", failures.silent->job_rate);
    lines.law("failures.sdc.detection", failures.silent->detection);
    lines.add("sdc.repeats", failures.silent->repeats);
    lines.law("failures.sdc.repeat_after", failures.silent->repeat_after);
    lines.add("sdc.checks", failures.silent->checks);
    lines.add("sdc.false_alarm_node_rate", failures.silent->false_alarm_node_rate);
    lines.add("sdc.false_alarm_job_rate", failures.silent->false_alarm_job_rate);
    lines.stages("failures.sdc.recovery", failures.silent->recovery);
  }
  if (failures.spikes) {
    lines.add("spikes.rate", failures.spikes->rate);
    lines.add("spikes.every_steps", failures.spikes->every_steps);
    if (failures.spikes->rule) {
      lines.add("spikes.rule.sigma", failures.spikes->rule->sigma);
      lines.add("spikes.rule.series", failures.spikes->rule->series);
      lines.add("spikes.rule.degrees_of_freedom", failures.spikes->rule->degrees_of_freedom);
    }
    lines.add("spikes.rewind_steps", failures.spikes->rewind_steps);
    lines.add("spikes.skip_steps", failures.spikes->skip_steps);
    lines.stages("failures.loss_spikes.recovery", failures.spikes->recovery);
  }
}

void dump_failures(Lines& lines, const run::FailureSpec& failures) {
  lines.add("failures.preset", failures.preset ? failures.preset->name : "");
  lines.add("failures.node_rate", failures.node_rate);
  lines.add("failures.job_rate", failures.job_rate);
  dump_causes(lines, "failures.causes", failures.causes);
  dump_causes(lines, "failures.correlated", failures.correlated);
  dump_hazards(lines, failures);
  dump_silent(lines, failures);
  if (failures.maintenance) {
    lines.add("failures.maintenance.rate", failures.maintenance->rate);
    lines.add("failures.maintenance.stall", failures.maintenance->stall);
  }
  lines.add("failures.during_recovery", failures.during_recovery);
  lines.add("failures.unitemised", failures.unitemised_per_day);
}

void dump_run(Lines& lines, const run::RunSpec& run) {
  dump_training(lines, run);
  dump_failures(lines, run.failures);
  dump_checkpoint(lines, run.checkpoint);
  dump_recovery(lines, run.recovery);
  dump_capacity(lines, run.capacity);
  dump_prices(lines, run.prices);
  lines.add("simulation.trials", run.simulation.trials);
  lines.add("simulation.seed", run.simulation.seed);
  lines.add("simulation.max_wall", run.simulation.max_wall);
}

}  // namespace

std::vector<std::string> dump(const Scenario& scenario) {
  Lines lines;
  lines.add("name", scenario.name);
  lines.add("model_preset", scenario.model_preset);
  dump_model(lines, scenario.model);
  dump_cluster(lines, scenario.cluster);
  dump_layout(lines, scenario);
  dump_step(lines, scenario.step);
  dump_post_training(lines, scenario);
  lines.add("software", scenario.software);
  lines.add("recipe.release", scenario.recipe.release);
  lines.add("recipe.context", scenario.recipe.context);
  lines.add("recipe.plain", scenario.recipe.plain);
  if (scenario.run) {
    dump_run(lines, *scenario.run);
  }
  for (const ExpectationText& expectation : scenario.expect) {
    lines.add("expect", expectation.text);
    lines.add("expect.decide_point", expectation.decide_point);
  }
  for (const MeasuredText& measured : scenario.measured) {
    lines.add("measured",
              fmt::format("{} {} {}", measured.metric, measured.text, to_string(measured.kind)));
  }
  if (scenario.plan) {
    dump_plan(lines, *scenario.plan);
  }
  return lines.take();
}

namespace {

// Every key that the specs hold a value for, by its own row: `key = value`.
void add_keys(std::string_view row, const std::string& path, const Draft& draft, Lines& lines) {
  for (const Key* key : children_of(row)) {
    const std::string here =
        path.empty() ? std::string(key->name()) : fmt::format("{}.{}", path, key->name());
    for (std::size_t i = 0; i == 0 || key->list; ++i) {
      Draft part = draft;
      if (key->enter && !key->enter(part, i)) {
        break;
      }
      const std::string item = key->list ? fmt::format("{}[{}]", here, i) : here;
      if (const auto value = key->print ? key->print(part) : std::nullopt) {
        lines.add(item, *value);
      }
      if (key->mapping) {
        add_keys(key->list ? key->path + "[]" : key->path, item, part, lines);
      }
      if (!key->enter) {
        break;
      }
    }
  }
}

std::vector<std::string> keys_of(const Scenario& scenario) {
  Lines lines;
  add_keys({}, {}, draft_of(scenario), lines);
  return lines.take();
}

std::string added(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  std::string changed;
  for (const std::string& line : after) {
    if (std::find(before.begin(), before.end(), line) == before.end()) {
      changed += (changed.empty() ? "" : "; ") + line;
    }
  }
  return changed;
}

}  // namespace

std::string difference(const Scenario& before, const Scenario& after) {
  const std::string fields = added(dump(before), dump(after));
  return fields.empty() ? added(keys_of(before), keys_of(after)) : fields;
}

}  // namespace orrery::scenario
