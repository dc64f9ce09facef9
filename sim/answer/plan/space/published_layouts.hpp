#pragma once

// The layout that a published run trains this model with, from the table
// `plan/published_layouts.yaml` of the profiles. A plan has it among its candidates, starts its
// search from it, tries its switches, and says where it stands.
//
// A model is known by its layers, width, width of the MLP and experts, whatever its vocabulary. Of
// several entries for a GPU that of the same width of numbers is taken, then the nearest number of
// GPUs, the stack of the scenario, and what trained the most tokens.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/hardware/profile_search.hpp"

namespace orrery::plan {

inline constexpr std::string_view kPublishedLayoutsFormat = "orrery-published-layouts/1";

struct PublishedLayout {
  std::string model;  // as its preset is called
  std::string gpu;
  std::int64_t gpus = 0;
  std::string stack;
  std::string precision;
  std::int64_t sequence_length = 0;
  double tokens = 0.0;  // measured, per second and GPU
  std::string source;
  std::vector<scenario::KeyValue> sets;
};

// Nothing without a table or an entry for this model and GPU; reports errors of the table.
[[nodiscard]] std::optional<PublishedLayout> published_layout(const scenario::Scenario& scenario,
                                                              const hardware::ProfileSearch& search,
                                                              Diagnostics& diagnostics);

// The scenario with its keys; the largest micro-batch up to its own that divides the batch. Nothing
// where its ranks do not divide the GPUs.
[[nodiscard]] std::optional<scenario::Scenario> with_published(const scenario::Scenario& scenario,
                                                               const PublishedLayout& published);

// What with_published changes, as keys.
[[nodiscard]] std::vector<scenario::KeyValue> published_changes(
    const scenario::Scenario& scenario, const scenario::Scenario& with_published,
    const PublishedLayout& published);

}  // namespace orrery::plan
