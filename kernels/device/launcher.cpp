#include "kernels/device/launcher.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "sim/base/error.hpp"

namespace orrery::kernels {

namespace {

struct Variables {
  const char* rank;
  const char* ranks;
  const char* local_rank;
};

constexpr std::array kLaunchers = {
    Variables{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    Variables{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    Variables{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
    Variables{"RANK", "WORLD_SIZE", "LOCAL_RANK"}};

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return value;
}

// Reads one variable into `value`; a sentence when it is no number.
std::string read_number(const Environment& environment, const char* name, int& value) {
  const auto text = environment(name);
  if (!text) {
    return "";
  }
  const auto number = whole_number(*text);
  if (!number) {
    return fmt::format("{}={} is no whole number", name, *text);
  }
  value = *number;
  return "";
}

FoundRank checked(FoundRank found) {
  const GroupRank& group = found.group;
  if (!found.problem.empty()) {
    return found;
  }
  if (group.ranks < 1) {
    found.problem = fmt::format("a group of {} ranks has no member", group.ranks);
  } else if (group.rank < 0 || group.rank >= group.ranks) {
    found.problem = fmt::format("rank {} is outside 0..{}", group.rank, group.ranks - 1);
  } else if (group.local_rank < 0) {
    found.problem = fmt::format("local rank {} is negative", group.local_rank);
  }
  return found;
}

FoundRank from_variables(const Variables& variables, const Environment& environment) {
  FoundRank found;
  found.group.source = variables.rank;
  for (const auto& [name, value] : {std::pair{variables.rank, &found.group.rank},
                                    std::pair{variables.ranks, &found.group.ranks},
                                    std::pair{variables.local_rank, &found.group.local_rank}}) {
    if (found.problem.empty()) {
      found.problem = read_number(environment, name, *value);
    }
  }
  return found;
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) {
      return std::nullopt;
    }
    return std::string(value);
  };
}

FoundRank group_rank(const GivenRank& given, const Environment& environment) {
  if (given.rank.has_value() != given.ranks.has_value()) {
    return {.group = {}, .problem = "--rank and --ranks go together"};
  }
  if (given.rank) {
    // By hand on one node, unless --local-rank says otherwise.
    return checked(
        {.group = {*given.rank, *given.ranks, given.local_rank.value_or(*given.rank), "--rank"},
         .problem = ""});
  }
  for (const Variables& variables : kLaunchers) {
    if (environment(variables.rank) && environment(variables.ranks)) {
      FoundRank found = from_variables(variables, environment);
      found.group.local_rank = given.local_rank.value_or(found.group.local_rank);
      return checked(found);
    }
  }
  FoundRank alone;
  alone.group.local_rank = given.local_rank.value_or(0);
  return checked(alone);
}

ParsedMeeting parse_meeting(const std::string& text) {
  constexpr std::string_view kFile = "file:";
  constexpr std::string_view kTcp = "tcp:";
  constexpr int kMostPort = 65535;
  if (text.starts_with(kFile) && text.size() > kFile.size()) {
    return {Meeting{Meeting::Kind::file, text.substr(kFile.size()), 0}, ""};
  }
  const std::size_t colon = text.rfind(':');
  if (text.starts_with(kTcp) && colon > kTcp.size()) {
    const auto port = whole_number(text.substr(colon + 1));
    if (port && *port >= 1 && *port <= kMostPort) {
      return {Meeting{Meeting::Kind::tcp, text.substr(kTcp.size(), colon - kTcp.size()), *port},
              ""};
    }
  }
  return {std::nullopt,
          fmt::format("{} is no meeting place: write file:PATH or tcp:HOST:PORT", text)};
}

namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

constexpr std::chrono::milliseconds kPause(20);

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorKind::io, what); }

std::string place_of(const Meeting& meeting) {
  return meeting.kind == Meeting::Kind::file ? meeting.place
                                             : fmt::format("{}:{}", meeting.place, meeting.port);
}

void write_file(const Meeting& meeting, std::span<const std::byte> own) {
  // Others may already have read what an earlier run left: better no group than a mixed one.
  if (std::filesystem::exists(meeting.place)) {
    fail(fmt::format("{} exists: remove it, or meet at another place", meeting.place));
  }
  // Readers see the whole file or none: it gets its name when it is complete.
  const std::string unfinished = meeting.place + ".part";
  {
    std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(own.data()), static_cast<std::streamsize>(own.size()));
    file.flush();
    if (!file) {
      fail(fmt::format("cannot write {}", unfinished));
    }
  }
  std::error_code error;
  std::filesystem::rename(unfinished, meeting.place, error);
  if (error) {
    fail(fmt::format("cannot rename {} to {}: {}", unfinished, meeting.place, error.message()));
  }
}

