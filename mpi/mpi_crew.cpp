#include "mpi/mpi_crew.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <exception>
#include <map>
#include <thread>
#include <utility>

#include "sim/sweep/journal.hpp"

// The C++ bindings of MPI-2 are not used.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace orrery::mpi {

namespace {

constexpr int kToLeader = 1;
constexpr int kToMember = 2;
constexpr std::chrono::microseconds kBetweenLooks{200};

void send(const std::string& text, int to, int tag) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, tag, MPI_COMM_WORLD);
}

std::string receive(MPI_Status& status) {
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  std::string text(static_cast<std::size_t>(size), '\0');
  MPI_Recv(text.data(),
           size,
           MPI_CHAR,
           status.MPI_SOURCE,
           status.MPI_TAG,
           MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return text;
}

std::vector<std::size_t> numbers_in(std::string_view text) {
  std::vector<std::size_t> numbers;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    std::size_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) {
      break;
    }
    numbers.push_back(number);
    at = stop == end ? end : stop + 1;
  }
  return numbers;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

// What the leader's two threads share: one evaluates, one speaks with the members.
struct MpiCrew::Shared {
  Shared(sweep::PointEvaluator& points_of,
         std::vector<std::size_t> points,
         const sweep::TakeResult& take_one,
         std::size_t members)
      : evaluator(points_of),
        queue(std::move(points)),
        take(take_one),
        crew(members),
        shape(sweep::line_shape(points_of.sweep())),
        identity(sweep::journal_header(points_of.sweep(), {})) {}

  // The next points for one member; none after a failure.
  std::vector<std::size_t> grab(std::size_t at_least) {
    const std::lock_guard lock(mutex);
    if (failure || queue.size() == next) {
      return {};
    }
    constexpr std::size_t kMost = 256;
    constexpr std::size_t kRounds = 4;
    const std::size_t left = queue.size() - next;
    const std::size_t fair =
        std::clamp(left / (kRounds * crew), at_least, std::max(at_least, kMost));
    const std::size_t count = std::min(left, fair);
    const auto begin = queue.begin() + static_cast<std::ptrdiff_t>(next);
    next += count;
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }

  void give_back(const std::vector<std::size_t>& points) {
    const std::lock_guard lock(mutex);
    queue.insert(queue.end(), points.begin(), points.end());
  }

  void finished(std::size_t point, sweep::PointResult result) {
    const std::lock_guard lock(mutex);
    take(point, std::move(result));
    ++done;
  }

  void fail(std::exception_ptr why) {
    const std::lock_guard lock(mutex);
    failure = failure ? failure : std::move(why);
  }

  [[nodiscard]] bool failed() {
    const std::lock_guard lock(mutex);
    return failure != nullptr;
  }

  sweep::PointEvaluator& evaluator;
  std::vector<std::size_t> queue;
  const sweep::TakeResult& take;
  const std::size_t crew;
  const sweep::LineShape shape;
  const std::string identity;
  std::mutex mutex;
  std::size_t next = 0;
  std::size_t done = 0;
  std::exception_ptr failure;
  std::map<int, std::vector<std::size_t>> assigned;  // the speaking thread's alone
};

MpiCrew::MpiCrew() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  dismissed_.assign(static_cast<std::size_t>(ranks_), false);
}

MpiCrew::~MpiCrew() {
  if (leads()) {
    for (int member = 1; member < ranks_; ++member) {
      if (!dismissed_[static_cast<std::size_t>(member)]) {
        MPI_Status status;
        MPI_Probe(member, kToLeader, MPI_COMM_WORLD, &status);
        static_cast<void>(receive(status));
        dismiss(member);
      }
    }
  } else if (!dismissed_[0]) {
    send("F", 0, kToLeader);
    MPI_Status status;
    MPI_Probe(0, kToMember, MPI_COMM_WORLD, &status);
    static_cast<void>(receive(status));
  }
  MPI_Finalize();
}

void MpiCrew::dismiss(int member) {
  send({}, member, kToMember);
  dismissed_[static_cast<std::size_t>(member)] = true;
}

// The leader hears all members, then tells each what all said.
std::vector<std::string> MpiCrew::gather(const std::string& mine) {
  std::vector<std::string> said = {mine};
  for (int member = 1; member < ranks_; ++member) {
    MPI_Status status;
    MPI_Probe(member, kToLeader, MPI_COMM_WORLD, &status);
    std::string text = receive(status);
    if (!text.starts_with("X")) {
      dismiss(member);
      throw Error(ErrorKind::io, fmt::format("process {} has ended", member));
    }
    said.push_back(text.substr(1));
  }
  std::string all;
  for (const std::string& one : said) {
    all += fmt::format("{} ", one.size());
  }
  all += '\n';
  for (const std::string& one : said) {
    all += one;
  }
  for (int member = 1; member < ranks_; ++member) {
    send(all, member, kToMember);
  }
  return said;
}

