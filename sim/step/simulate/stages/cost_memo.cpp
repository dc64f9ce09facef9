#include "sim/step/simulate/stages/cost_memo.hpp"

namespace orrery::step {

namespace {

std::uint64_t mixed(std::uint64_t hash, std::int64_t value) {
  constexpr std::uint64_t kPrime = 0x100000001b3U;  // FNV-1a
  return (hash ^ static_cast<std::uint64_t>(value)) * kPrime;
}

// Of what differs most often; equality is checked in full.
std::uint64_t hash_of(const LayerInputs& inputs) {
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325U;
  const model::ShardContext& shard = inputs.options.shard;
  std::uint64_t hash = kBasis;
  for (const std::int64_t value :
       {shard.micro_batch, shard.tensor, shard.context, shard.expert, shard.expert_tensor,
        std::int64_t{shard.sequence_parallel ? 1 : 0}, std::int64_t{inputs.combines ? 1 : 0},
        static_cast<std::int64_t>(inputs.options.precision.gradient), inputs.groups.expert.nodes,
        inputs.groups.expert.ranks_per_node}) {
    hash = mixed(hash, value);
  }
  return hash;
}

}  // namespace

// Groups and hops follow from the degrees: the order of the axes and the cluster stay.
KnownPlaces& CostMemo::places(const StepInput& input) {
  constexpr std::size_t kMost = 1024;
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325U;
  const layout::Layout& layout = input.layout;
  const bool shards = layout.sharding != layout::Sharding::none;
  const std::array<std::int64_t, 7> degrees = {
      layout.tensor,        layout.context,     layout.pipeline, layout.expert,
      layout.expert_tensor, layout.shard_group, shards ? 1 : 0};
  std::uint64_t hash = kBasis;
  for (const std::int64_t degree : degrees) {
    hash = mixed(hash, degree);
  }
  if (places_.size() >= kMost) {
    places_.clear();
  }
  const auto [known, is_new] = places_.try_emplace(hash);
  if (is_new || known->second.degrees != degrees) {
    known->second = {degrees, placements(input), {}, {}};
    const layout::RankMap map(layout);
    for (std::int64_t d = 0; layout.pipeline > 1 && d < layout.pipeline; ++d) {
      known->second.hops.push_back(layout::place_hop(map, layout, d, input.cluster));
    }
  }
  return known->second;
}

KnownPasses& CostMemo::passes(const LayerInputs& inputs) {
  constexpr std::size_t kMost = 256;  // some 30 kB each
  if (known_.size() >= kMost) {
    known_.clear();
  }
  std::unique_ptr<KnownPasses>& known = known_[hash_of(inputs)];
  if (!known || known->inputs != inputs) {
    known = std::make_unique<KnownPasses>(KnownPasses{.inputs = inputs});
  }
  return *known;
}

}  // namespace orrery::step
