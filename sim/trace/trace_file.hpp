#pragma once

// How do the bytes of a trace arrive? As a stream, unpacked on the way when the file is gzip.
//
// symbol   | meaning                                                        | unit | origin
// ---------|----------------------------------------------------------------|------|----------
// size     | of the file on the disk                                        | byte | opening
// consumed | of the file on the disk: the progress                          | byte | reading
// text     | unpacked so far; reading ends beyond `most_bytes` of it        | byte | reading
//
// A file that was cut off, whose packed bytes are damaged, or that unpacks to more than it may ends
// early: `problem()` says why. The text is never in memory as a whole.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <streambuf>
#include <string>
#include <vector>

namespace orrery::trace {

class TraceFile : public std::streambuf {
 public:
  // Throws Error(io) for what cannot be opened: nothing there, a directory.
  TraceFile(const std::filesystem::path& path, std::uint64_t most_bytes);
  ~TraceFile() override;

  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  [[nodiscard]] std::uint64_t size() const {
    return size_;
  }

  [[nodiscard]] bool packed() const {
    return packed_;
  }

  [[nodiscard]] std::uint64_t consumed() const;

  [[nodiscard]] std::uint64_t text() const {
    return text_;
  }

  // Empty: all is well so far.
  [[nodiscard]] const std::string& problem() const {
    return problem_;
  }

 protected:
  int_type underflow() override;

 private:
  struct Handle;

  std::uint64_t size_ = 0;
  std::uint64_t most_bytes_ = 0;
  std::uint64_t text_ = 0;
  bool packed_ = false;
  std::string problem_;
  std::vector<char> buffer_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace orrery::trace
