#include "calibrate/samples/sample.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "sim/base/check.hpp"
#include "sim/base/quantile.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/base/text/untrusted_json.hpp"

namespace orrery::calibrate {

namespace {

struct ConditionWords {
  Condition::Kind kind;
  std::string_view words;
  bool counted;  // a number follows
};

using Kind = Condition::Kind;
constexpr std::array<ConditionWords, 6> kConditions = {
    {{Kind::enqueued, "enqueued", false},
     {Kind::graph, "graph calls=", true},
     {Kind::fewer_multiprocessors, "multiprocessors removed=", true},
     {Kind::streaming, "multiprocessors streaming=", true},
     {Kind::concurrent, "concurrent groups=", true},
     {Kind::beside, "beside ", false}}};

std::optional<Condition> counted(Kind kind, std::string_view digits) {
  Condition condition{.kind = kind};
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, condition.count);
  return error == std::errc() && stop == end && condition.count > 0 ? std::optional(condition)
                                                                    : std::nullopt;
}

}  // namespace

std::string to_text(const Condition& condition) {
  for (const ConditionWords& row : kConditions) {
    if (row.kind == condition.kind) {
      return fmt::format("{}{}", row.words,
                         row.counted       ? fmt::format("{}", condition.count)
                         : condition.other ? kernels::to_text(*condition.other)
                                           : "");
    }
  }
  return {};
}

std::optional<Condition> parse_condition(std::string_view text) {
  if (text.empty()) {
    return Condition{};
  }
  const auto* row = std::ranges::find_if(
      kConditions, [text](const ConditionWords& known) { return text.starts_with(known.words); });
  if (row == kConditions.end()) {
    return std::nullopt;
  }
  const std::string_view rest = text.substr(row->words.size());
  if (row->counted) {
    return counted(row->kind, rest);
  }
  if (row->kind == Kind::enqueued) {
    return rest.empty() ? std::optional(Condition{.kind = row->kind}) : std::nullopt;
  }
  const kernels::ParsedCase other = kernels::parse_case(rest);
  return other.kernel ? std::optional(Condition{.kind = row->kind, .other = other.kernel})
                      : std::nullopt;
}

namespace {

template <typename Self, typename T>
concept Is = std::is_same_v<std::remove_const_t<Self>, T>;

// The members of what stands in a journal, each once for both directions.
template <Is<DeviceState> Self, typename Visit>
void for_each_field(Self& state, const Visit& visit) {
  visit("sm_clock_mhz", state.sm_clock);
  visit("memory_clock_mhz", state.memory_clock);
  visit("power_w", state.power);
  visit("energy_j_per_call", state.energy);
  visit("temperature_c", state.temperature);
  visit("throttled", state.throttled);
  visit("discarded", state.discarded);
  visit("late", state.late);
}

// Those that follow the times.
template <Is<Sample> Self, typename Visit>
void for_each_field(Self& sample, const Visit& visit) {
  visit("alone_us", sample.alone);
  visit("first_choice_over_best", sample.first_choice);
  visit("error", sample.error);
  visit("drifted", sample.drifted);
  visit("functional", sample.functional);
}

template <Is<LibraryVersions> Self, typename Visit>
void for_each_field(Self& versions, const Visit& visit) {
  visit("header", versions.header);
  visit("runtime", versions.runtime);
}

template <Is<NvlinkTopology> Self, typename Visit>
void for_each_field(Self& nvlink, const Visit& visit) {
  visit("links", nvlink.links);
  visit("version", nvlink.version);
  visit("switched", nvlink.switched);
  visit("peers", nvlink.peers);
}

template <Is<Fingerprint> Self, typename Visit>
void for_each_field(Self& f, const Visit& visit) {
  visit("gpu", f.gpu);
  visit("gpu_uuid", f.gpu_uuid);
  visit("gpus", f.gpus);
  visit("compute_capability", f.compute_capability);
  visit("multiprocessors", f.multiprocessors);
  visit("l2_bytes", f.l2_bytes);
  visit("memory_bytes", f.memory_bytes);
  visit("pcie_generation", f.pcie_generation);
  visit("pcie_width", f.pcie_width);
  visit("mig", f.mig);
  visit("ecc", f.ecc);
  visit("driver", f.driver);
  visit("cuda_compiled", f.cuda_compiled);
  visit("cuda_runtime", f.cuda_runtime);
  visit("cuda_driver", f.cuda_driver);
  visit("cublaslt", f.cublaslt);
  visit("cudnn", f.cudnn);
  visit("nccl", f.nccl);
  visit("nvlink", f.nvlink);
  visit("power_limit_w", f.power_limit);
  visit("most_sm_clock_mhz", f.most_sm_clock);
  visit("cpu", f.cpu);
  visit("cores", f.cores);
  visit("tool", f.tool);
}

template <typename T>
concept HasFields = requires(T& value) {
  for_each_field(value, [](const char*, auto&) {});
};

template <typename T>
Json json_from(const T& value) {
  if constexpr (HasFields<const T>) {
    Json json = Json::object();
    for_each_field(value,
                   [&json](const char* key, const auto& member) { json[key] = json_from(member); });
    return json;
  } else if constexpr (requires { value.has_value(); }) {
    return value ? json_from(*value) : Json(nullptr);
  } else {
    return value;
  }
}

// Throw Json::exception where a value is missing or of another type.
template <typename T>
void read(const Json& json, T& value) {
  if constexpr (HasFields<T>) {
    for_each_field(value, [&json](const char* key, auto& member) { read(json.at(key), member); });
  } else if constexpr (requires { value.has_value(); }) {
    if (!json.is_null()) {
      read(json, value.emplace());
    }
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    value = whole_number(json);
  } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
    for (const Json& one : json) {
      read(one, value.emplace_back());
    }
  } else {
    value = json.get<T>();
  }
}

