// The key `measured`: what publications say, for `orrery validate`. No stage of an evaluation reads
// it; names of metrics are checked where metrics are known.

#include <optional>

#include "sim/base/yaml/scalar.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using yaml::Value;

// Scalars and {value: ..., kind: ...}.
std::optional<MeasuredText> read_entry(const yaml::Entry& entry, const std::string& path,
                                       Reading& reading) {
  MeasuredText measured;
  measured.metric = entry.key;
  measured.metric_where = entry.key_where;
  measured.where = entry.value.where;
  if (entry.value.kind == Value::Kind::scalar) {
    measured.text = entry.value.text;
    return measured;
  }
  const std::string key = path + "." + entry.key;
  if (entry.value.kind != Value::Kind::mapping) {
    yaml::report(reading.diagnostics, entry.value.where, key, "is no value",
                 "a value of the metric, or {value, kind}");
    return std::nullopt;
  }
  yaml::MappingReader reader(entry.value, reading.diagnostics, key);
  const Value* value = reader.take("value");
  const Value* kind = reader.take("kind");
  reader.finish();
  if (value == nullptr || value->kind != Value::Kind::scalar) {
    yaml::report(reading.diagnostics, entry.value.where, key, "states no value", "{value, kind}");
    return std::nullopt;
  }
  measured.text = value->text;
  measured.where = value->where;
  if (kind != nullptr) {
    const std::vector<std::string_view> words(run::kHoursKindNames.begin(),
                                              run::kHoursKindNames.end());
    const auto index = yaml::read_word(*kind, key + ".kind", words, reading.diagnostics);
    if (!index) {
      return std::nullopt;
    }
    measured.kind = static_cast<run::HoursKind>(*index);
  }
  return measured;
}

// A step takes time; other metrics may be 0.
bool is_sound(const MeasuredText& measured, const std::string& path, Reading& reading) {
  if (measured.metric != "step_time") {
    return true;
  }
  const auto time = yaml::parse_time(measured.text);
  if (time.value && *time.value > Seconds{}) {
    return true;
  }
  yaml::report(reading.diagnostics, measured.where, path + "." + measured.metric,
               time.value ? "is no time of a step" : time.message, "12.3s");
  return false;
}

void read_measured(const Value& value, const std::string& path, Reading& reading) {
  if (value.kind != Value::Kind::mapping) {
    yaml::report(reading.diagnostics, value.where, path, "is no mapping",
                 "a mapping from metrics to what was measured");
    return;
  }
  for (const yaml::Entry& entry : value.entries) {
    auto measured = read_entry(entry, path, reading);
    if (measured && is_sound(*measured, path, reading)) {
      reading.draft.scenario.measured.push_back(*std::move(measured));
    }
  }
}

}  // namespace

void measured_keys(Rows& keys) {
  Key& key =
      keys.add("measured",
               "What was measured or published, by metric. `orrery validate` sets the prediction "
               "beside it; it never reaches one. GPU-hours say what they contain: {value: 2.664M, "
               "kind: throughput-derived}, or billed (as without it), productive, unknown.",
               "{goodput: 0.57}", {.note = "nothing is compared"});
  Form form;
  form.kind = FormKind::object;
  form.name = "a mapping of metrics";
  form.example = key.example;
  key.forms = {form};
  key.read = read_measured;
}

}  // namespace orrery::scenario
