#include "calibrate/plan/sweep_cases.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <variant>

#include "sim/base/check.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/step/simulate/operations/step_operations.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Operation;
using kernels::Precision;
using kernels::Role;

constexpr std::array kRoles = {Role::fprop, Role::dgrad, Role::wgrad};
constexpr std::array kStepRoles = {Role::fprop, Role::dgrad, Role::wgrad_accumulate};
constexpr std::array kGroupedRoles = {Role::fprop, Role::dgrad, Role::wgrad,
                                      Role::wgrad_accumulate};
constexpr std::array kPasses = {Role::forward, Role::backward};

class Collector {
 public:
  explicit Collector(std::string_view block) : block_(block) {}

  void add(const KernelCase& kernel) {
    const std::optional<std::string> problem = kernels::problem_of(kernel);
    ORRERY_CHECK(!problem, "a planned case is unsound: {}", problem.value_or(""));
    if (known_.insert(kernel).second) {
      cases_.push_back({kernel, block_, Regime::sustained});
    }
  }

  void move_to(std::vector<SweepCase>& all) { all.insert(all.end(), cases_.begin(), cases_.end()); }

 private:
  std::string_view block_;
  std::set<KernelCase> known_;
  std::vector<SweepCase> cases_;
};

struct Shape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

// Widths of the weights of one layer: queries with keys and values, output, gate with up, down.
std::vector<Shape> layer_shapes() {
  std::vector<Shape> shapes;
  for (const std::int64_t tokens : {1024, 2048, 4096, 8192, 16384}) {
    for (const std::int64_t hidden : {2048, 4096, 5120, 8192, 12288, 16384}) {
      const std::int64_t ffn = hidden * 7 / 2;
      for (const std::int64_t cut : {1, 2, 4, 8}) {
        shapes.push_back({tokens, hidden * 3 / 2 / cut, hidden});
        shapes.push_back({tokens, hidden, hidden / cut});
        shapes.push_back({tokens, 2 * ffn / cut, hidden});
        shapes.push_back({tokens, hidden, ffn / cut});
      }
    }
    shapes.push_back({tokens, 128256 / 8, 4096});
    shapes.push_back({tokens, 128256, 8192});
  }
  return shapes;
}

std::vector<Shape> spread_shapes(std::size_t count) {
  const std::vector<Shape> shapes = layer_shapes();
  std::vector<Extents> points;
  points.reserve(shapes.size());
  for (const Shape& shape : shapes) {
    points.push_back({shape.m, shape.n, shape.k});
  }
  std::vector<Shape> chosen;
  for (const std::size_t index : farthest_points(points, count)) {
    chosen.push_back(shapes[index]);
  }
  return chosen;
}

// The product of a role of a layer with m tokens, n outputs and k inputs.
KernelCase product(const Shape& layer, Role role, Precision precision) {
  KernelCase kernel{.operation = Operation::gemm, .role = role, .precision = precision};
  switch (role) {
    case Role::dgrad:
      kernel.extents = {layer.m, layer.k, layer.n};
      break;
    case Role::wgrad:
    case Role::wgrad_accumulate:
      kernel.extents = {layer.n, layer.k, layer.m};
      break;
    default:
      kernel.extents = {layer.m, layer.n, layer.k};
  }
  return kernel;
}

void add_dense(Depth depth, std::vector<SweepCase>& all) {
  Collector dense("dense");
  const auto add = [&dense](std::size_t count, Precision precision, std::span<const Role> roles) {
    for (const Shape& shape : spread_shapes(count)) {
      for (const Role role : roles) {
        dense.add(product(shape, role, precision));
      }
    }
  };
  if (depth == Depth::quick) {
    add(6, Precision::bf16, kStepRoles);  // what a step runs and the validation judges
    dense.move_to(all);
    return;
  }
  add(48, Precision::bf16, kRoles);
  add(32, Precision::fp8_tensor, kRoles);
  const auto accumulate = [&dense](std::size_t count, Precision precision) {
    for (const Shape& shape : spread_shapes(count)) {
      dense.add(product(shape, Role::wgrad_accumulate, precision));
    }
  };
  accumulate(48, Precision::bf16);
  accumulate(32, Precision::fp8_tensor);
  for (const Precision precision :
       {Precision::fp8_row, Precision::fp8_block, Precision::mxfp8, Precision::nvfp4}) {
    add(16, precision, kRoles);
  }
  dense.move_to(all);
}

