#include "sim/base/file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "sim/base/error.hpp"

namespace orrery {

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view what) {
  throw Error(ErrorKind::io, fmt::format("{}: {}", path.string(), what));
}

[[noreturn]] void fail_errno(const std::filesystem::path& path, std::string_view action) {
  fail(path, fmt::format("cannot {}: {}", action, std::strerror(errno)));
}

void write_all(int descriptor, std::string_view content, const std::filesystem::path& target) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
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
  explicit TemporaryFile(const std::filesystem::path& target)
      : name_(target.string() + ".XXXXXX"), descriptor_(mkstemp(name_.data())) {
    if (descriptor_ < 0) {
      fail_errno(target, "create a temporary file beside it");
    }
  }

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  ~TemporaryFile() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
    if (!renamed_) {
      ::unlink(name_.c_str());
    }
  }

  void write(std::string_view content, const std::filesystem::path& target) {
    write_all(descriptor_, content, target);
  }

  void commit(const std::filesystem::path& target, mode_t mode) {
    if (::fchmod(descriptor_, mode) != 0 || ::fsync(descriptor_) != 0) {
      fail_errno(target, "write");
    }
    if (::close(std::exchange(descriptor_, -1)) != 0) {
      fail_errno(target, "write");
    }
    if (::rename(name_.c_str(), target.c_str()) != 0) {
      fail_errno(target, "replace");
    }
    renamed_ = true;
  }

 private:
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

void write_to_device(const std::filesystem::path& path, std::string_view content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) {
    fail_errno(path, "open");
  }
  try {
    write_all(descriptor, content, path);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  if (::close(descriptor) != 0) {
    fail_errno(path, "write");
  }
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    fail(path, "no such file");
  }
  if (std::filesystem::is_directory(status)) {
    fail(path, "is a directory, a file is needed");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    fail_errno(path, "open");
  }
  std::string content;
  std::string buffer(std::size_t{1} << 16U, '\0');
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    content.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (content.size() > max_bytes) {
      fail(path, fmt::format("larger than the limit of {} bytes", max_bytes));
    }
  }
  if (in.bad()) {
    fail_errno(path, "read");
  }
  return content;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) {
    fail(path, "is a directory, cannot be written as a file");
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    write_to_device(path, content);
    return;
  }
  std::filesystem::path target = path;
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) {
    target = std::filesystem::weakly_canonical(path, error);
    if (error) {
      fail(path, error.message());
    }
  }
  TemporaryFile temporary(target);
  temporary.write(content, target);
  temporary.commit(target, mode_for(target));
}

}  // namespace orrery
