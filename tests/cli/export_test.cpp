// `orrery export` of traces: formats agree, windows and limits hold, sizes are said.

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/checkout.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using ExportTest = CliTest;
using Json = nlohmann::json;

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(Json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

std::size_t count(const std::vector<Json>& lines, const std::string& type) {
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [&type](const Json& line) { return line["type"] == type; }));
}

std::string piped_scenario() {
  std::string text = small_scenario();
  return text.replace(text.find("sharding: zero1"), 15, "pipeline: 4, schedule: 1f1b");
}

TEST_F(ExportTest, AllFormatsSayTheSameCountsAndTheirSize) {
  write("a.yaml", piped_scenario());
  for (const std::string what : {"step", "run"}) {
    std::set<std::string> counts;
    for (const std::string format : {"perfetto", "chrome-trace", "jsonl"}) {
      const Finished finished =
          run("export --format " + format + " --what " + what + " -o out a.yaml");
      EXPECT_EQ(finished.code, 0) << finished.err;
      EXPECT_TRUE(finished.err.starts_with("orrery: " + format + ", ")) << finished.err;
      counts.insert(finished.err.substr(finished.err.find(':', 8)));
    }
    EXPECT_EQ(counts.size(), 1U) << *counts.begin() << *counts.rbegin();
  }
  EXPECT_EQ(run("export -q --format perfetto -o out a.yaml").err, "");
}

// Every metric once with its type, in Prometheus' text format; quantiles and bands are labels.
TEST_F(ExportTest, PrometheusHasAGaugeForEveryMetric) {
  write("a.yaml", small_scenario());
  const std::string text = run("export -q --format prometheus a.yaml").out;
  for (const char* line : {"# TYPE orrery_step_time_s gauge\n", "\norrery_step_time_s{scenario=\"",
                           "\",quantile=\"0.9\"} "}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
  }
  const Json metrics = Json::parse(run("export -q --format json a.yaml").out)["metrics"];
  for (const auto& [key, value] : metrics.items()) {
    EXPECT_NE(text.find("# HELP orrery_" + key + " "), std::string::npos) << key;
  }
}

// No operation is above its roof, and the largest products are limited by arithmetic.
TEST_F(ExportTest, NoOperationIsAboveItsRoof) {
  write("a.yaml", piped_scenario());
  const std::string text = run("export -q --format csv --what roofline a.yaml").out;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "operation,flop_per_byte,flop_per_s,roof_flop_per_s,roof,time_s,share");
  int rows = 0;
  while (std::getline(lines, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) {
      cells.push_back(cell);
    }
    ASSERT_EQ(cells.size(), 7U) << line;
    EXPECT_LE(std::stod(cells[2]), 1.0001 * std::stod(cells[3])) << line;
    ++rows;
  }
  EXPECT_GT(rows, 5) << text;
  EXPECT_NE(text.find("peak"), std::string::npos);
}

// Every failure of the trial with its node; the marks of the trace have the same ones, and any
// number of threads gives the same.
TEST_F(ExportTest, FailuresHaveTheNodesThatTheyHit) {
  const std::string file = std::string(kSourceDir) + "/scenarios/llama3-405b-16k.yaml";
  const std::string what = "export -q --format jsonl --trial 2 --what ";
  const std::string text = run(what + "failures -j 1 " + file).out;
  EXPECT_EQ(text, run(what + "failures -j 2 " + file).out);
  const auto rows = lines_of(text);
  std::vector<Json> marks;
  for (const Json& line : lines_of(run(what + "run " + file).out)) {
    if (line["type"] == "mark") {
      marks.push_back(line);
    }
  }
  ASSERT_GT(rows.size(), 300U);
  ASSERT_EQ(marks.size(), rows.size()) << "a failure of this scenario hits one node";
  std::set<std::int64_t> nodes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_TRUE(rows[i]["node"].is_number_integer()) << rows[i];
    EXPECT_EQ(rows[i]["node"], marks[i]["arguments"]["node"]);
    EXPECT_EQ(rows[i]["cause"], marks[i]["name"]);
    EXPECT_NEAR(rows[i]["at_s"].get<double>(), marks[i]["at_ns"].get<double>() * 1e-9, 1e-6);
    nodes.insert(rows[i]["node"].get<std::int64_t>());
  }
  EXPECT_GT(nodes.size(), 300U);
  EXPECT_LT(*nodes.rbegin(), 2048 + 32);
  const std::string csv = run("export -q --format csv --what failures " + file).out;
  EXPECT_TRUE(csv.starts_with("at_s,cause,category,scope,unit,node,leaves,replaced_by,back_s\n"));
  const Finished without = run("export --format csv --what failures " + std::string(kSourceDir) +
                               "/scenarios/schedule-zb-v.yaml");
  EXPECT_EQ(without.code, 3);
  EXPECT_NE(without.err.find("there is no run to export"), std::string::npos) << without.err;
}

