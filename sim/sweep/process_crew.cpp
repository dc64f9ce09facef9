#include "sim/sweep/process_crew.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/sweep/journal.hpp"
#include "sim/sweep/told.hpp"

namespace orrery::sweep {

namespace {

constexpr std::chrono::microseconds kBetweenLooks{200};

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

bool is_interruption(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::interrupted;
  } catch (...) {
    return false;
  }
}

}  // namespace

// What the leader's two threads share: one evaluates, one speaks with the members.
struct ProcessCrew::Shared {
  Shared(PointEvaluator& points_of,
         std::vector<std::size_t> points,
         const TakeResult& take_one,
         std::size_t members)
      : evaluator(points_of),
        queue(std::move(points)),
        take(take_one),
        crew(members),
        shape(line_shape(points_of.sweep())),
        identity(journal_header(points_of.sweep(), {})) {}

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

  void finished(std::size_t point, PointResult result) {
    const std::lock_guard lock(mutex);
    take(point, std::move(result));
    ++done;
  }

  // The first error, or else a stop request, after which nothing new is begun.
  void fail(const std::exception_ptr& why) {
    const std::lock_guard lock(mutex);
    const bool stop = is_interruption(why);
    failure = failure && (stop || broken) ? failure : why;
    broken = broken || !stop;
  }

  // Finished points, one a line, of those that are taken off `assigned`. A stop request is no
  // reason to lose them.
  void take_lines(std::string_view text, std::vector<std::size_t>& assigned) {
    while (!text.empty() && !broken) {
      std::string_view line = take_line(text);
      std::size_t point = 0;
      const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), point);
      const JournalEntry entry =
          read_journal_line(line.substr(static_cast<std::size_t>(stop - line.data())), shape);
      if (error == std::errc{} && entry.problem.empty() && std::erase(assigned, point) > 0) {
        finished(point, entry.result);
      }
    }
  }

  [[nodiscard]] bool failed() {
    const std::lock_guard lock(mutex);
    return failure != nullptr;
  }

  PointEvaluator& evaluator;
  std::vector<std::size_t> queue;
  const TakeResult& take;
  const std::size_t crew;
  const LineShape shape;
  const std::string identity;
  std::mutex mutex;
  std::size_t next = 0;
  std::size_t done = 0;
  std::exception_ptr failure;
  std::atomic<bool> broken{false};                   // by more than a stop request
  std::map<int, std::vector<std::size_t>> assigned;  // the speaking thread's alone
};

ProcessCrew::ProcessCrew(std::unique_ptr<Mail> mail) : mail_(std::move(mail)) {
  dismissed_.assign(static_cast<std::size_t>(members()), false);
}

ProcessCrew::~ProcessCrew() {
  try {
    if (leads()) {
      dismiss_all();
    } else if (!dismissed_[0]) {
      mail_->send("F", 0);
      static_cast<void>(mail_->receive(0));
    }
  } catch (const Error&) {  // the others have been ended: nobody waits
  }
}

void ProcessCrew::dismiss(int member) {
  dismissed_[static_cast<std::size_t>(member)] = true;
  mail_->send({}, member);
}

// Every member that was not dismissed says something, and waits for the answer.
void ProcessCrew::dismiss_all() {
  for (int member = 1; member < members(); ++member) {
    if (!dismissed_[static_cast<std::size_t>(member)]) {
      static_cast<void>(mail_->receive(member));
      dismiss(member);
    }
  }
}

// The leader hears all members, then tells each what all said; where one has ended all are told.
std::vector<std::string> ProcessCrew::gather(const std::string& mine) {
  std::vector<std::string> said = {mine};
  int ended = 0;
  for (int member = 1; member < members(); ++member) {
    const bool gone = dismissed_[static_cast<std::size_t>(member)];
    const std::string text = gone ? std::string() : mail_->receive(member);
    const bool takes_part = text.starts_with("X");
    ended = ended == 0 && !takes_part ? member : ended;
    said.push_back(takes_part ? text.substr(1) : std::string());
  }
  for (int member = 1; ended != 0 && member < members(); ++member) {
    if (!dismissed_[static_cast<std::size_t>(member)]) {
      dismiss(member);
    }
  }
  if (ended != 0) {
    throw Error(ErrorKind::io, fmt::format("process {} has ended", ended));
  }
  std::string all;
  for (const std::string& one : said) {
    all += fmt::format("{} ", one.size());
  }
  all += '\n';
  for (const std::string& one : said) {
    all += one;
  }
  for (int member = 1; member < members(); ++member) {
    mail_->send(all, member);
  }
  return said;
}

