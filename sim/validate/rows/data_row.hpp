#pragma once

// One entry of a data set: lenient access by key, unlike the strict scenario reader.
//
// Data sets carry more keys than a prediction needs (sources, notes), so unknown keys are fine. A
// key that is absent, null or of another type gives nothing; the caller decides whether the row can
// do without. Views point into the document, which must outlive them.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/validate/validation.hpp"

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

// What is known about rows and groups of published data: row_remarks.yaml beside the data set.
//
// A suspicious row is scored like every other and flagged with its reason; statistics without such
// rows stand beside the full ones.

inline constexpr std::string_view kRemarksFormat = "row-remarks/1";

struct Remarks {
  std::map<std::string, std::string> suspicious;  // id of a row -> reason
  std::vector<std::string> tuned;                 // ids of rows whose layout a team tuned
  std::vector<GroupRemark> groups;
  std::vector<std::string> notes;
  std::vector<std::filesystem::path> read;  // files that were read, each once
};

// Adds the remarks in the folder of a data set, when there are any.
void read_remarks_beside(const std::filesystem::path& file, Remarks& remarks,
                         Diagnostics& diagnostics);

// Data sets are larger than scenarios.
[[nodiscard]] yaml::Limits data_limits();

}  // namespace orrery::validate
