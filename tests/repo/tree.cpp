#include "tests/repo/tree.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"

namespace orrery::repo {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 12> kFolders = {".ci",
                                                       "calibrate",
                                                       "cmake",
                                                       "docs",
                                                       "gui",
                                                       "kernels",
                                                       "mpi",
                                                       "python",
                                                       "scenarios",
                                                       "scripts",
                                                       "sim",
                                                       "tests"};
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 26U;

bool is_text(const fs::path& path) {
  static const std::set<std::string> extensions = {
      "", ".cmake", ".cpp", ".cu", ".cuh", ".hpp", ".json", ".md", ".svg", ".txt", ".yaml", ".yml"};
  return extensions.contains(path.extension().string());
}

bool is_picture(const fs::path& path) {
  return path.extension() == ".png";
}

void add_file(Tree& tree, const fs::path& root, const fs::directory_entry& entry) {
  const bool picture = is_picture(entry.path());
  if (entry.path().filename() == ".git") {
    return;  // in a further worktree a file that points to the first one
  }
  if (!entry.is_regular_file() || entry.is_symlink() || !(picture || is_text(entry.path()))) {
    return;
  }
  const bool executable = (entry.status().permissions() & fs::perms::owner_exec) != fs::perms::none;
  tree.files.push_back({fs::relative(entry.path(), root).generic_string(),
                        picture ? std::string() : read_file(entry.path(), kMaxFileBytes),
                        executable});
}

}  // namespace

const SourceFile* Tree::find(std::string_view path) const {
  const auto it = std::find_if(
      files.begin(), files.end(), [path](const SourceFile& file) { return file.path == path; });
  return it == files.end() ? nullptr : &*it;
}

Tree load_tree(const fs::path& root) {
  Tree tree;
  for (const auto& entry : fs::directory_iterator(root)) {
    add_file(tree, root, entry);
  }
  for (const std::string_view folder : kFolders) {
    if (fs::is_directory(root / folder)) {
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        add_file(tree, root, entry);
      }
    }
  }
  std::sort(tree.files.begin(), tree.files.end(), [](const SourceFile& a, const SourceFile& b) {
    return a.path < b.path;
  });
  return tree;
}

const Tree& repository() {
  static const Tree tree = load_tree(kSourceDir);
  return tree;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string offence(const SourceFile& file, std::size_t line, std::string_view what) {
  return fmt::format("{}:{}: {}", file.path, line, what);
}

void expect_none(const Offences& offences) {
  EXPECT_TRUE(offences.empty()) << fmt::format("{}", fmt::join(offences, "\n"));
}

void expect_offences(const Offences& offences, const Offences& expected) {
  EXPECT_EQ(offences, expected);
}

}  // namespace orrery::repo
