#pragma once

// Simulates processes under mpirun by threads: a message is late, a process dies, or somebody asks
// it to stop, at the n-th call of its mail.
//
// As with MPI the death of one ends the others: every call in which they are, or their next one,
// throws. A test that hangs all the same is ended after a minute, and fails.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/answer/sweep/mail.hpp"
#include "sim/answer/sweep/team.hpp"
#include "sim/base/error.hpp"

namespace orrery::sweep::test {

enum class Trouble { none, delay, death, stop, stop_of_all };

// What happens to which process, before its n-th call that sends or takes a text, from 1.
struct Incident {
  Trouble trouble = Trouble::none;
  int process = 0;
  int call = 0;
};

class Launcher {
 public:
  Launcher(int processes, Incident incident)
      : incident_(incident),
        stops_(static_cast<std::size_t>(processes)),
        calls_(static_cast<std::size_t>(processes)) {}

  [[nodiscard]] int processes() const { return static_cast<int>(stops_.size()); }

  [[nodiscard]] std::stop_token stop_of(int process) const {
    return stops_[static_cast<std::size_t>(process)].get_token();
  }

  // Calls that this process made.
  [[nodiscard]] int calls(int process) const { return calls_[static_cast<std::size_t>(process)]; }

  void send(int from, int to, const std::string& text) {
    std::unique_lock lock(mutex_);
    begin_call(from, lock);
    boxes_[{from, to}].push_back(text);
    changed_.notify_all();
  }

  [[nodiscard]] std::string receive(int from, int to) {
    std::unique_lock lock(mutex_);
    begin_call(to, lock);
    std::deque<std::string>& box = boxes_[{from, to}];
    changed_.wait(lock, [&] { return !ended_.empty() || !box.empty(); });
    check_alive();
    return take(box);
  }

  // Looks that find nothing are no calls: how many there are is up to chance.
  [[nodiscard]] std::optional<Mail::Letter> take_any(int to) {
    std::unique_lock lock(mutex_);
    check_alive();
    for (int from = 0; from < processes(); ++from) {
      std::deque<std::string>& box = boxes_[{from, to}];
      if (!box.empty()) {
        begin_call(to, lock);
        return Mail::Letter{from, take(box)};
      }
    }
    return std::nullopt;
  }

  void end_all(const std::string& why) {
    const std::lock_guard lock(mutex_);
    ended_ = why;
    changed_.notify_all();
  }

 private:
  static std::string take(std::deque<std::string>& box) {
    std::string text = std::move(box.front());
    box.pop_front();
    return text;
  }

  void check_alive() const {
    if (!ended_.empty()) {
      throw Error(ErrorKind::io, ended_);
    }
  }

  void begin_call(int process, std::unique_lock<std::mutex>& lock) {
    check_alive();
    const bool now = ++calls_[static_cast<std::size_t>(process)] == incident_.call &&
                     process == incident_.process;
    if (!now) {
      return;
    }
    switch (incident_.trouble) {
      case Trouble::none:
        break;
      case Trouble::delay:
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        lock.lock();
        check_alive();
        break;
      case Trouble::death:
        ended_ = fmt::format("process {} was killed", process);
        changed_.notify_all();
        check_alive();
        break;
      case Trouble::stop:
        stops_[static_cast<std::size_t>(process)].request_stop();
        break;
      case Trouble::stop_of_all:
        for (std::stop_source& stop : stops_) {
          stop.request_stop();
        }
        break;
    }
  }

  const Incident incident_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::deque<std::string>> boxes_;
  std::vector<std::stop_source> stops_;
  std::vector<int> calls_;
  std::string ended_;
};

class SimulatedMail : public Mail {
 public:
  SimulatedMail(Launcher& launcher, int number) : launcher_(launcher), number_(number) {}

  [[nodiscard]] int processes() const override { return launcher_.processes(); }

  [[nodiscard]] int number() const override { return number_; }

  void send(const std::string& text, int to) override { launcher_.send(number_, to, text); }

  [[nodiscard]] std::string receive(int from) override { return launcher_.receive(from, number_); }

  [[nodiscard]] std::optional<Letter> take_any() override { return launcher_.take_any(number_); }

 private:
  Launcher& launcher_;
  int number_;
};

// What `program` gives in every process; "ERROR ..." where it throws one.
inline std::vector<std::string> run_processes(
    Launcher& launcher, const std::function<std::string(Team&, const std::stop_token&)>& program) {
  std::vector<std::future<std::string>> processes;
  for (int number = 0; number < launcher.processes(); ++number) {
    processes.push_back(std::async(std::launch::async, [&launcher, &program, number] {
      try {
        Team team(std::make_unique<SimulatedMail>(launcher, number));
        return program(team, launcher.stop_of(number));
      } catch (const Error& error) {
        return fmt::format("ERROR {}", error.what());
      }
    }));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (auto& process : processes) {
    if (process.wait_until(end) == std::future_status::timeout) {
      ADD_FAILURE() << "the processes wait for one another";
      launcher.end_all("waited for too long");
    }
  }
  std::vector<std::string> said;
  for (auto& process : processes) {
    said.push_back(process.get());
  }
  return said;
}

// Every incident that can befall processes that make so many calls.
inline std::vector<Incident> incidents_of(const Launcher& undisturbed, int every = 1) {
  std::vector<Incident> all;
  for (int process = 0; process < undisturbed.processes(); ++process) {
    for (int call = 1; call <= undisturbed.calls(process); call += every) {
      for (const Trouble trouble :
           {Trouble::delay, Trouble::death, Trouble::stop, Trouble::stop_of_all}) {
        all.push_back({trouble, process, call});
      }
    }
  }
  return all;
}

inline std::string describe(const Incident& incident) {
  constexpr std::array<std::string_view, 5> kWords = {"nothing", "delay", "death", "stop",
                                                      "stop of all"};
  return fmt::format("{} of process {} at its call {}",
                     kWords[static_cast<std::size_t>(incident.trouble)], incident.process,
                     incident.call);
}

}  // namespace orrery::sweep::test
