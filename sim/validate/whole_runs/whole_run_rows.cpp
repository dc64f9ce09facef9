// Rows of whole-runs/2: its checks, each by its formula, and 6 N D arithmetic: the figures that
// follow from the parameters, tokens, hours and device of a run, beside those that the file prints.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/yaml/scalar.hpp"
#include "sim/run/theory/scaling_law.hpp"
#include "sim/validate/rows/data_row.hpp"
#include "sim/validate/whole_runs/formulas.hpp"

namespace orrery::validate {

namespace {

using yaml::Value;
namespace kind = yaml::kind;

// --- checks ------------------------------------------------------------------------------------

const Formula* formula_of(yaml::MappingReader& check) {
  std::vector<std::string_view> names;
  for (const Formula& formula : formulas()) {
    names.push_back(formula.name);
  }
  const Value* word = check.take_required("formula", "a name", names.front());
  const auto index = word == nullptr ? std::nullopt
                                     : yaml::read_word(*word, check.path_of("formula"), names,
                                                       check.diagnostics());
  return index ? &formulas()[*index] : nullptr;
}

// What is expected, in the unit of the formula.
std::optional<double> read_expected(yaml::MappingReader& check, std::string_view unit) {
  if (unit == "1") {
    return check.require<kind::Number>("expect");
  }
  if (unit == "USD") {
    const auto money = check.require<kind::Money>("expect");
    return money ? std::optional(in_dollars(*money)) : std::nullopt;
  }
  const auto time = check.require<kind::Time>("expect");
  if (!time) {
    return std::nullopt;
  }
  return unit == "d" ? in_days(*time) : unit == "h" ? in_hours(*time) : in_seconds(*time);
}

ValidationRow compared(ValidationRow row, FormulaAnswer answer, double expected, double tolerance) {
  row.predicted = answer.value;
  row.measured = expected;
  row.notes = std::move(answer.notes);
  row.within = std::abs(row.predicted - expected) <= tolerance * std::abs(expected);
  return row;
}

ValidationRow matched(ValidationRow row, FormulaAnswer answer) {
  row.quantity = "match";
  row.unit = "1";
  row.match = answer.value > 0.0;
  row.within = row.match;
  if (*row.match) {
    row.notes = std::move(answer.notes);
  } else {
    row.mismatches = {"the hours are taken for billed ones"};
  }
  return row;
}

std::optional<ValidationRow> check_row(const Value& value, const std::string& path,
                                       const DataSet& data) {
  yaml::MappingReader check(value, data.diagnostics, path);
  ValidationRow row{.id = check.require_text("id").value_or(""),
                    .group = check.require_text("group").value_or(""),
                    .quantity = "value"};
  for (const char* words : {"run", "note", "source"}) {
    check.allow(words);
  }
  const Formula* formula = formula_of(check);
  auto inputs = check.require_mapping("inputs");
  if (formula == nullptr || !inputs) {
    return std::nullopt;
  }
  row.unit = formula->unit;
  const bool matches = formula->unit == "match";
  const auto expected = matches ? std::optional(1.0) : read_expected(check, formula->unit);
  const auto tolerance = matches ? std::optional(0.0) : check.require<kind::Fraction>("tolerance");
  auto answer = formula->answer(*inputs, data);
  inputs->finish();
  check.finish();
  if (!answer) {
    row.skipped = "the inputs make no run that the simulator accepts";
    return row;
  }
  if (!expected || !tolerance) {
    return std::nullopt;
  }
  return matches ? matched(row, *std::move(answer))
                 : compared(row, *std::move(answer), *expected, *tolerance);
}

// --- 6 N D -------------------------------------------------------------------------------------

// The value under a dotted path; {value: ...} is opened on the way.
std::optional<double> number_at(const Value& run, std::string_view path) {
  const Value* value = &run;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    value = DataRow(*value).find(path.substr(0, dot));
    if (value == nullptr) {
      return std::nullopt;
    }
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  const Value* inner = DataRow(*value).find("value");
  value = inner != nullptr ? inner : value;
  return value->kind == Value::Kind::scalar ? yaml::parse_number(value->text).value : std::nullopt;
}

// Dense 16-bit peak by the name of the device.
std::optional<FlopPerSecond> peak_of(const Value& run, const Value& document) {
  const std::string device = DataRow(run).row("hardware").row("device").text("value");
  const auto peak = DataRow(document)
                        .row("meta")
                        .row("conventions")
                        .row("peaks_tflops_dense_16bit")
                        .number(device);
  return peak ? std::optional(teraflop_per_second(*peak)) : std::nullopt;
}

struct Derived {
  std::string_view name;
  std::string_view unit;
  double value;
};

std::vector<Derived> figures_of(const Value& run, const Value& document) {
  std::vector<Derived> figures;
  const auto active = number_at(run, "model.params_active");
  const auto parameters = active ? active : number_at(run, "model.params");
  const auto trained = number_at(run, "model.tokens");
  if (!parameters || !trained) {
    return figures;
  }
  const Flop flops = run::six_nd(*parameters, tokens(*trained));
  figures.push_back({"flops_6ND", "FLOP", in_flop(flops)});
  // The tokens are those of pre-training.
  const auto part = number_at(run, "device_hours_by_phase.pretraining");
  const auto printed = part ? part : number_at(run, "device_hours");
  if (!printed || *printed <= 0.0) {
    return figures;
  }
  const FlopPerSecond rate = flops / hours(*printed);
  const TokensPerSecond pace = tokens(*trained) / hours(*printed);
  figures.push_back({"avg_tflops_per_device_6ND", "TFLOP/s", in_teraflop_per_second(rate)});
  figures.push_back({"avg_tokens_per_s_per_device", "token/s", in_tokens_per_second(pace)});
  if (const auto peak = peak_of(run, document)) {
    figures.push_back({"whole_run_mfu_6ND_vs_16bit_peak", "1", rate / *peak});
    if (const auto steady = number_at(run, "steady.mfu")) {
      figures.push_back({"whole_run_over_steady_mfu", "1", rate / *peak / *steady});
    }
  }
  if (const auto steady = number_at(run, "steady.tokens_per_s_per_device")) {
    figures.push_back({"whole_run_over_steady_throughput", "1", pace / tokens_per_second(*steady)});
  }
  return figures;
}

// Half a unit of the last digit of a number as it is printed.
double rounding_of(const std::string& printed) {
  const std::size_t mantissa = std::min(printed.find_first_of("eE"), printed.size());
  const std::size_t dot = printed.find('.');
  const double digits = dot < mantissa ? static_cast<double>(mantissa - dot - 1) : 0.0;
  const std::string power = mantissa < printed.size() ? printed.substr(mantissa + 1) : "0";
  const std::size_t sign = power.starts_with('+') ? 1 : 0;
  const double exponent = yaml::parse_number(power.substr(sign)).value.value_or(0.0);
  constexpr double kHalf = 0.5;
  return kHalf * std::pow(10.0, exponent - digits);
}

void add_derived_rows(const DataRow& run, const Value& document, std::vector<ValidationRow>& rows) {
  constexpr double kTolerance = 1e-3;  // derived figures are printed to about four digits
  const DataRow derived = run.row("derived");
  for (const Derived& figure : figures_of(run.value(), document)) {
    const auto printed = derived.number(figure.name);
    if (!printed) {
      continue;
    }
    ValidationRow row{.id = fmt::format("{}/{}", run.text("id"), figure.name),
                      .group = std::string(figure.name),
                      .quantity = std::string(kDerivedFigure),
                      .unit = std::string(figure.unit),
                      .predicted = figure.value,
                      .measured = *printed,
                      .secondary = true};
    row.within = std::abs(row.relative_error()) <= kTolerance ||
                 std::abs(row.predicted - row.measured) <= rounding_of(derived.text(figure.name));
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<ValidationRow> whole_run_rows(const DataSet& data) {
  std::vector<ValidationRow> rows;
  std::size_t index = 0;
  for (const DataRow& check : data_rows(data.document, "simulator_checks")) {
    const std::string path = fmt::format("simulator_checks[{}]", index++);
    if (auto row = check_row(check.value(), path, data)) {
      rows.push_back(*std::move(row));
    }
  }
  for (const DataRow& run : data_rows(data.document, "runs")) {
    add_derived_rows(run, data.document, rows);
  }
  return rows;
}

}  // namespace orrery::validate
