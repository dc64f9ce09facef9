#pragma once

// One reader per format: takes what it knows from the keys, and leaves the rest. Internal to
// import_config/.

#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/import_config/imported.hpp"
#include "sim/import_config/trees/draft.hpp"

namespace orrery::import_config {

struct FormatReader {
  ConfigFormat format;
  std::string_view program;  // whose defaults hold where a file is silent: "Megatron-LM"
  std::string_view tables;   // of scenarios/imports, the nearest program first
  void (*read)(Import& import);
  bool sections = false;  // they hold the keys of another program: Megatron's below `model.`
};

// nullptr for logs of facts alone.
[[nodiscard]] const FormatReader* reader_of(ConfigFormat format);

// The names of the tables, with blanks between them.
[[nodiscard]] std::string_view tables_of(const FormatReader& reader, const SourceKeys& keys);

void read_hugging_face(Import& import);
void read_deepspeed(Import& import);
void read_torchtitan(Import& import);

// `prefixes`: what stands before the names of the keys, such as "model_args." ("" for a command).
void read_megatron(Import& import, const std::vector<std::string>& prefixes);

void read_nemo(Import& import);
void read_gpt_neox(Import& import);
void read_trainer_yaml(Import& import);
// Part of it: the sharding, prefetch and offload of FSDP.
void read_fsdp(Import& import);

// Whose the keys of a trainer are.
enum class TrainerProgram { transformers, accelerate, axolotl, llama_factory, swift, trl };
[[nodiscard]] TrainerProgram trainer_program(const SourceKeys& keys);

// Nodes and GPUs by torchrun, deepspeed, srun and sbatch.
void read_launcher(Import& import);

// Stage, buckets, overlap and offload below `zero_optimization`.
void read_zero(Import& import);
void read_trainer_log(Import& import);
void read_nanotron(Import& import);
void read_bridge(Import& import);
// Of these a table says most.
void read_maxtext(Import& import);
void read_llm_foundry(Import& import);
void read_slurm_topology(Import& import);
void read_nccl_topology(Import& import);
void read_swift_megatron(Import& import);

// Whether the keys are of ms-swift's command `megatron`.
[[nodiscard]] bool is_swift_megatron(const SourceKeys& keys);

// Parts of read_megatron.
struct MegatronKeys;
void read_megatron_model(MegatronKeys& keys);
void read_megatron_layout(MegatronKeys& keys);
void read_megatron_step(MegatronKeys& keys);
void read_megatron_run(MegatronKeys& keys);

// What became clear only with all files: padded vocabulary, batch, sharding, tokens.
void settle(Draft& draft, Pending& pending, Diagnostics& diagnostics);

// One node needs no word about its network; several have the usual one of their GPUs.
void assume_network(Draft& draft);

// The keys that every scenario needs and no file states, and those that a file leaves open.
[[nodiscard]] std::vector<AskedKey> missing_keys(const Draft& draft);

// Low-rank adapters as PEFT, LLaMA-Factory, ms-swift, Axolotl, NeMo and Megatron-Bridge state them:
// `item` says that they are trained; the keys and defaults are those of the program.
void read_adapters(Import& import, const SourceItem& item, TrainerProgram program);

// The section of NeMo and Megatron-Bridge, `peft` or `model.peft`; false where it is not of LoRA.
[[nodiscard]] bool read_peft_section(Import& import);

// The settings that a configuration file holds, whatever its syntax: one part as a rule, none after
// an error. What a script holds that cannot be followed joins `left_out`.
struct LogPart;
[[nodiscard]] std::vector<LogPart> settings_of_file(const ConfigFile& file, ConfigFormat format,
                                                    std::vector<LeftOutKey>& left_out,
                                                    Diagnostics& diagnostics);

// Whether Megatron-LM trains a decoder with it: scripts and logs of other models have the same
// arguments, and are an error.
[[nodiscard]] bool is_decoder(const ConfigFile& file, ConfigFormat format,
                              Diagnostics& diagnostics);

// The settings in the order in which a scenario is written.
[[nodiscard]] std::vector<ImportedSetting> in_order(const Draft& draft);

// What is known, as the text of a scenario: one line per key, and behind it where the value comes
// from; the asked keys as lines without a value.
[[nodiscard]] std::string scenario_text(const ImportResult& result, const std::string& name);

// "train.sh:28 --num-layers", "default of Megatron-LM: ...", for people.
[[nodiscard]] std::string origin_text(const Origin& origin);

}  // namespace orrery::import_config
