#include "sim/step/hardware/coefficient_reader.hpp"

#include <fmt/core.h>

#include <utility>

namespace orrery::hardware {

namespace {

using yaml::Choice;
using yaml::MappingReader;
using yaml::Value;

constexpr std::array<Choice<SourceKind>, 4> kSources = {{{"measured", SourceKind::measured},
                                                         {"published", SourceKind::published},
                                                         {"datasheet", SourceKind::datasheet},
                                                         {"assumed", SourceKind::assumed}}};

std::optional<ValidRange> read_range(MappingReader& coefficient) {
  const auto bounds = coefficient.optional_list<yaml::kind::Number>("range");
  if (!bounds) {
    return std::nullopt;
  }
  if (bounds->size() != 2 || !((*bounds)[0] < (*bounds)[1])) {
    coefficient.error("range", "needs two numbers, the lower one first", "such as [1024, 16384]");
    return std::nullopt;
  }
  return ValidRange{(*bounds)[0], (*bounds)[1]};
}

}  // namespace

std::optional<MappingReader> coefficient_mapping(MappingReader& parent, std::string_view key) {
  constexpr std::string_view kExample = "{value: 0.9, source: assumed, citation: why}";
  const Value* value = parent.take_required(key, "a coefficient", kExample);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->kind == Value::Kind::scalar) {
    parent.error(key, "is a bare value without its source", fmt::format("write {}", kExample));
    return std::nullopt;
  }
  MappingReader mapping(*value, parent.diagnostics(), parent.path_of(key));
  if (!mapping.valid()) {
    return std::nullopt;
  }
  return mapping;
}

std::optional<CoefficientOrigin> read_origin(MappingReader& coefficient) {
  const std::optional<SourceKind> kind = coefficient.require_choice("source", kSources);
  std::optional<std::string> citation =
      coefficient.require_text("citation", "`arXiv 2407.21783, table 4`");
  const std::optional<double> residual = coefficient.optional<yaml::kind::Fraction>("residual");
  const std::optional<ValidRange> range = read_range(coefficient);
  coefficient.finish();
  if (!kind || !citation) {
    return std::nullopt;
  }
  return CoefficientOrigin{{*kind, std::move(*citation)}, residual.value_or(0.0), range};
}

}  // namespace orrery::hardware
