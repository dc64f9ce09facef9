// TOML to a tree, by toml++ where this build has it.

#include <fmt/core.h>

#include "sim/import_config/source_tree.hpp"
#include "sim/yaml/text_check.hpp"

#ifdef ORRERY_TOML
#include <exception>
#include <sstream>

namespace orrery::import_config {

// toml++ 3.3 asserts what broken input does not keep (a comma where a key begins), and with NDEBUG
// takes it for granted: here its assertions are exceptions in every build.
struct BrokenToml : std::exception {};

}  // namespace orrery::import_config

// In functions that are noexcept such an exception would end the program; none of them reads input.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wterminate"
#endif
#undef NDEBUG
#define TOML_ASSERT(expr) \
  (static_cast<bool>(expr) ? static_cast<void>(0) : throw orrery::import_config::BrokenToml())
#define TOML_EXCEPTIONS 1
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>
#endif

namespace orrery::import_config {

#ifdef ORRERY_TOML

namespace {

using yaml::Value;

// A dotted key is one table inside the other, and toml++ takes any number of dots.
constexpr int kMostDots = 32;

// The first place with more dots in one key than a configuration needs; npos when there is none.
std::size_t find_deep_key(std::string_view text) {
  int dots = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool repeated = i > 0 && text[i - 1] == '.';
    if (c == '.' && !repeated) {
      if (++dots > kMostDots) {
        return i;
      }
    } else if (c == '\n' || c == ',' || c == '=' || c == '[' || c == '{' || c == '.') {
      dots = 0;
    }
  }
  return std::string_view::npos;
}

class Converter {
 public:
  Converter(const std::string& file, Diagnostics& diagnostics)
      : file_(file), diagnostics_(diagnostics) {}

  std::optional<Value> convert(const toml::node& node, std::size_t level) {
    Value value;
    value.where = place(node.source());
    if (level > kMostLevels || ++values_ > kMostValues) {
      diagnostics_.error(value.where,
                         "",
                         level > kMostLevels
                             ? fmt::format("has more than {} levels of nesting", kMostLevels)
                             : fmt::format("holds more than {} values", kMostValues));
      return std::nullopt;
    }
    if (const toml::table* table = node.as_table()) {
      value.kind = Value::Kind::mapping;
      for (const auto& [key, child] : *table) {
        std::optional<Value> entry = convert(child, level + 1);
        if (!entry) {
          return std::nullopt;
        }
        value.entries.push_back({std::string(key.str()), place(key.source()), *std::move(entry)});
      }
      return value;
    }
    if (const toml::array* array = node.as_array()) {
      value.kind = Value::Kind::sequence;
      for (const toml::node& child : *array) {
        std::optional<Value> item = convert(child, level + 1);
        if (!item) {
          return std::nullopt;
        }
        value.items.push_back(*std::move(item));
      }
      return value;
    }
    value.kind = Value::Kind::scalar;
    value.quoted = node.is_string();
    value.text = text_of(node);
    return value;
  }

 private:
  [[nodiscard]] SourceLocation place(const toml::source_region& region) const {
    return {file_, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
  }

  static std::string text_of(const toml::node& node) {
    if (const auto text = node.value_exact<std::string>()) {
      return *text;
    }
    if (const auto number = node.value_exact<std::int64_t>()) {
      return std::to_string(*number);
    }
    if (const auto flag = node.value_exact<bool>()) {
      return *flag ? "true" : "false";
    }
    if (const auto number = node.value_exact<double>()) {
      return fmt::format("{}", *number);
    }
    std::ostringstream date;
    node.visit([&date](const auto& value) { date << value; });
    return date.str();
  }

  const std::string& file_;
  Diagnostics& diagnostics_;
  std::size_t values_ = 0;
};

}  // namespace

std::optional<Value> parse_toml(std::string_view text,
                                const std::string& file,
                                Diagnostics& diagnostics) {
  const yaml::LineIndex lines(text);
  if (!yaml::check_text(text, file, lines, diagnostics)) {
    return std::nullopt;
  }
  const std::size_t deep = find_deep_key(text);
  if (deep != std::string_view::npos) {
    diagnostics.error(lines.location_of(file, deep),
                      "",
                      fmt::format("has a key with more than {} dots", kMostDots));
    return std::nullopt;
  }
  try {
    return Converter(file, diagnostics).convert(toml::parse(text), 0);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    diagnostics.error({file, static_cast<int>(at.line), static_cast<int>(at.column)},
                      "",
                      "is no TOML: " + std::string(error.description()));
  } catch (const BrokenToml&) {
    diagnostics.error({file}, "", "is no TOML");
  }
  return std::nullopt;
}

#else

std::optional<yaml::Value> parse_toml(std::string_view /*text*/,
                                      const std::string& file,
                                      Diagnostics& diagnostics) {
  diagnostics.error({file},
                    "",
                    "is TOML, which this build does not read: it was built without toml++",
                    "install libtomlplusplus-dev and build again");
  return std::nullopt;
}

#endif

std::optional<yaml::Value> parse_yaml(std::string_view text,
                                      const std::string& file,
                                      Diagnostics& diagnostics) {
  yaml::Limits limits;
  limits.max_bytes = text.size() + 1;
  limits.max_depth = static_cast<int>(kMostLevels);
  limits.max_nodes = kMostValues;
  return yaml::parse(text, file, limits, diagnostics);
}

}  // namespace orrery::import_config
