#pragma once

// What all layouts of one search share: the scenario, the profiles, the words of the axes.
//
// Profiles are read once. A machine is a GPU type with the stack as this scenario runs it; cost
// models differ by machine and number of nodes.
//
//   headroom = PlanSpec::constraints.memory_headroom, or limit error / (1 + error): a peak that is
//              above its prediction by the error still fits
//
// symbol | meaning                                                        | unit | origin
// -------|----------------------------------------------------------------|------|----------------
// limit  | memory of the GPU                                              | byte | GPU profile
// error  | memory_error of the stack                                      | 1    | software profile

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/plan/space/published_layouts.hpp"
#include "sim/answer/plan/space/stack_offers.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/scenario/plan_spec.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/simulate/step_spec.hpp"

namespace orrery::plan {

struct Machine {
  std::string name;  // as a scenario names it
  hardware::GpuProfile gpu;
  hardware::NetworkSpec network;  // with its measured tables
  Bytes headroom = {};            // stays free on the fullest GPU
};

struct RecomputeChoice {
  std::string text;  // as a scenario says it, in flow style
  std::string tag;
  step::RecomputeSpec spec;
};

struct OffloadChoice {
  std::string text;  // as the axis spells it
  step::OffloadSpec spec;
};

struct Workbench {
  scenario::Scenario base;
  hardware::SoftwareProfile software;
  std::vector<Machine> machines;            // the first is that of the scenario
  std::vector<RecomputeChoice> recomputes;  // in the order of the axis
  std::vector<OffloadChoice> offloads;
  std::optional<StackOffer> offer;     // what a search may try by itself; absent: everything
  std::optional<Bytes> headroom = {};  // as it is asked for; absent: by the stack's error
  // Keys of `base` that the search has set and the scenario does not state (switches.hpp).
  std::vector<scenario::KeyValue> switches = {};
  std::optional<PublishedLayout> published = {};  // of this model on the GPU of the scenario
  std::optional<std::int64_t> data = {};          // replicas that every layout has to have
  std::optional<std::int64_t> most_changes = {};  // in which a layout may differ from the stated
  bool runs_published = false;                    // its stack offers what that of the scenario does
};

// What a plan leaves free where nothing is asked: the formula at the top.
[[nodiscard]] Bytes usual_headroom(const hardware::GpuProfile& gpu,
                                   const hardware::SoftwareProfile& software);

// Reads the profiles and the axes gpu, recompute and offload. Nothing after an error, among them a
// scenario whose step time is stated (there is nothing to search).
[[nodiscard]] std::optional<Workbench> make_workbench(
    const scenario::Scenario& scenario, const PlanSpec& spec,
    const std::optional<hardware::ProfileSearch>& search, Diagnostics& diagnostics);

}  // namespace orrery::plan
