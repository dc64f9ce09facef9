#include "sim/answer/trace/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/text/format.hpp"

#ifdef ORRERY_HAS_ZLIB
#include <zlib.h>
#endif

namespace orrery::trace {

namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18U;
constexpr std::size_t kLongestToken = 16'000'000;
constexpr std::size_t kMostLevels = 256;
constexpr double kMostRatio = 200.0;
constexpr std::uint64_t kSmall = std::uint64_t{64} << 20U;  // below it no ratio harms

std::string shown(std::uint64_t count) { return format_bytes(bytes(static_cast<double>(count))); }

bool starts_as_gzip(std::ifstream& file) {
  constexpr int kGzip1 = 0x1f;
  constexpr int kGzip2 = 0x8b;
  const int first = file.get();
  const int second = file.get();
  file.clear();
  file.seekg(0);
  return first == kGzip1 && second == kGzip2;
}

}  // namespace

#ifdef ORRERY_HAS_ZLIB

// Packed bytes of the file and the state of unpacking them. A file may be several gzip parts, one
// after the other.
struct TraceFile::Handle {
  explicit Handle(const std::filesystem::path& path) : file(path, std::ios::binary) {}

  ~Handle() {
    if (started) {
      inflateEnd(&zip);
    }
  }

  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // Unpacked bytes, 0 at the end or when `why` says what is wrong.
  std::size_t read(char* to, std::size_t room, std::string& why) {
    if (!started) {
      constexpr int kGzipWindow = 15 + 16;
      started = inflateInit2(&zip, kGzipWindow) == Z_OK;
      if (!started) {
        why = "the file cannot be unpacked: zlib does not start";
        return 0;
      }
    }
    zip.next_out = reinterpret_cast<Bytef*>(to);
    zip.avail_out = static_cast<uInt>(room);
    while (zip.avail_out == room) {
      if (zip.avail_in == 0 && !refill()) {
        if (inside) {
          why = "the file is cut off: its packed bytes end before they should";
        }
        return 0;
      }
      inside = true;
      const int code = inflate(&zip, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        inside = false;
        inflateReset(&zip);
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        why = fmt::format("the file cannot be unpacked: its packed bytes are damaged near byte {}",
                          format_integer(static_cast<std::int64_t>(taken - zip.avail_in)));
        return room - zip.avail_out;
      }
    }
    return room - zip.avail_out;
  }

  bool refill() {
    file.read(packed.data(), static_cast<std::streamsize>(packed.size()));
    const auto count = static_cast<std::size_t>(file.gcount());
    taken += count;
    zip.next_in = reinterpret_cast<Bytef*>(packed.data());
    zip.avail_in = static_cast<uInt>(count);
    return count > 0;
  }

  std::ifstream file;
  std::array<char, kBuffer> packed{};
  z_stream zip{};
  std::uint64_t taken = 0;
  bool started = false;
  bool inside = false;  // a part has begun and not ended
  bool plain = false;
};

#else

struct TraceFile::Handle {
  explicit Handle(const std::filesystem::path& path) : file(path, std::ios::binary) {}

  std::size_t read(char* /*to*/, std::size_t /*room*/, std::string& why) {
    why =
        "the file is compressed with gzip and zlib was missing when this program was built: "
        "unpack it first (gunzip)";
    return 0;
  }

  std::ifstream file;
  std::uint64_t taken = 0;
  bool plain = false;
};

#endif

TraceFile::TraceFile(const std::filesystem::path& path, std::uint64_t most_bytes,
                     std::stop_token stop)
    : most_bytes_(most_bytes), stop_(std::move(stop)), buffer_(kBuffer) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw Error(ErrorKind::io, fmt::format("{} is a directory, not a trace", path.string()));
  }
  size_ = std::filesystem::file_size(path, error);
  handle_ = std::make_unique<Handle>(path);
  if (error || !handle_->file) {
    throw Error(ErrorKind::io, fmt::format("cannot open {}", path.string()));
  }
  packed_ = starts_as_gzip(handle_->file);
  handle_->plain = !packed_;
  if (size_ == 0) {
    problem_ = "the file is empty";
  } else if (size_ > most_bytes) {
    problem_ = fmt::format("the file has {}, more than the {} that are read", shown(size_),
                           shown(most_bytes));
  }
}

TraceFile::~TraceFile() = default;

std::uint64_t TraceFile::consumed() const { return handle_->plain ? text_ : handle_->taken; }

std::size_t TraceFile::fill() {
  if (handle_->plain) {
    handle_->file.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    return static_cast<std::size_t>(handle_->file.gcount());
  }
  return handle_->read(buffer_.data(), buffer_.size(), problem_);
}

// What a parser would keep in memory, or count, without end.
void TraceFile::look_at(const char* text, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const char c = text[i];
    ++token_;
    if (quoted_) {
      const bool ends = c == '"' && !escaped_;
      escaped_ = c == '\\' && !escaped_;
      quoted_ = !ends;
    } else if (c == '"') {
      quoted_ = true;
    } else if (c == ',' || c == ':') {
      token_ = 0;
    } else if (c == '{' || c == '[') {
      token_ = 0;
      ++level_;
    } else if (c == '}' || c == ']') {
      token_ = 0;
      level_ -= level_ > 0 ? 1 : 0;
    }
    if (token_ > kLongestToken || level_ > kMostLevels) {
      const auto at = format_integer(static_cast<std::int64_t>(text_ - count + i));
      problem_ = token_ > kLongestToken
                     ? fmt::format("no trace: a word of more than {} ends at byte {}",
                                   shown(kLongestToken), at)
                     : fmt::format("no trace: more than {} levels of brackets at byte {}",
                                   kMostLevels, at);
      return;
    }
  }
}

TraceFile::int_type TraceFile::underflow() {
  stopped_ = stopped_ || stop_.stop_requested();
  if (!problem_.empty() || stopped_) {
    return traits_type::eof();
  }
  const std::size_t count = fill();
  text_ += count;
  const double ratio =
      static_cast<double>(text_) / static_cast<double>(std::max<std::uint64_t>(1, consumed()));
  if (text_ > most_bytes_) {
    problem_ =
        fmt::format("the file unpacks to more than the {} that are read", shown(most_bytes_));
  } else if (text_ > kSmall && ratio > kMostRatio) {
    problem_ = fmt::format("no trace: the file unpacks to more than {} times its size",
                           static_cast<int>(kMostRatio));
  } else {
    look_at(buffer_.data(), count);
  }
  if (count == 0 || !problem_.empty()) {
    return traits_type::eof();
  }
  setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
  return traits_type::to_int_type(*gptr());
}

}  // namespace orrery::trace