TEST_F(ExportTest, MessagesAndGradientsAreFlowsOfTheStep) {
  write("a.yaml", piped_scenario());
  const auto lines = lines_of(run("export -q --format jsonl --what step a.yaml").out);
  std::set<std::string> flows;
  std::vector<Json> slices;
  for (const Json& line : lines) {
    if (line["type"] == "slice") {
      slices.push_back(line);
    }
  }
  for (const Json& line : lines) {
    if (line["type"] == "flow") {
      flows.insert(line["name"]);
      std::int64_t before = -1;
      for (const Json& slice : line["slices"]) {
        const std::int64_t begin = slices.at(slice.get<std::size_t>())["begin_ns"];
        EXPECT_GE(begin, before) << line;
        before = begin;
      }
    }
  }
  EXPECT_TRUE(flows.contains("message"));
  EXPECT_TRUE(flows.contains("gradients"));
  EXPECT_GT(count(lines, "sample"), 10U);
}

TEST_F(ExportTest, TheRunHasFailuresSparesAndDollars) {
  std::string text = small_scenario();
  write("a.yaml", text.replace(text.find("0.05/d"), 6, "2/d"));
  const auto lines = lines_of(run("export -q --format jsonl --what run a.yaml").out);
  std::set<std::string> tracks;
  for (const Json& line : lines) {
    if (line.contains("track")) {
      tracks.insert(line["track"]);
    }
  }
  for (const std::string track :
       {"job/training", "job/checkpoints", "job/recovery", "job/failures", "job/spare nodes",
        "job/nodes in repair", "job/dollars per hour"}) {
    EXPECT_TRUE(tracks.contains(track)) << track;
  }
  EXPECT_GT(count(lines, "mark"), 0U);
  EXPECT_GT(count(lines, "flow"), 0U);
}

TEST_F(ExportTest, WindowsAndLimitsHoldAndAreSaid) {
  write("a.yaml", small_scenario());
  const std::string base = "export --format jsonl --what run ";
  const auto all = lines_of(run(base + "-q a.yaml").out);
  const Finished windowed = run(base + "--window 2d:3d a.yaml");
  const auto part = lines_of(windowed.out);
  EXPECT_LT(count(part, "slice"), count(all, "slice"));
  constexpr std::int64_t kDay = 86'400'000'000'000;
  for (const Json& line : part) {
    if (line["type"] == "slice") {
      const std::int64_t begin = line["begin_ns"];
      const std::int64_t length = line["duration_ns"];
      EXPECT_LT(begin, 3 * kDay);
      EXPECT_GT(begin + length, 2 * kDay);
    }
  }
  EXPECT_TRUE(has(windowed.err, " slices are outside the window"));
  const Finished limited = run(base + "--max-slices 100 a.yaml");
  EXPECT_LE(count(lines_of(limited.out), "slice"), 100U);
  EXPECT_EQ(count(lines_of(limited.out), "mark"), count(all, "mark")) << "failures stay";
  EXPECT_TRUE(has(limited.err, "were merged with their neighbours (--max-slices 0 keeps all"));
}

