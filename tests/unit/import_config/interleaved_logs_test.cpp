// A run of known restarts, as its ranks and nodes may have logged it: lines of several ranks in one
// log, late and cut, clocks that differ, one log per node. The restarts are found, and no others.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "sim/base/random.hpp"
#include "sim/import_config/logs/log_outages.hpp"
#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

constexpr int kStepSeconds = 4;

struct Program {
  const char* name;
  ConfigFormat format;
  const char* begin;  // lines of a begin; {} is the writer and the date
  const char* step;   // {0} is the writer, {1} the date, {2} the step
  bool american = false;
};

constexpr std::array<Program, 5> kPrograms = {
    {{"Megatron-LM", ConfigFormat::megatron_log, "{0}using world size: 8, data-parallel size: 8\n",
      "{0} [{1}] iteration {2:8}/ 9000 | elapsed time per iteration (ms): 4000.0 | global batch "
      "size: 64 |\n"},
     {"torchtitan", ConfigFormat::torchtitan_log,
      "{0}[titan] {1},000 - root - INFO - Building 1-D device mesh with ['dp'], [8]\n"
      "{0}[titan] {1},000 - root - INFO - Training starts at step 1, with local batch size 4, "
      "global batch size 32, sequence length 1024, total steps 9000\n",
      "{0}[titan] {1},140 - root - INFO - step: {2:2}  loss:  4.9 memory: 60.00GiB  tps: 1,024  "
      "mfu: "
      "39.45%\n"},
     {"NeMo", ConfigFormat::nemo_log, "{0}[NeMo I {1} exp:1] * Experiment configuration *\n",
      "{0}[NeMo I {1} log:9] global_step: {2} train_step_timing in s: 4.0 global_batch_size: 64\n"},
     {"DeepSpeed", ConfigFormat::deepspeed_log,
      "{0}[{1},140] [INFO] DeepSpeedEngine configuration:\n",
      "{0}[{1},140] [INFO] steps: {2} loss: 4.9 iter time (s): 4.000 samples/sec: 16.0\n"},
     {"nanotron", ConfigFormat::nanotron_log, "",
      "{0}{1} [INFO|DP=0|PP=0|TP=0]: iteration: {2} / 9000 | time_per_iteration_ms: 4.00K | "
      "global_batch_size: 64\n",
      true}}};

struct Life {
  int begin = 0;  // of its first step, in seconds
  int first = 0;
  int last = 0;
};

std::string date_text(int time, bool american) {
  constexpr int kMinute = 60;
  constexpr int kHour = 3600;
  constexpr int kDay = 86400;
  const std::string clock =
      fmt::format("{:02}:{:02}:{:02}", time % kDay / kHour, time % kHour / kMinute, time % kMinute);
  return american ? fmt::format("10/{:02}/2025 {}", 1 + time / kDay, clock)
                  : fmt::format("2025-10-{:02} {}", 1 + time / kDay, clock);
}

struct Shape {
  int ranks = 1;
  std::string writer = {};  // in front of the lines of a rank; {} is its number
  int clocks = 0;           // seconds between the clocks of two ranks
  int late = 0;             // lines by which one rank's output may come late
  double lost = 0.0;        // share of the lines of all ranks but the first
  bool apart = false;       // a log for each rank
  bool marked = true;       // every rank prints that it begins
};

struct Line {
  double place = 0.0;
  std::string text;
};

std::vector<ConfigFile> logs_of(const Program& program, const Shape& shape,
                                const std::vector<Life>& lives, RandomStream& random) {
  std::vector<std::vector<Line>> logs(shape.apart ? static_cast<std::size_t>(shape.ranks) : 1);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::vector<Line>& log = logs[shape.apart ? static_cast<std::size_t>(rank) : 0];
    const std::string writer = fmt::format(fmt::runtime(shape.writer), rank);
    const int skew = rank * shape.clocks;
    for (const Life& life : lives) {
      const auto place = [&](int time) {
        return time + kStepSeconds * random.uniform01() * (shape.late + 0.1);
      };
      if (shape.marked || (rank == 0 && life.begin == lives.front().begin)) {
        log.push_back(
            {place(life.begin), fmt::format(fmt::runtime(program.begin), writer,
                                            date_text(life.begin + skew, program.american))});
      }
      double last = log.empty() ? 0.0 : log.back().place;
      for (int step = life.first; step <= life.last; ++step) {
        const int time = life.begin + (step - life.first + 1) * kStepSeconds;
        last = std::max(last + 1e-6, place(time));  // a rank's own lines keep their order
        if (rank == 0 || random.uniform01() >= shape.lost) {
          log.push_back({last, fmt::format(fmt::runtime(program.step), writer,
                                           date_text(time + skew, program.american), step)});
        }
      }
    }
  }
  std::vector<ConfigFile> files;
  for (std::vector<Line>& log : logs) {
    std::stable_sort(log.begin(), log.end(),
                     [](const Line& a, const Line& b) { return a.place < b.place; });
    std::string text;
    for (const Line& line : log) {
      text += line.text;
    }
    files.push_back({fmt::format("{}.log", files.size()), text, program.format});
  }
  return files;
}

// A run of `restarts` + 1 lives: some steps are done again, after minutes.
std::vector<Life> lives_with(int restarts, RandomStream& random) {
  std::vector<Life> lives = {{3600, 1, 40}};
  for (int i = 0; i < restarts; ++i) {
    const Life& before = lives.back();
    const int outage = 60 + static_cast<int>(random.uniform_int(600));
    const int lost = 1 + static_cast<int>(random.uniform_int(20));
    const int end = before.begin + (before.last - before.first + 1) * kStepSeconds;
    const int first = before.last + 1 - lost;
    lives.push_back({end + outage, first, first + 30 + static_cast<int>(random.uniform_int(30))});
  }
  return lives;
}

