#include "tests/unit/import_config/import_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"

namespace orrery::import_config::testing {

namespace {

const ImportedSetting* find(const ImportResult& result, const std::string& path) {
  const auto found = std::find_if(result.settings.begin(), result.settings.end(),
                                  [&](const ImportedSetting& s) { return s.path == path; });
  return found == result.settings.end() ? nullptr : &*found;
}

std::filesystem::path folder() {
  return std::filesystem::path(kSourceDir) / "tests/unit/import_config/configs";
}

Imported import_all(const std::vector<ConfigFile>& files, const Given& given) {
  Imported imported;
  imported.result = import_configs(files, {"", given}, imported.diagnostics);
  return imported;
}

}  // namespace

std::string Imported::value(const std::string& path) const {
  const ImportedSetting* setting = find(result, path);
  return setting == nullptr ? "" : setting->value;
}

std::string Imported::origin(const std::string& path) const {
  const ImportedSetting* setting = find(result, path);
  return setting == nullptr ? "" : std::string(to_string(setting->origin.kind));
}

std::string Imported::why(const std::string& path) const {
  const ImportedSetting* setting = find(result, path);
  return setting == nullptr ? "" : setting->origin.why;
}

int Imported::line(const std::string& path) const {
  const ImportedSetting* setting = find(result, path);
  return setting == nullptr ? 0 : setting->origin.where.line;
}

bool Imported::asks(const std::string& path) const {
  return std::any_of(result.asked.begin(), result.asked.end(),
                     [&](const AskedKey& asked) { return asked.path == path; });
}

std::string Imported::effect(const std::string& key) const {
  const auto found = std::find_if(result.left_out.begin(), result.left_out.end(),
                                  [&](const LeftOutKey& left) { return left.key == key; });
  return found == result.left_out.end() ? "" : std::string(to_string(found->effect));
}

bool Imported::notes(const std::string& piece) const {
  return std::any_of(result.notes.begin(), result.notes.end(), [&](const std::string& note) {
    return note.find(piece) != std::string::npos;
  });
}

std::string Imported::problems() const { return to_string(diagnostics); }

Given machines(int nodes) {
  return {{"cluster.gpu", "h100-sxm-80gb", "--gpu"},
          {"cluster.nodes", std::to_string(nodes), "--nodes"},
          {"cluster.network.preset", "infiniband-400g", "--network"}};
}

Imported import_named(const std::vector<std::string>& names, const Given& given) {
  std::vector<ConfigFile> files;
  for (const std::string& name : names) {
    files.push_back({name, config_text(name), std::nullopt});
  }
  return import_all(files, given);
}

Imported import_texts(const std::vector<std::pair<std::string, std::string>>& files,
                      const Given& given) {
  std::vector<ConfigFile> configs;
  for (const auto& [name, text] : files) {
    configs.push_back({name, text, std::nullopt});
  }
  return import_all(configs, given);
}

std::optional<LoggedSteps> steps_in(const std::string& log, ConfigFormat format) {
  Diagnostics diagnostics;
  const ConfigFile file = {"a.log", log, format};
  auto steps = steps_of_log(file, {}, diagnostics);
  EXPECT_EQ(to_string(diagnostics), "");
  return steps;
}

Imported import_as(const std::string& model_class, const std::string& text) {
  Imported imported;
  const std::vector<ConfigFile> files = {{"config.json", text, std::nullopt}};
  imported.result = import_configs(files, {"", {}, model_class, {}}, imported.diagnostics);
  return imported;
}

std::string config_text(const std::string& name) { return read_file(folder() / name, kMostBytes); }

std::vector<std::string> config_names(const std::string& below) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder() / below)) {
    if (entry.is_regular_file() && entry.path().extension() != ".md") {
      names.push_back((below.empty() ? "" : below + "/") + entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace orrery::import_config::testing
