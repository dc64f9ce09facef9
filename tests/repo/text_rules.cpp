#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <regex>
#include <set>
#include <string>

#include "tests/repo/rules.hpp"

namespace orrery::repo {

namespace {

// Words are put together here, so that this file does not offend its own rules.
const std::regex& unfinished_pattern() {
  static const std::regex pattern(std::string("\\b(TO") + "DO|FIX" + "ME|XX" + "X|HA" +
                                  "CK)\\b|\\bplace" + "holder|\\bstub" + "bed|[Nn]ot (yet )?imple" +
                                  "mented");
  return pattern;
}

const std::regex& machine_path_pattern() {
  static const std::regex pattern(std::string("(^|[^A-Za-z0-9_.-])/(ho") + "me|wo" + "rk|ro" +
                                  "ot)/");
  return pattern;
}

Offences lines_that_match(const Tree& tree, const std::regex& pattern, std::string_view what) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    std::size_t number = 0;
    for (const std::string_view line : lines_of(file.text)) {
      ++number;
      std::match_results<std::string_view::const_iterator> match;
      if (std::regex_search(line.begin(), line.end(), match, pattern)) {
        offences.push_back(offence(file, number, fmt::format("{}: {}", what, match.str())));
      }
    }
  }
  return offences;
}

bool is_scenario(const SourceFile& file) {
  constexpr std::string_view kFolder = "scenarios/";
  return file.path.starts_with(kFolder) && file.path.ends_with(".yaml") &&
         file.path.find('/', kFolder.size()) == std::string::npos;
}

bool is_document(const SourceFile& file) {
  return file.path.ends_with(".md");
}

// Name of the anchor that GitHub gives a heading: lower case, blanks to '-', no punctuation.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char kFirstNonAscii = 0x80;
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || byte >= kFirstNonAscii) {
      anchor += static_cast<char>(std::tolower(byte));
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

// Lines of a document; those of its code blocks are empty.
std::vector<std::string> prose_of(std::string_view text) {
  std::vector<std::string> prose;
  bool in_code = false;
  for (const std::string_view line : lines_of(text)) {
    const bool fence = line.starts_with("```");
    in_code = in_code != fence;
    prose.push_back(fence || in_code ? "" : std::string(line));
  }
  return prose;
}

std::set<std::string> anchors_of(const SourceFile& document) {
  std::set<std::string> anchors;
  for (const std::string& line : prose_of(document.text)) {
    const std::size_t level = line.find_first_not_of('#');
    if (level != std::string::npos && level > 0 && line[level] == ' ') {
      anchors.insert(anchor_of(std::string_view(line).substr(level + 1)));
    }
  }
  return anchors;
}

bool exists(const Tree& tree, const std::string& path) {
  return std::any_of(tree.files.begin(), tree.files.end(), [&path](const SourceFile& file) {
    return file.path == path || file.path.starts_with(path + "/");
  });
}

// What is wrong with a link target, nothing when it resolves.
std::optional<std::string> problem_of(const Tree& tree,
                                      const SourceFile& document,
                                      const std::string& target) {
  if (target.starts_with("http://") || target.starts_with("https://") ||
      target.starts_with("mailto:")) {
    return std::nullopt;
  }
  const std::size_t hash = std::min(target.find('#'), target.size());
  std::string path = document.path;
  if (hash > 0) {
    const std::filesystem::path folder = std::filesystem::path(document.path).parent_path();
    path = (folder / target.substr(0, hash)).lexically_normal().generic_string();
    while (path.ends_with("/")) {
      path.pop_back();
    }
  }
  if (!exists(tree, path)) {
    return fmt::format("{} leads nowhere", target);
  }
  const SourceFile* file = tree.find(path);
  const bool anchored = hash < target.size() && file != nullptr && is_document(*file);
  if (anchored && !anchors_of(*file).contains(target.substr(hash + 1))) {
    return fmt::format("{} names no heading of {}", target, path);
  }
  return std::nullopt;
}

}  // namespace

