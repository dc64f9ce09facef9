// Several processes that share an answer, played by threads: the answer is that of one.

#include "sim/sweep/shared_crew.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <future>
#include <thread>

#include "sim/base/error.hpp"
#include "sim/sweep/answer.hpp"
#include "sim/sweep/journal.hpp"
#include "tests/unit/sweep/sweep_fixture.hpp"

namespace orrery::sweep::test {
namespace {

constexpr int kProcesses = 3;

struct Table {
  std::barrier<> all{kProcesses};
  std::array<std::string, kProcesses> said;
};

// One of the processes.
class Seat : public ThreadCrew {
 public:
  Seat(Table& table, int number) : table_(table), number_(number) {}

  [[nodiscard]] bool leads() const override {
    return number_ == 0;
  }

  [[nodiscard]] int members() const override {
    return kProcesses;
  }

  [[nodiscard]] int number() const override {
    return number_;
  }

  [[nodiscard]] std::vector<std::string> exchange(const std::string& mine) override {
    table_.said[static_cast<std::size_t>(number_)] = mine;
    table_.all.arrive_and_wait();
    std::vector<std::string> all(table_.said.begin(), table_.said.end());
    table_.all.arrive_and_wait();
    return all;
  }

 private:
  Table& table_;
  int number_;
};

// What `ask` gives in every process.
template <typename Ask>
std::vector<std::string> of_all(const Ask& ask) {
  Table table;
  std::vector<std::future<std::string>> futures;
  for (int number = 0; number < kProcesses; ++number) {
    futures.push_back(std::async(std::launch::async, [&table, &ask, number] {
      Seat seat(table, number);
      return ask(static_cast<Crew&>(seat));
    }));
  }
  std::vector<std::string> all;
  for (auto& future : futures) {
    all.push_back(future.get());
  }
  return all;
}

std::string answer_of(const std::string& name, Crew& crew) {
  Question question{.name = name, .sweep = make_sweep({})};
  question.sweep.trials = 20;
  question.threads = 1;
  question.by = "3d";
  Diagnostics diagnostics;
  const auto found = answer(question, crew, diagnostics);
  return found ? to_json(*found) : to_string(diagnostics);
}

TEST(SharedCrew, EveryProcessGetsTheAnswerOfOne) {
  int shared = 0;
  for (const AnswerName& name : answer_names()) {
    if (!shares_work(name.name)) {
      continue;
    }
    ++shared;
    ThreadCrew alone;
    const std::string expected = answer_of(std::string(name.name), alone);
    EXPECT_NE(expected.find("\"facts\""), std::string::npos) << expected;
    const auto all = of_all([&name](Crew& processes) {
      SharedCrew crew(processes);
      return answer_of(std::string(name.name), crew);
    });
    for (const std::string& one : all) {
      EXPECT_EQ(one, expected) << name.name;
    }
  }
  EXPECT_EQ(shared, 5);
}

TEST(ShareWork, EveryItemIsDoneOnceAndKnownToAll) {
  std::array<std::atomic<int>, 8> done{};
  const auto all = of_all([&done](Crew& processes) {
    std::string joined;
    for (const std::string& text : share_work(processes, done.size(), [&done](std::size_t item) {
           ++done[item];
           return std::string(item, 'x') + "\n";
         })) {
      joined += text;
    }
    return joined;
  });
  for (const auto& count : done) {
    EXPECT_EQ(count, 1);
  }
  for (const std::string& one : all) {
    EXPECT_EQ(one, "\nx\nxx\nxxx\nxxxx\nxxxxx\nxxxxxx\nxxxxxxx\n");
  }
}

TEST(ShareWork, WhatGoesWrongInOneEndsAll) {
  const auto all = of_all([](Crew& processes) {
    try {
      static_cast<void>(share_work(processes, 5, [](std::size_t item) {
        if (item == 4) {  // of process 1
          throw Error(ErrorKind::device, "no profile");
        }
        return std::string();
      }));
    } catch (const Error& error) {
      return fmt::format("{} {}", static_cast<int>(error.kind()), error.what());
    }
    return std::string("nothing");
  });
  for (const std::string& one : all) {
    EXPECT_EQ(one, fmt::format("{} process 1: no profile", static_cast<int>(ErrorKind::device)));
  }
}

// What befalls one process when it speaks for the n-th time.
enum class Mishap { none, late, stopped, cut_message, other_message, dead };

struct Died {};

// One of the processes, to which it happens.
class UnluckySeat : public Seat {
 public:
  UnluckySeat(Table& table, int number, Mishap mishap, int when)
      : Seat(table, number), table_(table), mishap_(mishap), when_(when) {}

