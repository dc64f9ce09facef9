#include "sim/base/files/file_system.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

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

}  // namespace orrery
