#include "sim/answer/evaluate/evaluate.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <stop_token>

#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/answer/report/files/json_report.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/answer/report/trial_choice.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/evaluate/evaluate_fixture.hpp"

namespace orrery::evaluate::test {
namespace {

TEST(Evaluate, EveryShippedScenarioMeetsItsExpectationsWithoutAWarning) {
  int scenarios = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(kSourceDir) + "/scenarios")) {
    if (entry.path().extension() != ".yaml") {
      continue;
    }
    ++scenarios;
    SCOPED_TRACE(entry.path().string());
    Diagnostics diagnostics;
    const auto scenario = scenario::load_file(entry.path(), diagnostics);
    ASSERT_TRUE(scenario) << to_string(diagnostics);
    const auto evaluation = evaluate(*scenario, {.levers = false}, diagnostics);
    ASSERT_TRUE(evaluation) << to_string(diagnostics);
    EXPECT_TRUE(diagnostics.all().empty()) << to_string(diagnostics);
    EXPECT_FALSE(evaluation->expectations.empty());
    for (const report::ExpectationResult& result : evaluation->expectations) {
      EXPECT_TRUE(result.passed()) << result.text << ": " << result.detail;
    }
    double failures = 0.0;
    for (const report::CauseRow& row : report::cause_rows(*evaluation)) {
      failures += row.failures;
    }
    if (evaluation->run) {
      EXPECT_NEAR(failures, value(*evaluation, "failures"), 1e-6);
    }
  }
  EXPECT_GE(scenarios, 10);
}