  [[nodiscard]] std::vector<std::string> exchange(const std::string& mine) override {
    ++spoken_;
    if (spoken_ != when_) {
      return Seat::exchange(mine);
    }
    switch (mishap_) {
      case Mishap::late:
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        break;
      case Mishap::cut_message:
        return Seat::exchange(mine.substr(0, mine.size() / 2));
      case Mishap::other_message:
        return Seat::exchange("R" + mine);
      case Mishap::dead:
        table_.said[static_cast<std::size_t>(number())].clear();
        table_.all.arrive_and_drop();
        throw Died();
      case Mishap::none:
      case Mishap::stopped:
        break;
    }
    return Seat::exchange(mine);
  }

  [[nodiscard]] bool met() const {
    return spoken_ >= when_;
  }

 private:
  Table& table_;
  Mishap mishap_;
  int when_;
  int spoken_ = 0;
};

// Three rounds of points, each of which all must know before the next: the lines of all results, or
// why there are none. `stop` is asked for before round `stop_at`.
std::string rounds_of(const Sweep& sweep, Crew& processes, int stop_at) {
  SharedCrew crew(processes);
  PointEvaluator evaluator(sweep);
  std::stop_source stop;
  std::vector<std::string> lines(sweep.points.size());
  const auto take = [&](std::size_t point, const PointResult& result) {
    lines[point] = journal_line(sweep.points[point], result);
  };
  try {
    const std::vector<std::vector<std::size_t>> rounds = {{0, 1, 2, 3}, {4, 5}, {6}};
    for (std::size_t round = 0; round < rounds.size(); ++round) {
      if (static_cast<int>(round) + 1 == stop_at) {
        stop.request_stop();
      }
      if (!crew.lead(evaluator, rounds[round], 1, take, stop.get_token())) {
        return "interrupted";
      }
    }
  } catch (const Error& error) {
    return error.kind() == ErrorKind::interrupted ? "interrupted" : "an error";
  } catch (const Died&) {
    return "dead";
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

TEST(SharedCrew, GivesTheTableOfOneProcessOrNoneWhateverBefallsIt) {
  Sweep sweep = make_sweep({"capacity.spares=0:6:7"});
  sweep.trials = 3;
  ThreadCrew alone;
  const std::string expected = rounds_of(sweep, alone, 0);
  ASSERT_NE(expected.find("\"cells\""), std::string::npos);
  for (const Mishap mishap :
       {Mishap::late, Mishap::stopped, Mishap::cut_message, Mishap::other_message, Mishap::dead}) {
    for (int unlucky = 0; unlucky < kProcesses; ++unlucky) {
      for (int when = 1; when <= 3; ++when) {
        SCOPED_TRACE(fmt::format("{} {} {}", static_cast<int>(mishap), unlucky, when));
        Table table;
        std::vector<std::future<std::string>> futures;
        for (int number = 0; number < kProcesses; ++number) {
          futures.push_back(std::async(std::launch::async, [&, number] {
            const bool mine = number == unlucky;
            UnluckySeat seat(table, number, mine ? mishap : Mishap::none, when);
            return rounds_of(sweep, seat, mine && mishap == Mishap::stopped ? when : 0);
          }));
        }
        for (int number = 0; number < kProcesses; ++number) {
          const std::string found = futures[static_cast<std::size_t>(number)].get();
          const bool told = found == "interrupted" || found == "an error" || found == "dead";
          EXPECT_TRUE(mishap == Mishap::late ? found == expected : told) << found;
          EXPECT_EQ(found == "dead", mishap == Mishap::dead && number == unlucky);
          EXPECT_EQ(found == "interrupted", mishap == Mishap::stopped);
        }
      }
    }
  }
}

}  // namespace
}  // namespace orrery::sweep::test
