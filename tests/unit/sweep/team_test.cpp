// What several processes find is what one finds, whatever happens to them on the way.

#include "sim/answer/sweep/team.hpp"

#include <array>
#include <atomic>
#include <numeric>

#include "sim/answer/sweep/answer.hpp"
#include "sim/answer/sweep/journal.hpp"
#include "sim/answer/sweep/point_evaluator.hpp"
#include "sim/answer/sweep/run_sweep.hpp"
#include "sim/answer/sweep/sweep_report.hpp"
#include "tests/unit/sweep/simulated_mail.hpp"
#include "tests/unit/sweep/sweep_fixture.hpp"

namespace orrery::sweep::test {
namespace {

constexpr int kProcesses = 3;
constexpr std::string_view kComplete = "complete";
constexpr std::string_view kInterrupted = "interrupted";

constexpr std::size_t kItems = 8;
const std::string kJoined = "\nx\nxx\nxxx\nxxxx\nxxxxx\nxxxxxx\nxxxxxxx\n";

// What all processes find for kItems items, one after the other.
std::string joined(Team& team, const std::function<void(std::size_t)>& visit = {},
                   const std::string& identity = {}) {
  std::array<std::string, kItems> found;
  std::vector<std::size_t> items(kItems);
  std::iota(items.begin(), items.end(), std::size_t{0});
  const bool complete =
      team.gather({.identity = identity,
                   .items = items,
                   .for_all = true,
                   .run =
                       [&](const std::vector<std::size_t>& batch, const Work::Done& done) {
                         for (const std::size_t item : batch) {
                           if (visit) {
                             visit(item);
                           }
                           found[item] = std::string(item, 'x') + "\n";
                           done(item);
                         }
                         return true;
                       },
                   .tell = [&](std::size_t item) { return found[item]; },
                   .hear = [&](std::size_t item, std::string_view text) { found[item] = text; }});
  EXPECT_TRUE(complete);
  return std::accumulate(found.begin(), found.end(), std::string());
}

class TeamTest : public FolderTest {
 protected:
  TeamTest() : sweep_(make_sweep({"capacity.spares=0:8:9"})) { sweep_.trials = 2; }

  // The table that processes give, or how they ended; process 0 keeps a journal.
  std::string lead(Team& team, const std::stop_token& stop, const std::string& journal_name) {
    if (!team.leads()) {
      static_cast<void>(run_sweep(sweep_, team, {.threads = 1, .stop = stop}));
      return {};
    }
    Journal journal(path(journal_name), journal_header(sweep_, "1"), line_shape(sweep_), true);
    const SweepOutcome outcome =
        run_sweep(sweep_, team, {.journal = &journal, .threads = 1, .stop = stop});
    if (outcome.complete) {
      table_ = to_csv(sweep_, outcome.results);
    }
    return std::string(outcome.complete ? kComplete : kInterrupted);
  }

  std::string alone(const std::string& journal_name) {
    Team single;
    EXPECT_EQ(lead(single, {}, journal_name), kComplete);
    return table_;
  }

  std::vector<std::string> together(Launcher& launcher, const std::string& journal_name) {
    return run_processes(launcher, [&](Team& team, const std::stop_token& stop) {
      return lead(team, stop, journal_name);
    });
  }

