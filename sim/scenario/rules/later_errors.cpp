#include <algorithm>
#include <array>
#include <optional>
#include <variant>

#include "sim/scenario/load.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/scenario/rules/rules.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/schedule/schedule_spec.hpp"

namespace orrery::scenario {

std::string words_of(const layout::LayoutProblem& problem, const Scenario& scenario) {
  const auto layout = scenario.locations.lower_bound("layout");
  const bool stated = layout != scenario.locations.end() && layout->first.starts_with("layout");
  return stated ? problem.message
                : problem.message +
                      "; no layout is stated, which is data parallelism over all GPUs: `orrery "
                      "plan` finds a better one";
}

void report_later_errors(Reading& reading) {
  const Scenario& scenario = reading.draft.scenario;
  const auto is_right = [&reading](std::string_view section) {
    return !is_broken(reading.diagnostics, section);
  };
  if (!is_right("")) {
    return;  // the text is no mapping of keys
  }
  hardware::ProfileSearch search = presets_of(scenario).search();
  search.allow_foreign = true;  // foreign files are refused elsewhere, whatever the scenario says
  Diagnostics later;
  bool has_nvlink = true;
  if (is_right("cluster")) {
    const auto gpu = hardware::load_gpu_profile(
        scenario.cluster.gpu, search, scenario.where("cluster.gpu"), "cluster.gpu", later);
    has_nvlink = !gpu || gpu->nvlink;
  }
  if (is_right("software") && !scenario.software.empty()) {
    static_cast<void>(hardware::load_software_profile(
        scenario.software, search, scenario.where("software"), "software", later));
  }
  constexpr std::array<std::string_view, 4> kOfLayouts = {"model", "cluster", "layout", "batch"};
  if (std::all_of(kOfLayouts.begin(), kOfLayouts.end(), is_right)) {
    const auto resolved =
        layout::resolve_layout(scenario.layout, scenario.batch, scenario.model,
                               hardware::cluster_shape(scenario.cluster, has_nvlink),
                               schedule::traits_of(scenario.step.schedule).placement);
    if (const auto* problems = std::get_if<std::vector<layout::LayoutProblem>>(&resolved)) {
      for (const layout::LayoutProblem& problem : *problems) {
        later.error(scenario.where(problem.key), problem.key, words_of(problem, scenario),
                    problem.allowed);
      }
    }
  }
  for (const Diagnostic& diagnostic : later.all()) {
    if (diagnostic.severity == Severity::error) {
      reading.diagnostics.add(diagnostic);
    }
  }
}

}  // namespace orrery::scenario