TEST_F(ExportTest, OddWindowsAreRefused) {
  write("a.yaml", small_scenario());
  const auto message = [this](const std::string& window) {
    const Finished finished = run("export --format perfetto --window " + window + " a.yaml");
    EXPECT_EQ(finished.code, 2);
    return finished.err;
  };
  EXPECT_EQ(message("2s"), "orrery: export: --window 2s has no colon between its ends (2s:3.5s)\n");
  EXPECT_EQ(message("3s:2s"),
            "orrery: export: --window 3s:2s is empty: it ends before it begins\n");
  EXPECT_EQ(message("2:3s"),
            "orrery: export: --window 2:3s: `2` is no time (2s:3.5s, 10d:, :30min)\n");
  EXPECT_EQ(run("export --format perfetto --max-slices -1 a.yaml").code, 2);
  EXPECT_EQ(run("export --format jsonl --what all a.yaml").code, 2);
}

TEST_F(ExportTest, TablesAsJsonLines) {
  write("a.yaml", small_scenario());
  const auto metrics = lines_of(run("export --format jsonl a.yaml").out);
  EXPECT_EQ(metrics[0]["metric"], "step_time_s");
  EXPECT_EQ(metrics[0]["scenario"], "Small");
  EXPECT_EQ(lines_of(run("export --format jsonl --what memory a.yaml").out)[0]["stage"], 0);
  EXPECT_EQ(lines_of(run("export --format jsonl --what ledger a.yaml").out)[0]["ledger"], "step");
}

// Every key that the launch script says comes back, and so the step.
TEST_F(ExportTest, ALaunchScriptIsReadBackWithTheSameStep) {
  const std::string head =
      "format: orrery/1\nname: Round\ncluster: {preset: dgx-h100, nodes: 2}\n"
      "software: {name: megatron-core, recipe: plain}\n";
  const std::vector<std::string> scenarios = {
      head +
          "model: llama3-8b\nbatch: {global: 64}\nprecision: fp8-tensorwise\n"
          "overlap: {tensor: true, bucket: 64MiB}\nrecompute: {layers: 2}\n"
          "layout: {tensor: 2, sequence_parallel: true, context: 2, pipeline: 2, virtual_stages: "
          "4,\n"
          "         sharding: zero1}\n",
      head +
          "model: qwen3-30b-a3b\nbatch: {global: 64, micro: 2}\nlayout: {expert: 8, sharding: "
          "zero1}\n"
          "software_options: {expert_dispatcher: deepep, cuda_graphs: [moe_router]}\n"
          "recompute: {modules: [layernorm, moe_act]}\n"};
  for (const std::string& scenario : scenarios) {
    SCOPED_TRACE(scenario);
    write("a.yaml", scenario);
    const Finished written = run("export --format megatron -o train.sh a.yaml");
    ASSERT_EQ(written.code, 0) << written.err;
    const Finished back =
        run("import -q train.sh --gpu h100-sxm-80gb --nodes 2 --network infiniband-400g "
            "--set software=megatron-core -o back.yaml");
    ASSERT_EQ(back.code, 0) << back.err << read("train.sh");
    const auto step = [this](const std::string& file) {
      return Json::parse(run("run -q --json " + file).out)["metrics"]["step_time_s"]["value"];
    };
    EXPECT_EQ(step("back.yaml"), step("a.yaml")) << read("back.yaml");
  }
}

TEST_F(ExportTest, WhatMegatronHasNoArgumentForIsRefusedByItsKey) {
  const Finished done = run("export --format megatron schedule-dualpipe");
  EXPECT_EQ(done.code, 3);
  EXPECT_NE(done.err.find("layout.schedule: Megatron-LM has no argument for dualpipe"),
            std::string::npos)
      << done.err;
  EXPECT_EQ(done.out, "");
  EXPECT_EQ(run("export --format megatron --what step one-gpu").code, 2);
}

}  // namespace
}  // namespace orrery::cli::testing
