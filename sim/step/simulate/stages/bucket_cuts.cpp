#include "sim/step/simulate/stages/bucket_cuts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "sim/step/layout/sharding.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

namespace {

using layout::Sharding;

// Of whole layers: [layers * b / buckets, layers * (b + 1) / buckets).
double group_begin(std::int64_t layers, int buckets, int b) {
  return static_cast<double>(layers * b / buckets);
}

struct Tensor {
  double elements = 0.0;
  double below = 0.0;  // the share of its layer that comes after it
};

// The tensors of a layer in backward order. Experts beyond any that there are count as one tensor.
std::vector<Tensor> layer_tensors(const model::ModelSpec& model, const model::OpOptions& options,
                                  std::int64_t layer, double elements) {
  std::vector<double> shares;
  double sum = 0.0;
  for (const model::PassOp& entry : model::layer_passes(model, options, layer).backward_weight) {
    if (const auto* gemm = std::get_if<model::GemmOp>(&entry.op)) {
      constexpr std::int64_t kMostExperts = 1024;
      const std::int64_t tensors = gemm->batch <= kMostExperts ? gemm->batch : 1;
      const double all = static_cast<double>(gemm->m) * static_cast<double>(gemm->n) *
                         static_cast<double>(gemm->batch);
      shares.insert(shares.end(), static_cast<std::size_t>(tensors),
                    all / static_cast<double>(tensors));
      sum += all;
    }
  }
  if (shares.empty()) {
    return {{.elements = elements}};
  }
  std::vector<Tensor> tensors;
  tensors.reserve(shares.size());
  double below = 1.0;
  for (const double share : shares) {
    below -= share / sum;
    // To 2^-20 of a layer, so that equal parts of layers are equal numbers.
    constexpr double kSteps = 1U << 20U;
    tensors.push_back({elements * (share / sum), std::round(below * kSteps) / kSteps});
  }
  tensors.back().below = 0.0;
  return tensors;
}

// The tensors of a chunk's layers by shape, each found once.
class LayerTensors {
 public:
  LayerTensors(const StepInput& input, const cost::CostModel& costs)
      : input_(input), options_(op_options(input, costs)) {}

  // Whether two chunks hold the same tensors.
  [[nodiscard]] bool alike(const layout::ChunkLayers& a, const layout::ChunkLayers& b) const {
    bool same = a.num_layers == b.num_layers && a.has_head == b.has_head &&
                a.has_embedding == b.has_embedding;
    for (std::int64_t i = 0; same && i < a.num_layers; ++i) {
      same = input_.model.shape_index(a.first_layer + i) ==
             input_.model.shape_index(b.first_layer + i);
    }
    return same;
  }

  const std::vector<Tensor>& of(std::int64_t layer) {
    std::vector<Tensor>& known = known_[input_.model.shape_index(layer)];
    if (known.empty()) {
      known = layer_tensors(
          input_.model, options_, layer,
          model::layer_shard_parameters(input_.model, options_.shard, layer).trained().all());
    }
    return known;
  }

  [[nodiscard]] double embedding() const {
    return model::embedding_shard_parameters(input_.model, options_.shard).trained().all();
  }

  [[nodiscard]] double head() const {
    return model::head_shard_parameters(input_.model, options_.shard).trained().all();
  }

 private:
  const StepInput& input_;
  model::OpOptions options_;
  std::array<std::vector<Tensor>, model::kLayerKinds> known_;
};

// Closes buckets from the end of a chunk to its begin.
class Cutter {
 public:
  Cutter(double end, double first, double limit) : cuts_{end}, limit_(first), others_(limit) {}

  // The next tensor, down to `place`.
  void take(double elements, double place) {
    held_ += elements;
    if (held_ >= limit_ && elements > 0.0) {
      cuts_.push_back(place);
      held_ = 0.0;
      limit_ = others_;
    }
  }

  [[nodiscard]] std::vector<double> down_to(double begin) && {
    if (cuts_.size() > 1 && held_ <= 0.0) {
      cuts_.back() = begin;
    } else {
      cuts_.push_back(begin);
    }
    std::ranges::reverse(cuts_);
    return std::move(cuts_);
  }

