#pragma once

// Reading of whole files and atomic writing: no reader ever sees a file half written.
//
// write_file_atomically writes to a temporary file beside the target, syncs it, renames it over the
// target and syncs the folder: a reader sees the old file or the new one, never a part, and the new
// one is there after a power cut. A symbolic link stays and the file that it names is written, also
// where there is none yet; devices and pipes (`-o /dev/stdout`) cannot be replaced and are written
// directly. All functions throw Error(ErrorKind::io) with a line that names the file and the
// reason.

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace orrery {

// The POSIX calls behind files that must survive a crash, each with -1 and errno on failure, in a
// class so that a test can make the n-th call fail, cut a write in two, or take back what was not
// synced. The program has one object, real_files().
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

// A file in blocks, for those that may be longer than the memory. Throws when it is missing, a
// directory, or cannot be read.
class FileBlocks {
 public:
  explicit FileBlocks(std::filesystem::path path);

  // At most as many bytes; none at the end.
  [[nodiscard]] std::string next(std::size_t most);

 private:
  std::filesystem::path path_;
  std::ifstream in_;
};

// Whole file as bytes. Throws when the file is missing, a directory, or above `max_bytes`.
[[nodiscard]] std::string read_file(const std::filesystem::path& path, std::size_t max_bytes);

void write_file_atomically(const std::filesystem::path& path, std::string_view content,
                           const FileSystem& files = real_files());

// Throws what write_file_atomically would throw at once, where nothing can be written: to be asked
// before hours of work. Leaves everything as it is.
void check_writable(const std::filesystem::path& path, const FileSystem& files = real_files());

// The entry of the file in its folder reaches the disk.
void sync_folder(const std::filesystem::path& file, const FileSystem& files = real_files());

// Whether both paths lead to one file that exists, by whatever name: links, `..`, hard links.
[[nodiscard]] bool is_same_file(const std::filesystem::path& one,
                                const std::filesystem::path& other);

// A file that was read, and what it held.
struct FileStamp {
  std::string path;    // absolute
  std::string sha256;  // of its bytes

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

[[nodiscard]] FileStamp stamp_of(const std::filesystem::path& path, std::string_view content);

// SHA-256 of the bytes as 64 lower-case hexadecimal digits (FIPS 180-4), to identify inputs.
[[nodiscard]] std::string sha256_hex(std::string_view content);

}  // namespace orrery