// 16,000 GPUs x 720 h x $4 = $46.08M; one percent of it, what a point of MFU is worth when the MFU
// is 100 points, is $461k. At an MFU of m the same point is worth 1 / (m + 1 point) of the cost.
TEST(Evaluate, ThirtyDaysOf16000GpusCostFortySixMillion) {
  const std::string text = R"(format: orrery/1
name: thirty days
model: {preset: llama3-8b}
cluster: {gpu: h100-sxm-80gb, nodes: 2000, gpus_per_node: 8, network: {preset: clos-400g}}
layout: {sharding: zero1}
batch: {global: 16000, micro: 1}
step: {time: 10s}
training: {duration: 30d}
prices: {gpu_hour: $4/h}
simulation: {trials: 1}
)";
  const report::Evaluation evaluation = must_evaluate(text);
  EXPECT_NEAR(value(evaluation, "cost"), 46'080'000.0, 1.0);
  EXPECT_NEAR(value(evaluation, "cost") / 100.0, 461'000.0, 500.0);
  EXPECT_NEAR(value(evaluation, "gpu_hours"), 11'520'000.0, 0.1);
  const double mfu = value(evaluation, "mfu");
  bool found = false;
  for (const report::Lever& lever : evaluation.levers) {
    if (lever.change == "one point of MFU more") {
      found = true;
      EXPECT_NEAR(in_dollars(lever.cost_delta), -46'080'000.0 * 0.01 / (mfu + 0.01), 46'080.0);
    }
  }
  EXPECT_TRUE(found);
}

TEST(Evaluate, AGivenStepTimeRestsOnTheScenario) {
  const std::string text =
      replaced(kBase, "software: megatron-core", "software: megatron-core\nstep: {time: 10s}");
  const report::Evaluation evaluation = must_evaluate(text);
  EXPECT_DOUBLE_EQ(value(evaluation, "step_time"), 10.0);
  EXPECT_TRUE(evaluation.step.given);
  const auto given = static_cast<std::size_t>(SourceKind::given);
  EXPECT_DOUBLE_EQ(in_seconds(evaluation.step.by_source[given]), 640.0);  // 64 GPUs x 10 s
}

TEST(Evaluate, SaysWhenAStatedStepIsFasterThanThePeak) {
  const auto says = [](const std::string& time, const std::string& words) {
    const report::Evaluation evaluation = must_evaluate(replaced(
        kBase, "software: megatron-core", "software: megatron-core\nstep: {time: " + time + "}"));
    return std::any_of(
        evaluation.caveats.begin(), evaluation.caveats.end(),
        [&](const std::string& caveat) { return caveat.find(words) != std::string::npos; });
  };
  const double whole =
      10.0 * value(must_evaluate(replaced(kBase, "software: megatron-core",
                                          "software: megatron-core\nstep: {time: 10s}")),
                   "hfu");
  EXPECT_TRUE(says(std::to_string(whole * 0.99) + "s", "times their dense peak"));
  EXPECT_FALSE(says(std::to_string(whole * 1.5) + "s", "dense peak"));
}

TEST(Evaluate, AStatedStepHasALength) {
  Diagnostics diagnostics;
  const std::string text =
      replaced(kBase, "software: megatron-core", "software: megatron-core\nstep: {time: 1e14s}");
  EXPECT_FALSE(scenario::load_text(text, "a.yaml", diagnostics));
  EXPECT_NE(to_string(diagnostics).find("step.time"), std::string::npos);
}

TEST(Evaluate, ThreadsDoNotChangeAnyByte) {
  const std::string one = report::to_json(must_evaluate(kBase, {.threads = 1}));
  EXPECT_EQ(one, report::to_json(must_evaluate(kBase, {.threads = 2})));
  EXPECT_EQ(one, report::to_json(must_evaluate(kBase, {.threads = 5})));
}

TEST(Evaluate, TheSeedDecidesTheDraws) {
  const double a = value(must_evaluate(kBase), "finish_time");
  EXPECT_EQ(a, value(must_evaluate(kBase, {.seed = 7}), "finish_time"));
  EXPECT_NE(a, value(must_evaluate(kBase, {.seed = 8}), "finish_time"));
}

TEST(Evaluate, BrokenLayoutRulesPointAtTheirKeys) {
  Diagnostics diagnostics;
  EXPECT_FALSE(evaluate_text(replaced(kBase, "tensor: 2", "tensor: 3"), diagnostics));
  EXPECT_NE(to_string(diagnostics)
                .find("test.yaml:5:18: error: layout.tensor: 3 does not divide "
                      "model.num_attention_heads = 32 (remainder 2)"),
            std::string::npos)
      << to_string(diagnostics);
}

TEST(Evaluate, AnUnknownStackDoesNotHideABrokenLayout) {
  const std::string text = replaced(kBase, "software: megatron-core\n", "software: no-stack\n");
  Diagnostics diagnostics;
  EXPECT_FALSE(evaluate_text(replaced(text, "tensor: 2", "tensor: 3"), diagnostics));
  const std::string messages = to_string(diagnostics);
  EXPECT_NE(messages.find("error: software: `no-stack` is not a known"), std::string::npos)
      << messages;
  EXPECT_NE(messages.find("error: layout.tensor: 3 does not divide"), std::string::npos)
      << messages;
}

TEST(Evaluate, EveryPrecisionHasItsOwnStepTimeAndNeedsItsUnits) {
  const auto on = [](const char* gpu, const char* precision) {
    return replaced(replaced(kBase, "gpu: h100-sxm-80gb", std::string("gpu: ") + gpu),
                    "precision: bf16", std::string("precision: ") + precision);
  };
  const auto time = [&on](const char* gpu, const char* precision) {
    return value(must_evaluate(on(gpu, precision), {.levers = false}), "step_time");
  };
  // Hopper: one scale of past steps is the cheapest; then its maximum is read; then blocks.
  EXPECT_LT(time("h100-sxm-80gb", "fp8-delayed"), time("h100-sxm-80gb", "fp8-tensorwise"));
  EXPECT_LT(time("h100-sxm-80gb", "fp8-tensorwise"), time("h100-sxm-80gb", "fp8-block"));
  EXPECT_LT(time("h100-sxm-80gb", "fp8-tensorwise"), time("h100-sxm-80gb", "fp8-rowwise"));
  EXPECT_LT(time("h100-sxm-80gb", "fp8-block"), time("h100-sxm-80gb", "bf16"));
  EXPECT_EQ(time("h100-sxm-80gb", "fp8-current"), time("h100-sxm-80gb", "fp8-tensorwise"));
  // Without tensor cores a sixth of their rate and less; with tf32 half, over twice the bytes.
  EXPECT_GT(time("h100-sxm-80gb", "tf32"), 1.5 * time("h100-sxm-80gb", "bf16"));
  EXPECT_GT(time("h100-sxm-80gb", "fp32"), 3.0 * time("h100-sxm-80gb", "tf32"));
  EXPECT_LT(time("b200-sxm", "mxfp8"), time("b200-sxm", "bf16"));
  EXPECT_LT(time("b200-sxm", "nvfp4"), time("b200-sxm", "mxfp8"));
  Diagnostics diagnostics;
  EXPECT_FALSE(evaluate_text(on("h100-sxm-80gb", "mxfp8"), diagnostics));
  EXPECT_NE(to_string(diagnostics)
                .find("error: precision: h100-sxm-80gb has no units for scales of 32 values "
                      "(MXFP8), which came with Blackwell"),
            std::string::npos)
      << to_string(diagnostics);
  Diagnostics no_fp4;
  EXPECT_FALSE(evaluate_text(on("h100-sxm-80gb", "nvfp4"), no_fp4));
  EXPECT_NE(to_string(no_fp4).find("h100-sxm-80gb has no fp4 rate"), std::string::npos);
}

TEST(Evaluate, ExpectationErrorsPointAtTheirLine) {
  Diagnostics diagnostics;
  const std::string text = std::string(kBase) + "expect:\n  - mfu >= 0.1\n  - goodputt >= 0.9\n";
  EXPECT_FALSE(evaluate_text(text, diagnostics));
  EXPECT_EQ(to_string(diagnostics),
            "test.yaml:21:5: error: expect[1]: unknown metric `goodputt` in `goodputt >= 0.9` (did "
            "you mean `goodput`?)\n");
}

TEST(Evaluate, NotFittingIsAnAnswerWithItsReason) {
  const report::Evaluation evaluation = must_evaluate(replaced(
      replaced(kBase, "preset: llama3-8b", "preset: llama3-405b"), "tokens: 300B", "tokens: 1B"));
  EXPECT_FALSE(evaluation.feasible);
  ASSERT_EQ(evaluation.reasons.size(), 1U);
  EXPECT_NE(evaluation.reasons[0].find("short by"), std::string::npos);
  EXPECT_LT(value(evaluation, "memory_headroom"), 0.0);
}

// A stated step in which the GPUs would have to work beyond their peak is said to be one.
TEST(Evaluate, AGivenStepTimeBeyondThePeakIsSaidWithTheLeastTime) {
  const auto with_step = [](std::string_view time) {
    return must_evaluate(
        replaced(kBase, "software:", fmt::format("step: {{time: {}}}\nsoftware:", time)),
        {.levers = false});
  };
  EXPECT_TRUE(with_step("10s").caveats.empty());
  const report::Evaluation evaluation = with_step("10ms");
  ASSERT_EQ(evaluation.caveats.size(), 1U);
  EXPECT_TRUE(
      evaluation.caveats[0].starts_with("in a step of 10.0 ms, as stated, the GPUs would "
                                        "work at "))
      << evaluation.caveats[0];
}

TEST(Evaluate, AnswersSayWhatWasAssumedAndWhatTheOtherChoiceGives) {
  const std::string plain = replaced(kBase, "software: megatron-core\n",
                                     "software: {name: megatron-core, recipe: plain}\n");
  EXPECT_TRUE(must_evaluate(plain).assumed.empty());
  const report::Evaluation calm =
      must_evaluate(replaced(plain, "failures: {node_rate: 0.05/d, job_rate: 0.1/d}\n", ""));
  ASSERT_EQ(calm.assumed.size(), 1U);
  EXPECT_NE(calm.assumed[0].find("nothing fails"), std::string::npos);
  EXPECT_NE(calm.assumed[0].find("with `failures: llama3-2024` the goodput is "), std::string::npos)
      << calm.assumed[0];
  const report::Evaluation stack =
      must_evaluate(replaced(kBase, "software: megatron-core\n", "software: {recipe: plain}\n"));
  ASSERT_EQ(stack.assumed.size(), 1U);
  EXPECT_TRUE(stack.assumed[0].starts_with(
      "software megatron-core, the usual one for this layout, as none is stated; with nemo a step "
      "takes "))
      << stack.assumed[0];
  EXPECT_TRUE(must_evaluate(replaced(kBase, "software: megatron-core\n", ""), {.levers = false})
                  .assumed.empty());
}

TEST(Evaluate, SaysThatRestartsTakeNoTimeWhereNoneIsStated) {
  const std::string plain = replaced(kBase, "software: megatron-core\n",
                                     "software: {name: megatron-core, recipe: plain}\n");
  const std::string line =
      "recovery: {detect: 10min, diagnose: 10min, reschedule: 5min, communicator_init: 1min, "
      "warm_up: 2min}\n";
  const report::Evaluation silent = must_evaluate(replaced(plain, line, ""));
  ASSERT_EQ(silent.assumed.size(), 1U);
  EXPECT_TRUE(silent.assumed[0].starts_with(
      "a restart takes no longer than reading the checkpoint, as no recovery is stated; with "
      "`recovery: megascale-2024` the goodput is "))
      << silent.assumed[0];
  // Stated, or taking time by what the failures say.
  EXPECT_TRUE(must_evaluate(replaced(plain, line, "recovery: {load: 1min}\n")).assumed.empty());
  const std::string of_cause =
      replaced(replaced(plain, line, ""), "failures: {node_rate: 0.05/d, job_rate: 0.1/d}",
               "failures: {node_rate: 0.05/d, causes: [{name: crash, weight: 1, recovery: {detect: "
               "5min}}]}");
  EXPECT_TRUE(must_evaluate(of_cause).assumed.empty());
}

TEST(Evaluate, LeversOfWhatDoesNotFitNeedNoMoreMemory) {
  constexpr std::string_view kTooLarge = R"(format: orrery/1
model: {preset: smollm3-3b}
cluster: {gpu: rtx-4090, nodes: 1, gpus_per_node: 8, network: ethernet-25g}
layout: {sharding: zero2}
batch: {global: 256, micro: 1}
precision: bf16
software: torchtitan
)";
  const report::Evaluation evaluation = must_evaluate(kTooLarge);
  EXPECT_FALSE(evaluation.feasible);
  for (const report::SwitchLever& lever : evaluation.switches) {
    EXPECT_NE(lever.key, "batch.micro");
  }
}

