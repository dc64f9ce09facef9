// Entries of measured-runs/2: read as scenarios, whole or as a person would state them.

#include "sim/validate/measured/measured_runs.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/scenario/load.hpp"
#include "tests/checkout.hpp"

namespace orrery::validate {
namespace {

namespace fs = std::filesystem;

const std::string kScenario = R"(    model: {preset: llama3-8b, sequence_length: 8192}
    cluster: {gpu: h100-sxm-80gb, nodes: 2, network: {preset: infiniband-400g}}
    layout: {tensor: 2, pipeline: 2, virtual_stages: 2, schedule: interleaved_combined}
    batch: {global: 128, micro: 2}
    precision: {compute: fp8-tensorwise, parameters: fp8, gradient_dtype: bf16}
    recompute: full
    overlap: {data: false, tensor: true, pipeline: false, bucket: 1GiB}
    software: generic
    software_options: {cuda_graphs: [attn], dropout: true}
)";

std::string entry_text(const std::string& scenario, const std::string& rest) {
  return "format: measured-runs/2\nruns:\n- id: one\n  group: nemo\n  scenario:\n" + scenario +
         rest;
}

class MeasuredRuns : public ::testing::Test {
 protected:
  std::vector<MeasuredRun> read(const std::string& text, bool unstated = false) {
    const auto document = yaml::parse(text, "runs.yaml", {}, diagnostics_);
    EXPECT_TRUE(document.has_value()) << to_string(diagnostics_);
    return document ? read_measured_runs(*document, "runs.yaml", unstated, shelf_, diagnostics_)
                    : std::vector<MeasuredRun>();
  }

  std::string errors_of(const std::string& text) {
    EXPECT_TRUE(read(text).empty());
    return to_string(diagnostics_);
  }

  hardware::ProfileSearch search_ =
      evaluate::profile_search({}, {fs::path(kSourceDir) / "scenarios" / "profiles"});
  ProfileShelf shelf_{search_};
  Diagnostics diagnostics_;
};

// The step of an entry is that of `orrery run` on the same keys.
TEST_F(MeasuredRuns, AreEvaluatedAsScenarios) {
  const auto runs = read(entry_text(kScenario, "  measured: {step_time: 3s}\n"));
  ASSERT_EQ(runs.size(), 1U) << to_string(diagnostics_);
  EXPECT_EQ(runs[0].id, "one");
  EXPECT_EQ(runs[0].group, "nemo");
  EXPECT_EQ(runs[0].run.gpu->name, "h100-sxm-80gb");
  EXPECT_EQ(runs[0].step_time, seconds(3.0));
  const auto outcome = simulate_run(runs[0].run, {});
  ASSERT_TRUE(std::holds_alternative<SimulatedRun>(outcome)) << std::get<std::string>(outcome);
  std::string plain = "format: orrery/1\n" + kScenario;
  Diagnostics fresh;
  for (std::size_t at = plain.find("\n    "); at != std::string::npos; at = plain.find("\n    ")) {
    plain.replace(at, 5, "\n");
  }
  const auto alone = scenario::load_text(plain, "a.yaml", fresh, search_);
  ASSERT_TRUE(alone.has_value()) << to_string(fresh);
  const auto answer = evaluate::evaluate(*alone, {.levers = false, .search = search_}, fresh);
  ASSERT_TRUE(answer.has_value()) << to_string(fresh);
  EXPECT_EQ(answer->step.step_time, std::get<SimulatedRun>(outcome).step.step_time);
}

TEST_F(MeasuredRuns, CountMemoryAsTheirSourceDoes) {
  for (const auto& [word, reading] : {std::pair("allocated", MemoryReading::allocated),
                                      std::pair("reserved", MemoryReading::reserved),
                                      std::pair("device", MemoryReading::device)}) {
    const auto runs = read(entry_text(
        kScenario, std::string("  measured: {step_time: 3s, peak_memory: {value: 40GiB, kind: ") +
                       word + "}}\n"));
    ASSERT_EQ(runs.size(), 1U) << to_string(diagnostics_);
    ASSERT_TRUE(runs[0].memory);
    EXPECT_EQ(runs[0].memory->reading, reading);
    EXPECT_EQ(runs[0].memory->value, gibibytes(40.0));
  }
}

TEST_F(MeasuredRuns, ReportTheirProblemsWithALine) {
  const std::string scenario = R"(    model: {preset: llama3-8b}
    cluster: {gpu: h100, nodes: 1}
    batch: {global: 8}
    sofware: nemo
)";
  EXPECT_EQ(errors_of(entry_text(scenario, "  measured: {step_time: 3}\n  note: x\n")),
            "runs.yaml:10:25: error: runs[0].measured.step_time: `3` has no unit (a time in ns us "
            "ms s min h d, such as 30min)\n"
            "runs.yaml:11:3: error: runs[0].note: unknown key (allowed: id, group, scenario, "
            "measured, assumed, side_by_side, source, confidence, as_stated)\n"
            "runs.yaml:9:5: error: sofware: unknown key (did you mean `software`?)\n");
}

