#include "sim/answer/plan/layout_errors.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "sim/base/percent.hpp"
#include "sim/base/yaml/reader.hpp"

namespace orrery::plan {

namespace {

namespace kind = yaml::kind;

constexpr std::string_view kFile = "plan/layout_errors.yaml";

std::optional<FeatureError> read_error(yaml::MappingReader item) {
  const auto count = yaml::at_least<std::int64_t>(1);
  const auto pairs = item.require<kind::Count>("pairs", count);
  const auto groups = item.require<kind::Count>("groups", count);
  const auto size = item.require<kind::Number>("error", yaml::at_least(0.0));
  item.finish();
  if (!pairs || !groups || !size) {
    return std::nullopt;
  }
  return FeatureError{*pairs, *groups, *size};
}

std::optional<LayoutErrors> read_document(const yaml::Value& document, Diagnostics& diagnostics) {
  yaml::MappingReader root(document, diagnostics);
  LayoutErrors errors;
  const auto format = root.require_text("format", kLayoutErrorsFormat);
  if (format && *format != kLayoutErrorsFormat) {
    root.error("format", fmt::format("`{}` is no table of errors", *format), kLayoutErrorsFormat);
  }
  errors.source = root.require_text("source").value_or(std::string());
  const auto count = yaml::at_least<std::int64_t>(1);
  errors.groups = root.require<kind::Count>("groups", count).value_or(0);
  errors.layouts = root.require<kind::Count>("layouts", count).value_or(0);
  if (auto features = root.require_mapping("errors")) {
    for (std::size_t i = 0; i < kFeatures; ++i) {
      if (auto item = features->optional_mapping(kFeatureNames[i])) {
        errors.of[i] = read_error(*std::move(item)).value_or(FeatureError{});
      }
    }
    features->finish();
  }
  root.finish();
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(errors));
}

}  // namespace

double LayoutErrors::largest() const {
  return std::ranges::max_element(of, {}, &FeatureError::error)->error;
}

double LayoutErrors::between(const FeatureSet& features) const {
  double error = 0.0;
  for (std::size_t i = 0; i < kFeatures; ++i) {
    if (features.test(i)) {
      error = std::max(error, of[i].pairs >= kFewestPairs ? of[i].error : largest());
    }
  }
  return error;
}

std::optional<LayoutErrors> load_layout_errors(const hardware::ProfileSearch& search,
                                               Diagnostics& diagnostics) {
  for (const std::filesystem::path& directory : search.directories) {
    const std::filesystem::path file = directory / kFile;
    if (std::filesystem::exists(file)) {
      const auto document = yaml::parse_file(file, {}, diagnostics);
      return document ? read_document(*document, diagnostics) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::string to_yaml(const LayoutErrors& errors) {
  std::string text = fmt::format(
      "# How far the predicted difference of two layouts may be off, by what they differ in: "
      "{:.0f} %\n"
      "# of the measured pairs are within `error` (sim/answer/plan/layout_errors.hpp). Made by\n"
      "#   orrery validate --layouts --yaml {}\n"
      "format: {}\n"
      "source: \"{}\"\n"
      "groups: {}\n"
      "layouts: {}\n"
      "errors:\n",
      kPercent * kErrorShare, errors.source, kLayoutErrorsFormat, errors.source, errors.groups,
      errors.layouts);
  for (std::size_t i = 0; i < kFeatures; ++i) {
    const FeatureError& one = errors.of[i];
    if (one.pairs > 0) {
      text += fmt::format("  {}: {{pairs: {}, groups: {}, error: {:.4f}}}\n", kFeatureNames[i],
                          one.pairs, one.groups, one.error);
    }
  }
  return text;
}

}  // namespace orrery::plan
