#pragma once

// Rows of the published data sets under scenarios/published, as text by key; and error statistics.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::cost::testing {

// One row: scalars by key; a sequence of scalars is kept as its items.
struct Row {
  std::map<std::string, std::string> text;
  std::map<std::string, std::vector<std::string>> list;

  [[nodiscard]] std::string get(const std::string& key) const;
  [[nodiscard]] std::optional<double> number(const std::string& key) const;
  [[nodiscard]] bool contains(const std::string& key, std::string_view word) const;
};

// Items of the sequence `section` of scenarios/published/<file>.
[[nodiscard]] std::vector<Row> published_rows(const std::string& file, const std::string& section);

// Relative errors (predicted - measured) / measured by group.
class ErrorTable {
 public:
  void add(const std::string& group, double predicted, double measured);

  struct Summary {
    std::size_t n = 0;
    double mape = 0.0;
    double median = 0.0;
    double bias = 0.0;
    double worst = 0.0;
  };

  [[nodiscard]] Summary overall() const;
  [[nodiscard]] Summary of(const std::string& group) const;
  [[nodiscard]] double mape_of_groups() const;
  // One line per group and one for all.
  [[nodiscard]] std::string text() const;

 private:
  std::map<std::string, std::vector<double>> errors_;
};

}  // namespace orrery::cost::testing