// `layer.m`: tokens of a group on average; the busiest has `skew` times as many.
KernelCase grouped_product(const Shape& layer, Role role, Precision precision, std::int64_t groups,
                           std::int64_t skew) {
  KernelCase kernel = product(layer, role, precision);
  const auto [m, n, k] = std::array{kernel.extents[0], kernel.extents[1], kernel.extents[2]};
  kernel.operation = Operation::grouped_gemm;
  kernel.extents = {groups, m, n, k, skew * layer.m};
  return kernel;
}

void add_grouped(std::vector<SweepCase>& all) {
  Collector grouped("grouped");
  constexpr std::array<Shape, 2> kExperts = {{{0, 4096, 7168}, {0, 7168, 2048}}};
  for (const std::int64_t groups : {8, 32, 64}) {
    for (const std::int64_t rows : {64, 512, 4096}) {
      for (const Shape& expert : kExperts) {
        for (const Role role : kGroupedRoles) {
          // The first group of the skewed one holds four times the mean.
          for (const std::int64_t skew : {1, 4}) {
            if (skew == 1 || rows == 512) {
              grouped.add(
                  grouped_product({rows, expert.n, expert.k}, role, Precision::bf16, groups, skew));
            }
          }
        }
      }
    }
  }
  // With one scale per tensor, and once what no library groups: the profile then says so.
  for (const std::int64_t groups : {8, 64}) {
    for (const std::int64_t rows : {512, 4096}) {
      for (const Role role : kGroupedRoles) {
        grouped.add(grouped_product({rows, 4096, 7168}, role, Precision::fp8_tensor, groups, 1));
      }
    }
  }
  for (const Precision precision : {Precision::fp8_block, Precision::mxfp8}) {
    grouped.add(grouped_product({512, 4096, 7168}, Role::fprop, precision, 8, 1));
  }
  grouped.move_to(all);
}

KernelCase attention(std::array<std::int64_t, 8> extents, Role role,
                     Precision precision = Precision::bf16) {
  return {
      .operation = Operation::attention, .role = role, .precision = precision, .extents = extents};
}

void add_attention(Depth depth, std::vector<SweepCase>& all) {
  Collector block("attention");
  constexpr std::int64_t kTokens = 16384;
  for (const std::int64_t length : {1024, 2048, 4096, 8192, 16384, 32768}) {
    const std::int64_t sequences = std::max<std::int64_t>(1, kTokens / length);
    const bool in_quick = length == 2048 || length == 8192 || length == 32768;
    for (const Role role : kPasses) {
      if (depth == Depth::quick) {
        if (in_quick) {
          block.add(attention({sequences, 16, 4, length, length, 128, 128, 1}, role));
        }
        continue;
      }
      block.add(attention({sequences, 16, 4, length, length, 128, 128, 1}, role));
      block.add(attention({sequences, 16, 4, length, length, 128, 128, 0}, role));
      if (in_quick) {
        block.add(attention({sequences, 32, 32, length, length, 64, 64, 1}, role));
        block.add(attention({1, 8, 1, length, length, 128, 128, 1}, role));
        block.add(attention({sequences, 16, 4, length, length, 128, 128, 1}, role,
                            Precision::fp8_tensor));
      }
      if (length == 4096 || length == 8192) {
        block.add(attention({1, 16, 16, length, length, 192, 128, 1}, role));
        block.add(attention({1, 64, 8, length, length, 128, 128, 1}, role));
      }
    }
  }
  block.move_to(all);
}

KernelCase stream(Operation operation, Role role, Precision precision, Extents extents) {
  KernelCase kernel{.operation = operation, .role = role, .precision = precision};
  for (std::size_t i = 0; i < extents.size(); ++i) {
    kernel.extents[i] = extents[i];
  }
  return kernel;
}

struct MatrixSize {
  std::int64_t rows;
  std::int64_t columns;
};

void add_casts(const MatrixSize& size, Collector& memory) {
  for (const Precision precision : {Precision::fp8_tensor, Precision::fp8_row, Precision::fp8_block,
                                    Precision::mxfp8, Precision::nvfp4}) {
    for (const Operation operation : {Operation::quantize, Operation::quantize_transpose}) {
      memory.add(stream(operation, Role::forward, precision, {size.rows, size.columns}));
    }
  }
  memory.add(stream(Operation::quantize_transpose, Role::backward, Precision::fp8_tensor,
                    {size.rows, size.columns}));
}

