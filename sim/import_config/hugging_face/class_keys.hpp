#pragma once

// The class of the model of a config.json: whether a scenario can express it, and what keys say
// that only some classes have. Internal to import_config/.
//
// A file is refused, with the key in its message, when its class is unknown, has layers that are no
// attention to all keys, or stands beside a tower for images or sound. ImportOptions::model_class
// takes it nevertheless, as the class that it names.

#include <string>
#include <string_view>

#include "sim/import_config/hugging_face/model_classes.hpp"
#include "sim/import_config/trees/draft.hpp"

namespace orrery::import_config {

// `prefix` stands before the keys of the text model; nullptr after a message.
[[nodiscard]] const ModelClass* check_class(Import& import,
                                            std::string_view prefix,
                                            const std::string& type);

// Falcon, GLM, MPT, MiniMax: their own names for heads and widths.
void read_class_keys(Import& import, std::string_view prefix, const ModelClass& known);

// Layers that are no attention, attention to chosen keys, gates.
void read_hybrid_layers(Import& import, std::string_view prefix, const ModelClass& family);

// Experts, shared experts, and layers without them, if the model has any.
void read_mixture(Import& import, std::string_view prefix, const ModelClass& family);

}  // namespace orrery::import_config
