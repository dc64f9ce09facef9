#pragma once

// Shared parts of the exercises of several kinds of file: a text as a file; promises of messages.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "sim/base/check.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/base/files/journal_file.hpp"
#include "sim/base/text/text.hpp"

namespace orrery::fuzz {

// Every line of the diagnostics can be shown on a terminal.
inline void check_shown(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    const std::string line = to_string(diagnostic);
    ORRERY_CHECK(!diagnostic.message.empty(), "a diagnostic says nothing");
    ORRERY_CHECK(line == printable(line), "`{}` is no line for a terminal", printable(line));
  }
}

// The lines of a journal, with checksums that fit.
inline std::string sealed_lines(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    lines += line.starts_with('{') && line.ends_with('}') ? sealed(line) : std::string(line);
    lines += "\n";
  }
  return lines;
}

// The text as a file that a path names, without a disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    ORRERY_CHECK(descriptor_ >= 0, "no file in memory");
    while (!text.empty()) {
      const ssize_t count = ::write(descriptor_, text.data(), text.size());
      ORRERY_CHECK(count > 0, "a file in memory is full");
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  ~MemoryFile() { ::close(descriptor_); }

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace orrery::fuzz
