#include "sim/answer/sweep/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "sim/base/error.hpp"

namespace orrery::sweep {

namespace {

constexpr std::chrono::microseconds kBetweenLooks{200};
constexpr std::string_view kNonsense = "a process sent no readable message";

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::vector<std::size_t> numbers_in(std::string_view text) {
  std::vector<std::size_t> numbers;
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    std::size_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) {
      throw Error(ErrorKind::io, std::string(kNonsense));
    }
    numbers.push_back(number);
    at = stop == end ? end : stop + 1;
  }
  return numbers;
}

void add_find(std::size_t item, std::string_view found, std::string& finds) {
  finds += fmt::format("{} {}\n{}", item, found.size(), found);
}

template <typename Take>
void take_finds(std::string_view finds, const Take& take) {
  while (!finds.empty()) {
    const std::vector<std::size_t> head = numbers_in(take_line(finds));
    if (head.size() != 2 || head[1] > finds.size()) {
      throw Error(ErrorKind::io, std::string(kNonsense));
    }
    take(head[0], finds.substr(0, head[1]));
    finds.remove_prefix(head[1]);
  }
}

// "E<kind> <why>", and back.
std::string told(const std::exception& error) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  const ErrorKind kind = ours == nullptr ? ErrorKind::io : ours->kind();
  return fmt::format("E{} {}", static_cast<int>(kind), error.what());
}

Error heard(std::string_view text) {
  constexpr std::string_view kKinds = "012";  // of ErrorKind
  const std::size_t kind = text.size() > 3 ? kKinds.find(text[1]) : std::string_view::npos;
  return kind == std::string_view::npos
             ? Error(ErrorKind::io, std::string(kNonsense))
             : Error(static_cast<ErrorKind>(kind), std::string(text.substr(3)));
}

// Process 0 at one work: a thread of its own works, the calling one speaks with the members.
class Leader {
 public:
  Leader(const Work& work, Mail& mail, std::vector<bool>& ended)
      : work_(work), mail_(mail), ended_(ended), queue_(work.items), assigned_(ended.size()) {
    const std::size_t fair = (queue_.size() + ended.size() - 1) / ended.size();
    least_ = std::max<std::size_t>(1, std::min(work.batch, fair));
  }

  bool run() {
    std::thread worker([this] { work_here(); });
    try {
      hear_members();
    } catch (...) {  // the others have been ended
      fail(std::current_exception());
    }
    worker.join();
    work_here();  // what members gave back at the end
    std::string last = fmt::format("{}{}", failure_ ? 'S' : 'D', finds_);
    try {
      if (broken_) {
        std::rethrow_exception(failure_);
      }
    } catch (const std::exception& error) {
      last = told(error);
    }
    for (const int member : waiting_) {
      mail_.send(last, member);
    }
    if (broken_) {
      std::rethrow_exception(failure_);
    }
    return failure_ == nullptr;
  }

 private:
  // The next items for one process; none after a failure.
  std::vector<std::size_t> grab() {
    const std::lock_guard lock(mutex_);
    constexpr std::size_t kMost = 256;
    constexpr std::size_t kRounds = 4;
    const std::size_t left = failure_ ? 0 : queue_.size() - next_;
    const std::size_t fair =
        std::clamp(left / (kRounds * ended_.size()), least_, std::max(least_, kMost));
    const auto begin = queue_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ += std::min(left, fair);
    return {begin, queue_.begin() + static_cast<std::ptrdiff_t>(next_)};
  }

  // The first error, or else a stop request, after which nothing new is begun.
  void fail(const std::exception_ptr& why) {
    bool stop = false;
    try {
      std::rethrow_exception(why);
    } catch (const Error& error) {
      stop = error.kind() == ErrorKind::interrupted;
    } catch (...) {
      stop = false;
    }
    const std::lock_guard lock(mutex_);
    failure_ = failure_ && (stop || broken_) ? failure_ : why;
    broken_ = broken_ || !stop;
  }

  void work_here() {
    const auto done = [this](std::size_t item) {
      if (work_.for_all) {
        const std::string found = work_.tell(item);
        const std::lock_guard lock(mutex_);
        add_find(item, found, finds_);
      }
    };
    try {
      for (auto batch = grab(); !batch.empty(); batch = grab()) {
        if (!work_.run(batch, done)) {
          throw Error(ErrorKind::interrupted, "interrupted");
        }
      }
    } catch (...) {
      fail(std::current_exception());
    }
    idle_ = true;
  }

