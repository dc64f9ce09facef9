#pragma once

// The strict reader of scenario files in the format `orrery/1`.
//
// All problems are reported at once, with file, line, column, key and allowed values. Returns
// nothing when there is any error; warnings alone do not stop it. Throws Error(io) when the file
// cannot be read. Presets are read here, by their names; no profile is, and no cross-stage rule is
// checked: that is evaluate/.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/layout/layout_spec.hpp"

namespace orrery::scenario {

// `search`: where presets are found; default: hardware::default_search of the file.
[[nodiscard]] std::optional<Scenario> load_file(
    const std::filesystem::path& path, Diagnostics& diagnostics,
    const std::optional<hardware::ProfileSearch>& search = {});

[[nodiscard]] std::optional<Scenario> load_text(
    std::string_view text, const std::string& file_name, Diagnostics& diagnostics,
    const std::optional<hardware::ProfileSearch>& search = {});

// A scenario inside another document: a mapping with the keys of the format, without `format`.
// `file_name`: of that document, as search paths and messages take it.
[[nodiscard]] std::optional<Scenario> load_fragment(const yaml::Value& fragment,
                                                    const std::string& file_name,
                                                    std::shared_ptr<const PresetLibrary> presets,
                                                    Diagnostics& diagnostics);

// What a layout does wrong in this scenario; without a stated layout also how to find one.
[[nodiscard]] std::string words_of(const layout::LayoutProblem& problem, const Scenario& scenario);

// JSON Schema (draft 7) of the format, and its reference in Markdown; both from the key table, with
// the names of the presets.
[[nodiscard]] std::string json_schema(const PresetLibrary& presets = PresetLibrary::standard());
[[nodiscard]] std::string reference_markdown(
    const PresetLibrary& presets = PresetLibrary::standard());

}  // namespace orrery::scenario
