#include "sim/import_config/hugging_face/model_classes.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "sim/import_config/trees/key_fates.hpp"

namespace orrery::import_config {

namespace {

struct Classes {
  std::vector<ModelClass> known;
  std::map<std::string_view, std::string_view> other_names;
  std::vector<std::string_view> foreign;
};

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void set_field(ModelClass& one, std::string_view name, std::string_view value) {
  const std::map<std::string_view, std::string_view*> texts = {{"activation", &one.activation},
                                                               {"norm", &one.norm},
                                                               {"position", &one.position},
                                                               {"mixer", &one.mixer}};
  const std::map<std::string_view, bool*> flags = {{"gated", &one.gated},
                                                   {"tied", &one.tied},
                                                   {"linear_bias", &one.linear_bias},
                                                   {"qkv_bias", &one.qkv_bias},
                                                   {"embedding_norm", &one.embedding_norm},
                                                   {"parallel", &one.parallel},
                                                   {"output_gate", &one.output_gate}};
  const std::map<std::string_view, std::int64_t*> counts = {
      {"full_every", &one.full_every},  {"layers", &one.defaults.layers},
      {"hidden", &one.defaults.hidden}, {"heads", &one.defaults.heads},
      {"groups", &one.defaults.groups}, {"head_dim", &one.defaults.head_dim},
      {"ffn", &one.defaults.ffn},       {"vocabulary", &one.defaults.vocabulary}};
  if (const auto text = texts.find(name); text != texts.end()) {
    *text->second = value;
  } else if (const auto flag = flags.find(name); flag != flags.end()) {
    *flag->second = value == "true";
  } else if (const auto count = counts.find(name); count != counts.end()) {
    *count->second = number(value);
  }
}

const Classes& classes() {
  static const Classes all = [] {
    Classes read;
    std::string_view rest = shipped_text("hugging-face.classes");
    while (!rest.empty()) {
      std::string_view line = cut(rest, '\n');
      const std::string_view facts = cut(line, '|');
      std::string_view words = facts;
      const std::string_view first = cut(words, ' ');
      if (first.empty() || first == "#") {
        continue;
      }
      if (first == "=") {
        const std::string_view other = cut(words, ' ');
        read.other_names.emplace(other, words);
      } else if (first == "!") {
        while (!words.empty()) {
          read.foreign.push_back(cut(words, ' '));
        }
      } else {
        ModelClass one;
        one.type = first;
        one.remark = line.empty() ? line : line.substr(1);
        while (!words.empty()) {
          std::string_view value = cut(words, ' ');
          const std::string_view name = cut(value, '=');
          set_field(one, name, value);
        }
        read.known.push_back(one);
      }
    }
    return read;
  }();
  return all;
}

}  // namespace

const ModelClass* find_model_class(std::string_view type) {
  if (const auto other = classes().other_names.find(type); other != classes().other_names.end()) {
    type = other->second;
  }
  const auto& known = classes().known;
  const auto found = std::find_if(known.begin(), known.end(),
                                  [type](const ModelClass& one) { return one.type == type; });
  return found == known.end() ? nullptr : &*found;
}

bool is_foreign_class(std::string_view type) {
  const auto& foreign = classes().foreign;
  return std::find(foreign.begin(), foreign.end(), type) != foreign.end();
}

std::string model_class_names() {
  std::string names;
  for (const ModelClass& one : classes().known) {
    names += (names.empty() ? "" : ", ") + std::string(one.type);
  }
  return names;
}

}  // namespace orrery::import_config
