// The key table as JSON Schema, draft 7.

#include <fmt/core.h>

#include "sim/base/text/json_text.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

// 8, not 8.0: bounds of whole numbers are printed as such.
Json number(double value, FormKind kind) {
  return kind == FormKind::integer ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json bounded(const Form& form) {
  Json schema = {{"type", form.kind == FormKind::integer ? "integer" : "number"}};
  if (form.min) {
    schema[form.min_exclusive ? "exclusiveMinimum" : "minimum"] = number(*form.min, form.kind);
  }
  if (form.max) {
    schema["maximum"] = number(*form.max, form.kind);
  }
  return schema;
}

// Texts of a quantity; a bare zero is a number to YAML.
Json pattern(const Form& form) {
  Json text = {{"type", "string"}, {"pattern", form.pattern}};
  if (form.pattern.find("|0") == std::string::npos) {
    return text;
  }
  return {{"anyOf", Json::array({std::move(text), {{"const", 0}}})}};
}

Json form_schema(const Form& form, const PresetLibrary& presets) {
  Json schema;
  switch (form.kind) {
    case FormKind::boolean:
      schema = {{"type", "boolean"}};
      break;
    case FormKind::words:
      schema = {{"enum", words_of(form, presets)}};
      break;
    case FormKind::integer:
    case FormKind::number:
      schema = {
          {"anyOf", Json::array({bounded(form), {{"type", "string"}, {"pattern", form.pattern}}})}};
      break;
    case FormKind::object:
      schema = {{"type", "object"}};
      break;
    case FormKind::any:
      schema = Json::object();
      break;
    case FormKind::text:
      schema = form.pattern.empty() ? Json{{"type", "string"}, {"minLength", 1}} : pattern(form);
      break;
  }
  return form.list ? Json{{"type", "array"}, {"items", std::move(schema)}} : schema;
}

Json mapping_schema(const std::string& row, const PresetLibrary& presets);

// The value of a key, lists left aside: any of its forms or the mapping.
Json value_schema(const Key& key, const std::string& row, const PresetLibrary& presets) {
  Json any = Json::array();
  for (const Form& form : key.forms) {
    any.push_back(form_schema(form, presets));
  }
  if (key.mapping) {
    any.push_back(mapping_schema(row, presets));
  }
  return any.size() == 1 ? any.front() : Json{{"anyOf", std::move(any)}};
}

Json default_of(const Key& key) {
  const Form& form = key.forms.front();
  if (form.kind == FormKind::boolean) {
    return key.fallback == "true";
  }
  if (form.kind == FormKind::integer) {
    return yaml::parse_count(key.fallback).value.value_or(0);
  }
  if (form.kind == FormKind::number) {
    return yaml::parse_number(key.fallback).value.value_or(0.0);
  }
  return key.fallback;
}

Json key_schema(const Key& key, const PresetLibrary& presets) {
  Json schema =
      key.list ? Json{{"type", "array"}, {"items", value_schema(key, key.path + "[]", presets)}}
               : value_schema(key, key.path, presets);
  Json described = {{"description", key.meaning}};
  if (!key.fallback.empty() && !key.forms.front().list) {
    described["default"] = default_of(key);
  }
  described.update(schema);
  return described;
}

Json mapping_schema(const std::string& row, const PresetLibrary& presets) {
  Json properties = Json::object();
  Json required = Json::array();
  Json all_of = Json::array();
  for (const Key* key : children_of(row)) {
    const std::string name(key->name());
    const Json schema = key_schema(*key, presets);
    properties[name] = schema;
    Json any_name = Json::array({{{"required", {name}}}});
    for (const std::string& alias : key->aliases) {
      properties[alias] = schema;
      properties[alias]["description"] = fmt::format("Another name of {}. {}", name, key->meaning);
      any_name.push_back({{"required", {alias}}});
    }
    if (key->required && key->aliases.empty()) {
      required.push_back(name);
    } else if (key->required) {
      all_of.push_back({{"anyOf", std::move(any_name)}});
    }
  }
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) {
    schema["required"] = std::move(required);
  }
  if (!all_of.empty()) {
    schema["allOf"] = std::move(all_of);
  }
  schema["additionalProperties"] = false;
  return schema;
}

}  // namespace

std::string json_schema(const PresetLibrary& presets) {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "Orrery scenario"},
                 {"description",
                  "Format orrery/1. Ranges of quantities with a unit and rules between keys are "
                  "checked by `orrery check`."}};
  schema.update(mapping_schema("", presets));
  return json_text(schema);
}

}  // namespace orrery::scenario
