#pragma once

// A snapshot of the repository's text files, which the coding rules read.
//
// A rule is a function Tree -> Offences, one line per offence: "path:line: what is wrong". Rules
// never touch the disk, so a made-up Tree proves that each of them can fail.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::repo {

struct SourceFile {
  std::string path;  // from the repository root, with '/'
  std::string text;
  bool executable = false;
};

struct Tree {
  std::vector<SourceFile> files;  // sorted by path

  [[nodiscard]] const SourceFile* find(std::string_view path) const;
};

using Offences = std::vector<std::string>;

// Every text file below `root` in the folders of the project, without build trees; pictures, which
// documents show, with empty text.
[[nodiscard]] Tree load_tree(const std::filesystem::path& root);

// The repository these tests were built from, read once.
[[nodiscard]] const Tree& repository();

[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

[[nodiscard]] std::string offence(const SourceFile& file, std::size_t line, std::string_view what);

// Fails the current test with all offences, one per line.
void expect_none(const Offences& offences);

// Fails unless the offences are exactly these.
void expect_offences(const Offences& offences, const Offences& expected);

}  // namespace orrery::repo
