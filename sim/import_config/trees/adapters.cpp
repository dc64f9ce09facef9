#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/text/text.hpp"
#include "sim/import_config/trees/key_fates.hpp"
#include "sim/import_config/trees/readers.hpp"
#include "sim/step/model/model_spec.hpp"

namespace orrery::import_config {

namespace {

// Where a program states them, and what it takes where it is silent.
struct AdapterKeys {
  std::string_view rank;
  std::string_view dropout;
  std::string_view targets;
  std::string_view four_bits;        // a flag, or the number of bits; empty: none
  std::string_view rank_by_default;  // empty: has to be stated
  std::string_view dropout_by_default;
  std::string_view targets_by_default;  // words of a scenario, with blanks between them
  std::string_view whole = {};          // modules that are trained in full beside them
};

constexpr std::string_view kEverywhere = "|all|all-linear|all_linear|linear|";
constexpr std::string_view kAttention = "|attention|";
constexpr std::string_view kMlp = "|mlp|";

bool names(std::string_view list, std::string_view word) {
  return list.find(fmt::format("|{}|", word)) != std::string_view::npos;
}

// Turns on what a word means; false where it means nothing.
bool turn_on(model::AdapterTargets& targets, std::string_view word) {
  if (names(kEverywhere, word)) {
    targets = {.qkv = true, .proj = true, .fc1 = true, .fc2 = true};
    return true;
  }
  if (names(kAttention, word) || names(kMlp, word)) {
    (names(kMlp, word) ? targets.fc1 : targets.qkv) = true;
    (names(kMlp, word) ? targets.fc2 : targets.proj) = true;
    return true;
  }
  const auto known =
      std::find_if(model::kAdapterTargetWords.begin(), model::kAdapterTargetWords.end(),
                   [&](const auto& one) { return one.name == word; });
  if (known != model::kAdapterTargetWords.end()) {
    targets.*known->target = true;
  }
  return known != model::kAdapterTargetWords.end();
}

// The names that a regular expression means, "(q|k|v)_proj" or "q_proj|v_proj$", among others.
void add_alternatives(std::string_view pattern, std::vector<std::string>& names) {
  constexpr std::size_t kMost = 256;
  const std::size_t open = pattern.find('(');
  const std::size_t close = pattern.find(')', std::min(open, pattern.size()));
  const bool group = close != std::string_view::npos;
  std::string_view rest = group ? pattern.substr(open + 1, close - open - 1) : pattern;
  if (rest.starts_with("?:")) {
    rest.remove_prefix(2);
  }
  while (!rest.empty() && names.size() < kMost) {
    const std::string_view one = cut(rest, '|');
    if (group) {
      add_alternatives(
          fmt::format("{}{}{}", pattern.substr(0, open), one, pattern.substr(close + 1)), names);
    } else {
      names.emplace_back(trimmed(one, "^$*\\"));
    }
  }
}

std::vector<std::string> words_of(const std::vector<std::string>& texts) {
  std::vector<std::string> words;
  for (const std::string& text : texts) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find_first_of(", "), rest.size());
      if (end > 0) {
        words.emplace_back(rest.substr(0, end));
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return words;
}

void read_targets(Import& import, const SourceItem& item) {
  model::AdapterTargets targets;
  for (const std::string& name : words_of(import.keys.texts(item.path))) {
    // "*.layers.0.*.linear_qkv" and "model.layers.0.self_attn.q_proj" end in the layer's name.
    std::vector<std::string> words;
    add_alternatives(std::string_view(name).substr(name.rfind('.') + 1), words);
    for (const std::string& word : words) {
      if (!turn_on(targets, word)) {
        import.keys.error(
            item,
            fmt::format("adapts {}, which is no linear layer that is known", yaml::display(word)),
            "q_proj, v_proj, o_proj, gate_proj, down_proj, linear_qkv, all, ...");
        return;
      }
    }
  }
  constexpr std::size_t kOwn = 4;  // words of a scenario
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < kOwn; ++i) {
    if (targets.*model::kAdapterTargetWords[i].target) {
      words.push_back(model::kAdapterTargetWords[i].name);
    }
  }
  import.draft.set("model.lora.targets", fmt::format("[{}]", fmt::join(words, ", ")),
                   read_from(item));
}

// Modules that are trained in full beside the adapters.
void read_whole(Import& import, std::string_view key) {
  const SourceItem* item = import.keys.take(key);
  std::vector<std::string> words =
      item == nullptr ? std::vector<std::string>{} : words_of(import.keys.texts(key));
  for (std::string& word : words) {
    word.erase(0, word.rfind('.') + 1);
    const auto* known =
        std::find_if(model::kTrainedModuleWords.begin(), model::kTrainedModuleWords.end(),
                     [&word](const auto& one) { return one.name == word; });
    if (known == model::kTrainedModuleWords.end()) {
      import.keys.error(
          *item,
          fmt::format("trains {} in full, which is no module that is known", yaml::display(word)),
          "embed_tokens, lm_head, self_attn, mlp");
      return;
    }
  }
  if (!words.empty()) {
    import.draft.set("model.trainable", fmt::format("[{}]", fmt::join(words, ", ")),
                     read_from(*item));
  }
}

AdapterKeys adapter_keys(TrainerProgram program) {
  constexpr std::string_view kLinear = "qkv, proj, fc1, fc2";
  switch (program) {
    case TrainerProgram::axolotl:
      return {"lora_r", "lora_dropout", "lora_target_modules", "load_in_4bit", "",
              "0",      kLinear,        "lora_modules_to_save"};
    case TrainerProgram::llama_factory:
      return {"lora_rank", "lora_dropout", "lora_target",      "quantization_bit", "8",
              "0",         kLinear,        "additional_target"};
    case TrainerProgram::swift:
      return {"lora_rank", "lora_dropout", "target_modules", "quant_bits",
              "8",         "0.05",         kLinear,          "modules_to_save"};
    case TrainerProgram::accelerate:
    case TrainerProgram::transformers:
    case TrainerProgram::trl:
      break;
  }
  return {"lora_r", "lora_dropout", "lora_target_modules", "load_in_4bit", "16",
          "0.05",   "qkv",          "lora_modules_to_save"};
}

void read_adapters(Import& import, const SourceItem& item, const AdapterKeys& keys) {
  if (import.keys.find(keys.rank) != nullptr) {
    copy_count(import, keys.rank, "model.lora.rank");
  } else if (keys.rank_by_default.empty()) {
    import.draft.leave_open("model.lora.rank", item, "the rank of the adapters is not stated");
  } else {
    import.usual("model.lora.rank", std::string(keys.rank_by_default), "the rank of adapters");
  }
  if (const SourceItem* dropout = import.keys.take(keys.dropout)) {
    if (const auto share = import.keys.number(keys.dropout)) {
      import.draft.set("model.lora.dropout", fmt::format("{}", *share), read_from(*dropout));
    }
  } else if (keys.dropout_by_default != "0") {
    import.usual("model.lora.dropout", std::string(keys.dropout_by_default),
                 "dropout before the adapters");
  }
  if (const SourceItem* targets = import.keys.take(keys.targets)) {
    read_targets(import, *targets);
  } else if (import.keys.is_unread(keys.targets)) {
    const SourceItem& unread = *import.keys.find(keys.targets);
    import.draft.leave_open("model.lora.targets", unread, unread_reason(unread.value));
  } else {
    import.usual("model.lora.targets", fmt::format("[{}]", keys.targets_by_default),
                 "which layers have adapters");
  }
  if (!keys.whole.empty()) {
    read_whole(import, keys.whole);
  }
  const auto bits = keys.four_bits.empty() ? std::nullopt : import.keys.text(keys.four_bits);
  if (bits && (*bits == "4" || *bits == "true" || *bits == "True")) {
    import.set("model.lora.base", "nf4", keys.four_bits);
  } else if (bits && *bits != "0" && lower_case(*bits) != "false" && lower_case(*bits) != "none") {
    leave_out(import, keys.four_bits, Effect::large,
              "frozen weights in another number of bits than 4 and 16", "model.lora.base");
  }
}

}  // namespace

