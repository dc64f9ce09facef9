#include "sim/validate/case_inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/text.hpp"
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

constexpr std::array<Suffix, 11> kSizes = {{{"bytes", 1.0},
                                            {"_kib", kKibi},
                                            {"_mib", kMebi},
                                            {"_gib", kGibi},
                                            {"_tib", kTebi},
                                            {"_kb", kKilo},
                                            {"_mb", kMega},
                                            {"_gb", kGiga},
                                            {"_tb", kTera},
                                            {"_pb", kPeta},
                                            {"_b", 1.0}}};

constexpr std::array<std::string_view, 4> kPerSecond = {"ps", "_per_s", "_s", "_per_second"};

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

bool is_list(const Value& value) {
  return value.kind == Value::Kind::sequence;
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

std::optional<Bytes> CaseInputs::size(Stems stems) const {
  if (const auto value = with_suffix(row_, stems, kSizes)) {
    return bytes(*value);
  }
  return yaml::parse_bytes(text_of(row_, stems)).value;
}

std::optional<BytesPerSecond> CaseInputs::bandwidth(Stems stems) const {
  for (const std::string_view ending : kPerSecond) {
    if (const auto value = with_suffix(row_, stems, kSizes, ending)) {
      return bytes_per_second(*value);
    }
  }
  return yaml::parse_bandwidth(text_of(row_, stems)).value;
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

std::optional<double> CaseInputs::gpus() const {
  if (const auto stated = number({"gpus", "devices", "accelerators", "ranks", "processes"})) {
    return stated;
  }
  const auto hosts = number({"nodes", "servers", "hosts", "machines"});
  const auto per_node = number({"gpus_per_node", "per_node", "gpus_per_server", "gpus_per_host"});
  return hosts && per_node ? std::optional(*hosts * *per_node) : std::nullopt;
}

std::vector<double> CaseInputs::list(Stems stems) const {
  for (const yaml::Entry& entry : row_.value().entries) {
    if (is_list(entry.value) && contains_one(lower_case(entry.key), stems)) {
      return row_.numbers(entry.key);
    }
  }
  return {};
}

bool CaseInputs::has_list(Stems stems) const {
  return std::any_of(
      row_.value().entries.begin(), row_.value().entries.end(), [&](const yaml::Entry& entry) {
        return is_list(entry.value) && contains_one(lower_case(entry.key), stems);
      });
}

std::vector<double> CaseInputs::all_numbers() const {
  std::vector<double> numbers;
  for (const yaml::Entry& entry : row_.value().entries) {
    if (const auto value = number_of(entry.value)) {
      numbers.push_back(*value);
    }
    for (const double value : row_.numbers(entry.key)) {
      numbers.push_back(value);
    }
  }
  return numbers;
}

std::string CaseInputs::text(Stems stems) const {
  return text_of(row_, stems);
}

template <typename T>
T CaseInputs::required(const std::optional<T>& value, bool zero_allowed, std::string_view name) {
  const bool sound = value && (*value > T{} || (zero_allowed && *value >= T{}));
  if (!sound) {
    missing_.emplace_back(name);
    return T{};
  }
  return *value;
}

double CaseInputs::need(Stems stems) {
  return required(number(stems), false, *stems.begin());
}

Seconds CaseInputs::need_time(Stems stems) {
  return required(time(stems), false, *stems.begin());
}

Seconds CaseInputs::need_time_or_zero(Stems stems) {
  return required(time(stems), true, *stems.begin());
}

Bytes CaseInputs::need_size(Stems stems) {
  return required(size(stems), false, *stems.begin());
}

PerSecond CaseInputs::need_node_rate() {
  return required(node_rate(), false, "failures per node and day");
}

double CaseInputs::need_nodes() {
  return required(nodes(), false, "nodes");
}

double CaseInputs::need_gpus() {
  return required(gpus(), false, "gpus");
}

}  // namespace orrery::validate
