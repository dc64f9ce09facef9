#include "sim/step/model/adapters.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace orrery::model {

namespace {

// How a linear layer lies on the tensor ranks: its columns are split, its rows, or nothing.
enum class Split { columns, rows, none };

struct AdaptedLinear {
  Part part;
  bool AdapterTargets::*target;
  Split split;
  bool mlp = false;
};

constexpr std::array<AdaptedLinear, 10> kLinears = {
    {{Part::qkv, &AdapterTargets::qkv, Split::columns},
     {Part::query_up, &AdapterTargets::qkv, Split::columns},
     {Part::key_value_up, &AdapterTargets::qkv, Split::columns},
     {Part::query_down, &AdapterTargets::qkv, Split::none},
     {Part::key_value_down, &AdapterTargets::qkv, Split::none},
     {Part::attention_output, &AdapterTargets::proj, Split::rows},
     {Part::mlp_up, &AdapterTargets::fc1, Split::columns, true},
     {Part::mlp_down, &AdapterTargets::fc2, Split::rows, true},
     {Part::shared_expert_up, &AdapterTargets::fc1, Split::columns, true},
     {Part::shared_expert_down, &AdapterTargets::fc2, Split::rows, true}}};

// The pair of products beside one linear layer of k inputs and n outputs on the rank; a bottleneck
// stands behind it.
class Adapter {
 public:
  Adapter(const LayerContext& context, const AdaptedLinear& linear, std::int64_t tokens,
          std::int64_t inputs, std::int64_t outputs)
      : context_(context),
        kind_(context.model.lora->kind),
        part_(linear.part),
        split_(context.dims.tensor > 1 ? linear.split : Split::none),
        tokens_(tokens),
        inputs_(kind_ == AdapterKind::bottleneck ? outputs : inputs),
        outputs_(split_ == Split::rows ? divide_rounding_up(outputs, context.dims.tensor)
                                       : outputs),
        rank_(context.model.lora->rank),
        rank_a_(split_ == Split::columns ? divide_rounding_up(rank_, context.dims.tensor) : rank_),
        added_(split_ == Split::rows ? product(context.dims.local_tokens, outputs)
                                     : product(tokens, outputs)) {}

  void forward(Pass& pass) const {
    const double element = context_.dims.element_bytes;
    const double input = product(tokens_, inputs_);
    if (kind_ == AdapterKind::bottleneck) {
      forward_behind(pass);
      return;
    }
    if (context_.model.lora->dropout > 0.0) {
      add_memory(pass, Part::adapter_dropout, input * element, input * (element + 1.0));
    }
    multiply(pass, Part::adapter_a, Role::fprop, tokens_, rank_a_, inputs_);
    if (split_ == Split::columns) {
      exchange(pass, CollectiveKind::all_gather, rank_);
    } else if (split_ == Split::rows) {
      exchange(pass, CollectiveKind::all_reduce, rank_);
    }
    multiply(pass, Part::adapter_b, Role::fprop, tokens_, outputs_, rank_);
    const double result = product(tokens_, outputs_) * element;
    add_memory(pass, Part::adapter_scale, result, result);
    if (kind_ == AdapterKind::dora) {
      scale_forward(pass);
    }
    if (split_ == Split::rows) {
      exchange(pass, CollectiveKind::all_gather, context_.dims.hidden);
    }
    add_memory(pass, Part::adapter_add, 2.0 * added_ * element, added_ * element);
  }

  void backward(Pass& input_pass, Pass& weight_pass) const {
    const double element = context_.dims.element_bytes;
    const double result = product(tokens_, outputs_) * element;
    const double input = product(tokens_, inputs_);
    if (kind_ == AdapterKind::bottleneck) {
      backward_behind(input_pass, weight_pass);
      return;
    }
    if (kind_ == AdapterKind::dora) {
      scale_backward(input_pass);
    }
    add_memory(input_pass, model::backward(Part::adapter_scale), result, result);
    multiply(input_pass, Part::adapter_b, Role::dgrad, tokens_, rank_, outputs_);
    multiply(weight_pass, Part::adapter_b, Role::wgrad, outputs_, rank_, tokens_);
    if (split_ != Split::none) {
      exchange(
          input_pass,
          split_ == Split::columns ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
          rank_);
    }
    multiply(input_pass, Part::adapter_a, Role::dgrad, tokens_, inputs_, rank_a_);
    multiply(weight_pass, Part::adapter_a, Role::wgrad, rank_a_, inputs_, tokens_);
    if (context_.model.lora->dropout > 0.0) {
      add_memory(input_pass, model::backward(Part::adapter_dropout), input * (element + 1.0),
                 input * element);
    }
    add_memory(input_pass, model::backward(Part::adapter_add), 2.0 * input * element,
               input * element);
  }

