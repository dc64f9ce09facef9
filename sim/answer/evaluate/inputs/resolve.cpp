#include "sim/answer/evaluate/inputs/resolve.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/answer/evaluate/inputs/fill_metrics.hpp"
#include "sim/base/text/format.hpp"
#include "sim/scenario/load.hpp"
#include "sim/step/layout/domains.hpp"
#include "sim/step/layout/sharding.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/schedule/schedule.hpp"
#include "sim/step/simulate/memory/memory_account.hpp"

namespace orrery::evaluate {

namespace {

std::string_view dtype_name(model::Dtype dtype) {
  switch (dtype) {
    case model::Dtype::fp32:
      return "fp32";
    case model::Dtype::tf32:
      return "tf32";
    case model::Dtype::bf16:
      return "bf16";
    case model::Dtype::fp16:
      return "fp16";
    case model::Dtype::fp8:
      return "fp8";
    case model::Dtype::fp4:
      return "fp4";
  }
  return {};
}

void check_precision(const scenario::Scenario& scenario, const hardware::GpuProfile& gpu,
                     Diagnostics& diagnostics) {
  const model::Dtype compute = scenario.step.precision.compute;
  const hardware::GemmRate* rate = gpu.find_gemm(compute);
  const bool mx = scenario.step.precision.fp8_scaling == model::Fp8Scaling::mx;
  if (rate != nullptr && compute == model::Dtype::fp8 && mx && !rate->mx_ratio) {
    diagnostics.error(scenario.where("precision"), "precision",
                      fmt::format("{} has no units for scales of 32 values (MXFP8), which came "
                                  "with Blackwell",
                                  gpu.name),
                      "bf16, fp16, fp8-delayed, fp8-tensorwise, fp8-rowwise, fp8-block");
  }
  const model::ModelSpec& model = scenario.model;
  if (scenario.step.precision.is_master() &&
      (model.linear_attention || model.sparse_attention || model.compressed_attention)) {
    diagnostics.error(scenario.where("precision"), "precision",
                      "is wider than what kernels of linear and sparse attention are known in",
                      "bf16, fp16, fp8-*");
  }
  if (rate != nullptr) {
    return;
  }
  std::vector<std::string_view> supported;
  for (const hardware::GemmRate& other : gpu.gemm) {
    supported.push_back(dtype_name(other.dtype));
  }
  diagnostics.error(scenario.where("precision"), "precision",
                    fmt::format("{} has no {} rate", gpu.name, dtype_name(compute)),
                    fmt::format("{}", fmt::join(supported, ", ")));
}

// Wires that the scenario counts on must exist on this GPU, and counts must stay countable.
void check_limits(const scenario::Scenario& scenario, const hardware::GpuProfile& gpu,
                  Diagnostics& diagnostics) {
  if (!gpu.nvlink) {
    hardware::ClusterSpec without_nvlink = scenario.cluster;
    without_nvlink.network.nvlink_domain = 1;
    if (const auto problem = hardware::network_problem(without_nvlink)) {
      diagnostics.error(scenario.where("cluster.network"), "cluster.network",
                        fmt::format("{} has no NVLink: {}", gpu.name, *problem));
    }
  }
  const model::ModelSpec& model = scenario.model;
  const auto real = [](std::int64_t count) { return static_cast<double>(count); };
  const double expert_width =
      model.moe ? real(model.moe->num_experts) * real(model.moe->ffn_hidden_size) : 0.0;
  constexpr double kProducts = 3.0;  // matrices of a gated MLP
  const double parameters =
      real(model.hidden_size) *
      (2.0 * real(model.vocab_size) +
       real(model.num_layers) * (4.0 * real(model.num_attention_heads) * real(model.head_dim) +
                                 kProducts * (real(model.ffn_hidden_size) + expert_width)));
  constexpr double kMostParameters = kPeta;
  if (parameters > kMostParameters) {
    diagnostics.error(scenario.where("model"), "model",
                      fmt::format("has about {:.2g} parameters", parameters), "at most 10^15");
  }
  const double rows = real(scenario.batch.micro) * real(model.sequence_length) *
                      (model.moe ? real(model.moe->top_k) : 1.0);
  constexpr double kMostRows = kTera;
  if (rows > kMostRows) {
    diagnostics.error(scenario.where("batch.micro"), "batch.micro",
                      fmt::format("a micro-batch has {:.2g} rows (tokens times experts)", rows),
                      "at most 10^12");
  }
}

// `selective` is what the stack means by it; a number of layers alone recomputes those in full.
model::Recompute recompute_of(const step::RecomputeSpec& spec,
                              const hardware::SoftwareProfile& software) {
  if (spec.policy == model::Recompute::modules) {
    return spec.policy;
  }
  if (spec.layers) {
    return model::Recompute::full;
  }
  const bool by_operation =
      software.selective_recompute == hardware::SelectiveRecompute::every_second_product;
  return spec.policy == model::Recompute::selective && by_operation
             ? model::Recompute::selective_operations
             : spec.policy;
}

hardware::SoftwareProfile compiled_if_it_matters(const scenario::Scenario& scenario,
                                                 hardware::SoftwareProfile software,
                                                 Diagnostics& diagnostics) {
  if (software.compile_speedup.value() <= 1.0) {
    if (scenario.is_set_by_recipe("compile")) {
      return software;
    }
    diagnostics.warning(scenario.where("compile"), "compile",
                        fmt::format("has no effect: {} states no compile_speedup", software.name));
    return software;
  }
  return hardware::compiled(std::move(software));
}

// With sharding a layer is the smallest thing that is reduced by itself.
void warn_of_small_buckets(const scenario::Scenario& scenario, const layout::Layout& layout,
                           Diagnostics& diagnostics) {
  if (!scenario.step.bucket || layout.sharding == layout::Sharding::none ||
      scenario.is_set_by_recipe("overlap.bucket")) {
    return;
  }
  const model::ShardParameters layer =
      model::layer_shard_parameters(scenario.model, layout, scenario.model.num_layers - 1);
  const Bytes gradients =
      model::bytes_per_element(scenario.step.precision.gradient) * (layer.dense + layer.expert);
  if (*scenario.step.bucket < gradients) {
    diagnostics.warning(scenario.where("overlap.bucket"), "overlap.bucket",
                        fmt::format("is below the gradients of one layer ({}): a bucket holds "
                                    "that much",
                                    format_bytes_binary(gradients)));
  }
}

// Other types must run the same step: the data type of its products, and NVLink or none.
void add_mixed(const scenario::Scenario& scenario, const hardware::SoftwareProfile& software,
               std::vector<hardware::GpuProfile> others, Resolved& resolved,
               Diagnostics& diagnostics) {
  std::int64_t first_node = scenario.cluster.nodes;
  for (const hardware::MixedNodes& block : scenario.cluster.mixed) {
    first_node -= block.nodes;
  }
  for (std::size_t i = 0; i < others.size(); ++i) {
    const bool same_wires = others[i].nvlink.has_value() == resolved.costs.gpu().nvlink.has_value();
    if (!same_wires) {
      diagnostics.error(scenario.where("cluster.mixed"), "cluster.mixed",
                        fmt::format("of {} and {} only one has NVLink", resolved.costs.gpu().name,
                                    others[i].name));
    }
    const auto& first = resolved.costs.gpu();
    if (vendor_of(others[i].arch) != vendor_of(first.arch)) {
      diagnostics.error(
          scenario.where("cluster.mixed"), "cluster.mixed",
          fmt::format("{} is made by {}, {} by {}: they share no collective library", first.name,
                      vendor_of(first.arch), others[i].name, vendor_of(others[i].arch)));
    }
    check_precision(scenario, others[i], diagnostics);
    resolved.mixed.push_back({first_node, std::make_shared<const cost::CostModel>(
                                              std::move(others[i]), software, scenario.cluster)});
    first_node += scenario.cluster.mixed[i].nodes;
  }
}

// Mean over the nodes of a figure of their GPUs.
template <typename Figure>
double mean_over_nodes(const scenario::Scenario& scenario, const Resolved& resolved,
                       Figure figure) {
  double sum = 0.0;
  std::int64_t first = scenario.cluster.nodes;
  for (std::size_t i = resolved.mixed.size(); i-- > 0;) {
    const step::GpuBlock& block = resolved.mixed[i];
    sum += static_cast<double>(first - block.first_node) * figure(block.costs->gpu());
    first = block.first_node;
  }
  sum += static_cast<double>(first) * figure(resolved.costs.gpu());
  return sum / static_cast<double>(scenario.cluster.nodes);
}

// Nothing after errors, which are reported.
std::optional<layout::Layout> layout_of(const scenario::Scenario& scenario,
                                        const layout::ClusterShape& cluster,
                                        Diagnostics& diagnostics) {
  auto resolved = layout::resolve_layout(scenario.layout, scenario.batch, scenario.model, cluster,
                                         schedule::traits_of(scenario.step.schedule).placement);
  if (const auto* problems = std::get_if<std::vector<layout::LayoutProblem>>(&resolved)) {
    for (const layout::LayoutProblem& problem : *problems) {
      diagnostics.error(scenario.where(problem.key), problem.key,
                        scenario::words_of(problem, scenario), problem.allowed);
    }
    return std::nullopt;
  }
  return std::get<layout::Layout>(std::move(resolved));
}

// The stated one, else that whose recipes are followed. Where a stack runs eager or compiled, what
// its releases changed was measured compiled, so that an eager run takes it only by name.
const std::string& release_of(const scenario::Scenario& scenario,
                              const hardware::SoftwareProfile& software) {
  const scenario::RecipeUse& use = scenario.recipe;
  const bool eager = software.compile_speedup.value() > 1.0 && !scenario.step.compile;
  return use.release.empty() && !eager ? use.followed : use.release;
}

}  // namespace

std::optional<Resolved> resolve(const scenario::Scenario& scenario,
                                const std::optional<hardware::ProfileSearch>& search,
                                Diagnostics& diagnostics) {
  const hardware::ProfileSearch where = search ? *search : hardware::default_search(scenario.file);
  auto gpu = hardware::load_gpu_profile(scenario.cluster.gpu, where, scenario.where("cluster.gpu"),
                                        "cluster.gpu", diagnostics);
  auto software = hardware::load_software_profile(
      scenario.software, where, scenario.where("software"), "software", diagnostics);
  std::vector<hardware::GpuProfile> others;
  for (const hardware::MixedNodes& block : scenario.cluster.mixed) {
    auto other = hardware::load_gpu_profile(block.gpu, where, scenario.where("cluster.mixed"),
                                            "cluster.mixed", diagnostics);
    if (other) {
      others.push_back(*std::move(other));
    }
  }
  std::vector<const hardware::GpuProfile*> gpus;
  if (gpu) {
    gpus.push_back(&*gpu);
    std::ranges::transform(others, std::back_inserter(gpus),
                           [](const auto& other) { return &other; });
  }
  scenario::Scenario complete = scenario;
  const bool has_tables = hardware::load_collective_tables(
      complete.cluster.network, where, scenario.where("cluster.network.collectives"),
      "cluster.network.collectives", diagnostics, gpus);
  if (!gpu || !software || !has_tables || others.size() != scenario.cluster.mixed.size()) {
    const bool has_nvlink = !gpu || gpu->nvlink;
    (void)layout_of(scenario, hardware::cluster_shape(scenario.cluster, has_nvlink),
                    diagnostics);  // its errors
    return std::nullopt;
  }
  const hardware::SoftwareProfile stack = *software;
  auto resolved = resolve(complete, *std::move(gpu), *std::move(software), diagnostics);
  if (resolved) {
    add_mixed(complete, stack, std::move(others), *resolved, diagnostics);
  }
  return diagnostics.has_errors() ? std::nullopt : std::move(resolved);
}

hardware::SoftwareProfile stack_of(const scenario::Scenario& scenario,
                                   hardware::SoftwareProfile software, Diagnostics& diagnostics) {
  const std::string& release = release_of(scenario, software);
  software = hardware::at_release(std::move(software), release);
  if (scenario.step.precision.fp8_scaling == model::Fp8Scaling::rowwise) {
    software = hardware::with_rowwise_scales(std::move(software));
  }
  software.dropout = scenario.step.dropout.value_or(software.dropout);
  if (scenario.step.compile) {
    software = compiled_if_it_matters(scenario, std::move(software), diagnostics);
  }
  return software;
}

std::optional<ResolvedLayout> resolve_layout(const scenario::Scenario& scenario,
                                             const hardware::GpuProfile& gpu,
                                             const hardware::SoftwareProfile& software,
                                             Diagnostics& diagnostics) {
  check_precision(scenario, gpu, diagnostics);
  check_limits(scenario, gpu, diagnostics);
  const layout::ClusterShape cluster =
      hardware::cluster_shape(scenario.cluster, gpu.nvlink.has_value());
  auto found = layout_of(scenario, cluster, diagnostics);
  if (!found || diagnostics.has_errors()) {
    return std::nullopt;
  }
  layout::Layout layout = *std::move(found);
  auto placed = layout::use_domains(layout, cluster, scenario.cluster.network.domain_gpus);
  if (const auto* problem = std::get_if<layout::LayoutProblem>(&placed)) {
    diagnostics.error(scenario.where(problem->key), problem->key, problem->message,
                      problem->allowed);
    return std::nullopt;
  }
  layout.context_method = scenario.layout.context_method.value_or(software.context_method);
  layout.context_balanced = scenario.layout.context_balanced.value_or(software.context_balanced);
  const model::Recompute recompute = recompute_of(scenario.step.recompute, software);
  warn_of_small_buckets(scenario, layout, diagnostics);
  return ResolvedLayout{std::get<layout::ClusterShape>(std::move(placed)), std::move(layout),
                        recompute};
}

std::optional<Resolved> resolve(const scenario::Scenario& scenario, hardware::GpuProfile gpu,
                                hardware::SoftwareProfile software, Diagnostics& diagnostics) {
  auto found = resolve_layout(scenario, gpu, software, diagnostics);
  if (!found) {
    return std::nullopt;
  }
  Resolved resolved{
      cost::CostModel(std::move(gpu), stack_of(scenario, std::move(software), diagnostics),
                      scenario.cluster),
      found->cluster, std::move(found->layout), found->recompute, scenario.step.recompute.modules};
  if (scenario.step.recompute.memory_budget) {
    const step::RecomputeSpec chosen =
        step::meet_memory_budget(step_input(scenario, resolved), resolved.costs);
    resolved.recompute = chosen.policy;
    resolved.modules = chosen.modules;
  }
  return resolved;
}

FlopPerSecond mean_peak(const scenario::Scenario& scenario, const Resolved& resolved) {
  return flop_per_second(
      mean_over_nodes(scenario, resolved, [&scenario](const hardware::GpuProfile& gpu) {
        return in_flop_per_second(dense_peak(gpu, scenario.step.precision.compute));
      }));
}

double mean_power_watts(const scenario::Scenario& scenario, const Resolved& resolved) {
  return mean_over_nodes(scenario, resolved,
                         [](const hardware::GpuProfile& gpu) { return gpu.power_watts.value(); });
}

double held_critic(const scenario::Scenario& scenario) {
  const auto& rollout = scenario.rollout;
  return rollout && rollout->critic && !rollout->critic->offloaded ? rollout->critic->size : 0.0;
}

step::StepInput step_input(const scenario::Scenario& scenario, const Resolved& resolved) {
  step::StepInput input = {.model = scenario.model,
                           .layout = resolved.layout,
                           .cluster = resolved.cluster,
                           .spec = scenario.step,
                           .mixed = resolved.mixed};
  input.spec.recompute.policy = resolved.recompute;
  input.spec.recompute.modules = resolved.modules;
  input.spec.critic = held_critic(scenario);
  step::settle(input, resolved.costs);
  return input;
}

std::string precision_name(const model::PrecisionSpec& precision) {
  std::string name(dtype_name(precision.compute));
  if (precision.compute == model::Dtype::fp4) {
    return "nvfp4";
  }
  if (precision.compute != model::Dtype::fp8) {
    return name;
  }
  switch (precision.fp8_scaling) {
    case model::Fp8Scaling::delayed:
      return name + "-delayed";
    case model::Fp8Scaling::tensorwise:
      return name + "-tensorwise";
    case model::Fp8Scaling::block:
      return name + "-block";
    case model::Fp8Scaling::rowwise:
      return name + "-rowwise";
    case model::Fp8Scaling::mx:
      return "mxfp8";
    case model::Fp8Scaling::nvfp4:
      break;
  }
  return name;
}

std::vector<report::ComputeRoof> compute_roofs(const hardware::GpuProfile& gpu,
                                               model::Dtype compute) {
  const model::Dtype half =
      gpu.find_gemm(model::Dtype::bf16) != nullptr ? model::Dtype::bf16 : model::Dtype::fp16;
  std::vector<report::ComputeRoof> roofs;
  for (const model::Dtype dtype : {half, compute}) {
    const hardware::GemmRate* rate = gpu.find_gemm(dtype);
    if (rate != nullptr && (roofs.empty() || dtype != half)) {
      roofs.push_back({std::string(dtype_name(dtype)), rate->peak.value()});
    }
  }
  return roofs;
}

std::string allowed_batch(const std::string& allowed, std::int64_t global,
                          std::int64_t micro_batches) {
  constexpr std::string_view kMark = "m = ";
  if (!allowed.starts_with(kMark)) {
    return allowed;
  }
  std::string text;
  std::size_t at = kMark.size();
  while (at < allowed.size()) {
    std::size_t digits = 0;
    while (at + digits < allowed.size() &&
           std::isdigit(static_cast<unsigned char>(allowed[at + digits])) != 0) {
      ++digits;
    }
    if (digits == 0) {
      text += allowed[at++];
      continue;
    }
    const std::int64_t wanted = std::stoll(allowed.substr(at, digits));
    text += fmt::format("batch.global: {}", global / micro_batches * wanted);
    at += digits;
  }
  return text;
}

Bytes worst_peak(const step::StepResult& result) {
  Bytes peak;
  for (const step::StageMemory& stage : result.memory) {
    peak = std::max(peak, stage.peak());
  }
  return peak;
}

}  // namespace orrery::evaluate