// Twice one spare is one more, which has a line of its own.
TEST(Evaluate, LeversSayEveryNumberOfSparesOnce) {
  const auto says = [](std::string_view spares, std::string_view change) {
    const report::Evaluation evaluation =
        must_evaluate(replaced(replaced(kBase, "{spares: 1, repair_time: 2d}",
                                        fmt::format("{{spares: {}, repair_time: 20d}}", spares)),
                               "trials: 200", "trials: 20"));
    return std::ranges::any_of(evaluation.levers,
                               [change](const auto& lever) { return lever.change == change; });
  };
  EXPECT_TRUE(says("1", "one more spare node"));
  EXPECT_FALSE(says("1", "twice as many spare nodes"));
  EXPECT_TRUE(says("2", "twice as many spare nodes"));
}

// The measurement that tells most comes first, with the command that makes it.
TEST(Evaluate, SaysWhichCoefficientsAreWorthMeasuring) {
  const report::Evaluation evaluation = must_evaluate(kBase);
  ASSERT_TRUE(evaluation.band);
  const std::vector<report::StepDoubt>& doubts = evaluation.band->doubts;
  ASSERT_EQ(doubts.size(), 2U);
  EXPECT_EQ(doubts[0].coefficient, "rate of matrix products");
  EXPECT_EQ(doubts[0].measured_by, "orrery calibrate --scenario");
  EXPECT_GT(doubts[0].effect, doubts[1].effect);
  for (const report::StepDoubt& doubt : doubts) {
    EXPECT_GT(doubt.effect, 0.0);
    EXPECT_LE(doubt.effect, doubt.error * 1.01);  // a part of the step moves it by less than itself
  }
  EXPECT_FALSE(must_evaluate(kBase, {.levers = false}).band);
}