 private:
  std::vector<double> cuts_;  // descending
  double held_ = 0.0;         // elements of the open bucket
  double limit_;              // of the open bucket
  double others_;
};

std::vector<double> cut_chunk(LayerTensors& tensors, const layout::ChunkLayers& part, double first,
                              double limit) {
  const auto layers = static_cast<double>(part.num_layers);
  Cutter cutter(layers + 1.0, first, limit);
  if (part.has_head) {
    cutter.take(tensors.head(), layers);
  }
  for (std::int64_t i = part.num_layers; i-- > 0;) {
    for (const Tensor& tensor : tensors.of(part.first_layer + i)) {
      cutter.take(tensor.elements, static_cast<double>(i) + tensor.below);
    }
  }
  if (part.has_embedding) {
    cutter.take(tensors.embedding(), -1.0);
  }
  return std::move(cutter).down_to(-1.0);
}

// Seconds of a backward of every chunk.
std::vector<std::vector<Seconds>> backward_times(const StepInput& input,
                                                 const cost::CostModel& costs) {
  std::vector<std::vector<int>> whole;
  for (const auto& chunks : input.layout.stages) {
    whole.emplace_back(chunks.size(), 1);
  }
  const StageCosts stages = stage_costs(input, costs, whole, nullptr, Replicas::free);
  std::vector<std::vector<Seconds>> times;
  for (const DeviceCosts& device : stages.devices) {
    times.emplace_back();
    for (const ChunkCosts& chunk : device.chunks) {
      times.back().push_back(stages.bucket(chunk, 0).backward.total());
    }
  }
  return times;
}

}  // namespace

std::vector<std::vector<std::vector<double>>> bucket_cuts(const StepInput& input,
                                                          const cost::CostModel& costs) {
  const StepSpec& spec = input.spec;
  if (!spec.bucket || input.layout.sharding != Sharding::none || !has_replicas(input)) {
    return {};
  }
  const Bytes element = model::bytes_per_element(spec.precision.gradient);
  const bool by_time = spec.cycle && spec.overlap.data && costs.software().can_overlap_gradients;
  const auto times = by_time ? backward_times(input, costs) : std::vector<std::vector<Seconds>>{};
  LayerTensors tensors(input, costs);
  std::vector<std::vector<std::vector<double>>> cuts;
  const layout::ChunkLayers* last = nullptr;
  for (std::size_t d = 0; d < input.layout.stages.size(); ++d) {
    cuts.emplace_back();
    for (std::size_t c = 0; c < input.layout.stages[d].size(); ++c) {
      const layout::ChunkLayers& part = input.layout.stages[d][c];
      if (!by_time && last != nullptr && tensors.alike(*last, part)) {
        std::vector<double> same = c > 0 ? cuts[d][c - 1] : cuts[d - 1].back();
        cuts[d].push_back(std::move(same));
        continue;
      }
      last = &part;
      double limit = *spec.bucket / element;
      if (by_time && times[d][c] > Seconds{}) {
        const model::ShardParameters held = layout::chunk_shard_parameters(
            input.model, input.layout, static_cast<std::int64_t>(d), static_cast<std::int64_t>(c));
        limit = std::min(limit, held.trained().all() * (*spec.cycle / times[d][c]));
      }
      const double first = spec.first_bucket ? *spec.first_bucket / element : limit;
      cuts.back().push_back(cut_chunk(tensors, part, first, limit));
    }
  }
  return cuts;
}

std::vector<std::vector<int>> buckets_per_chunk(const StepInput& input) {
  std::vector<std::vector<int>> result;
  for (std::int64_t d = 0; d < input.layout.pipeline; ++d) {
    std::vector<int> counts;
    const auto device = static_cast<std::size_t>(d);
    const auto& chunks = input.layout.stages[device];
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      if (!input.choices.bucket_cuts.empty()) {
        counts.push_back(static_cast<int>(input.choices.bucket_cuts[device][c].size()) - 1);
        continue;
      }
      const std::int64_t layers = std::max<std::int64_t>(1, chunks[c].num_layers);
      std::int64_t count = layers;
      if (input.spec.bucket) {
        const model::ShardParameters held = layout::chunk_shard_parameters(
            input.model, input.layout, d, static_cast<std::int64_t>(c));
        const Bytes size =
            model::bytes_per_element(input.spec.precision.gradient) * held.trained().all();
        const double wanted = std::ceil(size / *input.spec.bucket);
        count = wanted < static_cast<double>(layers)
                    ? std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted))
                    : layers;
      }
      counts.push_back(static_cast<int>(count));
    }
    result.push_back(std::move(counts));
  }
  return result;
}

BucketSpan bucket_span(const StepInput& input, std::size_t device, std::size_t chunk, int buckets,
                       int b) {
  const layout::ChunkLayers& part = input.layout.stages[device][chunk];
  const auto layers = static_cast<double>(part.num_layers);
  const auto& cuts = input.choices.bucket_cuts;
  if (cuts.empty() || static_cast<int>(cuts[device][chunk].size()) != buckets + 1) {
    return {.begin = group_begin(part.num_layers, buckets, b),
            .end = group_begin(part.num_layers, buckets, b + 1),
            .embedding = part.has_embedding && b == 0,
            .head = part.has_head && b == buckets - 1};
  }
  const double from = cuts[device][chunk][static_cast<std::size_t>(b)];
  const double to = cuts[device][chunk][static_cast<std::size_t>(b) + 1];
  return {.begin = std::clamp(from, 0.0, layers),
          .end = std::clamp(to, 0.0, layers),
          .embedding = part.has_embedding && from < 0.0,
          .head = part.has_head && to > layers};
}

}  // namespace orrery::step