  // Until all members wait or have ended, and this process has nothing left to do.
  void hear_members() {
    while (true) {
      const bool idle = idle_;
      serve_waiting();
      const auto gone = static_cast<std::size_t>(std::count(ended_.begin(), ended_.end(), true));
      if (idle && waiting_.size() + gone + 1 == ended_.size()) {
        return;
      }
      if (const std::optional<Mail::Letter> letter = mail_.take_any()) {
        hear(letter->from, letter->text);
      } else {
        std::this_thread::sleep_for(kBetweenLooks);
      }
    }
  }

  void serve_waiting() {
    while (!waiting_.empty()) {
      const std::vector<std::size_t> batch = grab();
      if (batch.empty()) {
        return;
      }
      const int member = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      assigned_[static_cast<std::size_t>(member)] = batch;
      mail_.send(fmt::format("W{}", fmt::join(batch, " ")), member);
    }
  }

  void hear(int member, const std::string& letter) {
    std::vector<std::size_t>& assigned = assigned_[static_cast<std::size_t>(member)];
    std::string_view text = letter;
    const std::string_view head = take_line(text);
    if (head == "F") {
      ended_[static_cast<std::size_t>(member)] = true;
    } else {
      waiting_.insert(member);
    }
    try {
      if (head.starts_with("R") && head.substr(2) != work_.identity) {
        throw Error(ErrorKind::io,
                    fmt::format("process {} sees another scenario or other profiles than process 0",
                                member));
      }
      take_finds(text, [&](std::size_t item, std::string_view found) {
        if (!broken_ && std::erase(assigned, item) > 0) {  // a stop is no reason to lose it
          work_.hear(item, found);
          if (work_.for_all) {
            const std::lock_guard lock(mutex_);
            add_find(item, found, finds_);
          }
        }
      });
      if (head.starts_with("E")) {
        const Error error = heard(head);
        const bool stop = error.kind() == ErrorKind::interrupted;
        throw stop ? error
                   : Error(error.kind(), fmt::format("process {}: {}", member, error.what()));
      }
    } catch (...) {
      fail(std::current_exception());
    }
    const std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), assigned.begin(), assigned.end());
    assigned.clear();
  }

  const Work& work_;
  Mail& mail_;
  std::vector<bool>& ended_;
  std::size_t least_ = 1;
  std::mutex mutex_;
  std::vector<std::size_t> queue_;
  std::size_t next_ = 0;
  std::string finds_;  // of all processes, where all need them
  std::exception_ptr failure_;
  std::atomic<bool> broken_{false};  // by more than a stop request
  std::atomic<bool> idle_{false};
  std::vector<std::vector<std::size_t>> assigned_;  // by member; the speaking thread's alone
  std::set<int> waiting_;                           // members; the speaking thread's alone
};

}  // namespace

Team::Team(std::unique_ptr<Mail> mail)
    : mail_(std::move(mail)), ended_(static_cast<std::size_t>(mail_->processes()), false) {
  ended_[0] = false;
}

Team::~Team() {
  try {
    for (int member = 1; leads() && member < members(); ++member) {
      if (!ended_[static_cast<std::size_t>(member)] && mail_->receive(member) != "F") {
        mail_->send({}, member);
      }
    }
    if (!leads() && !ended_[0]) {
      mail_->send("F", 0);
    }
  } catch (const Error&) {  // the others have been ended: nobody waits
  }
}

bool Team::gather(const Work& work) {
  if (members() == 1) {
    return work.run(work.items, [](std::size_t /*item*/) {});
  }
  return leads() ? Leader(work, *mail_, ended_).run() : follow(work);
}

bool Team::follow(const Work& work) {
  std::mutex mutex;
  std::set<std::size_t> own;
  std::string finds;
  const auto done = [&](std::size_t item) {
    const std::string found = work.tell(item);
    const std::lock_guard lock(mutex);
    own.insert(item);
    add_find(item, found, finds);
  };
  const std::string asking = fmt::format("R {}", work.identity);
  std::string head = asking;
  while (true) {
    mail_->send(fmt::format("{}\n{}", head, finds), 0);
    finds.clear();
    const std::string letter = mail_->receive(0);
    const char kind = letter.empty() ? 'F' : letter.front();
    if (kind == 'F') {
      ended_[0] = true;
      throw Error(ErrorKind::io, "process 0 has ended");
    }
    if (kind == 'E') {
      throw heard(letter);
    }
    if (kind != 'W') {
      take_finds(std::string_view(letter).substr(1), [&](std::size_t item, std::string_view found) {
        if (!own.contains(item)) {
          work.hear(item, found);
        }
      });
      return kind == 'D';
    }
    try {
      const bool complete = work.run(numbers_in(std::string_view(letter).substr(1)), done);
      head = complete ? asking : told(Error(ErrorKind::interrupted, "interrupted"));
    } catch (const std::exception& error) {
      head = told(error);
    }
  }
}

}  // namespace orrery::sweep