Bytes read_file(const Meeting& meeting, std::size_t size, Clock::time_point end) {
  while (true) {
    std::ifstream file(meeting.place, std::ios::binary);
    Bytes bytes(size);
    if (file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size))) {
      return bytes;
    }
    if (Clock::now() >= end) {
      fail(fmt::format("rank 0 did not write {} in time", meeting.place));
    }
    std::this_thread::sleep_for(kPause);
  }
}

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}

  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  ~Socket() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }

  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

struct AddressDeleter {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

using Addresses = std::unique_ptr<addrinfo, AddressDeleter>;

Addresses addresses_of(const Meeting& meeting, bool listens) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = listens ? AI_PASSIVE : 0;
  addrinfo* list = nullptr;
  const char* host = listens ? nullptr : meeting.place.c_str();
  const int status = getaddrinfo(host, std::to_string(meeting.port).c_str(), &hints, &list);
  if (status != 0) {
    fail(fmt::format("cannot find {}: {}", place_of(meeting), gai_strerror(status)));
  }
  return Addresses(list);
}

void limit_waiting(int descriptor, Clock::time_point end) {
  const auto left =
      std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now()).count();
  constexpr std::int64_t kMicroseconds = 1'000'000;
  const std::int64_t wait = std::max<std::int64_t>(left, 1);
  timeval timeout = {};
  timeout.tv_sec = wait / kMicroseconds;
  timeout.tv_usec = wait % kMicroseconds;
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

std::unique_ptr<Socket> listen_at(const Meeting& meeting) {
  const Addresses list = addresses_of(meeting, true);
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    auto socket = std::make_unique<Socket>(::socket(at->ai_family, at->ai_socktype, 0));
    const int yes = 1;
    setsockopt(socket->get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (::bind(socket->get(), at->ai_addr, at->ai_addrlen) == 0 &&
        ::listen(socket->get(), SOMAXCONN) == 0) {
      return socket;
    }
  }
  fail(fmt::format("cannot listen at {}: {}", place_of(meeting), std::strerror(errno)));
}

void send_all(int descriptor, std::span<const std::byte> bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count =
        ::send(descriptor, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) {
      fail(fmt::format("a rank went away while it was greeted: {}", std::strerror(errno)));
    }
    sent += static_cast<std::size_t>(count);
  }
}

void serve(const Meeting& meeting, const GroupRank& group, std::span<const std::byte> own,
           Clock::time_point end) {
  const auto listener = listen_at(meeting);
  for (int served = 0; served < group.ranks - 1; ++served) {
    limit_waiting(listener->get(), end);
    const Socket peer(::accept(listener->get(), nullptr, nullptr));
    if (peer.get() < 0) {
      fail(fmt::format("{} of {} ranks came to {} in time", served + 1, group.ranks,
                       place_of(meeting)));
    }
    limit_waiting(peer.get(), end);
    send_all(peer.get(), own);
  }
}

// Nothing when rank 0 is not there yet.
std::optional<Bytes> visit(const Meeting& meeting, std::size_t size, Clock::time_point end) {
  const Addresses list = addresses_of(meeting, false);
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    const Socket socket(::socket(at->ai_family, at->ai_socktype, 0));
    if (socket.get() < 0 || ::connect(socket.get(), at->ai_addr, at->ai_addrlen) != 0) {
      continue;
    }
    limit_waiting(socket.get(), end);
    Bytes bytes(size);
    const ssize_t count = ::recv(socket.get(), bytes.data(), size, MSG_WAITALL);
    if (count == static_cast<ssize_t>(size)) {
      return bytes;
    }
  }
  return std::nullopt;
}

Bytes fetch(const Meeting& meeting, std::size_t size, Clock::time_point end) {
  while (true) {
    if (auto bytes = visit(meeting, size, end)) {
      return *bytes;
    }
    if (Clock::now() >= end) {
      fail(fmt::format("rank 0 did not answer at {} in time", place_of(meeting)));
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

void end_meeting(const Meeting& meeting, const GroupRank& group) {
  if (meeting.kind == Meeting::Kind::file && group.rank == 0) {
    std::error_code ignored;  // a file that stays is reported by the next run
    std::filesystem::remove(meeting.place, ignored);
  }
}

std::vector<std::byte> share_bytes(const Meeting& meeting, const GroupRank& group,
                                   std::span<const std::byte> own,
                                   std::chrono::milliseconds patience) {
  const Clock::time_point end = Clock::now() + patience;
  if (group.rank != 0) {
    return meeting.kind == Meeting::Kind::file ? read_file(meeting, own.size(), end)
                                               : fetch(meeting, own.size(), end);
  }
  if (group.ranks > 1) {
    if (meeting.kind == Meeting::Kind::file) {
      write_file(meeting, own);
    } else {
      serve(meeting, group, own, end);
    }
  }
  return {own.begin(), own.end()};
}

}  // namespace orrery::kernels