void add_memory_of_size(const MatrixSize& size, bool casts, Collector& memory) {
  const auto add = [&](Operation operation, Role role, Extents extents) {
    memory.add(stream(operation, role, Precision::bf16, std::move(extents)));
  };
  for (const Role role : kPasses) {
    add(Operation::rms_norm, role, {size.rows, size.columns});
    add(Operation::swiglu, role, {size.rows, size.columns * 2});
    if (casts) {
      add(Operation::layer_norm, role, {size.rows, size.columns});
      add(Operation::rotary, role, {size.rows, size.columns / 128, 128});
      add(Operation::cross_entropy, role, {size.rows, 32064});
      add(Operation::embedding, role, {size.rows, size.columns, 128256});
      for (const std::int64_t copies : {4, 8}) {
        add(Operation::permute, role, {size.rows, size.columns, copies});
        add(Operation::unpermute, role, {size.rows, size.columns, copies});
      }
    }
  }
  add(Operation::residual_add, Role::none, {size.rows, size.columns});
  if (casts) {
    add_casts(size, memory);
  }
}

// Queries and keys are normalized head by head: rows of one head, tokens x heads of them.
void add_head_norms(Collector& memory) {
  constexpr std::int64_t kHeadDim = 128;
  for (const std::int64_t rows : {65536, 262144, 1048576}) {
    for (const Role role : kPasses) {
      memory.add(stream(Operation::rms_norm, role, Precision::bf16, {rows, kHeadDim}));
    }
  }
}

void add_memory(Depth depth, std::vector<SweepCase>& all) {
  Collector memory("memory");
  if (depth == Depth::quick) {
    add_memory_of_size({4096, 8192}, false, memory);
    add_memory_of_size({16384, 8192}, false, memory);
  } else {
    add_head_norms(memory);
    for (const MatrixSize size :
         {MatrixSize{2048, 4096}, {4096, 8192}, {8192, 8192}, {16384, 12288}}) {
      add_memory_of_size(size, true, memory);
    }
  }
  memory.move_to(all);
}

constexpr std::int64_t mebi(std::int64_t count) { return count << 20; }

void add_optimizer(Depth depth, std::vector<SweepCase>& all) {
  Collector block("optimizer");
  const std::vector<std::int64_t> sizes =
      depth == Depth::quick ? std::vector<std::int64_t>{mebi(256)}
                            : std::vector<std::int64_t>{mebi(16), mebi(128), mebi(512)};
  for (const std::int64_t elements : sizes) {
    block.add(stream(Operation::gradient_norm, Role::none, Precision::fp32, {elements}));
    block.add(stream(Operation::adamw, Role::none, Precision::fp32, {elements}));
    if (depth == Depth::full) {
      block.add(stream(Operation::adamw, Role::none, Precision::bf16, {elements}));
    }
  }
  block.move_to(all);
}

void add_transfers(Depth depth, std::vector<SweepCase>& all) {
  Collector block("transfers");
  const std::vector<std::int64_t> copies =
      depth == Depth::quick
          ? std::vector<std::int64_t>{mebi(256), mebi(1024)}
          : std::vector<std::int64_t>{mebi(64), mebi(256), mebi(1024), mebi(4096)};
  const std::vector<std::int64_t> transfers =
      depth == Depth::quick ? std::vector<std::int64_t>{mebi(256)}
                            : std::vector<std::int64_t>{mebi(1), mebi(16), mebi(256), mebi(2048)};
  for (const std::int64_t bytes : copies) {
    block.add(stream(Operation::copy, Role::none, Precision::bf16, {bytes}));
  }
  for (const std::int64_t bytes : transfers) {
    block.add(stream(Operation::host_to_device, Role::none, Precision::bf16, {bytes}));
    block.add(stream(Operation::device_to_host, Role::none, Precision::bf16, {bytes}));
  }
  block.move_to(all);
}

