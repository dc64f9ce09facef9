// Tables of metrics as Weights & Biases, TensorBoard and others export them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/import_config/logs/log_scan.hpp"
#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

std::string rows(std::string header, int count, std::string (*row)(int)) {
  for (int i = 1; i <= count; ++i) {
    header += row(i);
  }
  return header;
}

std::string step_time(const std::string& text) {
  const Imported imported = import_texts({{"metrics.csv", text}}, machines(1));
  EXPECT_EQ(imported.problems(), "");
  return imported.value("measured.step_time");
}

TEST(MetricsTable, TakesTheColumnOfTimes) {
  EXPECT_EQ(step_time(rows("time,step,step_time,loss\n", 60,
                           [](int i) { return fmt::format("2026-01-01,{},2.11,3.{}\n", i, i); })),
            "2.11s");
}

// Weights & Biases writes the run before the metric, and its least and largest value behind.
TEST(MetricsTable, ReadsNamesBehindTheRun) {
  EXPECT_EQ(step_time(rows("\"Step\",\"llama, 8B - perf/iter_time_ms\",\"llama, 8B - "
                           "perf/iter_time_ms__MIN\"\n",
                           60, [](int i) { return fmt::format("\"{}\",\"1540\",\"7\"\n", i); })),
            "1.54s");
}

// TensorBoard says when a step ended: 0.5 s apart.
TEST(MetricsTable, TakesDatesWhereThereAreNoTimes) {
  EXPECT_EQ(step_time(rows(
                "Wall time,Step,Value\n", 60,
                [](int i) { return fmt::format("{:.3f},{},2.5\n", 1764000000.0 + 0.5 * i, i); })),
            "0.5s");
}

// Weights & Biases' history as lines of JSON, some of which hold other metrics alone; or as a list.
TEST(MetricsTable, ReadsObjectsOfJson) {
  const auto row = [](int i) {
    return fmt::format(
        "{{\"_step\": {0}, \"perf/step_time\": 1.25, \"loss\": 2.{0}, \"grad_norm\": "
        "\"NaN\"}}\n{{\"_step\": {0}, \"eval/loss\": 2.0}}\n",
        i);
  };
  EXPECT_EQ(step_time(rows("", 60, row)), "1.25s");
  EXPECT_EQ(step_time(rows("[\n", 60,
                           [](int i) {
                             return fmt::format("  {{\"step\": {}, \"timestamp\": {:.2f}}}{}\n", i,
                                                1764000000.0 + 0.75 * i, i < 60 ? "," : "\n]");
                           })),
            "0.75s");
  EXPECT_FALSE(MetricsTable::of("{\"step\": 1, \"step_time\": 2.0}\n")) << "one document";
  EXPECT_FALSE(MetricsTable::of("{\"step\": 1, \"loss\": 2.0}\n{\"step\": 2, \"loss\": 2.0}\n"));
}

TEST(MetricsTable, IsNoneWithoutStepsOrTimes) {
  for (const char* header : {"step,loss\n1,2\n", "loss,step_time\n1,2\n",
                             "a sentence, with words\n", "step,tflops\n1,2\n", ""}) {
    EXPECT_FALSE(MetricsTable::of(header)) << header;
  }
}

// Rows are cut anywhere, and the last one may have no end.
TEST(MetricsTable, ReadsPartsOfAnyLength) {
  const std::string text =
      rows("step,tokens_per_sec\n", 20, [](int i) { return fmt::format("{},{}00\r\n", i, i); }) +
      "21,2100";
  const auto whole = [&text](std::size_t part) {
    auto table = MetricsTable::of(text);
    std::string lines;
    for (std::size_t at = 0; at < text.size(); at += part) {
      lines += table->add(std::string_view(text).substr(at, part));
    }
    return lines + table->end();
  };
  EXPECT_NE(whole(text.size()).find("\"step\": 21, \"tokens/s\": 2100"), std::string::npos);
  for (const std::size_t part : {1U, 3U, 7U, 50U}) {
    EXPECT_EQ(whole(part), whole(text.size()));
  }
}

}  // namespace
}  // namespace orrery::import_config::testing
