#include "tests/fuzz/exercise.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "sim/base/check.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/reader.hpp"

namespace orrery::yaml {

namespace {

constexpr std::array<Choice<int>, 3> kChoices = {{{"none", 0}, {"zero1", 1}, {"full", 2}}};

constexpr Limits kTight = {.max_bytes = 2048,
                           .max_depth = 5,
                           .max_nodes = 100,
                           .max_alias_nodes = 40,
                           .max_alias_bytes = 200,
                           .max_key_bytes = 16,
                           .max_pending_bytes = 64,
                           .max_problems = 4};

struct Shape {
  std::size_t nodes = 0;
  int depth = 0;
};

Shape shape_of(const Value& value) {
  ORRERY_CHECK(value.where.line >= 1 && value.where.column >= 1, "a value has no position");
  Shape shape{1, 0};
  const auto add = [&](const Value& child) {
    const Shape inner = shape_of(child);
    shape.nodes += inner.nodes;
    shape.depth = std::max(shape.depth, inner.depth);
  };
  for (const Value& item : value.items) {
    add(item);
  }
  for (const Entry& entry : value.entries) {
    ORRERY_CHECK(!entry.key.empty(), "a key is empty");
    ORRERY_CHECK(entry.key_where.line >= 1, "a key has no position");
    add(entry.value);
  }
  const bool collection = value.kind == Value::Kind::sequence || value.kind == Value::Kind::mapping;
  shape.depth += collection ? 1 : 0;
  return shape;
}

// Diagnostics reach terminals: one line each, nothing that moves the cursor.
void check_printable(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    ORRERY_CHECK(!diagnostic.message.empty(), "a diagnostic says nothing");
    for (const char c : to_string(diagnostic)) {
      const auto byte = static_cast<unsigned char>(c);
      ORRERY_CHECK(byte >= 0x20 && byte != 0x7F, "a diagnostic holds byte {}", int{byte});
    }
  }
}

template <typename K>
void exercise_scalar(std::string_view text) {
  const auto parsed = K::parse(text);
  if (!parsed.value) {
    ORRERY_CHECK(!parsed.message.empty() && !parsed.allowed.empty(), "a refusal says nothing");
  } else {
    ORRERY_CHECK(!K::format(*parsed.value).empty(), "a value prints as nothing");
  }
}

template <typename K>
void exercise_exact(std::string_view text) {
  exercise_scalar<K>(text);
  if (const auto parsed = K::parse(text); parsed.value) {
    const auto again = K::parse(K::format(*parsed.value));
    ORRERY_CHECK(again.value && *again.value == *parsed.value, "{} does not survive", K::kWhat);
  }
}

void exercise_scalars(std::string_view text) {
  exercise_exact<kind::Count>(text);
  exercise_exact<kind::Number>(text);
  exercise_exact<kind::Boolean>(text);
  exercise_exact<kind::Fraction>(text);
  exercise_exact<kind::Date>(text);
  exercise_scalar<kind::Size>(text);
  exercise_scalar<kind::Time>(text);
  exercise_scalar<kind::Bandwidth>(text);
  exercise_scalar<kind::FlopRate>(text);
  exercise_scalar<kind::Money>(text);
  exercise_scalar<kind::PriceRate>(text);
  exercise_scalar<kind::EventRate>(text);
  exercise_scalar<kind::Power>(text);
  exercise_scalar<kind::CarbonIntensity>(text);
  exercise_scalar<kind::StepsOrDuration>(text);
}

void read_mapping(MappingReader reader);

void read_any(const Value& value, Diagnostics& diagnostics) {
  if (value.kind == Value::Kind::scalar) {
    exercise_scalars(value.text);
  }
  for (const Value& item : value.items) {
    read_any(item, diagnostics);
  }
  if (value.kind == Value::Kind::mapping) {
    for (const Entry& entry : value.entries) {
      read_any(entry.value, diagnostics);
    }
    read_mapping(MappingReader(value, diagnostics, "root"));
  }
}

void read_mapping(MappingReader reader) {
  static_cast<void>(reader.require<kind::Count>({"a", "b"}, between<std::int64_t>(1, 9)));
  static_cast<void>(reader.optional<kind::Time>("t", above(seconds(0.0))));
  static_cast<void>(reader.optional_choice("s", kChoices));
  static_cast<void>(reader.optional_list<kind::Size>("l"));
  static_cast<void>(reader.optional_text_list("x"));
  static_cast<void>(reader.require_text("n"));
  static_cast<void>(reader.take_word("w", "auto"));
  if (auto nested = reader.optional_mapping("m")) {
    nested->finish();
  }
  for (MappingReader& nested : reader.optional_mappings("q")) {
    nested.finish();
  }
  reader.error("a", "is checked twice");
  reader.finish();
}

void exercise_parse(std::string_view text, const Limits& limits) {
  Diagnostics diagnostics;
  const auto value = parse(text, "fuzz.yaml", limits, diagnostics);
  ORRERY_CHECK(value.has_value() != diagnostics.has_errors(), "a value or errors, not both");
  ORRERY_CHECK(diagnostics.all().size() <= limits.max_problems + 2, "too many diagnostics");
  if (value) {
    const Shape shape = shape_of(*value);
    ORRERY_CHECK(shape.nodes <= limits.max_nodes, "{} values pass the limit", shape.nodes);
    ORRERY_CHECK(shape.depth <= limits.max_depth, "depth {} passes the limit", shape.depth);
    read_any(*value, diagnostics);
  }
  check_printable(diagnostics);
}

}  // namespace

void exercise(std::string_view text) {
  exercise_parse(text, Limits{});
  exercise_parse(text, kTight);
  exercise_scalars(text.substr(0, text.find('\n')));
}

}  // namespace orrery::yaml