 private:
  // Norms of the weights with their adapter, whose product is that of a unit matrix; the base's
  // result without dropout is multiplied again where the adapter drops some of its input. Reads and
  // writes of elements, as PEFT's kernels run one by one:
  //   weights: scale 1 1, add 2 1, norm 1 0;  results: (m - 1) base 1 1, m adapter 1 1, add 2 1
  void scale_forward(Pass& pass) const {
    const double element = context_.dims.element_bytes;
    const double weights = product(inputs_, outputs_) * element;
    const double result = product(tokens_, outputs_) * element;
    if (context_.model.lora->base == FrozenBase::nf4) {
      add_memory(pass, Part::nf4_unpack, product(inputs_, outputs_) * in_bytes(kPackedBytes),
                 weights);
    }
    multiply(pass, Part::adapter_a, Role::fprop, inputs_, rank_, inputs_);
    multiply(pass, Part::adapter_b, Role::fprop, inputs_, outputs_, rank_);
    add_memory(pass, Part::adapter_norm, 4.0 * weights, 2.0 * weights);
    if (context_.model.lora->dropout > 0.0) {
      multiply(pass, part_, Role::fprop, tokens_, outputs_, inputs_);
    }
    add_memory(pass, Part::adapter_magnitude, 4.0 * result, 3.0 * result);
  }

  // (m - 1) dY 1 1, m dY 1 1; of m: dY base 2 1, its sum 1 0, dY adapter 2 1, its sum 1 0; the sum
  // of both gradients of the base's result 2 1.
  void scale_backward(Pass& pass) const {
    const double element = context_.dims.element_bytes;
    const double result = product(tokens_, outputs_) * element;
    add_memory(pass, model::backward(Part::adapter_magnitude), 10.0 * result, 5.0 * result);
    if (context_.model.lora->dropout > 0.0) {
      multiply(pass, part_, Role::dgrad, tokens_, inputs_, outputs_);
    }
  }

  void forward_behind(Pass& pass) const {
    const double element = context_.dims.element_bytes;
    const double inner = product(tokens_, rank_) * element;
    const double outer = product(tokens_, outputs_) * element;
    multiply(pass, Part::adapter_a, Role::fprop, tokens_, rank_, inputs_);
    add_memory(pass, Part::adapter_activation, inner, inner);
    multiply(pass, Part::adapter_b, Role::fprop, tokens_, outputs_, rank_);
    add_memory(pass, Part::adapter_add, 2.0 * outer, outer);
  }

  void backward_behind(Pass& input_pass, Pass& weight_pass) const {
    const double element = context_.dims.element_bytes;
    const double inner = product(tokens_, rank_) * element;
    const double outer = product(tokens_, outputs_) * element;
    multiply(input_pass, Part::adapter_b, Role::dgrad, tokens_, rank_, outputs_);
    multiply(weight_pass, Part::adapter_b, Role::wgrad, outputs_, rank_, tokens_);
    add_memory(input_pass, model::backward(Part::adapter_activation), 2.0 * inner, inner);
    multiply(input_pass, Part::adapter_a, Role::dgrad, tokens_, inputs_, rank_);
    multiply(weight_pass, Part::adapter_a, Role::wgrad, rank_, inputs_, tokens_);
    add_memory(input_pass, model::backward(Part::adapter_add), 2.0 * outer, outer);
  }

  void multiply(Pass& pass, Part part, Role role, std::int64_t m, std::int64_t n,
                std::int64_t k) const {
    add_gemm(pass,
             {.part = part, .role = role, .m = m, .n = n, .k = k, .dtype = context_.activation()});
  }

  void exchange(Pass& pass, CollectiveKind kind, std::int64_t width) const {
    add_collective(pass, {.part = Part::adapter_exchange,
                          .kind = kind,
                          .elements_total = product(tokens_, width),
                          .ranks = context_.dims.tensor,
                          .dtype = context_.activation()});
  }

