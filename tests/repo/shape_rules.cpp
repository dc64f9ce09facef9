#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "tests/repo/code.hpp"
#include "tests/repo/rules.hpp"

namespace orrery::repo {

namespace {

constexpr std::size_t kMaxFiles = 40;  // twenty sources with their headers
constexpr std::size_t kMaxFileLines = 600;
constexpr std::size_t kMaxFunctionLines = 70;
constexpr std::size_t kMaxTestFunctionLines = 120;
constexpr std::size_t kMaxColumns = 100;

bool is_code(const SourceFile& file) {
  return file.path.ends_with(".cpp") || file.path.ends_with(".hpp") || file.path.ends_with(".cu") ||
         file.path.ends_with(".cuh");
}

bool is_header(const SourceFile& file) {
  return file.path.ends_with(".hpp") || file.path.ends_with(".cuh");
}

// Code points of UTF-8: every byte that does not continue one.
std::size_t columns(std::string_view line) {
  constexpr unsigned kContinuationMask = 0xC0;
  constexpr unsigned kContinuation = 0x80;
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & kContinuationMask) != kContinuation;
  }));
}

}  // namespace

Offences crowded_folders(const Tree& tree) {
  std::map<std::string_view, std::size_t> sizes;
  for (const SourceFile& file : tree.files) {
    if (is_code(file) && !file.path.starts_with("tests/")) {
      ++sizes[std::string_view(file.path).substr(0, file.path.rfind('/'))];
    }
  }
  Offences offences;
  for (const auto& [folder, files] : sizes) {
    if (files > kMaxFiles) {
      offences.push_back(fmt::format("{}: {} files, at most {}", folder, files, kMaxFiles));
    }
  }
  return offences;
}

Offences long_files(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    const std::size_t lines = lines_of(file.text).size();
    if (is_code(file) && lines > kMaxFileLines) {
      offences.push_back(
          offence(file, lines, fmt::format("{} lines, at most {}", lines, kMaxFileLines)));
    }
  }
  return offences;
}

Offences long_functions(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!is_code(file)) {
      continue;
    }
    const std::size_t limit =
        file.path.starts_with("tests/") ? kMaxTestFunctionLines : kMaxFunctionLines;
    for (const Function& function : outline_of(file.text).functions) {
      if (function.lines > limit) {
        offences.push_back(offence(
            file,
            function.first_line,
            fmt::format("{} has {} lines, at most {}", function.name, function.lines, limit)));
      }
    }
  }
  return offences;
}

Offences long_lines(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!is_code(file)) {
      continue;
    }
    std::size_t number = 0;
    for (const std::string_view line : lines_of(file.text)) {
      ++number;
      if (columns(line) > kMaxColumns) {
        offences.push_back(offence(
            file, number, fmt::format("{} columns, at most {}", columns(line), kMaxColumns)));
      }
    }
  }
  return offences;
}

Offences headers_without_prologue(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!is_header(file)) {
      continue;
    }
    auto lines = lines_of(file.text);
    std::erase(lines, "");
    if (lines.empty() || lines[0] != "#pragma once") {
      offences.push_back(offence(file, 1, "a header starts with #pragma once"));
    } else if (lines.size() < 2 || !lines[1].starts_with("// ")) {
      offences.push_back(
          offence(file, 2, "a comment after #pragma once says what the header is for"));
    }
  }
  return offences;
}

Offences namespaces_off_folder(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    constexpr std::string_view kSim = "sim/";
    if (!file.path.starts_with(kSim) || !is_header(file)) {
      continue;
    }
    const std::string folder = file.path.substr(kSim.size(), file.path.find('/', kSim.size()) - 4);
    const std::string wanted =
        folder == "base" ? "namespace orrery" : fmt::format("namespace orrery::{}", folder);
    if (file.text.find(wanted) == std::string::npos) {
      offences.push_back(offence(file, 1, fmt::format("its folder wants {}", wanted)));
    }
  }
  return offences;
}

}  // namespace orrery::repo