// What report/metrics.hpp says of each metric: a step of a tenth more makes the run a tenth longer,
// to first order, and leaves the goodput where it is.
TEST(Evaluate, ARunFollowsItsStepAsTheRegistrySays) {
  for (const std::string_view target : {"tokens: 300B", "duration: 60d"}) {
    const auto with_step = [target](std::string_view time) {
      return must_evaluate(replaced(replaced(kBase, "tokens: 300B", target), "software:",
                                    fmt::format("step: {{time: {}}}\nsoftware:", time)),
                           {.levers = false});
    };
    const report::Evaluation slow = with_step("5.5s");
    const report::Evaluation fast = with_step("5s");
    const bool window = target.starts_with("duration");
    for (const report::MetricInfo& metric : report::metric_registry()) {
      const report::MetricValue* before = fast.metrics.find(metric.id);
      const report::MetricValue* after = slow.metrics.find(metric.id);
      if (before == nullptr || after == nullptr || metric.id == report::MetricId::finish_date ||
          metric.id == report::MetricId::waiting || metric.id == report::MetricId::idle_cost) {
        continue;  // a date moves with the time; rare waits are a few trials' luck
      }
      using report::Follows;
      const bool longer =
          metric.follows == Follows::step || (metric.follows == Follows::duration && !window);
      const bool shorter =
          metric.follows == Follows::speed || (metric.follows == Follows::progress && window);
      const double expected = longer ? 1.1 : shorter ? 1.0 / 1.1 : 1.0;
      EXPECT_NEAR(after->value / before->value, expected, 0.02) << target << ": " << metric.name;
    }
  }
}

