#pragma once

// The plan beside layouts that a team tuned and published. Each is searched as its own scenario,
// with what its stack offers.
//
//   gap = predicted(published) / predicted(plan's best) - 1, 0 or less: the plan found none faster
//
// symbol    | meaning                                                     | unit | origin
// ----------|-------------------------------------------------------------|------|---------------
// published | the layout of the row                                       | s    | data set, step/
// best      | the fastest of the space that leaves the plan's headroom    | s    | plan/search.hpp
//
// Tuned rows are named in row_remarks.yaml beside the data set, `tuned: [ids]`.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/answer/plan/space/layout_features.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/validate/validation.hpp"

namespace orrery::validate {

struct TunedLayout {
  std::string id;
  double measured = 0.0;   // s
  double published = 0.0;  // predicted
  double best = 0.0;
  bool roomy = true;              // the published layout leaves the plan's headroom
  plan::FeatureSet differs = {};  // best against published
  std::string words;              // of the best

  [[nodiscard]] double gap() const { return published / best - 1.0; }
};

// In the order of the files. Nothing after an error; rows whose layout no candidate says are left
// out.
[[nodiscard]] std::optional<std::vector<TunedLayout>> tuned_layouts(
    const std::vector<std::filesystem::path>& files, const ValidateOptions& options,
    Diagnostics& diagnostics);

[[nodiscard]] std::string to_markdown(const std::vector<TunedLayout>& layouts);

}  // namespace orrery::validate
