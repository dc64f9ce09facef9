#pragma once

// The POSIX calls behind files that must survive a crash, in one class that tests can make fail.
//
// Files that must survive a full disk, a killed program or a power cut are written through an
// object of this class, so that a test can make the n-th call fail, cut a write in two, or take
// back what was not synced. The program has one object, real_files().
//
// Every function is the call of POSIX that its comment names: -1 with errno on failure.

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace orrery {

class FileSystem {
 public:
  FileSystem() = default;
  virtual ~FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  [[nodiscard]] virtual int open(const std::string& path, int flags, mode_t mode) const;
  [[nodiscard]] virtual int make_temporary(std::string& name) const;  // mkstemp: XXXXXX at the end
  [[nodiscard]] virtual ssize_t read(int file, char* to, std::size_t bytes) const;
  [[nodiscard]] virtual ssize_t write(int file, const char* from, std::size_t bytes) const;
  [[nodiscard]] virtual int sync(int file) const;  // fsync
  [[nodiscard]] virtual int truncate(int file, std::size_t bytes) const;
  [[nodiscard]] virtual int change_mode(int file, mode_t mode) const;
  [[nodiscard]] virtual int lock(int file) const;     // flock, exclusive, without waiting
  [[nodiscard]] virtual int regular(int file) const;  // fstat: 1 for a regular file, 0 for others
  [[nodiscard]] virtual int rename(const std::string& from, const std::string& to) const;
  virtual int close(int file) const;
  virtual int remove(const std::string& path) const;  // unlink
};

[[nodiscard]] const FileSystem& real_files();

}  // namespace orrery
