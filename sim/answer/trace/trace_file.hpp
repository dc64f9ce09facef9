#pragma once

// The bytes of a trace as a stream, decompressed on the way when the file is gzip.
//
// symbol   | meaning                                                        | unit | origin
// ---------|----------------------------------------------------------------|------|----------
// size     | of the file on the disk                                        | byte | opening
// consumed | of the file on the disk: the progress                          | byte | reading
// text     | unpacked so far; reading ends beyond `most_bytes` of it        | byte | reading
// token    | bytes of one string, number or blank: a parser keeps them      | byte | reading
// ratio    | text / consumed; deflate packs 1 in 1,032 at best              | 1    | reading
//
// A file that was cut off, whose packed bytes are damaged, or that unpacks to more than it may ends
// early: `problem()` says why. So does one whose brackets go deeper, whose tokens are longer or
// whose bytes are packed closer than those of any trace, and a reading that is told to stop. The
// text is never in memory as a whole.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <streambuf>
#include <string>
#include <vector>

namespace orrery::trace {

class TraceFile : public std::streambuf {
 public:
  // Throws Error(io) for what cannot be opened: nothing there, a directory.
  TraceFile(const std::filesystem::path& path, std::uint64_t most_bytes, std::stop_token stop = {});
  ~TraceFile() override;

  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }

  [[nodiscard]] bool packed() const { return packed_; }

  [[nodiscard]] std::uint64_t consumed() const;

  [[nodiscard]] std::uint64_t text() const { return text_; }

  // It ended at a stop request.
  [[nodiscard]] bool stopped() const { return stopped_; }

  // Empty: all is well so far.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 protected:
  int_type underflow() override;

 private:
  struct Handle;

  [[nodiscard]] std::size_t fill();
  void look_at(const char* text, std::size_t count);

  std::uint64_t size_ = 0;
  std::uint64_t most_bytes_ = 0;
  std::uint64_t text_ = 0;
  bool packed_ = false;
  std::stop_token stop_;
  bool stopped_ = false;
  bool quoted_ = false;    // within a string
  bool escaped_ = false;   // behind a backslash in it
  std::size_t token_ = 0;  // bytes since the last token ended
  std::size_t level_ = 0;  // of brackets
  std::string problem_;
  std::vector<char> buffer_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace orrery::trace
