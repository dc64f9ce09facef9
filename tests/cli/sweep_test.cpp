// `orrery sweep`: tables, resuming, faults of the machine, several processes.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "sim/base/files/file.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using Json = nlohmann::json;
using SweepTest = CliTest;

const std::string kSpares = "sweep --vary capacity.spares=0:9:10 small.yaml ";

std::int64_t lines_in(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST_F(SweepTest, ShowsOneLinePerPointWithinAHundredColumns) {
  write("small.yaml", small_scenario());
  const Finished done = run("sweep --vary capacity.spares=0,1 --vary layout.tp=2,3 small.yaml");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("capacity.spares  layout.tensor   status"), std::string::npos)
      << done.out;
  EXPECT_NE(done.out.find("4 points, 2 ok, 2 invalid"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("invalid: layout.tensor: 3 does not divide"), std::string::npos);
  std::size_t begin = 0;
  while (begin < done.out.size() && done.out.find("invalid: ", begin) != begin) {
    const std::size_t end = done.out.find('\n', begin);
    EXPECT_LE(end - begin, 100U);
    begin = end + 1;
  }
}

TEST_F(SweepTest, WritesTheSameBytesForAnyNumberOfThreads) {
  write("small.yaml", small_scenario());
  const Finished one = run(kSpares + "--format csv -j 1");
  const Finished four = run(kSpares + "--format csv -j 4");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(lines_in(one.out), 11);
  EXPECT_EQ(one.out, four.out);
  EXPECT_EQ(run(kSpares + "--json -j 1").out, run(kSpares + "--json -j 3").out);
}

TEST_F(SweepTest, ChoosesTheFormByTheNameOfTheFile) {
  write("small.yaml", small_scenario());
  EXPECT_EQ(run(kSpares + "--metrics 'p99(finish_time)' -o t.csv").code, 0);
  EXPECT_TRUE(
      read("t.csv").starts_with("point,capacity.spares,status,reason,finish_time_s_p99\n1,0,ok,,"));
  EXPECT_EQ(run(kSpares + "-o t.json").code, 0);
  const Json table = Json::parse(read("t.json"));
  EXPECT_EQ(table["schema"], "orrery-sweep-result/1");
  EXPECT_EQ(table["points"].size(), 10U);
  EXPECT_EQ(table["points"][9]["values"]["capacity.spares"], "9");
  EXPECT_GT(table["points"][9]["metrics"]["finish_time_s"], 0.0);
  EXPECT_EQ(files(), (std::vector<std::string>{"small.yaml", "t.csv", "t.json"}));
}

TEST_F(SweepTest, ReadsASweepFileBesideItsScenario) {
  write("small.yaml", small_scenario());
  write("s.yaml",
        "format: orrery-sweep/1\nscenario: small.yaml\nvary: {capacity.spares: [0, 1]}\n"
        "metrics: [goodput]\n");
  const Finished done = run("sweep s.yaml --format csv");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(lines_in(done.out), 3);
  EXPECT_EQ(run("sweep s.yaml --vary capacity.spares=5 --format csv").out.find("\n1,5,ok,"),
            done.out.find('\n'));
}

TEST_F(SweepTest, RefusesBadKeysAndValuesBeforeAnyPoint) {
  write("small.yaml", small_scenario());
  const Finished key = run("sweep --vary capacity.spare=1 small.yaml");
  EXPECT_EQ(key.code, 3);
  EXPECT_EQ(key.err,
            "--vary: error: capacity.spare: unknown key (did you mean `capacity.spares`?)\n");
  const Finished value = run("sweep --vary checkpoint.interval=5m,1h small.yaml");
  EXPECT_EQ(value.code, 3);
  EXPECT_TRUE(value.err.starts_with("--vary: error: checkpoint.interval: `5m`")) << value.err;
  EXPECT_EQ(run("sweep small.yaml").code, 2);
  EXPECT_EQ(run("sweep --resume --vary capacity.spares=1 small.yaml").code, 2);
  EXPECT_EQ(run("sweep --metrics godput --vary capacity.spares=1 small.yaml").err,
            "--metrics: error: metrics: unknown metric `godput` in `godput` (did you mean "
            "`goodput`?)\n");
}

TEST_F(SweepTest, SaysOnceWhyNoPointCanBeEvaluated) {
  std::string text = small_scenario();
  text.replace(text.find("h100-sxm-80gb"), 13, "h100-typo");
  write("small.yaml", text);
  const Finished done = run(kSpares);
  EXPECT_EQ(done.code, 5);
  EXPECT_TRUE(done.err.starts_with("orrery: small.yaml: no point can be evaluated; cluster.gpu: "))
      << done.err;
  EXPECT_EQ(lines_in(done.err), 1);
}

TEST_F(SweepTest, ShowsWhereAScenarioIsWrong) {
  std::string text = small_scenario();
  text.replace(text.find("tensor: 2"), 6, "tensr");
  write("small.yaml", text);
  const Finished done = run(kSpares);
  EXPECT_EQ(done.code, 3);
  EXPECT_TRUE(done.err.starts_with("small.yaml:5:10: error: layout.tensr: unknown key"))
      << done.err;
}

// The table of three parts is that of the whole sweep, byte for byte, in every form; where a part
// has no point, too.
TEST_F(SweepTest, JoinsPartsToTheTableOfTheWholeSweep) {
  write("small.yaml", small_scenario());
  const std::string sweep =
      "sweep --vary capacity.spares=0,1 --vary layout.tp=2,3 --set batch.micro=2 small.yaml ";
  for (const int parts : {3, 5}) {
    for (int part = 1; part <= parts; ++part) {
      const Finished done = run(sweep + "--shard " + std::to_string(part) + "/" +
                                std::to_string(parts) + " -o p" + std::to_string(part) + ".json");
      ASSERT_EQ(done.code, 0) << done.err;
    }
    for (const char* form : {"--format text", "--format csv", "--json"}) {
      const Finished joined = run(std::string("sweep ") + form + " --join p*.json");
      EXPECT_EQ(joined.code, 0) << joined.err;
      EXPECT_EQ(joined.out, run(sweep + form).out);
    }
  }
}

// shard_test.cpp has what is said of other parts.
TEST_F(SweepTest, RefusesPartsThatAreNotOneSweep) {
  write("small.yaml", small_scenario());
  EXPECT_EQ(run(kSpares + "--shard 1/2 --metrics goodput -o a.json").code, 0);
  const Finished done = run("sweep --join a.json");
  EXPECT_EQ(done.code, 3);
  EXPECT_EQ(done.err, "a.json: error: part 2 of 2 is missing\n");
  EXPECT_EQ(run("sweep --join a.json small.yaml").err,
            "small.yaml: error: is no part of a sweep (orrery-sweep-part/1)\n");
  EXPECT_EQ(run("sweep --vary capacity.spares=1 --shard 0/2 small.yaml").code, 2);
  EXPECT_EQ(run("sweep --vary capacity.spares=1 --shard 3/2 small.yaml").code, 2);
  EXPECT_EQ(run("sweep").code, 2);
}

TEST_F(SweepTest, RefusesAKeyThatAnOptionOverrules) {
  write("small.yaml", small_scenario());
  const Finished done = run("sweep --vary simulation.trials=5,10 --trials 7 small.yaml");
  EXPECT_EQ(done.code, 3);
  EXPECT_EQ(done.err,
            "--vary: error: simulation.trials: varies, and is stated for all points as well\n");
}

// Rates, sizes and times beyond all reason end in a status, soon.
TEST_F(SweepTest, EndsWithAnAnswerForAbsurdValues) {
  write("small.yaml", small_scenario());
  for (const char* vary :
       {"failures.node_rate=1e4/d,1e6/d,1e15/d,1e300/d", "checkpoint.stall=0s,20000d",
        "capacity.repair_time=0s,20000d", "recovery.load=20000d,1ns", "step.time=1ns,1000d",
        "training.steps=1,9000000000000000", "checkpoint.interval='1 steps',20000d",
        "capacity.spares=1000000", "cluster.nodes=1000000"}) {
    const Finished done =
        run(std::string("sweep --trials 3 --vary ") + vary + " small.yaml", "timeout 60");
    EXPECT_TRUE(done.code == 0 || done.code == 3) << vary << ": " << done.code << done.err;
    EXPECT_EQ(done.err.find("internal"), std::string::npos) << vary << ": " << done.err;
  }
}

// Starts the sweep, kills it as soon as the journal has some points, and resumes; several times.
TEST_F(SweepTest, ResumesAfterItWasKilled) {
  std::string text = small_scenario();
  text.replace(text.find("trials: 50"), 10, "trials: 400");
  write("small.yaml", text);
  const std::string sweep = "sweep --vary capacity.spares=0:59:60 small.yaml -j 2 -o ";
  ASSERT_EQ(run(sweep + "whole.csv").code, 0);
  int kills = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const Finished killed = run(sweep + "table.csv --resume",
                                "timeout -s KILL " + std::to_string(0.05 + 0.03 * attempt));
    kills += killed.code == 137 || killed.code == 124 ? 1 : 0;
  }
  EXPECT_GT(kills, 0);
  const Finished resumed = run(sweep + "table.csv --resume");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(read("table.csv"), read("whole.csv"));
  EXPECT_FALSE(std::filesystem::exists(path("table.csv.journal")));
}

