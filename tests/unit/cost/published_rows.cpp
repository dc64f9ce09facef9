#include "tests/unit/cost/published_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sim/base/check.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "tests/checkout.hpp"

namespace orrery::cost::testing {

namespace {

Row row_of(const yaml::Value& value) {
  Row row;
  for (const yaml::Entry& entry : value.entries) {
    if (entry.value.kind == yaml::Value::Kind::scalar) {
      row.text[entry.key] = entry.value.text;
    } else {
      for (const yaml::Value& item : entry.value.items) {
        row.list[entry.key].push_back(item.text);
      }
    }
  }
  return row;
}

ErrorTable::Summary summary_of(std::vector<double> errors) {
  ErrorTable::Summary summary;
  summary.n = errors.size();
  if (errors.empty()) {
    return summary;
  }
  const auto n = static_cast<double>(errors.size());
  for (const double error : errors) {
    summary.mape += std::abs(error) / n;
    summary.bias += error / n;
    summary.worst = std::abs(error) > std::abs(summary.worst) ? error : summary.worst;
  }
  std::sort(errors.begin(), errors.end(),
            [](double a, double b) { return std::abs(a) < std::abs(b); });
  summary.median = std::abs(errors[errors.size() / 2]);
  return summary;
}

std::string line(std::string_view name, const ErrorTable::Summary& summary) {
  return fmt::format(
      "{:<44} n {:3}  MAPE {:5.1f} %  median {:5.1f} %  bias {:+6.1f} %  worst {:+6.1f} %\n", name,
      summary.n, 100.0 * summary.mape, 100.0 * summary.median, 100.0 * summary.bias,
      100.0 * summary.worst);
}

}  // namespace

std::string Row::get(const std::string& key) const {
  const auto found = text.find(key);
  return found == text.end() ? std::string() : found->second;
}

std::optional<double> Row::number(const std::string& key) const {
  const std::string value = get(key);
  char* end = nullptr;
  const double parsed = std::strtod(value.c_str(), &end);
  return value.empty() || end != value.c_str() + value.size() ? std::nullopt
                                                              : std::optional<double>(parsed);
}

bool Row::contains(const std::string& key, std::string_view word) const {
  return get(key).find(word) != std::string::npos;
}

std::vector<Row> published_rows(const std::string& file, const std::string& section) {
  Diagnostics diagnostics;
  const std::string path = std::string(kSourceDir) + "/scenarios/published/" + file;
  const auto document = yaml::parse_file(path, {}, diagnostics);
  ORRERY_CHECK(document.has_value(), "{}: {}", path, to_string(diagnostics));
  std::vector<Row> rows;
  for (const yaml::Entry& entry : document->entries) {
    if (entry.key == section) {
      for (const yaml::Value& item : entry.value.items) {
        rows.push_back(row_of(item));
      }
    }
  }
  ORRERY_CHECK(!rows.empty(), "{} has no section {}", path, section);
  return rows;
}

void ErrorTable::add(const std::string& group, double predicted, double measured) {
  errors_[group].push_back((predicted - measured) / measured);
}

ErrorTable::Summary ErrorTable::overall() const {
  std::vector<double> all;
  for (const auto& [name, errors] : errors_) {
    all.insert(all.end(), errors.begin(), errors.end());
  }
  return summary_of(all);
}

ErrorTable::Summary ErrorTable::of(const std::string& group) const {
  const auto found = errors_.find(group);
  return found == errors_.end() ? Summary{} : summary_of(found->second);
}

double ErrorTable::mape_of_groups() const {
  double sum = 0.0;
  for (const auto& [name, errors] : errors_) {
    sum += summary_of(errors).mape;
  }
  return errors_.empty() ? 0.0 : sum / static_cast<double>(errors_.size());
}

std::string ErrorTable::text() const {
  std::string text;
  for (const auto& [name, errors] : errors_) {
    text += line(name, summary_of(errors));
  }
  return text + line("all", overall()) +
         fmt::format("mean over groups {:.1f} %\n", 100.0 * mape_of_groups());
}

}  // namespace orrery::cost::testing
