#pragma once

// JSON as this program writes it: indented by two spaces with a newline at the end, or on one line;
// invalid UTF-8 is replaced. What is absent or no finite number is null; quantities are in base
// units, which the name of a member states ("step_time_s").

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sim/base/units.hpp"

namespace nlohmann {

template <typename T>
struct adl_serializer<std::optional<T>> {
  template <typename BasicJson>
  static void to_json(BasicJson& json, const std::optional<T>& value) {
    json = value ? BasicJson(*value) : BasicJson(nullptr);
  }
};

template <int S, int B, int F, int T, int D>
struct adl_serializer<orrery::Quantity<S, B, F, T, D>> {
  template <typename BasicJson>
  static void to_json(BasicJson& json, orrery::Quantity<S, B, F, T, D> value) {
    json = orrery::detail::RawAccess::get(value);
  }
};

}  // namespace nlohmann

namespace orrery {

using Json = nlohmann::ordered_json;  // members stay in the order in which they are written

template <typename BasicJson = Json>
[[nodiscard]] std::string json_line(const BasicJson& json) {
  return json.dump(-1, ' ', false, BasicJson::error_handler_t::replace);
}

template <typename BasicJson = Json>
[[nodiscard]] std::string json_text(const BasicJson& json) {
  return json.dump(2, ' ', false, BasicJson::error_handler_t::replace) + "\n";
}

// What `make` says of each item, as an array.
template <typename Items, typename Make>
[[nodiscard]] Json json_list(const Items& items, const Make& make) {
  Json list = Json::array();
  for (const auto& item : items) {
    list.push_back(make(item));
  }
  return list;
}

}  // namespace orrery