TEST_F(SweepTest, RefusesAJournalOfAnotherSweep) {
  write("small.yaml", small_scenario());
  ASSERT_EQ(run(kSpares + "--journal j -o t.csv").code, 0);
  const Finished other = run(kSpares + "--journal j --resume --trials 5 -o t.csv");
  EXPECT_EQ(other.code, 6);
  EXPECT_EQ(other.err,
            "orrery: j: belongs to another sweep (it differs in: trials): remove it, or choose "
            "another\n");
  const Finished more =
      run("sweep --vary capacity.spares=0:19:20 small.yaml --journal j --resume -o t.csv");
  EXPECT_EQ(more.code, 0);
  EXPECT_EQ(more.err, "orrery: 10 of 20 points were in j\n");
}

TEST_F(SweepTest, SaysThatTheDiskIsFull) {
  write("small.yaml", small_scenario());
  const Finished table = run(kSpares + "--format csv -o /dev/full");
  EXPECT_EQ(table.code, 6);
  EXPECT_EQ(table.err, "orrery: /dev/full: cannot write: No space left on device\n");
  const Finished out = run(kSpares, "", ">/dev/full");
  EXPECT_EQ(out.code, 6);
  const Finished journal = run(kSpares + "--journal /dev/full -o t.csv");
  EXPECT_EQ(journal.code, 6);
  EXPECT_EQ(journal.err, "orrery: /dev/full: is no regular file, which a journal must be\n");
}

