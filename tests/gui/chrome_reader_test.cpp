// Trace files: exact times, nesting, names, counters, flows; and one clear sentence for each way in
// which a file can be wrong.

#include "gui/timeline/chrome/chrome_reader.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gui/timeline/store/evaluation_levels.hpp"
#include "sim/answer/report/export/chrome_trace.hpp"
#include "sim/answer/report/export/step_trace.hpp"
#include "sim/answer/report/export/trace_words.hpp"
#include "sim/base/error.hpp"
#include "tests/support.hpp"
#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::timeline {
namespace {

namespace fs = std::filesystem;

class ChromeReader : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path file(const std::string& text) const {
    return folder_.write("trace.json", text);
  }

  [[nodiscard]] ReadResult read(const std::string& text, const ReadOptions& options = {}) const {
    return read_chrome_trace(file(text), options);
  }

  TempFolder folder_;
};

TEST_F(ChromeReader, ReadsTimesToTheNanosecond) {
  const ReadResult result = read(
      R"({"traceEvents":[
      {"ph":"X","pid":1,"tid":2,"ts":1731000000000000.125,"dur":12.375,
       "name":"gemm","cat":"kernel"},
      {"ph":"X","pid":1,"tid":2,"ts":1731000000000020,"dur":0.001,"name":"copy","cat":"gpu_memcpy"}
      ]})");
  ASSERT_EQ(result.problem, "");
  const auto slices = result.store->slices();
  EXPECT_EQ(slices[0].begin(), 0);
  EXPECT_EQ(result.store->duration_of(slices[0]), 12'375);
  EXPECT_EQ(slices[1].begin(), 19'875);
  EXPECT_EQ(result.store->duration_of(slices[1]), 1);
  EXPECT_EQ(slices[0].category(), Category::kernel);
  EXPECT_EQ(slices[1].category(), Category::copy);
}

TEST_F(ChromeReader, UnderstandsNamesBeginsEndsCountersMarksAndFlows) {
  const ReadResult result = read(
      R"([{"ph":"B","pid":"a","tid":"t","ts":0,"name":"outer"},
      {"ph":"B","pid":"a","tid":"t","ts":1,"name":"inner"},
      {"ph":"s","pid":"a","tid":"t","ts":1.5,"id":7,"cat":"ac2g","name":"flow"},
      {"ph":"E","pid":"a","tid":"t","ts":2},
      {"ph":"E","pid":"a","tid":"t","ts":9},
      {"ph":"E","pid":"a","tid":"t","ts":9},
      {"ph":"X","pid":"a","tid":8,"ts":4,"dur":3,
       "name":"ncclDevKernel_AllReduce_Sum","cat":"kernel"},
      {"ph":"f","pid":"a","tid":8,"ts":4,"id":7,"cat":"ac2g","bp":"e","name":"flow"},
      {"ph":"C","pid":"a","ts":5,"name":"memory","args":{"used":3.5}},
      {"ph":"i","pid":"a","tid":"t","ts":6,"name":"checkpoint 4"},
      {"ph":"M","pid":"a","name":"process_name","args":{"name":"python"}},
      {"ph":"M","pid":"a","tid":8,"name":"thread_name","args":{"name":"stream 8"}},
      {"ph":"M","pid":"a","tid":8,"name":"thread_sort_index","args":{"sort_index":-1}},
      {"ph":"X","pid":"a","tid":8,"dur":3,"name":"without a time"}])");
  ASSERT_EQ(result.problem, "");
  const Store& store = *result.store;
  EXPECT_EQ(store.rows()[0].name, "python");
  EXPECT_EQ(store.rows()[1].name, "stream 8");
  EXPECT_EQ(store.slices().size(), 3U);
  EXPECT_EQ(store.slices_of(0)[0].category(), Category::data_reduce);
  ASSERT_EQ(store.counters().size(), 1U);
  EXPECT_EQ(store.counters()[0].value_at(6'000), 3.5);
  ASSERT_EQ(store.marks().size(), 1U);
  EXPECT_EQ(store.marks()[0].kind, MarkKind::checkpoint);
  ASSERT_EQ(store.flows().size(), 1U);
  EXPECT_EQ(store.name_of(store.slices()[store.flows()[0].from]), "inner");
  ASSERT_EQ(result.notes.size(), 2U);
  EXPECT_EQ(result.notes[0], "1 events without a time that can be read were left out");
  EXPECT_EQ(result.notes[1], "1 ends without a begin were left out");
}

TEST_F(ChromeReader, WhatOnlyMetadataNamesGetsNoRow) {
  const ReadResult result = read(
      R"([{"ph":"M","pid":0,"name":"process_name","args":{"name":"python"}},
      {"ph":"M","pid":0,"name":"process_labels","args":{"labels":"GPU 0"}},
      {"ph":"M","pid":1,"name":"process_name","args":{"name":"python"}},
      {"ph":"M","pid":1,"name":"process_sort_index","args":{"sort_index":5}},
      {"ph":"M","pid":0,"tid":3,"name":"thread_sort_index","args":{"sort_index":5}},
      {"ph":"X","pid":0,"tid":7,"ts":1,"dur":2,"name":"gemm","cat":"kernel"}])");
  ASSERT_EQ(result.problem, "");
  ASSERT_EQ(result.store->rows().size(), 2U);
  EXPECT_EQ(result.store->rows()[0].name, "python (GPU 0)");
}

TEST_F(ChromeReader, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(read("").problem, "trace.json: the file is empty");
  EXPECT_EQ(read("{\"other\": 1}").problem,
            "trace.json: not a trace: it has no array `traceEvents`");
  EXPECT_EQ(read("{\"traceEvents\": []}").problem, "trace.json: the trace holds no slices");
  const std::string malformed = read("{\"traceEvents\":[\n{\"ph\":\"X\",}\n]}").problem;
  EXPECT_TRUE(malformed.starts_with("trace.json: not valid JSON at line 2, column 11"))
      << malformed;
  const std::string cut =
      read(R"({"traceEvents":[{"ph":"X","ts":1,"dur":2,"name":"a"},{"ph":"X","ts)").problem;
  EXPECT_EQ(cut, "trace.json: the file is cut off: it ends within or after event 2, at byte 66");
}

TEST_F(ChromeReader, RefusesWhatIsTooLarge) {
  const std::string text = R"([{"ph":"X","ts":1,"dur":2,"name":"a"},{"ph":"X","ts":4,"dur":2}])";
  EXPECT_EQ(read(text, {.most_bytes = 10}).problem,
            "trace.json: the file has 64.0 B, more than the 10.0 B that are read");
  EXPECT_EQ(read(text, {.most_slices = 1}).problem,
            "trace.json: the trace holds more than 1 slices");
  EXPECT_THROW((void)read_chrome_trace(folder_ / "none.json", {}), Error);
  EXPECT_THROW((void)read_chrome_trace(folder_, {}), Error);
}

std::string long_trace(int events) {
  std::string text = "[";
  for (int i = 0; i < events; ++i) {
    text += (i > 0 ? ",\n" : "") +
            (R"({"ph":"X","pid":0,"tid":)" + std::to_string(i % 10) + R"(,"ts":)" +
             std::to_string(i) + R"(,"dur":0.5,"name":"op )" + std::to_string(i % 100) + "\"}");
  }
  return text + "]";
}

