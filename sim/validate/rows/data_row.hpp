#pragma once

// One entry of a data set: lenient access by key, unlike the strict scenario reader.
//
// Data sets carry more keys than a prediction needs (sources, notes), so unknown keys are fine. A
// key that is absent, null or of another type gives nothing; the caller decides whether the row can
// do without. Views point into the document, which must outlive them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/yaml/document.hpp"

namespace orrery::validate {

class DataRow {
 public:
  explicit DataRow(const yaml::Value& value) : value_(&value) {}

  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }

  // The value of a key that is neither absent nor null.
  [[nodiscard]] const yaml::Value* find(std::string_view key) const;

  // The text of a scalar, "" without one.
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::optional<double> number(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
  [[nodiscard]] std::optional<bool> flag(std::string_view key) const;

  // The items of a sequence of numbers; empty when absent or when one is no number.
  [[nodiscard]] std::vector<double> numbers(std::string_view key) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;

  // The mapping under a key; one without keys when absent.
  [[nodiscard]] DataRow row(std::string_view key) const;

  // Whether the text of `key` contains `words`.
  [[nodiscard]] bool mentions(std::string_view key, std::string_view words) const;

  [[nodiscard]] const yaml::Value& value() const { return *value_; }

 private:
  const yaml::Value* value_;
};

// The entries of the sequence under `key`; empty when there is none.
[[nodiscard]] std::vector<DataRow> data_rows(const yaml::Value& document, std::string_view key);

}  // namespace orrery::validate