// A disk of 16 KiB: the journal fills it, says so, and what it holds counts on a larger one.
TEST_F(SweepTest, ContinuesWhereAFullDiskEndedIt) {
  const std::string many = "sweep --vary capacity.spares=0:99:100 small.yaml ";
  write("small.yaml", small_scenario());
  std::filesystem::create_directory(path("disk"));
  const std::string mount = "mount -t tmpfs -o size=16k none '" + path("disk") + "' 2>/dev/null";
  if (std::system(mount.c_str()) != 0) {
    GTEST_SKIP() << "no file system can be mounted here";
  }
  const Finished full = run(many + "--journal disk/j -o t.csv");
  const std::string left = read("disk/j");
  ASSERT_EQ(std::system(("umount '" + path("disk") + "'").c_str()), 0);
  EXPECT_EQ(full.code, 6);
  EXPECT_EQ(full.err,
            "orrery: disk/j: cannot write: No space left on device; what is in it is safe, "
            "--resume continues\n");
  EXPECT_FALSE(std::filesystem::exists(path("t.csv")));
  write("j", left);
  const Finished resumed = run(many + "--journal j --resume -o t.csv");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  ASSERT_EQ(run(many + "-o whole.csv").code, 0);
  EXPECT_EQ(read("t.csv"), read("whole.csv"));
}

TEST_F(SweepTest, AnswersQuestions) {
  write("small.yaml", small_scenario());
  for (const std::string question : {"checkpoint-interval", "spares", "sync-async", "sensitivity",
                                     "finish-by --by 60d", "fan"}) {
    SCOPED_TRACE(question);
    const std::string command = "sweep small.yaml --trials 20 --answer " + question;
    const Finished text = run(command, "LC_ALL=C");
    EXPECT_EQ(text.code, 0) << text.err;
    std::size_t begin = 0;
    while (begin < text.out.size()) {
      const std::size_t end = text.out.find('\n', begin);
      EXPECT_LE(end - begin, 100U) << text.out;
      begin = end + 1;
    }
    const Json json = Json::parse(run(command + " --json").out);
    EXPECT_EQ(json["schema"], "orrery-answer/1");
    EXPECT_EQ(json["answer"], question.substr(0, question.find(' ')));
    EXPECT_FALSE(json["facts"].empty());
    const Finished csv = run(command + " --format csv");
    EXPECT_EQ(lines_in(csv.out), static_cast<std::int64_t>(json["rows"].size()) + 1);
  }
}