std::vector<std::string> ProcessCrew::exchange(const std::string& mine) {
  if (leads()) {
    return gather(mine);
  }
  std::string all;
  if (!dismissed_[0]) {
    mail_->send("X" + mine, 0);
    all = mail_->receive(0);
  }
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

// Takes what the member found and gives it more.
void ProcessCrew::answer(Shared& shared, int member, const std::string& message) {
  std::string_view text = message;
  const std::string_view head = take_line(text);
  const bool asks = head.starts_with("R");
  std::vector<std::size_t>& assigned = shared.assigned[member];
  if (asks && head.substr(2) != shared.identity) {
    shared.fail(std::make_exception_ptr(Error(
        ErrorKind::io,
        fmt::format("process {} sees another scenario or other profiles than process 0", member))));
  }
  shared.take_lines(text, assigned);
  if (head.starts_with("E")) {
    const int kind = head.size() > 2 ? head[2] - '0' : 0;
    const std::string why(head.substr(std::min<std::size_t>(head.size(), 4)));
    shared.fail(std::make_exception_ptr(
        Error(static_cast<ErrorKind>(kind), fmt::format("process {}: {}", member, why))));
  }
  shared.give_back(assigned);
  assigned = asks ? shared.grab(1) : std::vector<std::size_t>();
  if (assigned.empty()) {
    dismiss(member);
  } else {
    mail_->send(fmt::format("{}", fmt::join(assigned, " ")), member);
  }
}

// Until all members were dismissed and this process has nothing left to do.
void ProcessCrew::hear_members(Shared& shared, const std::atomic<bool>& idle) {
  const auto gone = [this] {
    return std::all_of(dismissed_.begin() + 1, dismissed_.end(), [](bool one) { return one; });
  };
  while (!gone() || !idle) {
    const std::optional<Mail::Letter> letter = mail_->take_any();
    if (!letter) {
      std::this_thread::sleep_for(kBetweenLooks);
      continue;
    }
    try {
      answer(shared, letter->from, letter->text);
    } catch (...) {
      shared.fail(std::current_exception());
      dismiss(letter->from);
    }
  }
}

bool ProcessCrew::lead(PointEvaluator& evaluator,
                       const std::vector<std::size_t>& points,
                       int threads,
                       const TakeResult& take,
                       const std::stop_token& stop) {
  Shared shared(evaluator, points, take, static_cast<std::size_t>(members()));
  std::atomic<bool> idle{false};
  const auto work = [&] {
    const auto own_take = [&shared](std::size_t point, PointResult result) {
      shared.finished(point, std::move(result));
    };
    try {
      const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
      const std::size_t least = threads > 0 ? static_cast<std::size_t>(threads) : cores;
      for (auto batch = shared.grab(least); !batch.empty(); batch = shared.grab(least)) {
        if (!work_on(evaluator, batch, threads, own_take, stop)) {
          throw Error(ErrorKind::interrupted, "interrupted");
        }
      }
    } catch (...) {
      shared.fail(std::current_exception());
    }
    idle = true;
  };
  std::thread worker(work);
  try {
    hear_members(shared, idle);
  } catch (...) {  // the others have been ended
    shared.fail(std::current_exception());
  }
  worker.join();
  if (!shared.failed()) {
    work();  // what members gave back at the end
  }
  if (shared.broken) {
    std::rethrow_exception(shared.failure);
  }
  return shared.done == points.size();
}

void ProcessCrew::serve(PointEvaluator& evaluator, int threads, const std::stop_token& stop) {
  const std::string identity = journal_header(evaluator.sweep(), {});
  std::string results;
  const auto take = [&](std::size_t point, const PointResult& result) {
    results += fmt::format("{}{}\n", point, journal_line(evaluator.sweep().points[point], result));
  };
  while (true) {
    mail_->send(fmt::format("R {}\n{}", identity, results), 0);
    results.clear();
    const std::vector<std::size_t> batch = numbers_in(mail_->receive(0));
    if (batch.empty()) {
      dismissed_[0] = true;
      return;
    }
    try {
      if (!work_on(evaluator, batch, threads, take, stop)) {
        throw Error(ErrorKind::interrupted, "interrupted");
      }
    } catch (const Error& error) {
      mail_->send(fmt::format("E {} {}\n{}", static_cast<int>(error.kind()), error.what(), results),
                  0);
      static_cast<void>(mail_->receive(0));
      dismissed_[0] = true;
      return;
    }
  }
}

}  // namespace orrery::sweep
