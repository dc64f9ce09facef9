#include <fmt/core.h>

#include <array>
#include <optional>
#include <utility>

#include "sim/import_config/logs/training_log.hpp"
#include "sim/import_config/shell/shell_script.hpp"
#include "sim/import_config/trees/readers.hpp"
#include "sim/import_config/trees/source_tree.hpp"
#include "sim/yaml/text_check.hpp"

namespace orrery::import_config {

namespace {

using yaml::Value;

// Primus: modules: {pre_trainer: {framework: megatron, model: NAME.yaml, overrides: {...}}}. What
// it overrides are arguments of the framework; the others stand in files that it names. MosaicML's
// command has the keys of llm-foundry below `parameters`.
ConfigFormat lift_overrides(Value& tree, ConfigFormat format) {
  for (const yaml::Entry& entry : tree.entries) {
    if (entry.key == "parameters" && !entry.value.entries.empty()) {
      std::vector<yaml::Entry> inner = entry.value.entries;
      std::erase_if(tree.entries, [](const yaml::Entry& one) { return one.key == "parameters"; });
      tree.entries.insert(tree.entries.end(), inner.begin(), inner.end());
      return format;
    }
    if (entry.key != "modules" || entry.value.entries.empty()) {
      continue;
    }
    Value lifted;
    lifted.kind = Value::Kind::mapping;
    lifted.where = tree.where;
    for (const yaml::Entry& part : entry.value.entries.front().value.entries) {
      if (part.key == "framework") {
        format = part.value.text == "torchtitan" ? ConfigFormat::torchtitan
                 : part.value.text == "maxtext"  ? ConfigFormat::maxtext
                                                 : format;
      }
      if (part.key == "overrides") {
        lifted.entries.insert(
            lifted.entries.end(), part.value.entries.begin(), part.value.entries.end());
      } else {
        lifted.entries.push_back(part);
        if (part.key == "config") {  // a name that torchtitan has for something else
          lifted.entries.back().key = "trainer_config";
        }
      }
    }
    if (format == ConfigFormat::torchtitan) {  // `model` is a section there
      std::erase_if(lifted.entries, [](const yaml::Entry& one) {
        return one.value.kind == Value::Kind::scalar && one.key != "seed" &&
               one.key != "trainer_config";
      });
    }
    tree = std::move(lifted);
    return format;
  }
  return format;
}

std::optional<Value> tree_of(const ConfigFile& file,
                             ConfigFormat format,
                             std::vector<LeftOutKey>& left_out,
                             Diagnostics& diagnostics) {
  if (format == ConfigFormat::hugging_face || format == ConfigFormat::deepspeed ||
      format == ConfigFormat::torchtitan_saved) {
    return parse_json(file.text, file.name, diagnostics);
  }
  if (format == ConfigFormat::torchtitan) {
    return parse_toml(file.text, file.name, diagnostics);
  }
  if (format == ConfigFormat::slurm_topology) {
    return parse_slurm_topology(file.text, file.name, diagnostics);
  }
  if (format == ConfigFormat::nccl_topology) {
    return parse_nccl_topology(file.text, file.name, diagnostics);
  }
  if (format != ConfigFormat::megatron_args && format != ConfigFormat::torchtitan_command &&
      format != ConfigFormat::trainer_args) {
    std::optional<Value> tree = parse_yaml(file.text, file.name, diagnostics);
    if (tree) {
      if (format == ConfigFormat::llm_foundry) {
        static_cast<void>(lift_overrides(*tree, format));
      }
      follow_references(*tree);
    }
    return tree;
  }
  std::vector<PassedOver> passed_over;
  std::optional<Value> tree =
      parse_arguments(file.text, file.name, file.variables, passed_over, diagnostics);
  for (PassedOver& over : passed_over) {
    left_out.push_back(
        {over.where, std::move(over.key), "", Effect::unread, std::move(over.why), ""});
  }
  return tree;
}

}  // namespace

std::vector<LogPart> settings_of_file(const ConfigFile& file,
                                      ConfigFormat format,
                                      std::vector<LeftOutKey>& left_out,
                                      Diagnostics& diagnostics) {
  std::optional<Value> tree = tree_of(file, format, left_out, diagnostics);
  if (tree && tree->kind != Value::Kind::mapping) {
    diagnostics.error(tree->where, "", "holds no keys");
    tree.reset();
  }
  std::vector<LogPart> parts;
  if (tree && (format == ConfigFormat::megatron_yaml || format == ConfigFormat::maxtext)) {
    format = lift_overrides(*tree, format);
  }
  if (tree && format == ConfigFormat::nanotron) {
    parts = nanotron_parts(*std::move(tree));
  } else if (tree) {
    parts.push_back({format, *std::move(tree)});
  }
  return parts;
}

bool is_decoder(const ConfigFile& file, ConfigFormat format, Diagnostics& diagnostics) {
  constexpr std::array<std::string_view, 9> kOthers = {"pretrain_bert",
                                                       "pretrain_t5",
                                                       "pretrain_ict",
                                                       "pretrain_vision",
                                                       "pretrain_vlm",
                                                       "pretrain_mamba",
                                                       "pretrain_retro",
                                                       "building BERT model",
                                                       "building T5 model"};
  constexpr std::string_view kBenchmark = "\"submission_benchmark\", \"value\": \"";
  const std::size_t benchmark =
      format == ConfigFormat::mlperf_log ? file.text.find(kBenchmark) : std::string::npos;
  if (benchmark != std::string::npos) {
    const std::string_view name = std::string_view(file.text).substr(benchmark + kBenchmark.size());
    if ((!name.starts_with("gpt") && !name.starts_with("llama3") && !name.starts_with("moe")) ||
        name.substr(0, name.find('"')).ends_with("lora")) {
      diagnostics.error(yaml::LineIndex(file.text).location_of(file.name, benchmark),
                        "",
                        fmt::format("{}: trains another model than a decoder of attention layers, "
                                    "or not all of its weights",
                                    yaml::display(name.substr(0, name.find('"')))));
      return false;
    }
  }
  const bool megatron =
      format == ConfigFormat::megatron_args || format == ConfigFormat::megatron_log;
  for (const std::string_view program : kOthers) {
    const std::size_t at = megatron ? file.text.find(program) : std::string::npos;
    if (at != std::string::npos && file.text.find("pretrain_gpt") == std::string::npos) {
      diagnostics.error(
          yaml::LineIndex(file.text).location_of(file.name, at),
          "",
          fmt::format("{}: another model than a decoder of attention layers, which a scenario "
                      "cannot express",
                      program));
      return false;
    }
  }
  return true;
}

}  // namespace orrery::import_config
