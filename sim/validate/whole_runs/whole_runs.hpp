#pragma once

// What does a file of whole-runs/1 say about one run, and which rows follow from it?
//
// A run's values stand plainly or as {value, source, status}. Internal to validate/.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/run/published_hours.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

class PublishedRun {
 public:
  explicit PublishedRun(const DataRow& row) : row_(row) {}

  // The number under a dotted path, with or without {value: ...} around it.
  [[nodiscard]] std::optional<double> number(std::string_view path) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view path) const;
  [[nodiscard]] std::string text(std::string_view path) const;

  [[nodiscard]] std::string id() const {
    return row_.text("id");
  }

  [[nodiscard]] const DataRow& row() const {
    return row_;
  }

  [[nodiscard]] std::optional<double> devices() const;  // that the run held
  [[nodiscard]] std::optional<double> nodes() const;    // of per_node devices, 8 when not stated

  // All training, from the parameters that a token meets.
  [[nodiscard]] std::optional<Flop> flops() const;

  // Throughput of one device while it trains, where it is printed as one number.
  [[nodiscard]] std::optional<TokensPerSecond> steady_rate() const;

  // How long the run was, in the calendar.
  [[nodiscard]] std::optional<Seconds> wall() const;

 private:
  DataRow row_;
};

// Dense 16-bit peak of a device: `meta.conventions.peaks_tflops_dense_16bit`, by the words of its
// name.
[[nodiscard]] std::optional<FlopPerSecond> published_peak(const yaml::Value& document,
                                                          const std::string& device);

// What the printed hours contain, by the words of `device_hours_kind`.
[[nodiscard]] run::HoursKind hours_kind(std::string_view words);

// Rows of `simulator_checks`.
[[nodiscard]] std::vector<ValidationRow> check_rows(const DataSet& data);

// Rows of `runs`: figures under `derived`, hours against tokens and rate.
[[nodiscard]] std::vector<ValidationRow> run_rows(const DataSet& data);

// Rows of `reliability_facts` that carry a check.
[[nodiscard]] std::vector<ValidationRow> fact_rows(const DataSet& data);

}  // namespace orrery::validate
