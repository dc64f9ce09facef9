#include "calibrate/samples/sample.hpp"

#include "sim/base/text/json_text.hpp"
#include "sim/base/text/untrusted_json.hpp"

namespace orrery::calibrate {

namespace {

void put(Json& json, const char* key, const std::optional<double>& value) {
  if (value) {
    json[key] = *value;
  }
}

std::optional<double> number(const Json& json, const char* key) {
  return json.contains(key) ? std::optional(json.at(key).get<double>()) : std::nullopt;
}

Json state_json(const DeviceState& state) {
  Json json = Json::object();
  put(json, "sm_clock_mhz", state.sm_clock);
  put(json, "memory_clock_mhz", state.memory_clock);
  put(json, "power_w", state.power);
  put(json, "energy_j_per_call", state.energy);
  put(json, "temperature_c", state.temperature);
  if (!state.throttled.empty()) {
    json["throttled"] = state.throttled;
  }
  if (state.discarded != 0) {
    json["discarded"] = state.discarded;
  }
  if (state.late != 0) {
    json["late"] = state.late;
  }
  return json;
}

DeviceState read_state(const Json& json) {
  DeviceState state;
  state.sm_clock = number(json, "sm_clock_mhz");
  state.memory_clock = number(json, "memory_clock_mhz");
  state.power = number(json, "power_w");
  state.energy = number(json, "energy_j_per_call");
  state.temperature = number(json, "temperature_c");
  if (json.contains("throttled")) {
    state.throttled = json.at("throttled").get<std::vector<std::string>>();
  }
  state.discarded = json.contains("discarded") ? whole_number(json.at("discarded")) : 0;
  state.late = json.contains("late") ? whole_number(json.at("late")) : 0;
  return state;
}

std::optional<Regime> regime_of(const std::string& name) {
  for (const Regime regime : {Regime::burst, Regime::sustained}) {
    if (to_string(regime) == name) {
      return regime;
    }
  }
  return std::nullopt;
}

std::optional<Sample> sample_of(const Json& json) {
  kernels::ParsedCase parsed = kernels::parse_case(json.at("case").get<std::string>());
  const std::optional<Regime> regime = regime_of(json.at("regime").get<std::string>());
  const std::optional<Condition> condition =
      parse_condition(json.value("condition", std::string()));
  if (!parsed.kernel || !regime || !condition) {
    return std::nullopt;
  }
  Sample sample;
  sample.kernel = *parsed.kernel;
  sample.regime = *regime;
  sample.condition = *condition;
  sample.block = json.at("block").get<std::string>();
  sample.taken_at = json.at("at").get<std::string>();
  sample.repeat = json.contains("repeat") ? whole_number(json.at("repeat")) : 0;
  if (json.contains("unsupported")) {
    sample.supported = false;
    sample.status = json.at("unsupported").get<std::string>();
    return sample;
  }
  sample.times = json.at("us").get<std::vector<double>>();
  if (sample.times.empty()) {
    return std::nullopt;
  }
  sample.state = read_state(json.at("state"));
  sample.implementation = json.at("implementation").get<std::string>();
  for (const auto& [name, value] : json.at("details").items()) {
    sample.details.emplace_back(name, value.get<std::string>());
  }
  sample.alone = number(json, "alone_us");
  sample.first_choice = number(json, "first_choice_over_best");
  sample.error = number(json, "error");
  sample.drifted = json.value("drifted", false);
  sample.functional = json.value("functional", false);
  return sample;
}

}  // namespace

std::string_view to_string(Regime regime) {
  return regime == Regime::burst ? "burst" : "sustained";
}

std::string to_line(const Sample& sample) {
  Json json = {{"case", kernels::to_text(sample.kernel)},
               {"regime", to_string(sample.regime)},
               {"block", sample.block},
               {"at", sample.taken_at}};
  if (!sample.condition.alone()) {
    json["condition"] = to_text(sample.condition);
  }
  if (sample.repeat != 0) {
    json["repeat"] = sample.repeat;
  }
  if (!sample.supported) {
    json["unsupported"] = sample.status;
  } else {
    json["us"] = sample.times;
    json["state"] = state_json(sample.state);
    json["implementation"] = sample.implementation;
    Json details = Json::object();
    for (const auto& [name, value] : sample.details) {
      details[name] = value;
    }
    json["details"] = std::move(details);
    put(json, "alone_us", sample.alone);
    put(json, "first_choice_over_best", sample.first_choice);
    put(json, "error", sample.error);
    if (sample.drifted) {
      json["drifted"] = true;
    }
    if (sample.functional) {
      json["functional"] = true;
    }
  }
  return json_line(json);
}

std::optional<Sample> read_sample(std::string_view line) {
  try {
    return sample_of(read_json<Json>(line).value);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string key_of(const kernels::KernelCase& kernel,
                   Regime regime,
                   const Condition& condition,
                   std::int64_t repeat) {
  std::string key = kernels::to_text(kernel) + " " + std::string(to_string(regime));
  if (!condition.alone()) {
    key += " " + to_text(condition);
  }
  return repeat == 0 ? key : key + " " + std::to_string(repeat);
}

}  // namespace orrery::calibrate
