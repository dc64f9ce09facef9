#pragma once

// What many tests need: a folder that lives as long as its owner, and parts of texts.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "sim/base/files/file.hpp"

namespace orrery {

class TempFolder {
 public:
  TempFolder() {
    std::string name = ::testing::TempDir() + "orrery-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr) << name;
    path_ = name;
  }

  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  operator const std::filesystem::path&() const { return path_; }

  [[nodiscard]] std::string string() const { return path_.string(); }

  [[nodiscard]] std::filesystem::path operator/(const std::filesystem::path& name) const {
    return path_ / name;
  }

  // Returns the path of the file, whose folders are made.
  std::filesystem::path write(const std::filesystem::path& name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

  [[nodiscard]] std::string read(const std::filesystem::path& name) const {
    constexpr std::size_t kMostBytes = std::size_t{1} << 27U;
    return read_file(path_ / name, kMostBytes);
  }

 private:
  std::filesystem::path path_;
};

// The text with the first `from` changed, which it must hold.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string changed(text);
  const std::size_t at = changed.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? changed : changed.replace(at, from.size(), to);
}

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace orrery