// 0.4 nodes are in repair on average (8 nodes, one failure in 20 d each, 1 d of repair): a spare is
// enough on average, none is not.
TEST(Evaluate, TooFewSparesAreSaidFirstWithTheNumberThatWouldDo) {
  const std::string one =
      replaced(kBase, "{spares: 1, repair_time: 2d}", "{spares: 1, repair_time: 1d}");
  EXPECT_TRUE(must_evaluate(one).caveats.empty());
  const report::Evaluation none = must_evaluate(replaced(one, "spares: 1, ", ""));
  ASSERT_EQ(none.caveats.size(), 1U);
  EXPECT_EQ(none.caveats[0],
            "0.4 nodes are in repair on average and no spare stands by, so the job waits for "
            "nodes; 2 spares would do 99 % of the time");
}

TEST(Evaluate, ASuperchipInANodeThatNobodySellsIsSaid) {
  const auto warnings = [](const std::string& cluster) {
    Diagnostics diagnostics;
    const auto scenario = scenario::load_text(
        "format: orrery/1\nmodel: llama3-8b\nbatch: {global: 64}\ncluster: " + cluster + "\n",
        "test.yaml", diagnostics);
    EXPECT_TRUE(scenario && evaluate(*scenario, {.levers = false}, diagnostics));
    return to_string(diagnostics);
  };
  EXPECT_EQ(warnings("{gpu: gb300, nodes: 2, gpus_per_node: 8, network: infiniband-400g}"),
            "test.yaml:4:48: warning: cluster.gpus_per_node: is 8, and gb300 is sold in nodes of 4 "
            "(cluster.preset: gb300-nvl72)\n");
  EXPECT_EQ(warnings("{gpu: gb300, nodes: 2, gpus_per_node: 4, network: nvl72}"), "");
  EXPECT_EQ(warnings("{gpu: b200-sxm, nodes: 2, network: infiniband-400g}"), "");
}

// GB300 comes in racks of 18 nodes with 4 GPUs each, which one NVLink domain joins.
TEST(Evaluate, ASuperchipIsInItsRackUnlessOthersAreStated) {
  const auto machine = [](const std::string& cluster) {
    Diagnostics diagnostics;
    const auto scenario = scenario::load_text(
        "format: orrery/1\nmodel: llama3-8b\nbatch: {global: 144}\ncluster: " + cluster + "\n",
        "test.yaml", diagnostics);
    const auto evaluation =
        scenario ? evaluate(*scenario, {.levers = true}, diagnostics) : std::nullopt;
    EXPECT_TRUE(evaluation) << to_string(diagnostics);
    return evaluation.value_or(report::Evaluation{});
  };
  const report::Evaluation plain = machine("{gpu: gb300, gpus: 72, network: infiniband-400g}");
  EXPECT_EQ(plain.echo.gpus_per_node, 4);
  EXPECT_EQ(plain.echo.nodes, 18);
  EXPECT_EQ(plain.echo.nvlink_domain, 72);
  ASSERT_FALSE(plain.assumed.empty());
  EXPECT_EQ(plain.assumed.front(),
            "nodes of 4 GPUs and NVLink domains of 72, in which gb300 is sold");
  const report::Evaluation stated =
      machine("{gpu: gb300, gpus: 72, gpus_per_node: 4, network: infiniband-400g}");
  EXPECT_EQ(stated.echo.nvlink_domain, 4);
  EXPECT_EQ(machine("{gpu: b200-sxm, gpus: 72, network: infiniband-400g}").echo.gpus_per_node, 8);
}

