#include "sim/yaml/document.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>

#include "sim/base/files/file.hpp"
#include "sim/yaml/text_check.hpp"
#include "sim/yaml/tree_builder.hpp"
#include "sim/yaml/yaml_events.hpp"

namespace orrery::yaml {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Duplicate keys are found when their mapping ends; readers expect the order of the file.
void add_in_file_order(const Diagnostics& found, Diagnostics& diagnostics) {
  std::vector<Diagnostic> sorted = found.all();
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
  });
  for (Diagnostic& diagnostic : sorted) {
    diagnostics.add(std::move(diagnostic));
  }
}

void report_size(const std::string& file, const Limits& limits, Diagnostics& diagnostics) {
  diagnostics.error(
      {file, 0, 0}, {}, "the file is too large", fmt::format("at most {} bytes", limits.max_bytes));
}

}  // namespace

std::optional<Value> parse(std::string_view text,
                           std::string file_name,
                           const Limits& limits,
                           Diagnostics& diagnostics) {
  if (text.size() > limits.max_bytes) {
    report_size(file_name, limits, diagnostics);
    return std::nullopt;
  }
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  const LineIndex lines(text);
  if (!check_text(text, file_name, lines, diagnostics)) {
    return std::nullopt;
  }
  Diagnostics found;
  TreeBuilder builder(text, file_name, lines, limits, found);
  const bool complete = feed_events(text, limits, builder);
  std::optional<Value> root = builder.take_root();
  if (complete && (!root || root->kind == Value::Kind::null)) {
    found.error({file_name, 1, 1}, {}, "the document is empty", "a mapping of keys to values");
  }
  add_in_file_order(found, diagnostics);
  if (found.has_errors()) {
    return std::nullopt;
  }
  return root;
}

std::optional<Value> parse_file(const std::filesystem::path& path,
                                const Limits& limits,
                                Diagnostics& diagnostics,
                                std::string shown_name) {
  std::string name = shown_name.empty() ? path.string() : std::move(shown_name);
  std::error_code unknown_size;
  const auto size = std::filesystem::file_size(path, unknown_size);
  if (!unknown_size && size > limits.max_bytes) {
    report_size(name, limits, diagnostics);
    return std::nullopt;
  }
  const std::string text = read_file(path, limits.max_bytes);
  return parse(text, std::move(name), limits, diagnostics);
}

std::string_view describe(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::null:
      return "empty";
    case Value::Kind::scalar:
      return "a text";
    case Value::Kind::sequence:
      return "a list";
    case Value::Kind::mapping:
      return "a mapping";
  }
  return "empty";
}

std::string display(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string shown = "`";
  std::size_t characters = 0;
  while (!text.empty() && characters < kLongest) {
    const std::size_t length = utf8_length(text);
    const std::uint32_t character = length == 0 ? 0 : code_point(text, length);
    if (length <= 1 && !is_visible(character)) {
      shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    } else if (!is_visible(character)) {
      shown += fmt::format("\\u{{{:04X}}}", character);
      text.remove_prefix(length);
    } else {
      shown += text.substr(0, length);
      text.remove_prefix(length);
    }
    ++characters;
  }
  shown += text.empty() ? "`" : "...`";
  return shown;
}

}  // namespace orrery::yaml
