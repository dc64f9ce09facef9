#include "sim/answer/plan/space/layout_features.hpp"

#include "sim/step/schedule/schedule_spec.hpp"

namespace orrery::plan {

namespace {

bool same_cluster(const scenario::Scenario& one, const scenario::Scenario& other) {
  return one.cluster.gpu == other.cluster.gpu && one.cluster.nodes == other.cluster.nodes &&
         one.cluster.gpus_per_node == other.cluster.gpus_per_node;
}

bool same_sharding(const layout::LayoutSpec& one, const layout::LayoutSpec& other) {
  return one.sharding == other.sharding && one.shard_group == other.shard_group;
}

bool same_exchange(const step::StepSpec& one, const step::StepSpec& other) {
  return one.experts == other.experts && one.overlap.expert == other.overlap.expert;
}

}  // namespace

bool same_offload(const step::OffloadSpec& one, const step::OffloadSpec& other) {
  return one.optimizer == other.optimizer && one.parameters == other.parameters &&
         one.activations == other.activations && one.modules == other.modules;
}

FeatureSet differences(const scenario::Scenario& one, const scenario::Scenario& other) {
  const layout::LayoutSpec& a = one.layout;
  const layout::LayoutSpec& b = other.layout;
  FeatureSet features;
  const auto note = [&features](Feature feature, bool differs) {
    features.set(static_cast<std::size_t>(feature), differs);
  };
  note(Feature::tensor, a.tensor != b.tensor);
  note(Feature::sequence,
       a.tensor > 1 && b.tensor > 1 && a.sequence_parallel != b.sequence_parallel);
  note(Feature::context, a.context != b.context);
  note(Feature::pipeline, a.pipeline != b.pipeline);
  note(Feature::chunks,
       a.pipeline > 1 && b.pipeline > 1 &&
           (a.virtual_stages != b.virtual_stages || one.step.schedule != other.step.schedule));
  note(Feature::expert,
       one.model.moe && (a.expert != b.expert ||
                         a.expert_tensor.value_or(a.tensor) != b.expert_tensor.value_or(b.tensor)));
  note(Feature::exchange, a.expert > 1 && b.expert > 1 && !same_exchange(one.step, other.step));
  note(Feature::micro, one.batch.micro != other.batch.micro);
  note(Feature::recompute, one.step.recompute != other.step.recompute);
  note(Feature::sharding, !same_sharding(a, b));
  note(Feature::offload, !same_offload(one.step.offload, other.step.offload));
  note(Feature::cluster, !same_cluster(one, other));
  return features;
}

std::string words_of(const FeatureSet& features) {
  std::string words;
  for (std::size_t i = 0; i < kFeatures; ++i) {
    if (features.test(i)) {
      words += words.empty() ? "" : ", ";
      words += kFeatureNames[i];
    }
  }
  return words;
}

}  // namespace orrery::plan