void expect_truth(const Program& program, const Shape& shape, int restarts, std::uint64_t seed) {
  SCOPED_TRACE(
      fmt::format("{}, {} ranks `{}`, clocks {} s, late {}, lost {}, apart {}, marked {}, "
                  "{} restarts, seed {}",
                  program.name, shape.ranks, shape.writer, shape.clocks, shape.late, shape.lost,
                  shape.apart, shape.marked, restarts, seed));
  RandomStream random(seed, 0, Purpose::property_test);
  const std::vector<Life> lives = lives_with(restarts, random);
  const std::vector<ConfigFile> files = logs_of(program, shape, lives, random);
  const LoggedOutages found = outages_of_logs(files);
  EXPECT_GE(found.dated_steps, 40U);
  EXPECT_TRUE(found.set_back.empty());
  ASSERT_EQ(found.outages.size(), lives.size() - 1);
  for (std::size_t i = 1; i < lives.size(); ++i) {
    const LoggedOutage& outage = found.outages[i - 1];
    const Life& before = lives[i - 1];
    const int end = before.begin + (before.last - before.first + 1) * kStepSeconds;
    EXPECT_NEAR(in_seconds(outage.outage), lives[i].begin - end, 1.0);
    EXPECT_NEAR(in_seconds(outage.after), end - 3600, 1.0 + shape.ranks * shape.clocks);
    EXPECT_EQ(outage.lost_steps, before.last + 1 - lives[i].first);
  }
}

TEST(InterleavedLogs, OfEveryProgramHaveTheRestartsOfTheRun) {
  const std::vector<Shape> shapes = {
      {},
      {.marked = false},
      {.ranks = 8},
      {.ranks = 8, .late = 3},
      {.ranks = 8, .late = 3, .marked = false},
      {.ranks = 8, .writer = "[rank{}]:", .clocks = 1, .late = 4, .lost = 0.2},
      {.ranks = 4, .writer = "{}: ", .clocks = 5, .late = 2, .lost = 0.5},
      {.ranks = 3, .writer = "node-{}: [default0]:", .late = 6, .lost = 0.5, .marked = false},
      {.ranks = 2, .clocks = 3, .apart = true},
      {.ranks = 4, .writer = "[rank{}]:", .clocks = 2, .lost = 0.3, .apart = true}};
  std::uint64_t seed = 1;
  for (const Program& program : kPrograms) {
    for (const Shape& shape : shapes) {
      for (const int restarts : {0, 1, 3}) {
        expect_truth(program, shape, restarts, seed++);
      }
    }
  }
}

// A step line of torchtitan at hh:mm:ss.
std::string titan_step(const char* rank, const char* time, int step, int rate = 1024) {
  return fmt::format(
      "[rank{}]:2025-10-01 {},140 - root - INFO - step: {:2}  loss: 4.9  memory: 60.00GiB  tps: {} "
      " mfu: 39.45%\n",
      rank, time, step, rate);
}

const std::string kTitanBegin =
    "[rank0]:2025-10-01 01:00:00,000 - root - INFO - Building 1-D device mesh with ['dp'], [8]\n"
    "[rank0]:2025-10-01 01:00:00,000 - root - INFO - Training starts at step 1, with local batch "
    "size 4, global batch size 32, sequence length 1024, total steps 9000\n";

TEST(InterleavedLogs, WhoseLinesAreShuffledHaveNoTimeBelowZero) {
  const LoggedOutages found = outages_of_logs(
      std::vector<ConfigFile>{{"a.log",
                               kTitanBegin + titan_step("0", "01:00:12", 3) +
                                   titan_step("0", "01:00:04", 1) + titan_step("0", "01:00:20", 5) +
                                   titan_step("0", "01:00:08", 2) + titan_step("0", "01:00:16", 4),
                               std::nullopt}});
  EXPECT_TRUE(found.outages.empty());
  EXPECT_DOUBLE_EQ(in_seconds(found.length), 20.0);
}

// 03:00:00 becomes 02:00:00 in the night in which summer time ends.
TEST(InterleavedLogs, SayThatTheClockWasSetBack) {
  const LoggedOutages found = outages_of_logs(
      std::vector<ConfigFile>{{"a.log",
                               kTitanBegin + titan_step("0", "02:59:54", 1) +
                                   titan_step("0", "02:59:58", 2) + titan_step("0", "02:00:02", 3) +
                                   titan_step("0", "02:00:06", 4) + titan_step("0", "02:10:10", 4),
                               std::nullopt}});
  ASSERT_EQ(found.set_back.size(), 1U);
  EXPECT_EQ(found.set_back[0].line, 5);
  ASSERT_EQ(found.outages.size(), 1U);
  EXPECT_DOUBLE_EQ(in_seconds(found.outages[0].outage), 600.0);
  EXPECT_DOUBLE_EQ(in_seconds(found.length), 620.0);
}

// The first step of every rank warms up.
TEST(InterleavedLogs, LeaveOutTheFirstStepOfEveryRank) {
  const auto steps =
      steps_in(kTitanBegin + titan_step("0", "01:00:40", 1, 100) + titan_step("0", "01:00:44", 2) +
                   titan_step("1", "01:00:40", 1, 100) + titan_step("1", "01:00:44", 2) +
                   titan_step("0", "01:00:48", 3),
               ConfigFormat::torchtitan_log);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->count, 3U);
  EXPECT_DOUBLE_EQ(in_seconds(steps->ninetieth), 4.0);
}

}  // namespace
}  // namespace orrery::import_config::testing
