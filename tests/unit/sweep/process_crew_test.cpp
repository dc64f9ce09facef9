// A sweep by several processes is that of one, whatever happens to them on the way.

#include "sim/sweep/process_crew.hpp"

#include "sim/sweep/journal.hpp"
#include "sim/sweep/sweep_report.hpp"
#include "tests/unit/sweep/simulated_mail.hpp"
#include "tests/unit/sweep/sweep_fixture.hpp"

namespace orrery::sweep::test {
namespace {

constexpr int kProcesses = 3;
constexpr std::string_view kComplete = "complete";
constexpr std::string_view kInterrupted = "interrupted";

class ProcessCrewTest : public FolderTest {
 protected:
  ProcessCrewTest() : sweep_(make_sweep({"capacity.spares=0:8:9"})) {
    sweep_.trials = 2;
  }

  // The table that processes give, or how they ended; process 0 keeps a journal.
  std::string lead(Crew& crew, const std::stop_token& stop, const std::string& journal_name) {
    if (!crew.leads()) {
      PointEvaluator evaluator(sweep_);
      crew.serve(evaluator, 1, stop);
      return {};
    }
    Journal journal(path(journal_name), journal_header(sweep_, "1"), line_shape(sweep_), true);
    const SweepOutcome outcome =
        run_sweep(sweep_, crew, {.journal = &journal, .threads = 1, .stop = stop});
    if (outcome.complete) {
      table_ = to_csv(sweep_, outcome.results);
    }
    return std::string(outcome.complete ? kComplete : kInterrupted);
  }

  std::string alone(const std::string& journal_name) {
    ThreadCrew crew;
    EXPECT_EQ(lead(crew, {}, journal_name), kComplete);
    return table_;
  }

  std::vector<std::string> together(Launcher& launcher, const std::string& journal_name) {
    return run_processes(launcher, [&](Crew& crew, const std::stop_token& stop) {
      return lead(crew, stop, journal_name);
    });
  }

  Sweep sweep_;
  std::string table_;  // of process 0
};

TEST_F(ProcessCrewTest, GivesTheTableOfOneProcess) {
  const std::string expected = alone("alone");
  for (const int processes : {1, 2, 5, 12}) {
    Launcher launcher(processes, {});
    table_.clear();
    EXPECT_EQ(together(launcher, std::to_string(processes)).front(), kComplete);
    EXPECT_EQ(table_, expected) << processes;
  }
}

// Nobody waits for ever; a table is right or not there; what the journal holds is right.
TEST_F(ProcessCrewTest, SurvivesDelayDeathAndStopAtEveryCall) {
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

// A member that has left before all have spoken is no reason for the others to wait.
TEST_F(ProcessCrewTest, AnExchangeEndsWhenOneHasLeft) {
  for (int gone = 0; gone < kProcesses; ++gone) {
    Launcher launcher(kProcesses, {});
    const auto said = run_processes(launcher, [gone](Crew& crew, const std::stop_token&) {
      return crew.number() == gone ? std::string("left") : crew.exchange("here").front();
    });
    for (int number = 0; number < kProcesses; ++number) {
      const int blamed = number == 0 ? gone : 0;  // members know their leader only
      EXPECT_EQ(said[static_cast<std::size_t>(number)],
                number == gone ? "left" : fmt::format("ERROR process {} has ended", blamed));
    }
  }
}

TEST_F(ProcessCrewTest, AMemberSendsEveryPointOfItsBatch) {
  Launcher launcher(2, {});
  auto member = std::async(std::launch::async, [&] {
    ProcessCrew crew(std::make_unique<SimulatedMail>(launcher, 1));
    PointEvaluator evaluator(sweep_);
    crew.serve(evaluator, 1, {});
  });
  SimulatedMail leader(launcher, 0);
  EXPECT_EQ(leader.receive(1), fmt::format("R {}\n", journal_header(sweep_, {})));
  leader.send("2 5 7", 1);
  const std::string found = leader.receive(1);
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 4);
  for (const char* point : {"\n2{", "\n5{", "\n7{"}) {
    EXPECT_NE(found.find(point), std::string::npos) << found;
  }
  leader.send("", 1);
  member.get();
}

// What a member has finished before it is stopped is kept.
TEST_F(ProcessCrewTest, AStoppedMembersFinishedPointsAreTaken) {
  Launcher launcher(2, {});
  std::vector<std::size_t> taken;
  auto leader = std::async(std::launch::async, [&] {
    ProcessCrew crew(std::make_unique<SimulatedMail>(launcher, 0));
    PointEvaluator evaluator(sweep_);
    std::stop_source stop;
    const auto take = [&](std::size_t point, const PointResult&) { taken.push_back(point); };
    return crew.lead(evaluator, {0, 1, 2, 3, 4, 5, 6, 7, 8}, 1, take, stop.get_token());
  });
  SimulatedMail member(launcher, 1);
  PointEvaluator evaluator(sweep_);
  member.send(fmt::format("R {}\n", journal_header(sweep_, {})), 0);
  const auto point = static_cast<std::size_t>(std::stoul(member.receive(0)));
  const PointResult result = evaluator.result(point, 1, {});
  member.send(fmt::format("E {} interrupted\n{}{}\n",
                          static_cast<int>(ErrorKind::interrupted),
                          point,
                          journal_line(sweep_.points[point], result)),
              0);
  EXPECT_EQ(member.receive(0), "");
  // The leader may have done all the others before it heard.
  const bool complete = leader.get();
  EXPECT_EQ(complete, taken.size() == 9U);
  EXPECT_EQ(std::count(taken.begin(), taken.end(), point), 1);
}

}  // namespace
}  // namespace orrery::sweep::test
