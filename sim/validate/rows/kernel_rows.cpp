// Rows of kernel-measurements/1: rates of single kernels on the shipped GPU profiles, by a stack
// that changes nothing.
//
// Rate = FLOP of the operation (model/op.hpp) or its bytes / its cost. GEMMs that the source times
// together with the casts of their operands are costed with those casts. Sums over the four GEMMs
// of a layer (qkv, attention output, MLP up and down) follow from tokens, hidden and ffn.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "sim/step/cost/attention.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/memory_bound.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/model/precision.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

namespace {

// A sum of operations and what it does, or why it cannot be priced.
struct Priced {
  cost::Cost cost;
  double work = 0.0;  // FLOP or bytes
  std::vector<std::string> notes = {};
};

using Price = std::variant<Priced, std::string>;

struct Machine {
  const hardware::GpuProfile& gpu;
  const hardware::SoftwareProfile& stack;
};

constexpr double kWideBytes = 2.0;

std::optional<model::Dtype> dtype_of(const std::string& name) {
  if (name == "bf16" || name == "bfloat16" || name == "fp16_or_bf16" || name == "bf16_or_fp16") {
    return model::Dtype::bf16;
  }
  if (name == "fp16") {
    return model::Dtype::fp16;
  }
  if (name.starts_with("fp8") || name == "mxfp8") {
    return model::Dtype::fp8;
  }
  return name == "nvfp4" ? std::optional(model::Dtype::fp4) : std::nullopt;
}

model::Role role_of(const DataRow& row) {
  const auto is = [&row](std::string_view role) {
    return row.text("role") == role || row.mentions("op", role);
  };
  return is("wgrad") ? model::Role::wgrad : is("dgrad") ? model::Role::dgrad : model::Role::fprop;
}

model::Fp8Scaling scaling_of(const std::string& name) {
  const auto has = [&name](std::string_view word) { return name.find(word) != std::string::npos; };
  return has("current")   ? model::Fp8Scaling::tensorwise
         : has("rowwise") ? model::Fp8Scaling::rowwise
         : has("block")   ? model::Fp8Scaling::block
         : has("mxfp8")   ? model::Fp8Scaling::mx
         : has("nvfp4")   ? model::Fp8Scaling::nvfp4
                          : model::Fp8Scaling::delayed;
}

// Both operands from 16 bit to the narrow type; a single product needs one of their two copies.
cost::Cost cast_cost(const model::GemmOp& op, const Machine& machine) {
  const model::CastTraffic cast = model::cast_traffic(model::Dtype::bf16, op.dtype, op.scaling);
  cost::Cost sum;
  for (const std::int64_t rows : {op.m, op.n}) {
    const double elements = static_cast<double>(rows) * static_cast<double>(op.k);
    sum += cost::memory_bound_cost({.part = model::Part::fp8_cast,
                                    .read = bytes(elements * cast.read),
                                    .written = bytes(elements * cast.written / 2.0),
                                    .kernels = cast.kernels},
                                   machine.gpu, machine.stack);
  }
  return sum;
}

// The products of a row: one, or those of a layer.
std::vector<std::array<std::int64_t, 3>> shapes_of(const DataRow& row, Priced& priced) {
  if (const auto mnk = row.integers("mnk"); mnk.size() == 3) {
    return {{mnk[0], mnk[1], mnk[2]}};
  }
  const auto tokens = row.integer("tokens");
  const auto hidden = row.integer("hidden");
  const auto ffn = row.integer("ffn");
  if (!tokens || !hidden || !ffn) {
    constexpr std::int64_t kLarge = 16'384;
    priced.notes.emplace_back("shape is not stated: a large product");
    return {{kLarge, kLarge, kLarge}};
  }
  const std::int64_t t = *tokens;
  const std::int64_t h = *hidden;
  const std::vector<std::array<std::int64_t, 3>> forward = {
      {t, 3 * h, h}, {t, h, h}, {t, *ffn, h}, {t, h, *ffn}};
  std::vector<std::array<std::int64_t, 3>> shapes;
  for (const auto& [m, n, k] : forward) {
    switch (role_of(row)) {
      case model::Role::fprop:
        shapes.push_back({m, n, k});
        break;
      case model::Role::dgrad:
        shapes.push_back({m, k, n});
        break;
      default:
        shapes.push_back({n, k, m});
        break;
    }
  }
  return shapes;
}

Price price_dense(const DataRow& row, const Machine& machine) {
  const auto dtype = dtype_of(row.text("dtype"));
  if (!dtype) {
    return fmt::format("data type `{}` is not modelled", row.text("dtype"));
  }
  Priced priced;
  const bool casts = row.mentions("regime", "with_quantization") &&
                     (*dtype == model::Dtype::fp8 || *dtype == model::Dtype::fp4);
  for (const auto& [m, n, k] : shapes_of(row, priced)) {
    model::GemmOp op{.role = role_of(row), .m = m, .n = n, .k = k, .dtype = *dtype};
    op.accumulates = op.role == model::Role::wgrad;
    op.scaling = scaling_of(row.text("dtype"));
    priced.cost += cost::gemm_cost(op, machine.gpu, machine.stack);
    if (casts) {
      priced.cost += cast_cost(op, machine);
    }
    priced.work += in_flop(model::flop_count(op));
  }
  return priced;
}

// The published n and k are outputs and inputs of the experts' layer (SimuMax,
// test_grouped_gemm_efficiency.py), m its rows. Weight gradients are added up in fp32 where the row
// does not say `out`.
Price price_grouped(const DataRow& row, const Machine& machine) {
  const auto dtype = dtype_of(row.text("dtype"));
  const auto nk = row.integers("nk");
  const auto rows = row.integer("m_per_group");
  const auto groups = row.integer("groups");
  if (!dtype || nk.size() != 2 || !rows || !groups) {
    return std::string("shape or data type is missing");
  }
  model::GemmOp op{.role = role_of(row), .dtype = *dtype, .grouped = true};
  op.accumulates = op.role == model::Role::wgrad;
  op.accumulator = dtype_of(row.text("out")).value_or(model::Dtype::fp32);
  op.scaling = scaling_of(row.text("dtype"));
  op.batch = *groups;
  switch (op.role) {
    case model::Role::fprop:
      std::tie(op.m, op.n, op.k) = std::tuple(*rows, nk[0], nk[1]);
      break;
    case model::Role::dgrad:
      std::tie(op.m, op.n, op.k) = std::tuple(*rows, nk[1], nk[0]);
      break;
    default:
      std::tie(op.m, op.n, op.k) = std::tuple(nk[0], nk[1], *rows);
      break;
  }
  return Priced{cost::gemm_cost(op, machine.gpu, machine.stack), in_flop(model::flop_count(op))};
}

// Charts give neither batch nor heads: 16k tokens of hidden size 2,048 (their note).
Price price_attention(const DataRow& row, const Machine& machine) {
  constexpr std::int64_t kTokens = 16'384;
  constexpr std::int64_t kHidden = 2'048;
  const auto dtype = dtype_of(row.text("dtype"));
  const auto length = row.integer("seq");
  const auto width = row.integer("d_qk");
  if (!dtype || !length || !width || *length < 1 || *width < 1) {
    return std::string("shape or data type is missing");
  }
  model::AttentionOp op;
  op.query_length = *length;
  op.key_length = *length;
  op.sequences = row.integer("batch").value_or(std::max<std::int64_t>(1, kTokens / *length));
  op.head_dim_qk = *width;
  op.head_dim_v = row.integer("d_v").value_or(*width);
  op.heads = row.integer("q_heads").value_or(std::max<std::int64_t>(1, kHidden / *width));
  op.query_groups = row.integer("kv_heads").value_or(op.heads);
  op.window = row.integer("window").value_or(0);
  op.causal = row.flag("causal").value_or(false);
  op.backward = row.text("pass") == "bwd";
  op.deterministic = row.flag("deterministic").value_or(false);
  op.dtype = *dtype;
  Priced priced{cost::attention_cost(op, machine.gpu, machine.stack),
                in_flop(model::flop_count(op))};
  if (!row.has("causal")) {
    priced.notes.emplace_back("causal or not is not stated: without a mask");
  }
  return priced;
}

// A norm reads its input and writes its output; backward it reads the gradient as well.
Price price_memory(const DataRow& row, bool backward, const Machine& machine) {
  const double elements =
      row.number("rows").value_or(kGiga) * row.number("cols").value_or(1.0);  // a large copy
  const double read = elements * kWideBytes * (backward ? 2.0 : 1.0);
  const double written = elements * kWideBytes;
  return Priced{
      cost::memory_bound_cost({.part = model::Part::norm,
                               .role = backward ? model::Role::backward : model::Role::forward,
                               .read = bytes(read),
                               .written = bytes(written),
                               .kernels = 1,
                               .width = row.integer("cols").value_or(0)},
                              machine.gpu, machine.stack),
      read + written};
}

// The generation that a row names, else the GPU's best.
std::optional<hardware::AttentionGeneration> generation_of(const DataRow& row) {
  using hardware::AttentionGeneration;
  constexpr std::array<std::pair<std::string_view, AttentionGeneration>, 5> kNames = {
      {{"FlashAttention-2", AttentionGeneration::fa2},
       {"FlashAttention-3", AttentionGeneration::fa3},
       {"Triton", AttentionGeneration::triton_2024},
       {"cuDNN (2024)", AttentionGeneration::cudnn_2024},
       {"cuDNN 9", AttentionGeneration::cudnn_9}}};
  const std::string name = row.text("impl");
  for (const auto& [words, generation] : kNames) {
    if (name.find(words) != std::string::npos) {
      return generation;
    }
  }
  return std::nullopt;
}

// Measured before the power limit lowers the clock.
bool is_burst(const DataRow& row) {
  return row.mentions("regime", "burst") || row.mentions("regime", "short_run") ||
         row.mentions("source", "deepgemm");
}

// The same GPU with its burst rates.
hardware::GpuProfile unlimited(const hardware::GpuProfile& gpu) {
  hardware::GpuProfile fast = gpu;
  for (hardware::GemmRate& rate : fast.gemm) {
    rate.sustained = rate.burst.value_or(rate.sustained);
    rate.short_gain.reset();
  }
  return fast;
}

// Products timed inside the framework whose step times a stack profile was fitted to: its loop over
// the experts, and on the same machine its share of the library rate.
constexpr std::string_view kFrameworkGpu = "NVIDIA B200";
constexpr std::string_view kFrameworkSource = "simumax";
constexpr std::string_view kFrameworkStack = "megatron-core-no-overlap";

hardware::SoftwareProfile stack_of(const DataRow& row, const DataSet& data) {
  hardware::SoftwareProfile stack = hardware::neutral_stack();
  stack.attention_kernel = generation_of(row);
  if (row.mentions("source", "deepgemm")) {
    stack.block_products = hardware::BlockProducts::deepgemm;
  }
  if (row.text("op") == "rms_norm") {
    const std::string name = row.text("impl");
    stack.norm_kernel = name == "cudnn"     ? hardware::NormImplementation::cudnn
                        : name == "pytorch" ? hardware::NormImplementation::pytorch
                                            : hardware::NormImplementation::torch_compile;
  }
  if (row.text("source") == kFrameworkSource) {
    if (const auto* framework =
            data.profiles.software(std::string(kFrameworkStack), data.diagnostics)) {
      stack.grouped_call_time = framework->grouped_call_time;
      stack.gemm_efficiency =
          row.text("gpu") == kFrameworkGpu ? framework->gemm_efficiency : stack.gemm_efficiency;
    }
  }
  return stack;
}

struct Priceable {
  DataRow entry;
  std::string section;
  std::string id;
  std::string figure;     // key of the measured value
  double unit_of_figure;  // FLOP/s or bytes/s
  bool backward = false;
};

ValidationRow row_of(const Priceable& item, const DataSet& data) {
  const DataRow& entry = item.entry;
  const std::string gpu_name = entry.text("gpu");
  const bool memory = item.section == "memory_bound";
  ValidationRow row{.id = item.id,
                    .quantity = memory ? "bandwidth" : "flop_rate",
                    .unit = memory ? "bytes/s" : "FLOP/s"};
  row.group = fmt::format("{} {}", gpu_name, memory ? entry.text("op") : item.section);
  if (entry.has("impl")) {
    row.group += " " + entry.text("impl");
  }
  const hardware::GpuProfile* gpu = data.profiles.gpu_named(gpu_name, data.diagnostics);
  row.measured = entry.number(item.figure).value_or(0.0) * item.unit_of_figure;
  if (gpu == nullptr || !(row.measured > 0.0)) {
    row.skipped =
        gpu == nullptr ? fmt::format("no GPU profile for `{}`", gpu_name) : "nothing was measured";
    return row;
  }
  const hardware::SoftwareProfile stack = stack_of(entry, data);
  const hardware::GpuProfile fast = unlimited(*gpu);
  const Machine machine{is_burst(entry) ? fast : *gpu, stack};
  const Price price = item.section == "dense_gemm"     ? price_dense(entry, machine)
                      : item.section == "grouped_gemm" ? price_grouped(entry, machine)
                      : item.section == "attention"    ? price_attention(entry, machine)
                                                    : price_memory(entry, item.backward, machine);
  if (const auto* reason = std::get_if<std::string>(&price)) {
    row.skipped = *reason;
    return row;
  }
  const Priced& priced = std::get<Priced>(price);
  row.predicted = priced.work / in_seconds(priced.cost.time);
  row.trust = trust_of(priced.cost);
  row.notes.insert(row.notes.end(), priced.notes.begin(), priced.notes.end());
  return row;
}

}  // namespace

std::vector<ValidationRow> kernel_rows(const DataSet& data) {
  std::vector<ValidationRow> rows;
  for (const std::string section : {"dense_gemm", "grouped_gemm", "attention", "memory_bound"}) {
    std::size_t index = 0;
    for (const DataRow& entry : data_rows(data.document, section)) {
      const std::string id = fmt::format("{}/{}", section, index++);
      if (section != "memory_bound") {
        const std::string pass = entry.text("pass");
        rows.push_back(
            row_of({entry, section, pass.empty() ? id : id + "/" + pass, "tflops", kTera}, data));
        continue;
      }
      for (const auto& [figure, name] :
           {std::pair("fwd_gbps", "/fwd"), std::pair("bwd_gbps", "/bwd"), std::pair("gbps", "")}) {
        if (entry.has(figure)) {
          const bool backward = std::string_view(figure) == "bwd_gbps";
          rows.push_back(row_of({entry, section, id + name, figure, kGiga, backward}, data));
        }
      }
    }
  }
  return rows;
}

}  // namespace orrery::validate