  Sweep sweep_;
  std::string table_;  // of process 0
};

TEST_F(TeamTest, GivesTheTableOfOneProcess) {
  const std::string expected = alone("alone");
  for (const int processes : {1, 2, 5, 12}) {
    Launcher launcher(processes, {});
    table_.clear();
    EXPECT_EQ(together(launcher, std::to_string(processes)).front(), kComplete);
    EXPECT_EQ(table_, expected) << processes;
  }
}

// Nobody waits for ever; a table is right or not there; what the journal holds is right.
TEST_F(TeamTest, SurvivesDelayDeathAndStopAtEveryCall) {
  const std::string expected = alone("alone");
  Launcher undisturbed(kProcesses, {});
  EXPECT_EQ(together(undisturbed, "undisturbed").front(), kComplete);
  int name = 0;
  for (const Incident& incident : incidents_of(undisturbed)) {
    SCOPED_TRACE(describe(incident));
    const std::string journal = std::to_string(++name);
    Launcher launcher(kProcesses, incident);
    table_.clear();
    const std::string end = together(launcher, journal).front();
    // Who does how much is up to chance: a process may make fewer calls than this time before.
    const bool happened = launcher.calls(incident.process) >= incident.call;
    if (incident.trouble == Trouble::delay || !happened) {
      EXPECT_EQ(end, kComplete);
    } else if (incident.trouble == Trouble::death && end != kComplete) {
      EXPECT_EQ(end, fmt::format("ERROR process {} was killed", incident.process));
    } else if (end != kComplete) {
      EXPECT_EQ(end, kInterrupted);
    }
    EXPECT_EQ(table_, end == kComplete ? expected : "");
    EXPECT_EQ(alone(journal), expected);  // goes on with what the journal holds
  }
  EXPECT_GT(name, 40);
}

// A member that has left is no reason for the others to wait; without a leader all end.
TEST_F(TeamTest, GoesOnWithoutAMemberThatHasLeft) {
  for (int gone = 0; gone < kProcesses; ++gone) {
    Launcher launcher(kProcesses, {});
    std::atomic<int> next = 0;
    const auto said = run_processes(launcher, [&](Team& team, const std::stop_token&) {
      const bool leaves = gone == 0 ? team.leads() : !team.leads() && ++next == 1;
      return leaves ? std::string("left") : joined(team);
    });
    const auto left = std::count(said.begin(), said.end(), "left");
    EXPECT_EQ(left, 1);
    const std::string expected = gone == 0 ? "ERROR process 0 has ended" : kJoined;
    EXPECT_EQ(std::count(said.begin(), said.end(), expected), kProcesses - 1);
  }
}

TEST_F(TeamTest, AMemberSendsEveryPointOfItsBatch) {
  Launcher launcher(2, {});
  auto member = std::async(std::launch::async, [&] {
    Team team(std::make_unique<SimulatedMail>(launcher, 1));
    return run_sweep(sweep_, team, {.threads = 1}).complete;
  });
  SimulatedMail leader(launcher, 0);
  const std::string asks = fmt::format("R {}\n", journal_header(sweep_, {}));
  EXPECT_EQ(leader.receive(1), asks);
  leader.send("W2 5 7", 1);
  const std::string found = leader.receive(1);
  EXPECT_TRUE(found.starts_with(asks + "2 "));
  for (const char* point : {R"({"point":["2"])", R"({"point":["5"])", R"({"point":["7"])"}) {
    EXPECT_NE(found.find(point), std::string::npos) << found;
  }
  leader.send("D", 1);
  EXPECT_TRUE(member.get());
  EXPECT_EQ(leader.receive(1), "F");
}

// What a member has finished before it is stopped is kept.
TEST_F(TeamTest, AStoppedMembersFinishedPointsAreTaken) {
  Launcher launcher(2, {});
  auto leader = std::async(std::launch::async, [&] {
    Team team(std::make_unique<SimulatedMail>(launcher, 0));
    return run_sweep(sweep_, team, {.threads = 1});
  });
  SimulatedMail member(launcher, 1);
  PointEvaluator evaluator(sweep_);
  member.send(fmt::format("R {}\n", journal_header(sweep_, {})), 0);
  const auto point = static_cast<std::size_t>(std::stoul(member.receive(0).substr(1)));
  const PointResult result = evaluator.result(point, 1, {});
  const std::string line = journal_line(sweep_.points[point], result);
  member.send(fmt::format("E{} interrupted\n{} {}\n{}", static_cast<int>(ErrorKind::interrupted),
                          point, line.size(), line),
              0);
  EXPECT_EQ(member.receive(0), "S");
  member.send("F", 0);
  EXPECT_EQ(leader.get().results[point], result);
}

std::string answer_of(const std::string& name, Team& team) {
  Question question{.name = name, .sweep = make_sweep({})};
  question.sweep.trials = 20;
  question.threads = 1;
  question.by = "3d";
  Diagnostics diagnostics;
  const auto found = answer(question, team, diagnostics);
  return found ? to_json(*found) : to_string(diagnostics);
}

TEST_F(TeamTest, EveryProcessGetsTheAnswerOfOne) {
  int shared = 0;
  for (const AnswerName& name : answer_names()) {
    if (!shares_work(name.name)) {
      continue;
    }
    ++shared;
    Team single;
    const std::string expected = answer_of(std::string(name.name), single);
    EXPECT_NE(expected.find("\"facts\""), std::string::npos) << expected;
    Launcher launcher(kProcesses, {});
    for (const std::string& one :
         run_processes(launcher, [&name](Team&team, const std::stop_token&) {
           return answer_of(std::string(name.name), team);
         })) {
      EXPECT_EQ(one, expected) << name.name;
    }
  }
  EXPECT_EQ(shared, 5);
}

TEST_F(TeamTest, EveryItemIsDoneOnceAndKnownToAll) {
  Launcher launcher(kProcesses, {});
  std::array<std::atomic<int>, kItems> count{};
  for (const std::string& one :
       run_processes(launcher, [&count](Team&team, const std::stop_token&) {
         return joined(team, [&count](std::size_t item) { ++count[item]; });
       })) {
    EXPECT_EQ(one, kJoined);
  }
  for (const auto& times : count) {
    EXPECT_EQ(times, 1);
  }
}

TEST_F(TeamTest, WhatGoesWrongInOneEndsAll) {
  Launcher launcher(kProcesses, {});
  const auto all = run_processes(launcher, [](Team& team, const std::stop_token&) {
    return joined(team, [](std::size_t item) {
      if (item == 4) {
        throw Error(ErrorKind::device, "no profile");
      }
    });
  });
  for (const std::string& one : all) {
    EXPECT_EQ(one, all.front());
    EXPECT_TRUE(one.starts_with("ERROR ") && one.ends_with("no profile")) << one;
  }
}

TEST_F(TeamTest, ProcessesThatSeeDifferentThingsAreRefused) {
  Launcher launcher(2, {});
  const auto all = run_processes(launcher, [](Team& team, const std::stop_token&) {
    return joined(team, {}, team.leads() ? "one" : "another");
  });
  for (const std::string& one : all) {
    EXPECT_EQ(one, "ERROR process 1 sees another scenario or other profiles than process 0");
  }
}

}  // namespace
}  // namespace orrery::sweep::test