Offences unfinished_words(const Tree& tree) {
  return lines_that_match(tree, unfinished_pattern(), "unfinished");
}

Offences machine_paths(const Tree& tree) {
  return lines_that_match(tree, machine_path_pattern(), "path of one machine");
}

Offences scenarios_without_expectation(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!is_scenario(file)) {
      continue;
    }
    const auto lines = lines_of(file.text);
    const auto expect = std::find(lines.begin(), lines.end(), "expect:");
    const bool item = expect != lines.end() && expect + 1 != lines.end() &&
                      std::regex_search(std::string(*(expect + 1)), std::regex("^ *- +[^ ]"));
    if (!item) {
      offences.push_back(offence(file, 1, "has no `expect:` with at least one expectation"));
    }
  }
  return offences;
}

Offences scenarios_without_modeline(const Tree& tree) {
  constexpr std::string_view kModeline =
      "# yaml-language-server: $schema=../docs/scenario.schema.json";
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (is_scenario(file) && !file.text.starts_with(kModeline)) {
      offences.push_back(offence(file, 1, fmt::format("starts without `{}`", kModeline)));
    }
  }
  return offences;
}

Offences broken_links(const Tree& tree) {
  static const std::regex link(R"(\]\(<?([^)> ]+)>?[^)]*\))");
  static const std::regex inline_code("`[^`]*`");
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!is_document(file)) {
      continue;
    }
    std::size_t number = 0;
    for (const std::string& line : prose_of(file.text)) {
      ++number;
      // Code in the text of a link goes, its target stays.
      const std::string text = std::regex_replace(line, inline_code, "");
      for (auto it = std::sregex_iterator(text.begin(), text.end(), link);
           it != std::sregex_iterator();
           ++it) {
        if (const auto problem = problem_of(tree, file, (*it)[1])) {
          offences.push_back(offence(file, number, *problem));
        }
      }
    }
  }
  return offences;
}

Offences missing_documents(const Tree& tree) {
  struct Need {
    std::string_view path;
    std::string_view text;
  };

  constexpr std::array<Need, 11> kNeeds = {{{"README.md", "scripts/demo"},
                                            {"README.md", "scripts/test"},
                                            {"LICENSE", "Apache License"},
                                            {"CONTRIBUTING.md", "scripts/test"},
                                            {"CHANGELOG.md", "### Accuracy"},
                                            {"CHANGELOG.md", "### Features"},
                                            {"CHANGELOG.md", "### Internals"},
                                            {"sim/README.md", "scenario.yaml"},
                                            {"docs/architecture.md", ""},
                                            {"docs/model.md", ""},
                                            {"docs/scenario.schema.json", "$schema"}}};
  Offences offences;
  for (const Need& need : kNeeds) {
    const SourceFile* file = tree.find(need.path);
    if (file == nullptr) {
      offences.push_back(fmt::format("{} is missing", need.path));
    } else if (file->text.find(need.text) == std::string::npos) {
      offences.push_back(offence(*file, 1, fmt::format("does not name {}", need.text)));
    }
  }
  return offences;
}

Offences unready_scripts(const Tree& tree) {
  Offences offences;
  for (const std::string_view path : {".ci/run", "scripts/demo", "scripts/setup", "scripts/test"}) {
    if (tree.find(path) == nullptr) {
      offences.push_back(fmt::format("{} is missing", path));
    }
  }
  for (const SourceFile& file : tree.files) {
    if (!file.path.starts_with("scripts/") && !file.path.starts_with(".ci/")) {
      continue;
    }
    if (!file.executable) {
      offences.push_back(offence(file, 1, "has no executable bit"));
    }
    if (file.text.find("\nset -euo pipefail\n") == std::string::npos) {
      offences.push_back(offence(file, 1, "has no `set -euo pipefail`"));
    }
  }
  return offences;
}

}  // namespace orrery::repo
