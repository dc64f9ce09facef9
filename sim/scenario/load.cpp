#include "sim/scenario/load.hpp"

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/base/files/file.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/scenario/recipes/follow_recipe.hpp"
#include "sim/scenario/rules/rules.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/scenario/table/read_keys.hpp"

namespace orrery::scenario {

namespace {

// A file of another format is refused as a whole: its other keys mean something else.
bool has_other_format(const yaml::Value& root, Diagnostics& diagnostics) {
  for (const yaml::Entry& entry : root.entries) {
    if (entry.key == "format" && entry.value.text.starts_with("orrery-jobs/")) {
      diagnostics.error(entry.value.where, "format", "is a file of several jobs, not a scenario",
                        "orrery jobs FILE, which checks its `expect` lines as well");
      return true;
    }
    if (entry.key == "format" && !yaml::is_word(entry.value, kFormat)) {
      const std::vector<std::string_view> words = {kFormat};
      return !yaml::read_word(entry.value, "format", words, diagnostics);
    }
  }
  return false;
}

// In the order of the file, whatever found them.
void add_sorted(const Diagnostics& found, Diagnostics& diagnostics) {
  std::vector<Diagnostic> sorted = found.all();
  std::ranges::stable_sort(sorted, [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
  });
  for (Diagnostic& diagnostic : sorted) {
    diagnostics.add(std::move(diagnostic));
  }
}

// Of a file that does not say what it is only that is reported: keys and values of others, which
// may be secrets, are not shown.
Diagnostics told_of(const yaml::Value& root, const Diagnostics& found) {
  const bool says_format = root.kind != yaml::Value::Kind::mapping ||
                           std::ranges::any_of(root.entries, [](const yaml::Entry& entry) {
                             return entry.key == "format";
                           });
  if (says_format) {
    return found;
  }
  Diagnostics told;
  for (const Diagnostic& diagnostic : found.all()) {
    if (diagnostic.key == "format") {
      told.add(diagnostic);
    }
  }
  return told.has_errors() ? told : found;
}

void finish(Reading& reading) {
  finish_model(reading);
  finish_cluster(reading);
  finish_layout(reading);
  follow_recipe(reading);
  finish_step(reading);
  finish_run(reading);
  warn_about_idle_keys(reading);
  if (reading.diagnostics.has_errors()) {
    report_later_errors(reading);
  }
}

}  // namespace

std::optional<yaml::Value> parse_tree(std::string_view text, const std::string& file_name,
                                      Diagnostics& diagnostics) {
  std::optional<yaml::Value> root = yaml::parse(text, file_name, yaml::Limits{}, diagnostics);
  return root && !has_other_format(*root, diagnostics) ? std::move(root) : std::nullopt;
}

std::optional<Scenario> read_tree(const yaml::Value& root, const std::string& file_name,
                                  const std::string& sha256,
                                  std::shared_ptr<const PresetLibrary> presets,
                                  Diagnostics& diagnostics) {
  Draft draft;
  draft.scenario.presets = std::move(presets);
  draft.scenario.file = file_name;
  draft.scenario.sha256 = sha256;
  draft.scenario.locations.set("", root.where);  // of a key that stands nowhere
  draft.scenario.name = std::filesystem::path(file_name).stem().string();
  Diagnostics found;
  Reading reading{draft, found};
  read_keys(root, reading);
  finish(reading);
  add_sorted(told_of(root, found), diagnostics);
  return found.has_errors() ? std::nullopt : std::optional(std::move(draft.scenario));
}

std::optional<std::string> read_text_of(const std::string& path, Diagnostics& diagnostics) {
  const yaml::Limits limits;
  std::error_code unknown;
  if (std::filesystem::file_size(path, unknown) > limits.max_bytes && !unknown) {
    static_cast<void>(yaml::parse_file(path, limits, diagnostics));  // says that it is too large
    return std::nullopt;
  }
  return read_file(path, limits.max_bytes);
}

std::shared_ptr<const PresetLibrary> presets_for(
    const std::string& file_name, const std::optional<hardware::ProfileSearch>& search) {
  return std::make_shared<const PresetLibrary>(search ? *search
                                                      : hardware::default_search(file_name));
}

std::optional<Scenario> load_text(std::string_view text, const std::string& file_name,
                                  Diagnostics& diagnostics,
                                  const std::optional<hardware::ProfileSearch>& search) {
  const std::optional<yaml::Value> root = parse_tree(text, file_name, diagnostics);
  return root ? read_tree(*root, file_name, sha256_hex(text), presets_for(file_name, search),
                          diagnostics)
              : std::nullopt;
}

std::optional<Scenario> load_file(const std::filesystem::path& path, Diagnostics& diagnostics,
                                  const std::optional<hardware::ProfileSearch>& search) {
  const std::optional<std::string> text = read_text_of(path.string(), diagnostics);
  return text ? load_text(*text, path.string(), diagnostics, search) : std::nullopt;
}

std::optional<Scenario> load_fragment(const yaml::Value& fragment, const std::string& file_name,
                                      std::shared_ptr<const PresetLibrary> presets,
                                      Diagnostics& diagnostics) {
  yaml::Value root = fragment;
  yaml::Value format;
  format.kind = yaml::Value::Kind::scalar;
  format.text = kFormat;
  format.where = fragment.where;
  root.entries.push_back({"format", fragment.where, std::move(format)});
  return read_tree(root, file_name, {}, std::move(presets), diagnostics);
}

}  // namespace orrery::scenario
