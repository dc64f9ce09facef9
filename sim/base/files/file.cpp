#include "sim/base/files/file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "sim/base/error.hpp"

namespace orrery {

int FileSystem::open(const std::string& path, int flags, mode_t mode) const {
  return ::open(path.c_str(), flags | O_CLOEXEC, mode);
}

int FileSystem::make_temporary(std::string& name) const {
  return ::mkostemp(name.data(), O_CLOEXEC);
}

ssize_t FileSystem::read(int file, char* to, std::size_t bytes) const {
  return ::read(file, to, bytes);
}

ssize_t FileSystem::write(int file, const char* from, std::size_t bytes) const {
  return ::write(file, from, bytes);
}

int FileSystem::sync(int file) const { return ::fsync(file); }

int FileSystem::truncate(int file, std::size_t bytes) const {
  return ::ftruncate(file, static_cast<off_t>(bytes));
}

int FileSystem::change_mode(int file, mode_t mode) const { return ::fchmod(file, mode); }

int FileSystem::lock(int file) const { return ::flock(file, LOCK_EX | LOCK_NB); }

int FileSystem::regular(int file) const {
  struct stat status {};

  if (::fstat(file, &status) != 0) {
    return -1;
  }
  return S_ISREG(status.st_mode) ? 1 : 0;
}

int FileSystem::rename(const std::string& from, const std::string& to) const {
  return ::rename(from.c_str(), to.c_str());
}

int FileSystem::close(int file) const { return ::close(file); }

int FileSystem::remove(const std::string& path) const { return ::unlink(path.c_str()); }

const FileSystem& real_files() {
  static const FileSystem files;
  return files;
}

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view what) {
  throw Error(ErrorKind::io, fmt::format("{}: {}", path.string(), what));
}

[[noreturn]] void fail_errno(const std::filesystem::path& path, std::string_view action) {
  fail(path, fmt::format("cannot {}: {}", action, std::strerror(errno)));
}

void write_all(const FileSystem& files, int descriptor, std::string_view content,
               const std::filesystem::path& target) {
  while (!content.empty()) {
    const ssize_t written = files.write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      fail_errno(target, "write");
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Closes and, unless released, removes the temporary file on every way out.
class TemporaryFile {
 public:
  TemporaryFile(const FileSystem& files, const std::filesystem::path& target)
      : files_(files),
        name_(target.string() + ".XXXXXX"),
        descriptor_(files.make_temporary(name_)) {
    if (descriptor_ < 0) {
      fail_errno(target, "create a temporary file beside it");
    }
  }

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  ~TemporaryFile() {
    if (descriptor_ >= 0) {
      files_.close(descriptor_);
    }
    if (!renamed_) {
      files_.remove(name_);
    }
  }

  void write(std::string_view content, const std::filesystem::path& target) {
    write_all(files_, descriptor_, content, target);
  }

  void commit(const std::filesystem::path& target, mode_t mode) {
    if (files_.change_mode(descriptor_, mode) != 0 || files_.sync(descriptor_) != 0) {
      fail_errno(target, "write");
    }
    if (files_.close(std::exchange(descriptor_, -1)) != 0) {
      fail_errno(target, "write");
    }
    if (files_.rename(name_, target.string()) != 0) {
      fail_errno(target, "replace");
    }
    renamed_ = true;
  }

 private:
  const FileSystem& files_;
  std::string name_;
  int descriptor_;
  bool renamed_ = false;
};

mode_t mode_for(const std::filesystem::path& path) {
  struct stat existing {};

  constexpr mode_t kPermissionBits = 0777;
  if (::stat(path.c_str(), &existing) == 0) {
    return existing.st_mode & kPermissionBits;
  }
  constexpr mode_t kDefault = 0666;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return kDefault & ~mask;
}

void write_to_device(const FileSystem& files, const std::filesystem::path& path,
                     std::string_view content) {
  const int descriptor = files.open(path.string(), O_WRONLY, 0);
  if (descriptor < 0) {
    fail_errno(path, "open");
  }
  try {
    write_all(files, descriptor, content, path);
  } catch (...) {
    files.close(descriptor);
    throw;
  }
  if (files.close(descriptor) != 0) {
    fail_errno(path, "write");
  }
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

// Something that cannot be replaced: a device, a pipe.
bool is_special(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

// What the links lead to, whether it is there or not.
std::filesystem::path behind_links(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::error_code error;
  for (int link = 0; std::filesystem::is_symlink(std::filesystem::symlink_status(path, error));
       ++link) {
    if (link == kMostLinks) {
      fail(path, "is a symbolic link that leads nowhere");
    }
    const auto next = std::filesystem::read_symlink(path, error);
    if (error) {
      fail(path, error.message());
    }
    path = path.parent_path() / next;
  }
  return path;
}

}  // namespace

FileBlocks::FileBlocks(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code error;
  const auto status = std::filesystem::status(path_, error);
  if (!std::filesystem::exists(status)) {
    fail(path_, "no such file");
  }
  if (std::filesystem::is_directory(status)) {
    fail(path_, "is a directory, a file is needed");
  }
  in_.open(path_, std::ios::binary);
  if (!in_) {
    fail_errno(path_, "open");
  }
}

std::string FileBlocks::next(std::size_t most) {
  constexpr std::size_t kBuffer = std::size_t{1} << 16U;
  std::string block;
  while (block.size() < most && in_) {
    const std::size_t before = block.size();
    block.resize(std::min(most, before + kBuffer));
    in_.read(block.data() + before, static_cast<std::streamsize>(block.size() - before));
    block.resize(before + static_cast<std::size_t>(in_.gcount()));
  }
  if (in_.bad()) {
    fail_errno(path_, "read");
  }
  return block;
}

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  FileBlocks blocks(path);
  std::string content = blocks.next(max_bytes);
  if (!blocks.next(1).empty()) {
    fail(path, fmt::format("larger than the limit of {} bytes", max_bytes));
  }
  return content;
}

void sync_folder(const std::filesystem::path& file, const FileSystem& files) {
  const std::filesystem::path parent = file.parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const int descriptor = files.open(folder, O_RDONLY | O_DIRECTORY, 0);
  if (descriptor < 0 && (errno == EACCES || errno == EPERM)) {
    return;  // a folder that can be written and not read
  }
  if (descriptor < 0) {
    fail_errno(folder, "open the folder");
  }
  const bool failed = files.sync(descriptor) != 0 && errno != EINVAL && errno != EROFS;
  const int why = errno;
  files.close(descriptor);
  if (failed) {
    errno = why;
    fail_errno(folder, "write the folder");
  }
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content,
                           const FileSystem& files) {
  if (is_folder(path)) {
    fail(path, "is a directory, cannot be written as a file");
  }
  if (is_special(path)) {
    write_to_device(files, path, content);
    return;
  }
  const std::filesystem::path target = behind_links(path);
  TemporaryFile temporary(files, target);
  temporary.write(content, target);
  temporary.commit(target, mode_for(target));
  sync_folder(target, files);
}

void check_writable(const std::filesystem::path& path, const FileSystem& files) {
  if (is_folder(path)) {
    fail(path, "is a directory, cannot be written as a file");
  }
  if (!is_special(path)) {
    const TemporaryFile probe(files, behind_links(path));
  } else if (::access(path.c_str(), W_OK) != 0) {
    fail_errno(path, "open");
  }
}

bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code error;
  return std::filesystem::equivalent(one, other, error);
}

FileStamp stamp_of(const std::filesystem::path& path, std::string_view content) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return {(error ? path : absolute).lexically_normal().string(), sha256_hex(content)};
}

}  // namespace orrery