void read_adapters(Import& import, const SourceItem& item, TrainerProgram program) {
  read_adapters(import, item, adapter_keys(program));
}

bool read_peft_section(Import& import) {
  constexpr std::string_view kMegatron = "qkv, proj, fc1, fc2";

  struct Section {
    std::string_view kind;
    AdapterKeys keys;
  };

  constexpr std::array<Section, 3> kSections = {
      {{"peft._target_",
        {"peft.dim", "peft.dropout", "peft.target_modules", "", "32", "0", kMegatron}},
       {"model.peft._target_",
        {"model.peft.dim", "model.peft.dropout", "model.peft.target_modules", "", "32", "0",
         kMegatron}},
       {"model.peft.peft_scheme",
        {"model.peft.lora_tuning.adapter_dim", "model.peft.lora_tuning.adapter_dropout",
         "model.peft.lora_tuning.target_modules", "", "32", "0", "qkv"}}}};
  for (const Section& section : kSections) {
    const auto kind = import.keys.text(section.kind);
    if (!kind || kind->empty() || lower_case(*kind) == "null" || lower_case(*kind) == "none") {
      continue;
    }
    const SourceItem& item = *import.keys.find(section.kind);
    const std::string word = lower_case(*kind);
    const bool magnitudes = word.ends_with("dora");
    if ((!word.ends_with("lora") && !magnitudes) || word.ends_with("qlora")) {
      import.keys.error(
          item,
          fmt::format("{} trains part of the weights in a way that a scenario cannot express",
                      yaml::display(*kind)),
          "lora, dora");
      return false;
    }
    read_adapters(import, item, section.keys);
    if (magnitudes) {
      import.set("model.lora.kind", "dora", section.kind);
    }
    return true;
  }
  return true;
}

}  // namespace orrery::import_config