TEST_F(SweepTest, AnswersUpToWhichPriceSpotPays) {
  std::string text = small_scenario();
  const auto change = [&text](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  write("held.yaml", text);
  change("spares: 1", "spares: 1, spot: {rate: 0.02/h, returns: 10min}");
  change("$2.50/h,", "$2.50/h, spot_gpu_hour: $1/h,");
  write("spot.yaml", text);
  const Finished found = run("sweep spot.yaml --trials 20 --answer spot --json");
  ASSERT_EQ(found.code, 0) << found.err;
  const Json json = Json::parse(found.out);
  EXPECT_GT(json["facts"]["break_even_usd_per_gpu_hour"].get<double>(), 1.0);
  EXPECT_EQ(json["rows"].size(), 6U);
  const Finished none = run("sweep held.yaml --trials 20 --answer spot");
  EXPECT_EQ(none.code, 3);
  EXPECT_EQ(none.err,
            "held.yaml: error: capacity.spot: spot has no answer here: no node is on spot\n");
}

constexpr const char* kMpirun =
    "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
    "timeout 120 mpirun -np ";

TEST_F(SweepTest, GivesTheSameTableWithTwoProcesses) {
  if (!has_mpi()) {
    GTEST_SKIP() << "orrery-mpi or mpirun is not there";
  }
  write("small.yaml", small_scenario());
  const std::string sweep = "sweep --vary capacity.spares=0:39:40 small.yaml -j 1 -o ";
  ASSERT_EQ(run(sweep + "one.csv").code, 0);
  for (const char* processes : {"2", "3"}) {
    const Finished several = run(sweep + "several.csv", std::string(kMpirun) + processes);
    EXPECT_EQ(several.code, 0) << several.err;
    EXPECT_EQ(read("several.csv"), read("one.csv"));
  }
}

TEST_F(SweepTest, GivesTheSameAnswerWithTwoProcesses) {
  if (!has_mpi()) {
    GTEST_SKIP() << "orrery-mpi or mpirun is not there";
  }
  write("small.yaml", small_scenario());
  for (const char* name : {"sync-async", "sensitivity", "fan"}) {
    const std::string answer =
        std::string("sweep small.yaml --trials 20 -j 1 --answer ") + name + " -o ";
    ASSERT_EQ(run(answer + "one.csv").code, 0);
    const Finished several = run(answer + "several.csv", std::string(kMpirun) + "2");
    EXPECT_EQ(several.code, 0) << several.err;
    EXPECT_EQ(read("several.csv"), read("one.csv")) << name;
  }
}

TEST_F(SweepTest, EndsWithOneMessageWhenSeveralProcessesCannotWork) {
  if (!has_mpi()) {
    GTEST_SKIP() << "orrery-mpi or mpirun is not there";
  }
  write("small.yaml", small_scenario());
  const Finished full = run(kSpares + "--journal /dev/full -o t.csv", std::string(kMpirun) + "2");
  EXPECT_NE(full.code, 0);
  const Finished bad = run("sweep --vary capacity.spares=x small.yaml", std::string(kMpirun) + "2");
  EXPECT_NE(bad.code, 0);
  const std::string line = "--vary: error: capacity.spares: `x`";
  const std::size_t first = bad.err.find(line);
  ASSERT_NE(first, std::string::npos) << bad.err;
  EXPECT_EQ(bad.err.find(line, first + 1), std::string::npos) << bad.err;
  const Finished hopeless = run("sweep small.yaml --vary capacity.spares=2 --answer sensitivity",
                                std::string(kMpirun) + "2");
  EXPECT_NE(hopeless.code, 0);
  const std::string why = "a low and a high value are needed";
  const std::size_t told = hopeless.err.find(why);
  ASSERT_NE(told, std::string::npos) << hopeless.err;
  EXPECT_EQ(hopeless.err.find(why, told + 1), std::string::npos) << hopeless.err;
}

}  // namespace
}  // namespace orrery::cli::testing
