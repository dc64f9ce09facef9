#include "sim/base/journal_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace orrery {

namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 30U;

}  // namespace

JournalFile::JournalFile(std::filesystem::path path, const std::string& header, const Rules& rules)
    : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    fail(fmt::format("cannot open: {}", std::strerror(errno)));
  }
  try {
    lock(rules);
    read(header, rules);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  syncer_ = std::thread([this] { sync_in_background(); });
}

JournalFile::~JournalFile() {
  stop_syncing();
  ::close(descriptor_);
}

void JournalFile::fail(std::string_view what) const {
  throw Error(ErrorKind::io, fmt::format("{}: {}", path_.string(), what));
}

void JournalFile::lock(const Rules& rules) {
  struct stat status {};

  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    fail("is no regular file, which a journal must be");
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    fail(fmt::format("another {} writes this journal at the moment", rules.writer));
  }
}

void JournalFile::truncate(std::size_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    fail(fmt::format("cannot write: {}", std::strerror(errno)));
  }
}

void JournalFile::read(const std::string& header, const Rules& rules) {
  const std::string text = read_file(path_, kMostBytes);
  const std::size_t first = text.find('\n');
  if (first == std::string::npos && (header + "\n").starts_with(text)) {
    truncate(0);  // nothing, or a first line that was cut
    write(header + "\n");
    return;
  }
  const std::string problem = rules.header_problem(std::string_view(text).substr(0, first));
  if (!problem.empty()) {
    fail(problem);
  }
  std::size_t at = first == std::string::npos ? text.size() : first + 1;
  std::size_t line_number = 2;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const bool accepted =
        end != std::string::npos && rules.accept(std::string_view(text).substr(at, end - at));
    const bool last = end == std::string::npos || end + 1 == text.size();
    if (!accepted && !last) {
      fail(fmt::format("line {} is damaged: remove the line, or the journal", line_number));
    }
    if (!accepted) {
      truncate(at);
      return;
    }
    at = end + 1;
    ++line_number;
  }
}

void JournalFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      fail(fmt::format("cannot write: {}; what is in it is safe, --resume continues",
                       std::strerror(errno)));
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void JournalFile::append(std::string_view line) {
  if (broken_) {
    return;
  }
  broken_ = true;
  write(std::string(line) + "\n");
  broken_ = false;
  const std::lock_guard guard(mutex_);
  dirty_ = true;
  changed_.notify_one();
}

void JournalFile::sync_in_background() {
  std::unique_lock guard(mutex_);
  while (true) {
    changed_.wait(guard, [this] { return dirty_ || closing_; });
    if (!dirty_) {
      return;
    }
    dirty_ = false;
    guard.unlock();
    const int error = ::fdatasync(descriptor_) == 0 ? 0 : errno;
    guard.lock();
    sync_error_ = sync_error_ != 0 ? sync_error_ : error;
  }
}

void JournalFile::stop_syncing() {
  {
    const std::lock_guard guard(mutex_);
    closing_ = true;
    changed_.notify_one();
  }
  if (syncer_.joinable()) {
    syncer_.join();
  }
}

void JournalFile::close() {
  stop_syncing();
  // Some file systems (and /dev/null) have nothing to sync.
  if (sync_error_ != 0 && sync_error_ != EINVAL && sync_error_ != EROFS) {
    fail(fmt::format("cannot write: {}", std::strerror(sync_error_)));
  }
}

}  // namespace orrery
