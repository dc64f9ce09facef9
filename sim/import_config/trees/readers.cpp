// The reader and the tables of each format.

#include "sim/import_config/trees/readers.hpp"

#include <algorithm>
#include <array>

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

void read_arguments(Import& import) {
  import.keys.have_bare_flags();
  if (is_swift_megatron(import.keys)) {
    read_swift_megatron(import);
  } else {
    read_megatron(import, {""});
  }
}

void read_megatron_yaml(Import& import) {
  if (is_swift_megatron(import.keys)) {
    read_swift_megatron(import);
  } else {
    read_megatron(import, sections_of(import.keys));
  }
}

constexpr std::array<FormatReader, 20> kReaders = {{
    {ConfigFormat::hugging_face, "transformers", "hugging-face", read_hugging_face},
    {ConfigFormat::deepspeed, "DeepSpeed", "deepspeed", read_deepspeed},
    {ConfigFormat::megatron_args, "Megatron-LM", "megatron-lm launchers primus", read_arguments},
    {ConfigFormat::megatron_log, "Megatron-LM", "megatron-lm launchers primus", read_arguments},
    {ConfigFormat::megatron_yaml,
     "Megatron-LM",
     "megatron-lm launchers primus",
     read_megatron_yaml,
     true},
    {ConfigFormat::nemo, "NeMo", "nemo megatron-bridge megatron-lm", read_nemo, true},
    {ConfigFormat::megatron_bridge,
     "Megatron-Bridge",
     "megatron-bridge megatron-lm",
     read_bridge,
     true},
    {ConfigFormat::gpt_neox, "GPT-NeoX", "gpt-neox deepspeed megatron-lm", read_gpt_neox},
    {ConfigFormat::trainer_yaml, "transformers", "", read_trainer_yaml},
    {ConfigFormat::trainer_args, "transformers", "", read_trainer_yaml},
    {ConfigFormat::trainer_log, "transformers", "hf-trainer", read_trainer_log},
    {ConfigFormat::nanotron, "nanotron", "nanotron", read_nanotron},
    {ConfigFormat::torchtitan, "torchtitan", "torchtitan launchers", read_torchtitan},
    {ConfigFormat::torchtitan_command, "torchtitan", "torchtitan launchers", read_torchtitan},
    {ConfigFormat::torchtitan_saved, "torchtitan", "torchtitan launchers", read_torchtitan},
    {ConfigFormat::torchtitan_log, "torchtitan", "torchtitan launchers", read_torchtitan},
    {ConfigFormat::maxtext, "MaxText", "maxtext", read_maxtext},
    {ConfigFormat::llm_foundry, "llm-foundry", "llm-foundry", read_llm_foundry},
    {ConfigFormat::slurm_topology, "Slurm", "slurm-topology", read_slurm_topology},
    {ConfigFormat::nccl_topology, "NCCL", "nccl-topology", read_nccl_topology},
}};

}  // namespace

const FormatReader* reader_of(ConfigFormat format) {
  const auto* found = std::find_if(
      kReaders.begin(), kReaders.end(), [format](const auto& one) { return one.format == format; });
  return found == kReaders.end() ? nullptr : found;
}

std::string_view tables_of(const FormatReader& reader, const SourceKeys& keys) {
  if (!reader.tables.empty()) {
    const bool megatron = reader.read == read_arguments || reader.read == read_megatron_yaml;
    return megatron && is_swift_megatron(keys) ? "ms-swift-megatron megatron-lm launchers"
                                               : reader.tables;
  }
  constexpr std::array<std::string_view, 5> kTrainers = {
      "hf-trainer hf-scripts accelerate launchers",
      "accelerate hf-trainer launchers",
      "axolotl hf-trainer accelerate launchers",
      "llama-factory hf-trainer accelerate launchers",
      "ms-swift hf-trainer accelerate launchers"};
  return kTrainers[static_cast<std::size_t>(trainer_program(keys))];
}

}  // namespace orrery::import_config
