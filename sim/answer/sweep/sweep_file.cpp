#include "sim/answer/sweep/sweep_file.hpp"

#include <array>
#include <utility>

#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/flow_text.hpp"
#include "sim/base/yaml/reader.hpp"

namespace orrery::sweep {

namespace {

using yaml::Value;
namespace kind = yaml::kind;

constexpr std::array<yaml::Choice<Mode>, 3> kModes = {
    {{"grid", Mode::grid}, {"zip", Mode::zip}, {"random", Mode::random}}};

std::optional<Axis> read_axis(const yaml::Entry& entry, Diagnostics& diagnostics) {
  const Value& value = entry.value;
  if (value.kind == Value::Kind::scalar) {
    return parse_axis(entry.key, value.text, value.where, diagnostics);
  }
  std::vector<std::string> values;
  for (const Value& item : value.items) {
    values.push_back(yaml::flow_text(item));
  }
  if (value.kind != Value::Kind::sequence) {
    diagnostics.error(value.where, entry.key, "has no list of values",
                      "[V1, V2], or from:to:steps");
    return std::nullopt;
  }
  return axis_of(entry.key, std::move(values), value.where, diagnostics);
}

void read_vary(const Value& vary, SweepFile& file, Diagnostics& diagnostics) {
  if (vary.kind != Value::Kind::mapping) {
    diagnostics.error(vary.where, "vary", "is no mapping of keys to values",
                      "such as {capacity.spares: [0, 8, 16]}");
    return;
  }
  for (const yaml::Entry& entry : vary.entries) {
    if (auto axis = read_axis(entry, diagnostics)) {
      file.axes.push_back(*std::move(axis));
    }
  }
}

void read_combination(yaml::MappingReader& reader, SweepFile& file) {
  file.combination.mode = reader.optional_choice<Mode>("combine", kModes).value_or(Mode::grid);
  const auto points =
      reader.optional<kind::Count>("points", yaml::between<std::int64_t>(1, kMostPoints));
  const bool random = file.combination.mode == Mode::random;
  if (random != reader.has("points")) {
    reader.error("points",
                 random ? "is missing: how many random points?" : "is for `combine: random` only",
                 random ? "such as 200" : "");
  }
  file.combination.random_points = points.value_or(0);
}

}  // namespace

bool is_sweep_file(std::string_view text) {
  if (text.find(kSweepFormat) == std::string_view::npos) {
    return false;
  }
  Diagnostics ignored;
  const auto root = yaml::parse(text, {}, {}, ignored);
  if (!root) {
    return false;
  }
  for (const yaml::Entry& entry : root->entries) {
    if (entry.key == "format") {
      return yaml::is_word(entry.value, kSweepFormat);
    }
  }
  return false;
}

std::optional<SweepFile> read_sweep_file(std::string_view text, const std::string& file_name,
                                         Diagnostics& diagnostics) {
  const auto root = yaml::parse(text, file_name, {}, diagnostics);
  if (!root) {
    return std::nullopt;
  }
  SweepFile file;
  yaml::MappingReader reader(*root, diagnostics);
  reader.allow("format");
  if (const auto scenario = reader.require_text("scenario", "`llama3-405b-16k.yaml`")) {
    file.scenario = std::filesystem::path(file_name).parent_path() / *scenario;
  }
  if (const Value* vary = reader.take_required("vary", "a mapping", "{capacity.spares: [0, 8]}")) {
    read_vary(*vary, file, diagnostics);
  }
  read_combination(reader, file);
  file.trials = reader.optional<kind::Count>("trials", yaml::between<std::int64_t>(1, 1'000'000));
  if (const auto seed = reader.optional<kind::Count>("seed", yaml::at_least<std::int64_t>(0))) {
    file.seed = static_cast<std::uint64_t>(*seed);
  }
  const SourceLocation where = reader.where("metrics");
  if (const auto metrics = reader.optional_text_list("metrics")) {
    if (auto columns = parse_columns(*metrics, where, diagnostics)) {
      file.columns = *std::move(columns);
    }
  }
  reader.finish();
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(file));
}

}  // namespace orrery::sweep