  const LayerContext& context_;
  AdapterKind kind_;
  Part part_;  // of the linear layer
  Split split_;
  std::int64_t tokens_;
  std::int64_t inputs_;
  std::int64_t outputs_;
  std::int64_t rank_;
  std::int64_t rank_a_;
  double added_;  // elements of the base's result on the rank
};

bool is_of_mlp(Part part) {
  switch (part) {
    case Part::mlp_up:
    case Part::mlp_down:
    case Part::shared_expert_up:
    case Part::shared_expert_down:
    case Part::expert_up:
    case Part::expert_down:
    case Part::expert_latent_up:
    case Part::expert_latent_down:
    case Part::router:
      return true;
    default:
      return false;
  }
}

bool trains(const LayerContext& context, Part part) {
  return context.model.trains(is_of_mlp(part) ? &TrainedModules::mlp : &TrainedModules::attention);
}

bool trains_layers(const LayerContext& context) {
  return context.model.trains(&TrainedModules::attention) ||
         context.model.trains(&TrainedModules::mlp);
}

bool trains_all(const ModelSpec& model) { return !model.lora && !model.trainable; }

const AdaptedLinear* adapted(const LayerContext& context, const GemmOp& gemm) {
  if (!context.model.lora || trains(context, gemm.part)) {
    return nullptr;
  }
  const auto* found =
      std::ranges::find_if(kLinears, [&](const auto& one) { return one.part == gemm.part; });
  const bool has = found != kLinears.end() && context.model.lora->adapts(found->target);
  return has ? found : nullptr;
}

// 4-bit weights are brought to the activations' type before every product.
void add_unpacking(Pass& pass, const LayerContext& context, const GemmOp& gemm) {
  if (context.model.lora && context.model.lora->base == FrozenBase::nf4 &&
      !trains(context, gemm.part)) {
    const double weights = product(gemm.n, gemm.k, gemm.batch);
    add_memory(pass, Part::nf4_unpack, weights * in_bytes(kPackedBytes),
               weights * context.dims.element_bytes);
  }
}

// A cast whose transposed copy only the weight gradient would read; nullopt: nothing is left of it.
std::optional<PassOp> without_transpose(const PassOp& entry) {
  const auto* memory = std::get_if<MemoryOp>(&entry.op);
  if (memory == nullptr) {
    return entry;
  }
  if (memory->part == Part::fp8_transpose) {
    return std::nullopt;
  }
  PassOp kept = entry;
  if (memory->part == Part::fp8_cast_transpose) {
    auto& cast = std::get<MemoryOp>(kept.op);
    cast.part = Part::fp8_cast;
    cast.written = memory->written / 2.0;
  }
  return kept;
}

bool is_gather_for_weights(const PassOp& entry) {
  const auto* collective = std::get_if<CollectiveOp>(&entry.op);
  return collective != nullptr && collective->part == Part::tensor_all_gather_again;
}

}  // namespace

void freeze_forward(Pass& pass, const LayerContext& context, FrozenPart part) {
  if (trains_all(context.model)) {
    return;
  }
  Pass with;
  with.reserve(2 * pass.size());
  for (const PassOp& entry : pass) {
    const auto* gemm = std::get_if<GemmOp>(&entry.op);
    if (gemm != nullptr && part == FrozenPart::layer) {
      add_unpacking(with, context, *gemm);
    }
    if (const auto kept = trains_layers(context) ? entry : without_transpose(entry)) {
      with.push_back(*kept);
    }
    const AdaptedLinear* linear =
        gemm != nullptr && part == FrozenPart::layer ? adapted(context, *gemm) : nullptr;
    if (linear != nullptr) {
      Adapter(context, *linear, gemm->m, gemm->k, gemm->n).forward(with);
    }
  }
  pass = std::move(with);
}

namespace {

void freeze_layer_backward(LayerPasses& passes, const LayerContext& context) {
  LayerPasses with;
  with.forward = std::move(passes.forward);
  const auto mlp_end =
      passes.backward_weight.begin() + static_cast<std::ptrdiff_t>(passes.mlp_weight_ops);
  if (context.model.trains(&TrainedModules::mlp)) {
    with.backward_weight.assign(passes.backward_weight.begin(), mlp_end);
    with.mlp_weight_ops = with.backward_weight.size();
  }
  for (const PassOp& entry : passes.backward_input) {
    if (!trains_layers(context) && is_gather_for_weights(entry)) {
      continue;
    }
    const auto* gemm = std::get_if<GemmOp>(&entry.op);
    if (gemm != nullptr) {
      add_unpacking(with.backward_input, context, *gemm);
    }
    if (const auto kept = trains_layers(context) ? entry : without_transpose(entry)) {
      with.backward_input.push_back(*kept);
    }
    const AdaptedLinear* linear = gemm != nullptr ? adapted(context, *gemm) : nullptr;
    if (linear != nullptr) {
      Adapter(context, *linear, gemm->m, gemm->n, gemm->k)
          .backward(with.backward_input, with.backward_weight);
      with.mlp_weight_ops = linear->mlp ? with.backward_weight.size() : with.mlp_weight_ops;
    }
  }
  if (context.model.trains(&TrainedModules::attention)) {
    with.backward_weight.insert(with.backward_weight.end(), mlp_end, passes.backward_weight.end());
  }
  passes = std::move(with);
}

}  // namespace

void freeze_backward(LayerPasses& passes, const LayerContext& context, FrozenPart part) {
  const ModelSpec& model = context.model;
  if (trains_all(model) ||
      (part == FrozenPart::embedding && model.trains(&TrainedModules::embedding)) ||
      (part == FrozenPart::head && model.trains(&TrainedModules::head))) {
    return;
  }
  if (part == FrozenPart::embedding || (part == FrozenPart::layer && model.ends_at_head())) {
    passes.backward_input.clear();  // nothing from here on is trained
    passes.backward_weight.clear();
    passes.mlp_weight_ops = 0;
  } else if (part == FrozenPart::layer) {
    freeze_layer_backward(passes, context);
  } else {
    passes.backward_weight.clear();
    Pass kept;
    for (const PassOp& entry : passes.backward_input) {
      const auto without = without_transpose(entry);
      if (without && !is_gather_for_weights(entry)) {
        kept.push_back(*without);
      }
    }
    passes.backward_input = std::move(kept);
  }
}

}  // namespace orrery::model