// Burst against sustained: what the power limit costs.
void add_anchors(Depth depth, std::vector<SweepCase>& all) {
  std::vector<Shape> shapes = {{8192, 8192, 8192}};
  if (depth == Depth::full) {
    shapes.insert(shapes.end(), {{4096, 28672, 8192}, {8192, 8192, 28672}, {2048, 2048, 16384}});
  }
  for (const Shape& shape : shapes) {
    const KernelCase kernel = product(shape, Role::fprop, Precision::bf16);
    for (const Regime regime : {Regime::burst, Regime::sustained}) {
      all.push_back({.kernel = kernel, .block = "anchors", .regime = regime, .singly = true});
    }
  }
}

void add_conditions(Depth depth, std::vector<SweepCase>& all) {
  using Kind = Condition::Kind;
  const auto add = [&all](const KernelCase& kernel, Condition condition) {
    all.push_back({.kernel = kernel,
                   .block = "conditions",
                   .condition = std::move(condition),
                   .singly = true});
  };
  const bool full = depth == Depth::full;
  for (const std::int64_t calls : {1, 64, 1024}) {
    if (full || calls != 64) {
      add(tiny_case(), {.kind = Kind::graph, .count = calls});
    }
  }
  const auto beside = [](Operation operation) {
    return Condition{.kind = Kind::beside,
                     .count = 0,
                     .other = stream(operation, Role::none, Precision::bf16, {mebi(256)})};
  };
  add(anchor_case(), beside(Operation::device_to_host));
  if (!full) {
    return;
  }
  add(tiny_case(), {.kind = Kind::enqueued});
  add(anchor_case(), beside(Operation::host_to_device));
  add(anchor_case(), beside(Operation::copy));
  for (const std::int64_t held : {8, 16, 32}) {
    add(anchor_case(), {.kind = Kind::fewer_multiprocessors, .count = held});
    add(anchor_case(), {.kind = Kind::streaming, .count = held});
  }
}

}  // namespace

std::vector<SweepCase> sweep_cases(Depth depth) {
  std::vector<SweepCase> all;
  add_anchors(depth, all);
  add_transfers(depth, all);
  add_dense(depth, all);
  if (depth == Depth::full) {
    add_grouped(all);
  }
  add_attention(depth, all);
  add_memory(depth, all);
  add_optimizer(depth, all);
  add_conditions(depth, all);
  return all;
}

KernelCase anchor_case() { return product({8192, 8192, 8192}, Role::fprop, Precision::bf16); }

KernelCase tiny_case() {
  return stream(Operation::residual_add, Role::none, Precision::bf16, {8, 1024});
}

KernelCase soak_case() { return anchor_case(); }

namespace {

// Nothing when the kernels do not take these extents.
std::optional<KernelCase> sound(const KernelCase& call) {
  return kernels::problem_of(call) ? std::nullopt : std::optional(call);
}

struct ToCase {
  std::optional<KernelCase> operator()(const model::GemmOp& op) const {
    const bool batched = op.batch != 1 && !op.grouped;
    return batched || cost::is_attention_product(op) ? std::nullopt : sound(cost::call_of(op));
  }

  std::optional<KernelCase> operator()(const model::AttentionOp& op) const {
    const bool partial = op.window > 0 || op.key_blocks != 1;
    return partial ? std::nullopt : sound(cost::call_of(op));
  }

  // Scans of recurrent layers have no kernel here; memory and collectives are measured apart.
  template <typename Other>
  std::optional<KernelCase> operator()(const Other&) const {
    return std::nullopt;
  }
};

}  // namespace

std::vector<StepCase> step_cases(const step::StepInput& input, const cost::CostModel& costs) {
  std::map<KernelCase, double> calls;
  double all = 0.0;
  for (std::size_t device = 0; device < input.layout.stages.size(); ++device) {
    for (const step::CountedPass& counted :
         step::device_passes(input, costs, static_cast<std::int64_t>(device))) {
      for (const model::PassOp& entry : counted.pass) {
        const std::optional<KernelCase> kernel = std::visit(ToCase{}, entry.op);
        if (kernel) {
          calls[*kernel] += counted.count;
          all += counted.count * in_flop(kernels::work_of(*kernel).flop);
        }
      }
    }
  }
  std::vector<StepCase> cases;
  for (const auto& [kernel, count] : calls) {
    const double work = count * in_flop(kernels::work_of(kernel).flop);
    cases.push_back({kernel, count, all > 0.0 ? work / all : 0.0});
  }
  std::ranges::stable_sort(cases, std::greater{}, &StepCase::share);
  return cases;
}

}  // namespace orrery::calibrate
