#pragma once

// A journal on disk: a file of lines that only grows, so that finished work survives a crash.
//
//   line 1   a header: whose results these are
//   line n   one result
//
// Each line is an object of JSON and carries a checksum; what is given and taken here
// is without it. A line that is damaged is refused, with its number.
//
// A line is written in one piece as soon as it is known, so that a killed program loses only work
// in progress; a thread syncs the file behind the writer, so that a machine that loses its power
// loses little more. Opening it again tolerates a last line that was cut and removes it. The file
// is locked while it is open: a second program is refused.
//
// All functions throw Error(io) with a line that names the file and the reason.

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "sim/base/files/file.hpp"

namespace orrery {

// A checksum inside each line of a journal, which shows whether the line is the one written.
//
//   {"a": 1}   ->   {"a": 1,"crc32":"fba18e97"}
//
// crc32 is the CRC-32 (ISO-HDLC) of the bytes of the line without that member; it finds every
// change of up to 32 adjacent bits, and a sealed line is still one object of JSON.

// `object`: the text of an object of JSON, in one line.
[[nodiscard]] std::string sealed(std::string_view object);

// The object without its checksum; nothing when it has none, or when it does not fit.
[[nodiscard]] std::optional<std::string> unsealed(std::string_view line);

class JournalFile {
 public:
  struct Rules {
    std::string writer;  // "sweep": who writes such files, for messages
    // What is wrong with the first line that was found; empty when it is a header like ours.
    std::function<std::string(std::string_view found)> header_problem;
    // What is wrong with a line that is as it was written; empty when it was taken.
    std::function<std::string(std::string_view line)> accept;
  };

  // Opens or creates it; existing lines go to rules.accept in their order.
  JournalFile(std::filesystem::path path, const std::string& header, const Rules& rules,
              const FileSystem& files = real_files());
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  // `line` without its newline. One thread at a time. After a failed write nothing is written any
  // more: a line that was cut is the last one.
  void append(std::string_view line);

  // Waits until all lines are on the disk.
  void close();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  void lock(const Rules& rules);
  void read(const std::string& header, const Rules& rules);
  void check_header(std::string_view found, const Rules& rules) const;
  [[nodiscard]] std::string content() const;
  void truncate(std::size_t size);
  void write(std::string_view text);
  void sync_in_background();
  void stop_syncing();
  [[noreturn]] void fail(std::string_view what) const;

  std::filesystem::path path_;
  const FileSystem& files_;
  int descriptor_ = -1;
  bool broken_ = false;  // a write failed
  std::mutex mutex_;
  std::condition_variable changed_;
  bool dirty_ = false;
  bool closing_ = false;
  int sync_error_ = 0;
  std::thread syncer_;
};

}  // namespace orrery
