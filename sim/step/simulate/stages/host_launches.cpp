#include "sim/step/simulate/stages/host_launches.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

#include "sim/step/cost/attention.hpp"
#include "sim/step/cost/memory_bound.hpp"

namespace orrery::step {

namespace {

using hardware::ExpertDispatcher;
using hardware::GraphScope;
using model::Block;

struct BlockLaunches {
  double forward = 0.0;
  double backward = 0.0;

  [[nodiscard]] double of(PassKind kind) const {
    return kind == PassKind::forward ? forward : kind == PassKind::backward_input ? backward : 0.0;
  }
};

constexpr BlockLaunches kRouter = {18.0, 13.0};
constexpr BlockLaunches kFusedRouter = {9.0, 8.0};  // with the preprocessing
constexpr BlockLaunches kPreprocess = {12.0, 0.0};
constexpr std::array<BlockLaunches, 3> kDispatch = {{{14.0, 14.0}, {7.0, 7.0}, {3.0, 3.0}}};

// Where the next block begins or ends; the same parts forward and, reversed, backward. The norm
// before an MLP runs with the router, where there is one.
Block block_at(model::Part part, Block now, bool routes) {
  const Block block = model::block_of(part);
  return block == Block::running ? now : block == Block::mlp && routes ? Block::router : block;
}

double launches_of(const model::PassOp& entry) {
  if (const auto* memory = std::get_if<model::MemoryOp>(&entry.op)) {
    return static_cast<double>(memory->kernels);
  }
  if (const auto* attention = std::get_if<model::AttentionOp>(&entry.op)) {
    return cost::attention_kernels(*attention);
  }
  if (const auto* scan = std::get_if<model::ScanOp>(&entry.op)) {
    return cost::scan_kernels(*scan);
  }
  return 1.0;
}

bool is_router(const model::PassOp& entry) {
  return model::part_of(entry.op) == model::Part::router;
}

GraphScope scope_of(Block block) {
  switch (block) {
    case Block::attention:
      return GraphScope::attn;
    case Block::mlp:
      return GraphScope::mlp;
    case Block::router:
      return GraphScope::moe_router;
    case Block::experts:
    case Block::running:
      break;
  }
  return GraphScope::layer;
}

// Beyond the operations of model/: router, counts of the tokens, dispatch and combine.
double routing_launches(const hardware::ExpertOptions& options, PassKind kind) {
  const bool fused = options.dispatcher != ExpertDispatcher::alltoall;
  const bool router = options.cuda_graphs.covers(GraphScope::moe_router);
  const bool preprocess = options.cuda_graphs.covers(GraphScope::moe_preprocess);
  const double dispatch = options.cuda_graphs.covers(GraphScope::layer)
                              ? 0.0
                              : kDispatch[static_cast<std::size_t>(options.dispatcher)].of(kind);
  if (fused) {
    return dispatch + (router ? 0.0 : kFusedRouter.of(kind));
  }
  return dispatch + (router ? 0.0 : kRouter.of(kind)) + (preprocess ? 0.0 : kPreprocess.of(kind));
}

}  // namespace

Launches launches_of(const LayerCosting& costing, const model::Pass& pass, PassKind kind) {
  const hardware::ExpertOptions& options = costing.in.experts;
  const hardware::SoftwareProfile& software = costing.costs.software();
  const bool routes = std::ranges::any_of(pass, is_router);
  const bool loops = options.grouped_gemm == hardware::GroupedGemm::per_expert &&
                     costing.model.moe && !costing.model.moe->drops_tokens() &&
                     !options.cuda_graphs.covers(GraphScope::layer);
  const double per_cast =
      costing.in.options.precision.fp8_scaling == model::Fp8Scaling::mx ? 2.0 : 1.0;
  double products = 1.0;
  for (const model::PassOp& entry : pass) {
    if (const auto* gemm = std::get_if<model::GemmOp>(&entry.op);
        gemm != nullptr && gemm->grouped) {
      products = static_cast<double>(gemm->batch);
    }
  }
  Launches launches;
  Block block = kind == PassKind::backward_input ? Block::router : Block::attention;
  for (const model::PassOp& entry : pass) {
    const model::Part part = model::part_of(entry.op);
    block = block_at(part, block, routes);
    const double count = launches_of(entry);
    const bool graph = options.cuda_graphs.covers(scope_of(block));
    (graph ? launches.inside : launches.outside) += count;
    if (loops && block == Block::experts) {
      const auto* gemm = std::get_if<model::GemmOp>(&entry.op);
      if (gemm != nullptr && gemm->grouped) {
        launches.experts += software.expert_product_launches.value() * (products - 1.0);
      } else if (model::is_cast(part)) {
        launches.experts += software.expert_cast_launches.value() * (products * per_cast - 1.0);
      }
    }
  }
  if (routes) {
    launches.experts += routing_launches(options, kind);
  }
  return launches;
}

Seconds host_time(const LayerCosting& costing, const Launches& launches, double relative) {
  const hardware::SoftwareProfile& software = costing.costs.software();
  const double all = launches.outside + launches.inside;
  const double eager = all > 0.0 ? launches.outside / all : 1.0;
  return (software.host_layer_time.value() * relative + software.host_launch_time.value() * all) *
             eager +
         software.host_launch_time.value() * launches.experts;
}

double host_sharpness(const LayerCosting& costing) {
  const model::ModelSpec& model = costing.model;
  const hardware::ExpertOptions& options = costing.in.experts;
  const bool waits = model.moe && !model.moe->drops_tokens() &&
                     options.grouped_gemm == hardware::GroupedGemm::per_expert &&
                     !options.cuda_graphs.covers(GraphScope::full_iteration);
  const hardware::SoftwareProfile& software = costing.costs.software();
  return (waits ? software.host_sharpness_after_counts : software.host_sharpness).value();
}

Seconds launch_gap(Seconds busy, Seconds host, double sharpness) {
  if (host <= Seconds{}) {
    return {};
  }
  const Seconds longer = std::max(host, busy);
  const double both = std::pow(host / longer, sharpness) + std::pow(busy / longer, sharpness);
  return longer * std::pow(both, 1.0 / sharpness) - busy;
}

void add_launch_gaps(const LayerCosting& costing, std::initializer_list<HostedPass> passes,
                     double sharpness) {
  const hardware::SoftwareProfile& software = costing.costs.software();
  Seconds host;
  Seconds busy;
  for (const HostedPass& pass : passes) {
    host += pass.host;
    busy += pass.parts.total();
  }
  const Seconds missing = launch_gap(busy, host, sharpness);
  if (missing <= Seconds{}) {
    return;
  }
  const SourceKind kind =
      cost::weaker(software.host_layer_time.kind(), software.host_launch_time.kind());
  for (const HostedPass& pass : passes) {
    cost::Cost gap = cost::term(missing * (pass.host / host), kind);
    gap.gap = gap.time;
    pass.parts.add(StepCategory::launch_gap, gap);
  }
}

}  // namespace orrery::step