// 405 billion parameters with their optimizer take 7 TiB; eight GPUs hold 0.6.
TEST(Evaluate, WhereNoChangeOfTheLayoutFitsTheNodesThatDoAreNamed) {
  Diagnostics diagnostics;
  const auto scenario = scenario::load_text(
      "format: orrery/1\nmodel: llama3-405b\nbatch: {global: 64}\ncluster: {gpu: h100-sxm-80gb, "
      "nodes: 1}\n",
      "test.yaml", diagnostics);
  const auto evaluation =
      scenario ? evaluate(*scenario, {.levers = true}, diagnostics) : std::nullopt;
  ASSERT_TRUE(evaluation) << to_string(diagnostics);
  ASSERT_EQ(evaluation->advice.size(), 1U);
  EXPECT_EQ(evaluation->advice.front().find(
                "fits with `cluster.nodes: 16` and `layout.sharding: zero3` and `recompute: full`"),
            0U)
      << evaluation->advice.front();
}

// 512 experts on every GPU are what does not fit of Qwen3-Next.
TEST(Evaluate, ExpertsAreSpreadWhereAMixtureDoesNotFit) {
  Diagnostics diagnostics;
  const auto scenario = scenario::load_text(
      "format: orrery/1\nmodel: {preset: qwen3-next-80b-a3b, sequence_length: 4096}\n"
      "batch: {global: 512}\n"
      "cluster: {gpu: h100-sxm-80gb, nodes: 8, network: {preset: infiniband-400g}}\n",
      "test.yaml", diagnostics);
  const auto evaluation =
      scenario ? evaluate(*scenario, {.levers = true}, diagnostics) : std::nullopt;
  ASSERT_TRUE(evaluation) << to_string(diagnostics);
  ASSERT_FALSE(evaluation->advice.empty());
  EXPECT_EQ(evaluation->advice.front().find("fits with `layout.expert: 64`: "), 0U)
      << evaluation->advice.front();
}

// Megatron Core shards parameters without a pipeline only (its profile's `offers`).
TEST(Evaluate, NobodyIsToldToDoWhatTheStackDoesNot) {
  const auto advice = [](std::string_view stack) {
    const report::Evaluation evaluation = must_evaluate(fmt::format(
        "format: orrery/1\nmodel: llama3-70b\ncluster: {{gpu: h100-sxm-80gb, nodes: 8, network: "
        "infiniband-400g}}\nlayout: {{tensor: 4, sequence_parallel: true, pipeline: 4, schedule: "
        "1f1b, sharding: zero1}}\nbatch: {{global: 128, micro: 1}}\nsoftware: {}\n",
        stack));
    EXPECT_FALSE(evaluation.feasible);
    return fmt::format("{}", fmt::join(evaluation.advice, "\n"));
  };
  EXPECT_EQ(advice("megatron-core").find("zero3"), std::string::npos) << advice("megatron-core");
  EXPECT_NE(advice("generic").find("zero3"), std::string::npos) << advice("generic");
}

TEST(Evaluate, AStopRequestEndsIt) {
  std::stop_source source;
  source.request_stop();
  Diagnostics diagnostics;
  EXPECT_THROW((void)evaluate_text(kBase, diagnostics, {.stop = source.get_token()}), Error);
}