TEST_F(MeasuredRuns, WithAProfileThatCannotBeReadAreLeftOutAlthoughItIsToldOnce) {
  std::string scenario = kScenario;
  scenario.replace(scenario.find("h100-sxm-80gb"), std::string("h100-sxm-80gb").size(), "h101");
  const std::string measured = "  measured: {step_time: 3s}\n";
  const std::string told =
      errors_of(entry_text(scenario, measured) + "- id: two\n  group: nemo\n  scenario:\n" +
                scenario + measured);
  EXPECT_EQ(told.find("cluster.gpu"), told.rfind("cluster.gpu")) << told;
}

// Model, machine, layout, batch, precision, recomputation and the stack's name stay; this stack has
// no recipe that would fill in the rest.
TEST_F(MeasuredRuns, AreStatedAsByAPersonOnDemand) {
  const auto full = read(entry_text(kScenario, "  measured: {step_time: 3s}\n"));
  const auto plain = read(entry_text(kScenario, "  measured: {step_time: 3s}\n"), true);
  ASSERT_EQ(full.size(), 1U) << to_string(diagnostics_);
  ASSERT_EQ(plain.size(), 1U) << to_string(diagnostics_);
  const scenario::Scenario& told = full[0].run.scenario;
  const scenario::Scenario& said = plain[0].run.scenario;
  EXPECT_TRUE(told.step.overlap.tensor);
  EXPECT_EQ(said.model.num_layers, told.model.num_layers);
  EXPECT_EQ(said.layout.tensor, 2);
  EXPECT_EQ(said.layout.virtual_stages, 2);
  EXPECT_EQ(said.batch.micro, 2);
  EXPECT_EQ(said.step.precision.fp8_scaling, model::Fp8Scaling::tensorwise);
  EXPECT_EQ(said.step.recompute.policy, model::Recompute::full);
  EXPECT_EQ(said.software, "generic");
  EXPECT_EQ(said.step.schedule, schedule::ScheduleKind::interleaved);
  EXPECT_TRUE(said.step.overlap.data);
  EXPECT_FALSE(said.step.overlap.tensor);
  EXPECT_FALSE(said.step.bucket);
  EXPECT_FALSE(said.step.fp8_parameters);
  EXPECT_EQ(said.step.gradient_dtype, model::Dtype::bf16);
  EXPECT_FALSE(said.step.experts.cuda_graphs);
  EXPECT_FALSE(said.step.dropout);
}

// A step that is given, and one that GPUs of several types share, predict nothing.
TEST_F(MeasuredRuns, NeedAStepToPredict) {
  EXPECT_NE(errors_of(entry_text(kScenario + "    step: {time: 3s}\n", "  measured: {}\n"))
                .find("scenario: is no step of one type of GPU that can be predicted"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery::validate
