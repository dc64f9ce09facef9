// `orrery compare SCENARIO TRACE...`: the screen, the JSON, and a sentence for whatever is wrong.

#include <nlohmann/json.hpp>

#include "tests/cli/cli_fixture.hpp"
#include "tests/unit/trace/kineto_writer.hpp"

namespace orrery::cli {
namespace {

using testing::CliTest;
using testing::Finished;
using testing::small_scenario;
using trace::testing::KinetoWriter;
using Json = nlohmann::json;

class CompareTraces : public CliTest {
 protected:
  CompareTraces() { scenario_ = write("scenario.yaml", small_scenario()); }

  // Two steps of 2 ms, half of it a GEMM.
  std::string trace_of(int rank) {
    KinetoWriter writer(rank, 16);
    for (int step = 1; step < 3; ++step) {
      const double begin = 2000.0 * step;
      writer.annotation("ProfilerStep#" + std::to_string(step), begin, 2000.0)
          .kernel("nvjet_hsh", begin, 1000.0)
          .kernel("ncclDevKernel_AllReduce", begin + 1000.0, 1000.0, {.stream = 20});
    }
    return write("rank" + std::to_string(rank) + ".json.gz", trace::testing::packed(writer.text()));
  }

  [[nodiscard]] Finished compare(const std::string& arguments) const {
    return run("compare --trials 1 " + scenario_ + " " + arguments);
  }

  std::string scenario_;
};

TEST_F(CompareTraces, SetsTheMeasuredStepBesideThePredictedOne) {
  const Finished finished = compare(trace_of(0) + " " + trace_of(1));
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(finished.out.starts_with("The measured step takes 2.00 ms, the predicted one"))
      << finished.out;
  EXPECT_NE(finished.out.find("Measured: 4 steps of 2 ranks"), std::string::npos) << finished.out;
  EXPECT_NE(finished.out.find("data, all_reduce"), std::string::npos) << finished.out;
}

TEST_F(CompareTraces, JsonHoldsEveryStepOfEveryRankAndAddsUp) {
  const Finished finished = compare("--json " + trace_of(0) + " " + trace_of(1));
  ASSERT_EQ(finished.code, 0) << finished.err;
  const Json out = Json::parse(finished.out);
  EXPECT_EQ(out["schema"], "orrery-comparison/1");
  EXPECT_EQ(out["kind"], "measured");
  EXPECT_EQ(out["ranks"].size(), 2U);
  EXPECT_EQ(out["ranks"][1]["steps"].size(), 2U);
  EXPECT_DOUBLE_EQ(out["measured_step_s"].get<double>(), 0.002);
  double predicted = 0.0;
  double measured = 0.0;
  for (const Json& row : out["step_ledger"]) {
    predicted += row["predicted_s"].get<double>();
    measured += row["measured_s"].get<double>();
  }
  EXPECT_NEAR(predicted, out["predicted_step_s"].get<double>(), 1e-9);
  EXPECT_NEAR(measured, 0.002, 1e-12);
}

// A category that was measured takes its factor along; the others are the model's.
TEST_F(CompareTraces, ProjectsTheMeasuredFactorsOntoAnotherJob) {
  const Finished finished =
      compare("--json " + trace_of(0) + " --project training.steps=7 --project name=larger");
  ASSERT_EQ(finished.code, 0) << finished.err;
  const Json out = Json::parse(finished.out);
  const Json& projection = out["projection"];
  double sum = 0.0;
  for (const Json& row : projection["step_ledger"]) {
    double factor = 1.0;
    for (const Json& here : out["step_ledger"]) {
      const double predicted = here["predicted_s"].get<double>();
      const double measured = here["measured_s"].get<double>();
      if (here["category"] == row["category"] && measured > 0.01 * 0.002 &&
          predicted > 0.01 * out["predicted_step_s"].get<double>()) {
        factor = measured / predicted;  // the job is the same: back to what was measured
        EXPECT_NEAR(row["projected_s"].get<double>(), measured, 1e-9);
      }
    }
    EXPECT_NEAR(row["factor"].get<double>(), factor, 1e-9) << row;
    sum += row["projected_s"].get<double>();
  }
  EXPECT_NEAR(sum, projection["projected_step_s"].get<double>(), 1e-9);
  const Finished text = compare(trace_of(0) + " --project training.steps=7");
  EXPECT_NE(text.out.find("Projected to training.steps=7: "), std::string::npos) << text.out;
  EXPECT_EQ(compare(trace_of(0) + " --project layout.nothing=7").code, 3);
  EXPECT_EQ(run("compare --project batch.micro=1 " + scenario_ + " " + scenario_).code, 2);
}

// Four nodes in place of two: the batch of 64 becomes 128, and the answer is that of compare.
TEST_F(CompareTraces, ProjectTakesTheBatchAlongWithTheNodes) {
  const std::string trace = trace_of(0);
  const Finished projected =
      run("project --trials 1 --json " + trace + " --nodes 4 --config " + scenario_);
  ASSERT_EQ(projected.code, 0) << projected.err;
  EXPECT_EQ(
      projected.out,
      compare("--json " + trace + " --project cluster.nodes=4 --project batch.global=128").out);
  const Finished stated = run("project --trials 1 --json " + trace +
                              " --nodes 4 --set batch.global=64 --config " + scenario_);
  EXPECT_EQ(Json::parse(stated.out)["projection"]["changes"],
            (Json{"cluster.nodes=4", "batch.global=64"}));
}

// Files of another program: the GPUs are those of the trace, what is missing is asked for.
TEST_F(CompareTraces, ProjectImportsWhatDescribesTheTracedJob) {
  write("config.json",
        R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
            "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
            "vocab_size": 128256, "torch_dtype": "bfloat16"})");
  write("ds.json", R"({"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4,
                       "zero_optimization": {"stage": 2}, "bf16": {"enabled": true}})");
  const std::string asked = "project --trials 1 " + trace_of(0) +
                            " --config config.json --config ds.json --nodes 4"
                            " --here model.sequence_length=8192 --here recompute=full";
  const Finished missing = run(asked);
  EXPECT_EQ(missing.code, 3);
  EXPECT_NE(missing.err.find("--gpu NAME"), std::string::npos) << missing.err;
  const Finished done = run(asked + " --gpu h100-sxm-80gb --network infiniband-400g");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("Projected to cluster.nodes=4, batch.global=128: "), std::string::npos)
      << done.out;
}

