#pragma once

// What a class of transformers does that the config.json of a model need not say. Internal to
// import_config/.
//
// The facts stand in scenarios/imports/hugging-face.classes.

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/import_config/trees/draft.hpp"

namespace orrery::import_config {

// What the class takes for a dimension that the file does not state; 0: the file must state it.
struct ClassDefaults {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t groups = 0;
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;
  std::int64_t vocabulary = 0;
};

struct ModelClass {
  std::string_view type;
  std::string_view activation = "swiglu";  // when no key names one
  bool gated = true;                       // the MLP has a gate
  std::string_view norm = "rms_norm";
  std::string_view position = "rotary";
  bool tied = false;         // when tie_word_embeddings is absent
  bool linear_bias = false;  // biases in every linear layer
  bool qkv_bias = false;     // in the projection to queries, keys and values
  bool embedding_norm = false;
  std::int64_t full_every = 0;   // with a window: each n-th layer sees the whole sequence
  bool parallel = false;         // attention and MLP work side by side
  std::string_view mixer = {};   // of model.layer_types, in the layers that are not attention
  bool output_gate = false;      // when attn_output_gate is absent
  std::string_view remark = {};  // what the scenario cannot say of it
  ClassDefaults defaults = {};
};

[[nodiscard]] std::string model_class_names();

// By model_type; nullptr for a class that is not known.
[[nodiscard]] const ModelClass* find_model_class(std::string_view type);

// Layers that are no attention, attention to chosen keys only, or no decoder at all.
[[nodiscard]] bool is_foreign_class(std::string_view type);

// The class of the model of a config.json: whether a scenario can express it, and what keys say
// that only some classes have.
//
// A file is refused, with the key in its message, when its class is unknown, has layers that are no
// attention to all keys, or stands beside a tower for images or sound. ImportOptions::model_class
// takes it nevertheless, as the class that it names.

// `prefix` stands before the keys of the text model; nullptr after a message.
[[nodiscard]] const ModelClass* check_class(Import& import, std::string_view prefix,
                                            const std::string& type);

// Falcon, GLM, MPT, MiniMax: their own names for heads and widths.
void read_class_keys(Import& import, std::string_view prefix, const ModelClass& known);

// Layers that are no attention, attention to chosen keys, gates.
void read_hybrid_layers(Import& import, std::string_view prefix, const ModelClass& family);

// Experts, shared experts, and layers without them, if the model has any.
void read_mixture(Import& import, std::string_view prefix, const ModelClass& family);

}  // namespace orrery::import_config