// Members that are as they are by default are left out.
template <typename T>
void put_fields(const T& from, Json& json) {
  for_each_field(from, [&json]<typename Member>(const char* key, const Member& member) {
    if (member != Member{}) {
      json[key] = json_from(member);
    }
  });
}

template <typename T>
void read_present(const Json& json, T& to) {
  for_each_field(to, [&json](const char* key, auto& member) {
    if (json.contains(key)) {
      read(json.at(key), member);
    }
  });
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
  read_present(json.at("state"), sample.state);
  sample.implementation = json.at("implementation").get<std::string>();
  for (const auto& [name, value] : json.at("details").items()) {
    sample.details.emplace_back(name, value.get<std::string>());
  }
  read_present(json, sample);
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
    Json state = Json::object();
    put_fields(sample.state, state);
    json["state"] = std::move(state);
    json["implementation"] = sample.implementation;
    Json details = Json::object();
    for (const auto& [name, value] : sample.details) {
      details[name] = value;
    }
    json["details"] = std::move(details);
    put_fields(sample, json);
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

std::string key_of(const kernels::KernelCase& kernel, Regime regime, const Condition& condition,
                   std::int64_t repeat) {
  std::string key = kernels::to_text(kernel) + " " + std::string(to_string(regime));
  if (!condition.alone()) {
    key += " " + to_text(condition);
  }
  return repeat == 0 ? key : key + " " + std::to_string(repeat);
}

Summary summarise(std::span<const double> samples) {
  ORRERY_CHECK(!samples.empty(), "a summary needs at least one sample");
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const auto last = static_cast<double>(sorted.size() - 1);
  Summary summary;
  summary.count = sorted.size();
  summary.median = value_at_rank(sorted, 0.5 * last);
  summary.p10 = value_at_rank(sorted, 0.1 * last);
  summary.p90 = value_at_rank(sorted, 0.9 * last);
  summary.least = sorted.front();
  const double spread = 0.5 * std::sqrt(static_cast<double>(sorted.size()));
  const double low = value_at_rank(sorted, 0.5 * last - spread);
  const double high = value_at_rank(sorted, 0.5 * last + spread);
  summary.error = summary.median > 0.0 ? 0.5 * (high - low) / summary.median : 0.0;
  return summary;
}

namespace {

std::optional<SettlingCurve> settling_of(const Json& json) {
  kernels::ParsedCase parsed = kernels::parse_case(json.at("settling").get<std::string>());
  const Json& since = json.at("since_load_s");
  const std::size_t count = since.size();
  if (!parsed.kernel || count == 0 || json.at("us").size() != count ||
      json.at("sm_clock_mhz").size() != count || json.at("power_w").size() != count) {
    return std::nullopt;
  }
  SettlingCurve curve{
      .kernel = *parsed.kernel, .taken_at = json.at("at").get<std::string>(), .points = {}};
  for (std::size_t i = 0; i < count; ++i) {
    SettlingPoint& point = curve.points.emplace_back();
    read(since.at(i), point.since_load);
    read(json.at("us").at(i), point.time);
    read(json.at("sm_clock_mhz").at(i), point.sm_clock);
    read(json.at("power_w").at(i), point.power);
    if (i > 0 && curve.points[i].since_load <= curve.points[i - 1].since_load) {
      return std::nullopt;
    }
  }
  return curve;
}

}  // namespace

std::string to_line(const SettlingCurve& curve) {
  Json json = {{"settling", kernels::to_text(curve.kernel)},
               {"at", curve.taken_at},
               {"since_load_s", Json::array()},
               {"us", Json::array()},
               {"sm_clock_mhz", Json::array()},
               {"power_w", Json::array()}};
  for (const SettlingPoint& point : curve.points) {
    json["since_load_s"].push_back(point.since_load);
    json["us"].push_back(point.time);
    json["sm_clock_mhz"].push_back(point.sm_clock);
    json["power_w"].push_back(point.power);
  }
  return json_line(json);
}

std::optional<SettlingCurve> read_settling(std::string_view line) {
  try {
    return settling_of(read_json<Json>(line).value);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

Json json_of(const Fingerprint& fingerprint) { return json_from(fingerprint); }

std::string to_json(const Fingerprint& fingerprint) { return json_line(json_of(fingerprint)); }

std::optional<Fingerprint> read_fingerprint(std::string_view json) {
  try {
    Fingerprint fingerprint;
    read(read_json<Json>(json).value, fingerprint);
    return fingerprint;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string differences(const Fingerprint& a, const Fingerprint& b) {
  const Json first = json_of(a);
  const Json second = json_of(b);
  std::string names;
  for (const auto& [key, value] : first.items()) {
    if (value != second.at(key)) {
      names += names.empty() ? key : ", " + key;
    }
  }
  return names;
}

}  // namespace orrery::calibrate
