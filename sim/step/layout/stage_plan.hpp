#pragma once

// Assignment of layers, embedding and loss to the stages of the pipeline.
//
//   auto: L layers over p v virtual stages. When p v divides L + 2 the embedding and the loss take
//   a slot each (126 layers, 16 x 4 stages: 128 slots, two each, one layer on the first and last);
//   otherwise the layers are spread evenly, and a remainder goes one each to the middle stages,
//   away from the first and the last, which already carry the embedding and the loss.
//
// symbol | meaning                     | unit   | origin
// -------|-----------------------------|--------|----------
// L      | num_layers                  | layers | model
// p, v   | pipeline, virtual_stages    | -      | layout
//
//   With M modules of multi-token prediction behind the last layer, its device carries M layers and
//   M + 1 losses: of ceil((L + 2 M + 1) / (p v)) slots a stage the last one has 2 M + 1 less for
//   layers, and the first stages go short of what is then left (61 layers, 16 stages: 4 each, 1 on
//   the last; 32 stages: 1, then 2 each, none on the last). Source: the layouts of DeepSeek-V3 in
//   Megatron Bridge.
//
// Placement: loop, vee or bidirectional (StagePlacement). A bidirectional plan has p stages, and
// every layer is held by two devices.
// With 8 virtual stages those first and last stages hold no layer at all. Source: Llama 3 (arXiv
// 2407.21783, section 3.3.2: one layer less on the first and last stage); Megatron-LM's
// account_for_embedding_in_pipeline_split.

#include <optional>
#include <vector>

#include "sim/step/layout/layout_spec.hpp"

namespace orrery::layout {

struct StagePlan {
  std::vector<std::vector<ChunkLayers>> stages;  // [pipeline device][chunk]
  std::optional<LayoutProblem> problem;          // set when the layers cannot be split as asked
};

[[nodiscard]] StagePlan plan_stages(const LayoutSpec& spec, const model::ModelSpec& model,
                                    StagePlacement placement);

// Layers per virtual stage, in pipeline order, by the `auto` rule. Needs num_layers >= stages.
[[nodiscard]] std::vector<std::int64_t> balanced_stage_layers(std::int64_t num_layers,
                                                              std::int64_t stages,
                                                              std::int64_t mtp_layers = 0);

}  // namespace orrery::layout
