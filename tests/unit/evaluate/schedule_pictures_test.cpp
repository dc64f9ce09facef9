// The pictures of docs/schedules.md are what `orrery export` draws today, and the scenarios behind
// them stand in the relations that the page states.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "sim/answer/report/picture/step_picture.hpp"
#include "sim/base/files/file.hpp"
#include "tests/unit/evaluate/evaluate_fixture.hpp"

namespace orrery::evaluate::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 10'000'000;

report::Evaluation evaluate_scenario(const fs::path& file, bool ticks) {
  Diagnostics diagnostics;
  const auto scenario = scenario::load_file(file, diagnostics);
  EXPECT_TRUE(scenario) << to_string(diagnostics);
  auto evaluation = scenario
                        ? evaluate(*scenario,
                                   {.timelines = true,
                                    .ticks = ticks,
                                    .levers = false,
                                    .search = hardware::ProfileSearch{{std::string(kSourceDir) +
                                                                       "/scenarios/profiles"}}},
                                   diagnostics)
                        : std::nullopt;
  EXPECT_TRUE(evaluation) << to_string(diagnostics);
  return evaluation ? *std::move(evaluation) : report::Evaluation{};
}

std::map<std::string, fs::path> schedule_scenarios() {
  constexpr std::string_view kPrefix = "schedule-";
  std::map<std::string, fs::path> found;
  for (const auto& entry : fs::directory_iterator(std::string(kSourceDir) + "/scenarios")) {
    const std::string name = entry.path().stem().string();
    if (name.starts_with(kPrefix)) {
      found[name.substr(kPrefix.size())] = entry.path();
    }
  }
  return found;
}

TEST(SchedulePictures, AreCommittedAsDrawnAndShownInTheDocumentation) {
  const std::string page = read_file(std::string(kSourceDir) + "/docs/schedules.md", kMostBytes);
  std::set<std::string> schedules;
  for (const auto& [name, file] : schedule_scenarios()) {
    SCOPED_TRACE(name);
    const report::Evaluation evaluation = evaluate_scenario(file, true);
    schedules.insert(evaluation.echo.schedule);
    const std::string picture = "images/schedules/" + name + ".svg";
    EXPECT_TRUE(read_file(std::string(kSourceDir) + "/docs/" + picture, kMostBytes) ==
                report::schedule_svg(evaluation))
        << "run scripts/schedule-pictures";
    EXPECT_NE(page.find("(" + picture + ")"), std::string::npos) << "docs/schedules.md";
  }
  for (const std::string_view name : schedule::kScheduleNames) {
    if (name != "none") {
      EXPECT_TRUE(schedules.contains(std::string(name))) << name << " has no scenario";
    }
  }
}

// Ticks: 8 micro-batches of 32 layers on 4 devices. GPipe and 1F1B take (8 + 3) * 24, interleaved
// (8 * 2 + 3) * 12, ZB-H1 8 * 24 + 3 * 8: none depends on a coefficient.
TEST(SchedulePictures, TicksFollowTheClosedForms) {
  const auto scenarios = schedule_scenarios();
  const auto ticks = [&scenarios](const std::string& name) {
    SimTime end;
    for (const step::Slice& slice : evaluate_scenario(scenarios.at(name), true).step.slices) {
      end = std::max(end, slice.end);
    }
    return end.ns / 1000;
  };
  EXPECT_EQ(ticks("gpipe"), 11 * 24);
  EXPECT_EQ(ticks("1f1b"), 11 * 24);
  EXPECT_EQ(ticks("interleaved"), 19 * 12);
  EXPECT_EQ(ticks("zb-h1"), 8 * 24 + 3 * 8);
}

// One model, eleven orders: what costs memory and what saves waiting.
TEST(SchedulePictures, SchedulesStandInTheirKnownOrder) {
  const auto scenarios = schedule_scenarios();
  std::map<std::string, double> bubble;
  std::map<std::string, double> memory;
  std::map<std::string, double> imbalance;
  for (const auto& [name, file] : scenarios) {
    const report::Evaluation evaluation = evaluate_scenario(file, false);
    bubble[name] = value(evaluation, "bubble_fraction");
    memory[name] = value(evaluation, "peak_memory");
    imbalance[name] =
        in_seconds(evaluation.step.ledger.gpu_time(step::StepCategory::stage_imbalance));
  }
  EXPECT_NEAR(bubble["gpipe"], bubble["1f1b"], 0.02);
  EXPECT_LT(bubble["interleaved"], bubble["1f1b"]);
  EXPECT_LT(bubble["zb-h1"], bubble["1f1b"]);
  EXPECT_LT(bubble["zb-h2"], bubble["zb-h1"]);
  EXPECT_LT(bubble["zb-v"], bubble["zb-h1"]);
  EXPECT_GT(imbalance["1f1b-uneven"], imbalance["1f1b"]);
  EXPECT_GT(memory["gpipe"], memory["1f1b"]);
  EXPECT_GT(memory["eager-1f1b"], memory["1f1b"]);
  EXPECT_GT(memory["interleaved"], memory["1f1b"]);
  EXPECT_GT(memory["looped-bfs"], memory["interleaved"]);
  EXPECT_GT(memory["zb-h2"], memory["zb-h1"]);
  EXPECT_GT(memory["interleaved-combined"], memory["interleaved"]);
  EXPECT_GT(memory["dualpipe"], memory["dualpipev"]);  // weights twice
}

TEST(SchedulePictures, StepDrawsOneRowPerDeviceAndItsCommunication) {
  const std::string svg =
      report::step_svg(evaluate_scenario(schedule_scenarios().at("1f1b-uneven"), false));
  EXPECT_NE(svg.find("device 2: 10 layers"), std::string::npos);
  EXPECT_NE(svg.find("data communication"), std::string::npos);
  EXPECT_EQ(svg.find("device 4"), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace orrery::evaluate::test
