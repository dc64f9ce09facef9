// Which reader and which defaults are those of a format?

#include "sim/import_config/trees/readers.hpp"

#include <algorithm>

namespace orrery::import_config {

namespace {

// The sections of a YAML file that hold arguments, and the top level.
std::vector<std::string> sections_of(SourceKeys& keys) {
  std::vector<std::string> sections = {""};
  for (const SourceItem& item : keys.items()) {
    const std::size_t dot = item.path.find('.');
    const std::string section =
        dot == std::string::npos ? std::string() : item.path.substr(0, dot + 1);
    constexpr std::size_t kMost = 16;
    if (sections.size() < kMost && section != "ENV_VARS." &&
        std::find(sections.begin(), sections.end(), section) == sections.end()) {
      sections.push_back(section);
    }
  }
  return sections;
}

}  // namespace

std::string program_of(ConfigFormat format) {
  switch (format) {
    case ConfigFormat::hugging_face:
      return "transformers";
    case ConfigFormat::deepspeed:
    case ConfigFormat::deepspeed_log:
      return "DeepSpeed";
    case ConfigFormat::nemo:
    case ConfigFormat::nemo_log:
      return "NeMo";
    case ConfigFormat::nanotron:
    case ConfigFormat::nanotron_log:
      return "nanotron";
    case ConfigFormat::megatron_bridge:
    case ConfigFormat::megatron_bridge_log:
      return "Megatron-Bridge";
    case ConfigFormat::gpt_neox:
      return "GPT-NeoX";
    case ConfigFormat::trainer_yaml:
    case ConfigFormat::trainer_args:
    case ConfigFormat::trainer_log:
      return "transformers";
    case ConfigFormat::torchtitan:
    case ConfigFormat::torchtitan_command:
    case ConfigFormat::torchtitan_saved:
    case ConfigFormat::torchtitan_log:
      return "torchtitan";
    case ConfigFormat::maxtext:
      return "MaxText";
    case ConfigFormat::llm_foundry:
      return "llm-foundry";
    default:
      break;
  }
  return "Megatron-LM";
}

void read_keys(Import& import, ConfigFormat format) {
  switch (format) {
    case ConfigFormat::hugging_face:
      read_hugging_face(import);
      return;
    case ConfigFormat::deepspeed:
      read_deepspeed(import);
      return;
    case ConfigFormat::nemo:
      read_nemo(import);
      return;
    case ConfigFormat::gpt_neox:
      read_gpt_neox(import);
      return;
    case ConfigFormat::megatron_bridge:
      read_bridge(import);
      return;
    case ConfigFormat::nanotron:
      read_nanotron(import);
      return;
    case ConfigFormat::trainer_log:
      read_trainer_log(import);
      return;
    case ConfigFormat::trainer_yaml:
    case ConfigFormat::trainer_args:
      read_trainer_yaml(import);
      return;
    case ConfigFormat::torchtitan:
    case ConfigFormat::torchtitan_command:
    case ConfigFormat::torchtitan_saved:
    case ConfigFormat::torchtitan_log:
      read_torchtitan(import);
      return;
    case ConfigFormat::maxtext:
      read_maxtext(import);
      return;
    case ConfigFormat::llm_foundry:
      read_llm_foundry(import);
      return;
    case ConfigFormat::megatron_args:
    case ConfigFormat::megatron_log:
      if (is_swift_megatron(import.keys)) {
        read_swift_megatron(import);
        return;
      }
      read_megatron(import, {""});
      return;
    case ConfigFormat::megatron_yaml:
      read_megatron(import, sections_of(import.keys));
      return;
    default:
      return;  // the parts of other logs are of the formats above
  }
}

}  // namespace orrery::import_config