TEST_F(ChromeReader, ReportsProgressThatNeverFallsBack) {
  double last = 0.0;
  ReadOptions options;
  options.progress = [&last](double share) {
    EXPECT_GE(share, last);
    last = share;
  };
  const ReadResult result = read(long_trace(50'000), options);
  ASSERT_NE(result.store, nullptr) << result.problem;
  EXPECT_EQ(result.store->slices().size(), 50'000U);
  EXPECT_EQ(result.store->tracks().size(), 10U);
  EXPECT_GT(last, 0.9);
  EXPECT_LE(last, 1.0);
}

TEST_F(ChromeReader, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  ReadOptions options;
  options.stop = stop.get_token();
  const ReadResult result = read(long_trace(20'000), options);
  EXPECT_TRUE(result.cancelled);
  EXPECT_EQ(result.store, nullptr);
  EXPECT_EQ(result.problem, "");
}

report::Evaluation with_slices() {
  report::Evaluation evaluation = report::testing::sample_evaluation();
  const auto slice = [](schedule::TaskKind kind, schedule::Stream stream, int device,
                        std::int64_t start, std::int64_t end) {
    schedule::StepTask task;
    task.kind = kind;
    task.stream = stream;
    task.device = static_cast<std::int16_t>(device);
    task.micro_batch = 3;
    return step::Slice{task, {start}, {end}};
  };
  using schedule::Stream;
  using schedule::TaskKind;
  evaluation.step.slices = {slice(TaskKind::forward, Stream::compute, 0, 0, 1'000'000),
                            slice(TaskKind::send_receive, Stream::p2p, 0, 1'000'000, 1'500'000),
                            slice(TaskKind::forward, Stream::compute, 1, 1'500'000, 2'500'000),
                            slice(TaskKind::backward, Stream::compute, 1, 2'500'000, 4'500'000),
                            slice(TaskKind::backward, Stream::compute, 0, 5'000'000, 7'000'000)};
  evaluation.step.step_time = {7'000'000};
  return evaluation;
}

TEST_F(ChromeReader, ReadsTheTracesThatTheProgramWrites) {
  const report::Evaluation evaluation = with_slices();
  const ReadResult read_back = read(report::to_chrome_trace(report::step_trace(evaluation)));
  ASSERT_EQ(read_back.problem, "");
  const Levels levels = levels_of(evaluation);
  const Store& step = *levels.back().store;
  ASSERT_EQ(read_back.store->slices().size(), step.slices().size());
  for (std::size_t i = 0; i < step.slices().size(); ++i) {
    EXPECT_EQ(step.slices()[i].begin(), read_back.store->slices()[i].begin());
    EXPECT_EQ(step.end_of(step.slices()[i]), read_back.store->end_of(read_back.store->slices()[i]));
    EXPECT_EQ(step.name_of(step.slices()[i]),
              read_back.store->name_of(read_back.store->slices()[i]));
    EXPECT_EQ(step.slices()[i].category(), read_back.store->slices()[i].category());
  }
}

TEST(TraceWords, LeadBackToTasksAndActivities) {
  for (auto i = static_cast<int>(schedule::TaskKind::forward);
       i <= static_cast<int>(schedule::TaskKind::join); ++i) {
    const auto kind = static_cast<schedule::TaskKind>(i);
    EXPECT_EQ(report::task_named(report::task_name({.kind = kind, .micro_batch = 12})), kind);
  }
  for (std::size_t i = 0; i < run::kRunActivityCount; ++i) {
    const auto activity = static_cast<run::RunActivity>(i);
    EXPECT_EQ(report::activity_named(run::to_string(activity)), activity);
  }
  EXPECT_FALSE(report::task_named("forwarding 3"));
  EXPECT_FALSE(report::activity_named("train"));
}

TEST(EvaluationLevels, ConnectMessagesWithWhatSendsAndWhatWaits) {
  const Levels levels = levels_of(with_slices());
  const Store& step = *levels.back().store;
  ASSERT_EQ(step.flows().size(), 2U);
  EXPECT_EQ(step.name_of(step.slices()[step.flows()[0].from]), "forward 3");
  EXPECT_EQ(step.name_of(step.slices()[step.flows()[0].to]), "send 3");
  EXPECT_EQ(step.slices()[step.flows()[1].to].begin(), 1'500'000);
}

// backward 3 of stage 0 adds the last gradients, their reduction follows, and then the optimizer.
TEST(EvaluationLevels, ConnectReductionsWithTheirGradientsAndTheOptimizer) {
  report::Evaluation evaluation = with_slices();
  const auto later = [&](schedule::TaskKind kind, schedule::Stream stream, std::int64_t start) {
    schedule::StepTask task;
    task.kind = kind;
    task.stream = stream;
    task.bucket = schedule::kWholeChunk;
    evaluation.step.slices.push_back({task, {start}, {start + 500'000}});
  };
  later(schedule::TaskKind::gradient_reduce, schedule::Stream::data_parallel_comm, 7'000'000);
  later(schedule::TaskKind::optimizer, schedule::Stream::compute, 7'500'000);
  evaluation.step.step_time = {8'000'000};
  const Levels levels = levels_of(evaluation);
  const Store& step = *levels.back().store;
  std::vector<std::pair<std::string, std::string>> collectives;
  for (const Flow& flow : step.flows()) {
    if (flow.kind == FlowKind::collective) {
      collectives.emplace_back(step.name_of(step.slices()[flow.from]),
                               step.name_of(step.slices()[flow.to]));
    }
  }
  ASSERT_EQ(collectives.size(), 2U);
  EXPECT_EQ(collectives[0].first, "backward 3");
  EXPECT_EQ(collectives[0].second, collectives[1].first);
  EXPECT_EQ(collectives[1].second, "optimizer");
}

TEST(EvaluationLevels, TheStepRepeatsInAllTrainingOfTheRun) {
  report::Evaluation evaluation = with_slices();
  evaluation.timeline.clear();
  using run::RunActivity;
  evaluation.timeline.add({{0}, {70'000'000}, RunActivity::training, -1});
  evaluation.timeline.add({{70'000'000}, {70'000'000}, RunActivity::failure, 0});
  evaluation.timeline.add({{70'000'000}, {90'000'000}, RunActivity::load, 0});
  evaluation.timeline.add({{90'000'000}, {160'000'000}, RunActivity::training, -1});
  const Levels levels = levels_of(evaluation);
  ASSERT_EQ(levels.size(), 2U);
  EXPECT_EQ(levels[0].store->marks().size(), 1U);
  EXPECT_EQ(levels[0].store->marks()[0].kind, MarkKind::failure);
  const Repetition& steps = levels[1].repetition;
  EXPECT_EQ(steps.at(69'999'999)->number, 10);
  EXPECT_FALSE(steps.at(80'000'000).has_value());
  EXPECT_EQ(steps.at(90'000'000)->number, 11);
  EXPECT_EQ(steps.at(98'000'000)->range, (TimeRange{97'000'000, 104'000'000}));
}

}  // namespace
}  // namespace orrery::timeline
