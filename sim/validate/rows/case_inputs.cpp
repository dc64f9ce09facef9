#include "sim/validate/rows/case_inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/text/text.hpp"
#include "sim/yaml/scalar.hpp"

namespace orrery::validate {

namespace {

using yaml::Value;

struct Suffix {
  std::string_view text;
  double scale;  // to the base unit
};

// Longer ones first where one ends in another.
constexpr std::array<Suffix, 20> kTimes = {{{"_seconds", 1.0},
                                            {"_minutes", kSecondsPerMinute},
                                            {"_hours", kSecondsPerHour},
                                            {"_days", kSecondsPerDay},
                                            {"_second", 1.0},
                                            {"_minute", kSecondsPerMinute},
                                            {"_hour", kSecondsPerHour},
                                            {"_day", kSecondsPerDay},
                                            {"_sec", 1.0},
                                            {"_secs", 1.0},
                                            {"_mins", kSecondsPerMinute},
                                            {"_min", kSecondsPerMinute},
                                            {"_hrs", kSecondsPerHour},
                                            {"_hr", kSecondsPerHour},
                                            {"_ns", kNano},
                                            {"_us", kMicro},
                                            {"_ms", kMilli},
                                            {"_s", 1.0},
                                            {"_h", kSecondsPerHour},
                                            {"_d", kSecondsPerDay}}};

bool names_one(std::string_view name, Stems stems) {
  return std::any_of(
      stems.begin(), stems.end(), [&](std::string_view stem) { return name == lower_case(stem); });
}

std::optional<double> number_of(const Value& value) {
  return value.kind == Value::Kind::scalar ? yaml::parse_number(value.text).value : std::nullopt;
}

// The value in the base unit of a key `stem` + one of the suffixes.
template <std::size_t N>
std::optional<double> with_suffix(const DataRow& row,
                                  Stems stems,
                                  const std::array<Suffix, N>& suffixes,
                                  std::string_view ending = {}) {
  for (const std::string_view stem : stems) {
    const std::string wanted = lower_case(stem);
    for (const yaml::Entry& entry : row.value().entries) {
      std::string name = lower_case(entry.key);
      if (!name.ends_with(ending)) {
        continue;
      }
      name.resize(name.size() - ending.size());
      for (const Suffix& suffix : suffixes) {
        std::string_view bare = suffix.text;
        bare.remove_prefix(bare.starts_with('_') ? 1 : 0);
        const bool all = wanted.empty() && name == bare;  // `hours: 720` under the stem ""
        if (name == wanted + std::string(suffix.text) || all) {
          if (const auto value = number_of(entry.value)) {
            return *value * suffix.scale;
          }
        }
      }
    }
  }
  return std::nullopt;
}

// The text of a key that has a stem as its whole name, for values with a unit of their own.
std::string text_of(const DataRow& row, Stems stems) {
  for (const yaml::Entry& entry : row.value().entries) {
    if (names_one(lower_case(entry.key), stems) && entry.value.kind == Value::Kind::scalar) {
      return entry.value.text;
    }
  }
  return {};
}

bool contains_one(std::string_view name, Stems stems) {
  return std::any_of(stems.begin(), stems.end(), [&](std::string_view stem) {
    return name.find(lower_case(stem)) != std::string_view::npos;
  });
}

}  // namespace

std::optional<double> CaseInputs::number(Stems stems) const {
  for (const std::string_view stem : stems) {
    for (const yaml::Entry& entry : row_.value().entries) {
      if (lower_case(entry.key) == lower_case(stem)) {
        if (const auto value = number_of(entry.value)) {
          return value;
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<Seconds> CaseInputs::time(Stems stems) const {
  if (const auto value = with_suffix(row_, stems, kTimes)) {
    return seconds(*value);
  }
  return yaml::parse_time(text_of(row_, stems)).value;
}

std::optional<PerSecond> CaseInputs::node_rate() const {
  for (const yaml::Entry& entry : row_.value().entries) {
    const std::string name = lower_case(entry.key);
    const auto value = number_of(entry.value);
    if (!value) {
      continue;
    }
    const bool of_node = contains_one(name, {"node", "server", "host", "machine"});
    if (name.find("1000") != std::string::npos && (of_node || name.starts_with("r_"))) {
      return per_day(*value / kKilo);
    }
    if (of_node &&
        contains_one(name, {"per_node_day", "per_server_day", "per_host_day", "per_machine_day"})) {
      return per_day(*value);
    }
  }
  return std::nullopt;
}

std::optional<double> CaseInputs::nodes() const {
  if (const auto stated = number({"nodes", "servers", "hosts", "machines", "job_size"})) {
    return stated;
  }
  const auto devices = number({"gpus", "devices", "accelerators", "ranks"});
  const auto per_node = number({"gpus_per_node", "per_node", "gpus_per_server", "gpus_per_host"});
  constexpr double kUsualNode = 8.0;
  return devices ? std::optional(*devices / per_node.value_or(kUsualNode)) : std::nullopt;
}

}  // namespace orrery::validate
