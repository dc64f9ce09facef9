#include "sim/answer/plan/space/published_layouts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/base/yaml/flow_text.hpp"
#include "sim/base/yaml/reader.hpp"

namespace orrery::plan {

namespace {

namespace kind = yaml::kind;

constexpr std::string_view kTable = "plan/published_layouts.yaml";

struct Dimensions {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t ffn = 0;  // of an expert in a mixture
  std::int64_t experts = 0;
};

bool has_dimensions(const model::ModelSpec& model, const Dimensions& known) {
  const std::int64_t experts = model.moe ? model.moe->num_experts : 0;
  const std::int64_t ffn = model.moe ? model.moe->ffn_hidden_size : model.ffn_hidden_size;
  return model.num_layers == known.layers && model.hidden_size == known.width && ffn == known.ffn &&
         experts == known.experts;
}

std::vector<std::string> names_of(yaml::MappingReader models, const model::ModelSpec& model,
                                  Diagnostics& diagnostics) {
  std::vector<std::string> names;
  const auto count = yaml::at_least<std::int64_t>(0);
  for (const yaml::Entry& entry : models.value().entries) {
    yaml::MappingReader reader(entry.value, diagnostics, models.path_of(entry.key));
    Dimensions known{entry.key};
    known.layers = reader.require<kind::Count>("num_layers", count).value_or(0);
    known.width = reader.require<kind::Count>("hidden_size", count).value_or(0);
    known.ffn = reader.require<kind::Count>("ffn_hidden_size", count).value_or(0);
    known.experts = reader.require<kind::Count>("num_experts", count).value_or(0);
    reader.finish();
    if (has_dimensions(model, known)) {
      names.push_back(known.name);
    }
  }
  return names;
}

PublishedLayout read_layout(yaml::MappingReader item) {
  PublishedLayout layout;
  const auto count = yaml::at_least<std::int64_t>(1);
  layout.model = item.require_text("model").value_or("");
  if (auto on = item.require_mapping("on")) {
    layout.gpu = on->require_text("gpu").value_or("");
    layout.gpus = on->require<kind::Count>("gpus", count).value_or(1);
    layout.stack = on->require_text("stack").value_or("");
    layout.precision = on->require_text("precision").value_or("");
    layout.sequence_length = on->require<kind::Count>("sequence_length", count).value_or(1);
    on->finish();
  }
  layout.tokens = item.require<kind::Number>("tokens", yaml::at_least(0.0)).value_or(0.0);
  layout.source = item.require_text("source").value_or("");
  if (auto sets = item.require_mapping("sets")) {
    for (const yaml::Entry& set : sets->value().entries) {
      layout.sets.push_back({set.key, yaml::flow_text(set.value), set.key_where});
    }
  }
  item.finish();
  return layout;
}

// Bits of the operands of products.
int width_of(std::string_view precision) {
  return precision.find("fp4") != std::string_view::npos   ? 4
         : precision.find("fp8") != std::string_view::npos ? 8
         : precision.find("32") != std::string_view::npos  ? 32
                                                           : 16;
}

// Less is nearer.
auto distance(const PublishedLayout& layout, const scenario::Scenario& scenario) {
  const std::string precision = scenario::value_of(scenario, "precision.compute").value_or("");
  const auto gpus = static_cast<double>(scenario.cluster.nodes * scenario.cluster.gpus_per_node);
  return std::tuple(std::abs(width_of(layout.precision) - width_of(precision)),
                    std::abs(std::log(static_cast<double>(layout.gpus) / gpus)),
                    layout.stack != scenario.software, -layout.tokens);
}

std::optional<PublishedLayout> nearest(const yaml::Value& document,
                                       const scenario::Scenario& scenario,
                                       Diagnostics& diagnostics) {
  yaml::MappingReader root(document, diagnostics);
  const auto format = root.require_text("format", kPublishedLayoutsFormat);
  if (format && *format != kPublishedLayoutsFormat) {
    root.error("format", fmt::format("`{}` is no table of layouts", *format),
               kPublishedLayoutsFormat);
  }
  std::vector<std::string> names;
  if (auto models = root.require_mapping("models")) {
    names = names_of(*std::move(models), scenario.model, diagnostics);
  }
  std::optional<PublishedLayout> best;
  for (yaml::MappingReader& item : root.optional_mappings("layouts")) {
    PublishedLayout layout = read_layout(std::move(item));
    const bool known = std::find(names.begin(), names.end(), layout.model) != names.end();
    if (known && layout.gpu == scenario.cluster.gpu &&
        (!best || distance(layout, scenario) < distance(*best, scenario))) {
      best = std::move(layout);
    }
  }
  root.finish();
  return diagnostics.has_errors() ? std::nullopt : best;
}

}  // namespace

std::optional<PublishedLayout> published_layout(const scenario::Scenario& scenario,
                                                const hardware::ProfileSearch& search,
                                                Diagnostics& diagnostics) {
  for (const std::filesystem::path& directory : search.directories) {
    const std::filesystem::path file = directory / kTable;
    if (std::filesystem::exists(file) && !scenario.model.lora) {  // it holds pretraining alone
      const auto document = yaml::parse_file(file, {}, diagnostics);
      return document ? nearest(*document, scenario, diagnostics) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<scenario::Scenario> with_published(const scenario::Scenario& scenario,
                                                 const PublishedLayout& published) {
  scenario::Scenario changed = scenario;
  changed.layout.data.reset();
  changed.layout.shard_group.reset();
  changed.layout.stage_layers.reset();
  for (const scenario::KeyValue& set : published.sets) {
    Diagnostics unused;
    if (auto next = scenario::with_value(changed, set, unused)) {
      changed = *std::move(next);
    }
  }
  const layout::LayoutSpec& layout = changed.layout;
  const std::int64_t replica = layout.tensor * layout.context * layout.pipeline;
  const std::int64_t gpus = scenario.cluster.nodes * scenario.cluster.gpus_per_node;
  const std::int64_t data = gpus / std::max<std::int64_t>(replica, 1);
  if (data == 0 || gpus % replica != 0 || scenario.batch.global % data != 0) {
    return std::nullopt;
  }
  while (scenario.batch.global / data % changed.batch.micro != 0) {
    --changed.batch.micro;
  }
  return changed;
}

std::vector<scenario::KeyValue> published_changes(const scenario::Scenario& scenario,
                                                  const scenario::Scenario& with_published,
                                                  const PublishedLayout& published) {
  std::vector<scenario::KeyValue> changes;
  for (const scenario::KeyValue& set : published.sets) {
    auto value = scenario::value_of(with_published, set.key);
    if (value && value != scenario::value_of(scenario, set.key)) {
      changes.push_back({set.key, *std::move(value), {}});
    }
  }
  return changes;
}

}  // namespace orrery::plan
