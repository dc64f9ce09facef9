// Several processes that share an answer, played by threads: the answer is that of one.

#include "sim/sweep/shared_crew.hpp"

#include <fmt/core.h>

#include <array>
#include <atomic>
#include <barrier>
#include <future>

#include "sim/base/error.hpp"
#include "sim/sweep/answer.hpp"
#include "tests/unit/sweep/sweep_fixture.hpp"

namespace orrery::sweep::test {
namespace {

constexpr int kMembers = 3;

struct Table {
  std::barrier<> all{kMembers};
  std::array<std::string, kMembers> said;
};

// One of the processes.
class Seat : public ThreadCrew {
 public:
  Seat(Table& table, int number) : table_(table), number_(number) {}

  [[nodiscard]] bool leads() const override {
    return number_ == 0;
  }

  [[nodiscard]] int members() const override {
    return kMembers;
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
  for (int number = 0; number < kMembers; ++number) {
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

}  // namespace
}  // namespace orrery::sweep::test
