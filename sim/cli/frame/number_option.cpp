#include "sim/cli/frame/number_option.hpp"

#include <fmt/core.h>

#include <string>

#include "sim/base/yaml/scalar.hpp"

namespace orrery::cli {

namespace {

template <typename T>
std::string bounds_text(T least, T most) {
  return most == std::numeric_limits<T>::max() ? fmt::format("{} or more", least)
                                               : fmt::format("{} to {}", least, most);
}

// What CLI11 makes of the word afterwards.
bool is_plain(const std::string& word, std::int64_t value) {
  return word == fmt::format("{}", value);
}

bool is_plain(const std::string& /*word*/, double /*value*/) { return true; }

template <typename T>
CLI::Validator between(T least, T most, yaml::Parsed<T> (*read)(std::string_view)) {
  return CLI::Validator(
      [=](const std::string& word) {
        const yaml::Parsed<T> parsed = read(word);
        if (!parsed.value) {
          return fmt::format("{} (allowed: {})", parsed.message, bounds_text(least, most));
        }
        if (!is_plain(word, *parsed.value)) {
          return fmt::format("`{}` is not written in digits alone (allowed: {})", word,
                             bounds_text(least, most));
        }
        if (*parsed.value < least || *parsed.value > most) {
          return fmt::format("`{}` is not allowed (allowed: {})", word, bounds_text(least, most));
        }
        return std::string();
      },
      bounds_text(least, most));
}

}  // namespace

CLI::Validator count_between(std::int64_t least, std::int64_t most) {
  return between<std::int64_t>(least, most, yaml::parse_count);
}

CLI::Validator number_between(double least, double most) {
  return between<double>(least, most, yaml::parse_number);
}

}  // namespace orrery::cli
