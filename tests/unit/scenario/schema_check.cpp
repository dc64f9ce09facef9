#include "tests/unit/scenario/schema_check.hpp"

#include <charconv>
#include <regex>
#include <set>

namespace orrery::scenario {

namespace {

using nlohmann::json;
using yaml::Value;

json to_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return nullptr;
    case Value::Kind::sequence: {
      json list = json::array();
      for (const Value& item : value.items) {
        list.push_back(to_json(item));
      }
      return list;
    }
    case Value::Kind::mapping: {
      json object = json::object();
      for (const yaml::Entry& entry : value.entries) {
        object[entry.key] = to_json(entry.value);
      }
      return object;
    }
    case Value::Kind::scalar:
      break;
  }
  if (value.quoted) {
    return value.text;
  }
  if (value.text == "true" || value.text == "false") {
    return value.text == "true";
  }
  static const std::regex number("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
  return std::regex_match(value.text, number) ? json::parse(value.text) : json(value.text);
}

class Checker {
 public:
  void check(const json& value, const json& schema, const std::string& path) {
    for (const auto& [keyword, rule] : schema.items()) {
      if (!apply(keyword, rule, value, schema, path)) {
        fail(path, "the schema has the unknown keyword " + keyword);
      }
    }
  }

  std::vector<std::string> take() { return std::move(found_); }

 private:
  bool apply(const std::string& keyword, const json& rule, const json& value, const json& schema,
             const std::string& path) {
    static const std::set<std::string> silent = {"$schema", "title", "description", "default"};
    if (silent.contains(keyword)) {
      return true;
    }
    if (keyword == "type") {
      require(has_type(value, rule), path, "is no " + rule.get<std::string>());
    } else if (keyword == "enum") {
      require(std::find(rule.begin(), rule.end(), value) != rule.end(), path, "is not in the enum");
    } else if (keyword == "const") {
      require(value == rule, path, "is not the constant");
    } else if (keyword == "pattern") {
      const bool matches =
          !value.is_string() || std::regex_search(value.get<std::string>(), std::regex(rule));
      require(matches, path, "does not match " + rule.get<std::string>());
    } else if (keyword == "minLength") {
      require(!value.is_string() || value.get<std::string>().size() >= rule, path, "is too short");
    } else if (keyword == "minimum" || keyword == "exclusiveMinimum" || keyword == "maximum") {
      check_bound(keyword, rule, value, path);
    } else if (keyword == "anyOf" || keyword == "allOf") {
      check_choice(keyword, rule, value, path);
    } else if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        check(value[i], rule, path + "[" + std::to_string(i) + "]");
      }
    } else if (keyword == "properties" || keyword == "additionalProperties") {
      check_properties(value, schema, path, keyword == "properties");
    } else if (keyword == "required") {
      for (const json& name : rule) {
        require(!value.is_object() || value.contains(name), path, "lacks " + name.dump());
      }
    } else {
      return false;
    }
    return true;
  }

  static bool has_type(const json& value, const json& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
           (type == "number" && value.is_number()) ||
           (type == "integer" && value.is_number_integer());
  }

  void check_bound(const std::string& keyword, const json& rule, const json& value,
                   const std::string& path) {
    if (!value.is_number()) {
      return;
    }
    const double number = value.get<double>();
    const double bound = rule.get<double>();
    const bool holds = keyword == "minimum"            ? number >= bound
                       : keyword == "exclusiveMinimum" ? number > bound
                                                       : number <= bound;
    require(holds, path, "breaks its " + keyword);
  }

  void check_choice(const std::string& keyword, const json& rule, const json& value,
                    const std::string& path) {
    std::vector<std::string> reasons;
    bool any = false;
    for (const json& option : rule) {
      Checker inner;
      inner.check(value, option, path);
      any = any || inner.found_.empty();
      reasons.insert(reasons.end(), inner.found_.begin(), inner.found_.end());
    }
    if (keyword == "anyOf" ? !any : !reasons.empty()) {
      found_.insert(found_.end(), reasons.begin(), reasons.end());
    }
  }

  void check_properties(const json& value, const json& schema, const std::string& path,
                        bool known) {
    if (!value.is_object()) {
      return;
    }
    const json& properties = schema["properties"];
    for (const auto& [name, inner] : value.items()) {
      const std::string below = path.empty() ? name : path + "." + name;
      if (!properties.contains(name)) {
        require(known, below, "is not in the schema");
      } else if (known) {
        check(inner, properties[name], below);
      }
    }
  }

  void require(bool holds, const std::string& path, const std::string& what) {
    if (!holds) {
      fail(path, what);
    }
  }

  void fail(const std::string& path, const std::string& what) {
    found_.push_back(path + ": " + what);
  }

  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> violations(const yaml::Value& value, const nlohmann::json& schema) {
  Checker checker;
  checker.check(to_json(value), schema, "");
  return checker.take();
}

}  // namespace orrery::scenario
