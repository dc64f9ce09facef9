#include "sim/base/files/journal_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>

#include <boost/crc.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"

namespace orrery {

namespace {

constexpr std::string_view kMember = "\"crc32\":\"";
constexpr std::string_view kEnd = "\"}";
constexpr std::size_t kDigits = 8;

// What a checksum adds to an object, in place of its last brace.
std::string seal_of(std::string_view object) {
  boost::crc_32_type crc;
  crc.process_bytes(object.data(), object.size());
  constexpr std::string_view kEmpty = "{}";
  return fmt::format("{}{}{:08x}{}", object == kEmpty ? "" : ",", kMember, crc.checksum(), kEnd);
}

}  // namespace

std::string sealed(std::string_view object) {
  ORRERY_CHECK(object.starts_with('{') && object.ends_with('}'), "`{}` is no object", object);
  return std::string(object.substr(0, object.size() - 1)) + seal_of(object);
}

std::optional<std::string> unsealed(std::string_view line) {
  constexpr std::size_t kLength = kMember.size() + kDigits + kEnd.size();
  if (line.size() <= kLength) {
    return std::nullopt;
  }
  std::string object(line.substr(0, line.size() - kLength));
  if (object.ends_with(',')) {
    object.pop_back();
  }
  object += '}';
  return object.starts_with('{') && sealed(object) == line ? std::optional(std::move(object))
                                                           : std::nullopt;
}

namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 30U;
constexpr std::size_t kReadBytes = std::size_t{1} << 18U;

}  // namespace

JournalFile::JournalFile(std::filesystem::path path, const std::string& header, const Rules& rules,
                         const FileSystem& files)
    : path_(std::move(path)), files_(files) {
  descriptor_ = files_.open(path_.string(), O_RDWR | O_CREAT | O_APPEND, 0666);
  if (descriptor_ < 0) {
    fail(fmt::format("cannot open: {}", std::strerror(errno)));
  }
  try {
    lock(rules);
    read(header, rules);
    sync_folder(path_, files_);
    syncer_ = std::thread([this] { sync_in_background(); });
  } catch (...) {
    files_.close(descriptor_);
    throw;
  }
}

JournalFile::~JournalFile() {
  stop_syncing();
  files_.close(descriptor_);
}

void JournalFile::fail(std::string_view what) const {
  throw Error(ErrorKind::io, fmt::format("{}: {}", path_.string(), what));
}

void JournalFile::lock(const Rules& rules) {
  if (files_.regular(descriptor_) != 1) {
    fail("is no regular file, which a journal must be");
  }
  if (files_.lock(descriptor_) != 0) {
    fail(fmt::format("another {} writes this journal at the moment", rules.writer));
  }
}

void JournalFile::truncate(std::size_t size) {
  if (files_.truncate(descriptor_, size) != 0) {
    fail(fmt::format("cannot write: {}", std::strerror(errno)));
  }
}

std::string JournalFile::content() const {
  std::string text;
  std::string buffer(kReadBytes, '\0');
  while (true) {
    const ssize_t count = files_.read(descriptor_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      fail(fmt::format("cannot read: {}", std::strerror(errno)));
    }
    if (count == 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kMostBytes) {
      fail(fmt::format("larger than the limit of {} bytes", kMostBytes));
    }
  }
}

void JournalFile::check_header(std::string_view found, const Rules& rules) const {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (found.starts_with(kMark)) {
    fail(
        "begins with a byte-order mark, as some editors write it: remove the mark, or the journal");
  }
  const std::optional<std::string> header = unsealed(found);
  const std::string problem = rules.header_problem(header ? std::string_view(*header) : found);
  if (!problem.empty()) {
    fail(problem);
  }
  if (!header) {
    fail("line 1 is damaged: remove the journal");
  }
}

void JournalFile::read(const std::string& header, const Rules& rules) {
  const std::string text = content();
  const std::size_t first = text.find('\n');
  const std::string first_line = sealed(header) + "\n";
  if (first == std::string::npos && first_line.starts_with(text)) {
    truncate(0);  // nothing, or a first line that was cut
    write(first_line);
    return;
  }
  check_header(std::string_view(text).substr(0, first), rules);
  std::size_t at = first == std::string::npos ? text.size() : first + 1;
  std::size_t line_number = 2;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const auto line = end == std::string::npos
                          ? std::nullopt
                          : unsealed(std::string_view(text).substr(at, end - at));
    const bool last = end == std::string::npos || end + 1 == text.size();
    if (!line && !last) {
      fail(fmt::format("line {} is damaged: remove the line, or the journal", line_number));
    }
    if (!line) {
      truncate(at);
      return;
    }
    const std::string problem = rules.accept(*line);
    if (!problem.empty()) {
      fail(fmt::format("line {}: {}: remove the line, or the journal", line_number, problem));
    }
    at = end + 1;
    ++line_number;
  }
}

void JournalFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = files_.write(descriptor_, text.data(), text.size());
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
  write(sealed(line) + "\n");
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
    const int error = files_.sync(descriptor_) == 0 ? 0 : errno;
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