TEST_F(CompareTraces, OneStepCanBeChosen) {
  EXPECT_EQ(compare("--step 2 " + trace_of(0)).code, 0);
  const Finished none = compare("--step 9 " + trace_of(0));
  EXPECT_EQ(none.code, 3);
  EXPECT_EQ(none.err,
            "orrery: the traces have no step 9; they have ProfilerStep#1, ProfilerStep#2\n");
}

TEST_F(CompareTraces, SaysWhatIsWrongWithATrace) {
  const std::string cut = write("cut.json", R"({"traceEvents": [{"ph": "X", "name": "a", "ts")");
  EXPECT_EQ(compare(cut).code, 3);
  EXPECT_EQ(compare(cut).err,
            "orrery: cut.json: the file is cut off: it ends within or after event 1, at byte 46\n");
  const std::string empty = write("empty.json", R"({"traceEvents": []})");
  EXPECT_EQ(compare(empty).code, 3);
  EXPECT_EQ(compare(path("gone.json")).code, 6);
}

TEST_F(CompareTraces, ASavedAnswerIsComparedAsItsScenarioIs) {
  ASSERT_EQ(run("run --trials 1 --json -o saved.json " + scenario_).code, 0);
  const Finished fresh = run("compare --trials 1 --json " + scenario_ + " " + scenario_);
  const Finished saved = run("compare --trials 1 --json " + path("saved.json") + " " + scenario_);
  ASSERT_EQ(saved.code, 0) << saved.err;
  const Json expected = Json::parse(fresh.out);
  const Json found = Json::parse(saved.out);
  EXPECT_EQ(found["metrics"], expected["metrics"]);
  EXPECT_TRUE(found["error"].is_null()) << "a saved answer does not hold its scenario";
  EXPECT_EQ(expected["error"]["relative"], 0.0) << "one step twice";
  ASSERT_EQ(found["run_ledger"].size(), expected["run_ledger"].size());
  write("cut.json", read("saved.json").substr(0, 500));
  const Finished cut = run("compare " + scenario_ + " cut.json");
  EXPECT_EQ(cut.code, 3);
  EXPECT_EQ(cut.err, "orrery: cut.json: the JSON is cut off\n");
}

TEST_F(CompareTraces, ArgumentsThatMakeNoSenseAreUsageErrors) {
  EXPECT_EQ(compare(trace_of(0) + " --group mesh_tp").code, 2);
  EXPECT_EQ(compare(trace_of(0) + " --group mesh_tp=sideways").code, 2);
  EXPECT_EQ(compare(scenario_ + " --step 3").code, 2);
  EXPECT_EQ(compare(trace_of(0) + " " + scenario_).code, 2);
  EXPECT_EQ(run("compare " + trace_of(0) + " " + trace_of(1)).code, 2);
}

}  // namespace
}  // namespace orrery::cli
