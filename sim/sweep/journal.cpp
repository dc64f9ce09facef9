#include "sim/sweep/journal.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace orrery::sweep {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "orrery-sweep-journal/1";
constexpr std::size_t kMostBytes = std::size_t{4} << 30U;
constexpr std::size_t kMostProfileBytes = std::size_t{64} << 20U;

std::string one_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// All profile files that the search can find, by their content.
std::string profiles_hash(const hardware::ProfileSearch& search) {
  std::string all;
  for (const std::filesystem::path& directory : search.directories) {
    std::vector<std::filesystem::path> files;
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator it(directory, error), end;
         !error && it != end;
         it.increment(error)) {
      if (it->path().extension() == ".yaml" && it->is_regular_file(error)) {
        files.push_back(it->path());
      }
    }
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path& file : files) {
      all += sha256_hex(read_file(file, kMostProfileBytes));
      all += std::filesystem::relative(file, directory, error).string() + "\n";
    }
  }
  return sha256_hex(all);
}

// What differs between two headers, for people.
std::string differences(const Json& found, const Json& wanted) {
  std::vector<std::string> names;
  for (const auto& [key, value] : wanted.items()) {
    if (!found.contains(key) || found[key] != value) {
      names.push_back(key);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Json parse(std::string_view line) {
  return Json::parse(line.begin(), line.end(), nullptr, false);
}

}  // namespace

std::string journal_header(const Sweep& sweep, const std::string& version) {
  Json keys = Json::array();
  for (const Axis& axis : sweep.axes) {
    keys.push_back(axis.key.path);
  }
  Json metrics = Json::array();
  for (const Column& column : sweep.columns) {
    metrics.push_back(column.name);
  }
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  return one_line({{"schema", kSchema},
                   {"version", version},
                   {"scenario", sweep.base.sha256()},
                   {"profiles", profiles_hash(sweep.search)},
                   {"keys", std::move(keys)},
                   {"trials", or_null(sweep.trials)},
                   {"seed", or_null(sweep.seed)},
                   {"metrics", std::move(metrics)}});
}

std::string journal_line(const Point& point, const PointResult& result) {
  Json cells = Json::array();
  for (const std::optional<double>& cell : result.cells) {
    cells.push_back(cell ? Json(*cell) : Json(nullptr));
  }
  return one_line({{"point", point},
                   {"status", to_string(result.status)},
                   {"reason", result.reason},
                   {"cells", std::move(cells)}}) +
         "\n";
}

std::optional<JournalEntry> read_journal_line(std::string_view line) {
  try {
    const Json json = parse(line);
    JournalEntry entry;
    entry.point = json.at("point").get<Point>();
    const auto status = json.at("status").get<std::string>();
    const auto* name = std::find(kStatusNames.begin(), kStatusNames.end(), status);
    if (name == kStatusNames.end()) {
      return std::nullopt;
    }
    entry.result.status = static_cast<Status>(name - kStatusNames.begin());
    entry.result.reason = json.at("reason").get<std::string>();
    for (const Json& cell : json.at("cells")) {
      entry.result.cells.push_back(cell.is_null() ? std::nullopt
                                                  : std::optional(cell.get<double>()));
    }
    return entry;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

Journal::Journal(std::filesystem::path path, const std::string& header, bool resume)
    : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    fail(fmt::format("cannot open: {}", std::strerror(errno)));
  }
  try {
    struct stat status {};

    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      fail("is no regular file, which a journal must be");
    }
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      fail("another sweep writes this journal at the moment");
    }
    read(header);
    if (!finished_.empty() && !resume) {
      fail(
          fmt::format("holds {} points of a sweep that did not end: --resume continues it, "
                      "or remove it",
                      finished_.size()));
    }
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  syncer_ = std::thread([this] { sync_in_background(); });
}

Journal::~Journal() {
  stop_syncing();
  ::close(descriptor_);
}

void Journal::fail(std::string_view what) const {
  throw Error(ErrorKind::io, fmt::format("{}: {}", path_.string(), what));
}

void Journal::read(const std::string& header) {
  const std::string text = read_file(path_, kMostBytes);
  const std::size_t first = text.find('\n');
  if (first == std::string::npos && (header + "\n").starts_with(text)) {
    if (::ftruncate(descriptor_, 0) != 0) {  // nothing, or a first line that was cut
      fail(fmt::format("cannot write: {}", std::strerror(errno)));
    }
    write(header + "\n");
    return;
  }
  const Json found = parse(std::string_view(text).substr(0, first));
  if (!found.is_object() || found.value("schema", std::string()) != kSchema) {
    fail("is no journal of a sweep: choose another file");
  }
  if (text.substr(0, first) != header) {
    fail(fmt::format("belongs to another sweep (it differs in: {}): remove it, or choose another",
                     differences(found, parse(header))));
  }
  std::size_t at = first + 1;
  std::size_t line_number = 2;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    auto entry = end == std::string::npos
                     ? std::nullopt
                     : read_journal_line(std::string_view(text).substr(at, end - at));
    const bool last = end == std::string::npos || end + 1 == text.size();
    if (!entry && !last) {
      fail(fmt::format("line {} is damaged: remove the line, or the journal", line_number));
    }
    if (!entry) {
      if (::ftruncate(descriptor_, static_cast<off_t>(at)) != 0) {
        fail(fmt::format("cannot write: {}", std::strerror(errno)));
      }
      return;
    }
    finished_.insert_or_assign(std::move(entry->point), std::move(entry->result));
    at = end + 1;
    ++line_number;
  }
}

void Journal::write(std::string_view text) {
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

void Journal::append(const Point& point, const PointResult& result) {
  if (broken_) {
    return;  // a line that was cut is the last one
  }
  broken_ = true;
  write(journal_line(point, result));
  broken_ = false;
  const std::lock_guard lock(mutex_);
  dirty_ = true;
  changed_.notify_one();
}

void Journal::sync_in_background() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return dirty_ || closing_; });
    if (!dirty_) {
      return;
    }
    dirty_ = false;
    lock.unlock();
    const int error = ::fdatasync(descriptor_) == 0 ? 0 : errno;
    lock.lock();
    sync_error_ = sync_error_ != 0 ? sync_error_ : error;
  }
}

void Journal::stop_syncing() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_one();
  }
  if (syncer_.joinable()) {
    syncer_.join();
  }
}

void Journal::close() {
  stop_syncing();
  // Some file systems (and /dev/null) have nothing to sync.
  if (sync_error_ != 0 && sync_error_ != EINVAL && sync_error_ != EROFS) {
    fail(fmt::format("cannot write: {}", std::strerror(sync_error_)));
  }
}

}  // namespace orrery::sweep
