#pragma once

// Values of a NeMo file that point at others: ${.encoder_seq_length}, ${model.num_layers},
// ${multiply:4, ${.hidden_size}}. Internal to import_config/.
//
// What cannot be followed stays as it is, and is reported as unread where it is needed. The number
// of replacements is bounded, so that a value that points at itself ends.

#include "sim/yaml/document.hpp"

namespace orrery::import_config {

void follow_references(yaml::Value& root);

}  // namespace orrery::import_config