std::vector<std::string> MpiCrew::exchange(const std::string& mine) {
  if (ranks_ == 1) {
    return {mine};
  }
  if (leads()) {
    return gather(mine);
  }
  send("X" + mine, 0, kToLeader);
  MPI_Status status;
  MPI_Probe(0, kToMember, MPI_COMM_WORLD, &status);
  const std::string all = receive(status);
  if (all.empty()) {
    dismissed_[0] = true;
    throw Error(ErrorKind::io, "process 0 has ended");
  }
  std::string_view rest = all;
  std::vector<std::string> said;
  for (const std::size_t size : numbers_in(take_line(rest))) {
    said.emplace_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  return said;
}

// Takes what the member found and gives it more; how many points it got.
std::size_t MpiCrew::answer(Shared& shared, int member, const std::string& message) {
  std::string_view text = message;
  const std::string_view head = take_line(text);
  std::vector<std::size_t>& assigned = shared.assigned[member];
  if (head.starts_with("E")) {
    const int kind = head.size() > 2 ? head[2] - '0' : 0;
    shared.fail(std::make_exception_ptr(
        Error(static_cast<ErrorKind>(kind),
              fmt::format("process {}: {}",
                          member,
                          std::string(head.substr(std::min<std::size_t>(head.size(), 4)))))));
  }
  if (head.starts_with("R") && head.substr(2) != shared.identity) {
    shared.fail(std::make_exception_ptr(Error(
        ErrorKind::io,
        fmt::format("process {} sees another scenario or other profiles than process 0", member))));
  }
  while (head.starts_with("R") && !text.empty() && !shared.failed()) {
    std::string_view line = take_line(text);
    std::size_t point = 0;
    const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), point);
    const sweep::JournalEntry entry = sweep::read_journal_line(
        line.substr(static_cast<std::size_t>(stop - line.data())), shared.shape);
    if (error == std::errc{} && entry.problem.empty() && std::erase(assigned, point) > 0) {
      shared.finished(point, entry.result);
    }
  }
  shared.give_back(assigned);
  assigned = head.starts_with("R") ? shared.grab(1) : std::vector<std::size_t>();
  if (assigned.empty()) {
    dismiss(member);
  } else {
    send(fmt::format("{}", fmt::join(assigned, " ")), member, kToMember);
  }
  return assigned.size();
}

bool MpiCrew::lead(sweep::PointEvaluator& evaluator,
                   const std::vector<std::size_t>& points,
                   int threads,
                   const sweep::TakeResult& take,
                   const std::stop_token& stop) {
  Shared shared(evaluator, points, take, static_cast<std::size_t>(ranks_));
  std::atomic<bool> idle{false};
  const auto work = [&] {
    const auto own_take = [&shared](std::size_t point, sweep::PointResult result) {
      shared.finished(point, std::move(result));
    };
    try {
      const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
      const std::size_t least = threads > 0 ? static_cast<std::size_t>(threads) : cores;
      for (auto batch = shared.grab(least); !batch.empty(); batch = shared.grab(least)) {
        if (!sweep::work_on(evaluator, batch, threads, own_take, stop)) {
          throw Error(ErrorKind::interrupted, "interrupted");
        }
      }
    } catch (...) {
      shared.fail(std::current_exception());
    }
    idle = true;
  };
  std::thread worker(work);
  int active = ranks_ - 1;
  while (active > 0 || !idle) {
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kToLeader, MPI_COMM_WORLD, &there, &status);
    if (there == 0) {
      std::this_thread::sleep_for(kBetweenLooks);
      continue;
    }
    const int member = status.MPI_SOURCE;
    try {
      static_cast<void>(answer(shared, member, receive(status)));
    } catch (...) {
      shared.fail(std::current_exception());
      dismiss(member);
    }
    active -= dismissed_[static_cast<std::size_t>(member)] ? 1 : 0;
  }
  worker.join();
  if (!shared.failed()) {
    work();  // what members gave back at the end
  }
  if (shared.failure) {
    try {
      std::rethrow_exception(shared.failure);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::interrupted) {
        throw;
      }
    }
  }
  return shared.done == points.size();
}

void MpiCrew::serve(sweep::PointEvaluator& evaluator, int threads, const std::stop_token& stop) {
  const std::string identity = sweep::journal_header(evaluator.sweep(), {});
  std::string results;
  const auto take = [&](std::size_t point, const sweep::PointResult& result) {
    results +=
        fmt::format("{}{}", point, sweep::journal_line(evaluator.sweep().points[point], result));
  };
  while (true) {
    send(fmt::format("R {}\n{}", identity, results), 0, kToLeader);
    results.clear();
    MPI_Status status;
    MPI_Probe(0, kToMember, MPI_COMM_WORLD, &status);
    const std::vector<std::size_t> batch = numbers_in(receive(status));
    if (batch.empty()) {
      dismissed_[0] = true;
      return;
    }
    try {
      if (!sweep::work_on(evaluator, batch, threads, take, stop)) {
        throw Error(ErrorKind::interrupted, "interrupted");
      }
    } catch (const Error& error) {
      send(fmt::format("E {} {}\n", static_cast<int>(error.kind()), error.what()), 0, kToLeader);
      MPI_Probe(0, kToMember, MPI_COMM_WORLD, &status);
      static_cast<void>(receive(status));
      dismissed_[0] = true;
      return;
    }
  }
}

}  // namespace orrery::mpi