TEST(Explain, NamesTheFormatsOfTheProducts) {
  const std::pair<const char*, const char*> formats[] = {
      {"tf32", "products of linear layers in tf32: all operands, summed in fp32\n"},
      {"fp8-delayed", "in fp8-delayed: inputs and weights in E4M3, gradients of results in E5M2, "},
      {"fp8-block", "in fp8-block: all operands in E4M3, an fp32 scale per 128 values, "},
      {"mxfp8", "in mxfp8: all operands in E4M3, an E8M0 scale per 32 values\n"},
      {"nvfp4", "in nvfp4: all operands in E2M1, an E4M3 scale per 16 values "}};
  for (const auto& [precision, line] : formats) {
    Diagnostics diagnostics;
    const auto scenario =
        scenario::load_text(replaced(replaced(kBase, "gpu: h100-sxm-80gb", "gpu: b200-sxm"),
                                     "precision: bf16", std::string("precision: ") + precision),
                            "base.yaml", diagnostics);
    ASSERT_TRUE(scenario) << to_string(diagnostics);
    const auto evaluation = evaluate(*scenario, {.levers = false}, diagnostics);
    ASSERT_TRUE(evaluation) << to_string(diagnostics);
    const auto text = explain(*scenario, *evaluation, "step_time", diagnostics).value_or("");
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
}

TEST(Explain, EveryMetricOfTheRegistryIsExplained) {
  Diagnostics diagnostics;
  const auto scenario = scenario::load_file(
      std::string(kSourceDir) + "/scenarios/llama3-70b-64h100.yaml", diagnostics);
  ASSERT_TRUE(scenario);
  const auto evaluation = evaluate(*scenario, {.timelines = true, .operations = true}, diagnostics);
  ASSERT_TRUE(evaluation);
  for (const report::MetricInfo& metric : report::metric_registry()) {
    const auto text = explain(*scenario, *evaluation, metric.name, diagnostics);
    ASSERT_TRUE(text) << metric.name;
    EXPECT_TRUE(text->starts_with(std::string(metric.name) + " = ")) << *text;
    EXPECT_NE(text->find(metric.meaning), std::string::npos);
  }
  EXPECT_FALSE(explain(*scenario, *evaluation, "no_such_metric", diagnostics));
  const std::pair<std::string_view, std::string_view> formulas[] = {
      {"mfu", "\n  = (6 N + 12 L H Q T) x tokens_per_second / (GPUs x dense peak)\n"},
      {"goodput", "\n  = productive GPU time / (GPUs of the job x wall time)\n"},
      {"mtbf", "\n  = 1 / (rates of all causes"},
      {"spot_break_even", "\n  = s with cost(s) / tokens on spot"}};
  for (const auto& [metric, formula] : formulas) {
    const auto text = explain(*scenario, *evaluation, metric, diagnostics);
    EXPECT_NE(text.value_or("").find(formula), std::string::npos) << text.value_or("");
  }
}

TEST(AllowedBatch, MicroBatchesOfAScheduleAreABatch) {
  EXPECT_EQ(allowed_batch("m = 16", 2048, 8), "batch.global: 4096");
  EXPECT_EQ(allowed_batch("m = 4 or 8", 64, 2), "batch.global: 128 or batch.global: 256");
  EXPECT_EQ(allowed_batch("m = 8, or pipedream", 64, 2), "batch.global: 256, or pipedream");
  EXPECT_EQ(allowed_batch("v = 2, or 1f1b for v = 1", 64, 2), "v = 2, or 1f1b for v = 1");
}

// The trial that is asked for by its place is the one with that rate, and its intervals are shown.
TEST(Evaluate, ShowsTheSlowestTrialAndOneInTheMiddle) {
  const std::string text(kBase);
  std::vector<double> rates;
  const report::Evaluation plain = must_evaluate(text);
  for (const run::TrialTotals& one : plain.run->first) {
    rates.push_back(one.tokens / one.wall);
  }
  std::ranges::sort(rates);
  for (const auto& [place, rate] : {std::pair{0.0, rates.front()}, {0.5, rates[49]}}) {
    const report::Evaluation shown =
        must_evaluate(text, {.timelines = true, .timeline_place = place});
    const run::TrialTotals& trial = shown.run->first[shown.timeline_trial];
    EXPECT_EQ(trial.tokens / trial.wall, rate);
    SimTime end;
    for (const run::RunInterval& interval : shown.timeline.intervals()) {
      end = std::max(end, interval.end);
    }
    EXPECT_NEAR(in_seconds(to_seconds(end)), trial.wall, 1e-6);
    const std::string words = report::trial_words(shown);
    EXPECT_TRUE(words.starts_with(fmt::format("trial {}, ", shown.timeline_trial))) << words;
    EXPECT_EQ(words.ends_with(", 99 of 100 faster"), place == 0.0) << words;
  }
  const auto beyond = must_evaluate(text, {.timelines = true, .timeline_trial = 5000});
  EXPECT_EQ(report::trial_words(beyond), "trial 5,000") << "any can be drawn";
}

}  // namespace
}  // namespace orrery::evaluate::test
