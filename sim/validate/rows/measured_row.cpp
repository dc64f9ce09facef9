#include "sim/validate/rows/measured_row.hpp"

#include <fmt/core.h>

#include <optional>

#include "sim/validate/rows/row_mapping.hpp"
#include "sim/validate/rows/run_tables.hpp"

namespace orrery::validate {

namespace {

using model::Dtype;

// Field of a keyword: at the top of the row, or of its hardware.
bool mentions(const DataRow& row, const Keyword& keyword) {
  return row.mentions(keyword.field, keyword.words) ||
         row.row("hardware").mentions(keyword.field, keyword.words);
}

void apply_keywords(const DataRow& row, Mapping& mapping) {
  scenario::Scenario& scenario = mapping.run.scenario;
  hardware::NetworkSpec& network = scenario.cluster.network;
  std::optional<bool> data;
  std::optional<bool> tensor;
  const auto set_once = [](std::optional<bool>& flag, bool value) { flag = flag.value_or(value); };
  for (const Keyword& keyword : keywords()) {
    if (!mentions(row, keyword)) {
      continue;
    }
    switch (keyword.effect) {
      case KeywordEffect::no_overlap:
        set_once(data, false);
        set_once(tensor, false);
        scenario.step.overlap.pipeline = false;
        break;
      case KeywordEffect::data_overlap:
      case KeywordEffect::no_data_overlap:
        set_once(data, keyword.effect == KeywordEffect::data_overlap);
        break;
      case KeywordEffect::tensor_overlap:
      case KeywordEffect::no_tensor_overlap:
        set_once(tensor, keyword.effect == KeywordEffect::tensor_overlap);
        break;
      case KeywordEffect::fp8_parameters:
        scenario.step.precision.parameter = Dtype::fp8;
        break;
      case KeywordEffect::compile:
        scenario.step.compile = true;
        break;
      case KeywordEffect::release_2025:
        scenario.software += "-2025";
        break;
      case KeywordEffect::capacity_one:
        if (scenario.model.moe) {
          scenario.model.moe->capacity_factor = 1.0;
        }
        break;
      case KeywordEffect::four_nics:
        if (scenario.cluster.nodes > 1 && network.nics_per_node > 4) {
          network.nic_rate *= static_cast<double>(network.nics_per_node) / 4.0;
          network.nics_per_node = 4;
        }
        break;
    }
  }
  scenario.step.overlap.data = data.value_or(true);
  scenario.step.overlap.tensor = tensor.value_or(false);
}

}  // namespace

std::variant<MappedRun, std::string> map_run(const DataRow& row) {
  Mapping mapping;
  if (row.value().kind != yaml::Value::Kind::mapping) {
    return std::string("the row is no mapping");
  }
  map_model(row, mapping);
  map_cluster(row, mapping);
  map_layout(row, mapping);
  map_precision(row, mapping);
  map_recompute(row, mapping);
  map_options(row, mapping);
  scenario::Scenario& scenario = mapping.run.scenario;
  const std::string mixed = row.row("layout").text("fsdp_mixed_precision");  // of Composer
  if (mixed == "PURE") {
    scenario.step.gradient_dtype = scenario.step.precision.activation;
  } else if (mixed == "DEFAULT") {
    scenario.step.gradient_dtype = model::Dtype::fp32;
  }
  scenario.software = row.text("stack");
  apply_keywords(row, mapping);
  scenario.name = scenario.model.name;
  scenario.model = model::resolve(scenario.model);
  return std::move(mapping.run);
}

}  // namespace orrery::validate
