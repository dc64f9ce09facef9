// A plan is what a brute search with full simulations would choose, for anybody who works on it.

#include "sim/answer/plan/make_plan.hpp"

#include <algorithm>
#include <stop_token>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/plan/result/plan_report.hpp"
#include "sim/answer/plan/result/plan_words.hpp"
#include "sim/base/text/format.hpp"
#include "sim/scenario/load.hpp"
#include "tests/unit/plan_answer/plan_answer_fixture.hpp"

namespace orrery::plan::test {
namespace {

report::Evaluation evaluated(const scenario::Scenario& scenario) {
  Diagnostics diagnostics;
  evaluate::EvaluateOptions options;
  options.levers = false;
  options.search = profiles();
  auto evaluation = evaluate::evaluate(scenario, options, diagnostics);
  EXPECT_TRUE(evaluation.has_value()) << to_string(diagnostics);
  return *std::move(evaluation);
}

double value_of(const report::Evaluation& evaluation, report::MetricId id) {
  const report::MetricValue* value = evaluation.metrics.find(id);
  return value != nullptr ? value->value : -1.0;
}

TEST(MakePlan, RanksWhatRunAnswersForTheSameScenario) {
  const PlanQuestion asked = question(small_text() + narrow_block());
  const Plan plan = plan_of(asked);
  ASSERT_EQ(plan.finalists.size(), 4U);
  double before = 0.0;
  for (const Finalist& finalist : plan.finalists) {
    Diagnostics diagnostics;
    const auto scenario = asked.base.with(finalist.proposal.changes, diagnostics);
    ASSERT_TRUE(scenario) << to_string(diagnostics);
    const report::Evaluation alone = evaluated(*scenario);
    EXPECT_EQ(alone.step.step_time, finalist.evaluation.step.step_time);
    for (const report::MetricInfo& metric : report::metric_registry()) {
      EXPECT_EQ(value_of(alone, metric.id), value_of(finalist.evaluation, metric.id))
          << metric.name;
    }
    EXPECT_EQ(finalist.value, value_of(alone, report::MetricId::step_time));
    EXPECT_GE(finalist.value, before);
    before = finalist.value;
  }
}

TEST(MakePlan, IsTheSameForAnyNumberOfThreads) {
  PlanQuestion asked =
      question(small_text() + replaced(narrow_block(), "plan:\n", "plan:\n  objective: cost\n"));
  asked.threads = 1;
  const Plan one = plan_of(asked);
  asked.threads = 3;
  const Plan three = plan_of(asked);
  EXPECT_EQ(to_json(one), to_json(three));
  EXPECT_EQ(to_csv(one), to_csv(three));
  EXPECT_EQ(to_text(one, {}), to_text(three, {}));
}

TEST(MakePlan, ComparesWithTheScenarioAsItStands) {
  const Plan plan = plan_of(small_text() + narrow_block());
  ASSERT_TRUE(plan.current);
  EXPECT_EQ(plan.current->proposal.changes.size(), 0U);
  EXPECT_GE(plan.current->value, plan.finalists.front().value);
  EXPECT_NEAR(plan.current->behind.mean, plan.current->value - plan.finalists.front().value,
              1e-12 * plan.current->value);
}

TEST(MakePlan, CallsATieATieAndGivesTheOthersAReason) {
  const Plan plan = plan_of(
      small_text() + replaced(narrow_block(), "plan:\n", "plan:\n  objective: finish_time\n"));
  ASSERT_GE(plan.finalists.size(), 2U);
  EXPECT_EQ(plan.finalists.front().standing, Standing::best);
  for (std::size_t i = 1; i < plan.finalists.size(); ++i) {
    const Finalist& finalist = plan.finalists[i];
    const bool small =
        std::abs(finalist.behind.mean) <= plan.spec.tie * plan.finalists.front().value;
    EXPECT_TRUE(finalist.paired);
    const auto& rivals = plan.stability.rivals;
    const bool unclear = std::any_of(rivals.begin(), rivals.end(), [i](const Rival& rival) {
      return rival.rank == i + 1 && !rival.told_apart();
    });
    EXPECT_EQ(finalist.standing == Standing::tie, small || unclear || finalist.behind.holds_zero());
    EXPECT_FALSE(finalist.reason.empty());
    // The mean of the differences is the difference of the means.
    EXPECT_NEAR(finalist.behind.mean, finalist.value - plan.finalists.front().value,
                1e-9 * finalist.value);
  }
}

TEST(MakePlan, SearchesSparesAndIntervalsWithFailures) {
  PlanQuestion asked = question(
      replaced(small_text(), "0.05/d", "3/d") +
      replaced(narrow_block(), "  search:\n",
               "  objective: cost\n  search:\n    spares: [0, 2]\n    interval: [20min, 6h]\n"));
  const Plan plan = plan_of(asked);
  ASSERT_FALSE(plan.finalists.empty());
  EXPECT_EQ(plan.pool, 1 + 4 * 2 * 2);
  const auto& changes = plan.finalists.front().proposal.changes;
  const auto interval = std::find_if(changes.begin(), changes.end(), [](const auto& change) {
    return change.key == "checkpoint.interval";
  });
  ASSERT_NE(interval, changes.end());
  EXPECT_EQ(interval->value, "20min");  // three failures a day of a node: six hours lose the work
}

TEST(MakePlan, FindsTheFewestGpusForADeadline) {
  const std::string block = replaced(narrow_block(), "  search:\n",
                                     "  objective: fewest_gpus\n  deadline: 4d\n  search:\n"
                                     "    nodes: [1, 2, 4]\n");
  const Plan plan = plan_of(small_text() + block);
  ASSERT_FALSE(plan.finalists.empty()) << to_text(plan, {});
  const std::int64_t fewest = plan.finalists.front().proposal.gpus;
  for (const Finalist& finalist : plan.finalists) {
    EXPECT_GE(finalist.proposal.gpus, fewest);
    const auto* finish = finalist.evaluation.metrics.find(report::MetricId::finish_time);
    EXPECT_LE(finish->trials->quantile(0.9), in_seconds(days(4.0)) * 1.001);
  }
  // One size less does not make it.
  if (fewest > 8) {
    PlanQuestion smaller = question(small_text() + block);
    smaller.spec.constraints.most_gpus = fewest / 2;
    const Plan none = plan_of(smaller);
    EXPECT_TRUE(none.finalists.empty());
    ASSERT_FALSE(none.notes.empty());
    EXPECT_NE(none.notes.front().find("no plan meets the constraints"), std::string::npos)
        << none.notes.front();
  }
}

// A stop request during the search: the best of what was seen, and a note that says so.
TEST(MakePlan, KeepsTheBestSoFarWhenItIsStopped) {
  PlanQuestion asked = question(small_text() + narrow_block());
  std::stop_source source;
  asked.threads = 1;
  asked.stop = source.get_token();
  asked.progress = [&source](Stage stage, std::int64_t done, std::int64_t) {
    if (stage == Stage::simulate && done >= 2) {
      source.request_stop();
    }
  };
  const Plan plan = plan_of(asked);
  EXPECT_FALSE(plan.complete());
  EXPECT_TRUE(plan.searched_all);
  ASSERT_FALSE(plan.notes.empty());
  EXPECT_NE(plan.notes.front().find("interrupted after"), std::string::npos);
  EXPECT_FALSE(plan.finalists.empty());
  EXPECT_NE(to_text(plan, {}).find("NOTE"), std::string::npos);
}

// Stopped when the ranking stands: what stands beside it is left out, and that is said.
TEST(MakePlan, SaysWhenItIsStoppedBeforeTheChoiceWasExamined) {
  PlanQuestion asked = question(small_text() + narrow_block());
  std::stop_source source;
  asked.threads = 1;
  asked.stop = source.get_token();
  asked.progress = [&source](Stage stage, std::int64_t done, std::int64_t all) {
    if (stage == Stage::rank && done == all) {
      source.request_stop();
    }
  };
  const Plan plan = plan_of(asked);
  EXPECT_TRUE(plan.searched_all && plan.simulated_all);
  EXPECT_FALSE(plan.complete());
  EXPECT_FALSE(plan.stability.checked);
  EXPECT_EQ(plan.finalists.size(), 4U);
  EXPECT_EQ(plan.notes,
            (std::vector<std::string>{"interrupted when all plans were simulated: the ranking "
                                      "stands, more was not worked out",
                                      "software is the usual one of each layout, as none is "
                                      "stated"}));
}

// Never "none fits" of what was not looked at; the scenario itself is an answer.
TEST(MakePlan, SaysHowFarItCameWhenTheSearchIsStopped) {
  const std::string whole = "plan: {objective: cost}\n";
  const std::string too_large = replaced(
      replaced(small_text(), "preset: llama2-7b", "preset: llama2-70b"), "nodes: 2", "nodes: 1");
  for (const std::string& text : {small_text() + whole, too_large + whole}) {
    PlanQuestion asked = question(text);
    std::stop_source source;
    asked.threads = 1;
    asked.stop = source.get_token();
    asked.progress = [&source](Stage, std::int64_t, std::int64_t) { source.request_stop(); };
    const Plan plan = plan_of(asked);
    EXPECT_FALSE(plan.searched_all);
    EXPECT_LT(plan.counts.seen, plan.counts.layouts);
    ASSERT_FALSE(plan.notes.empty());
    EXPECT_TRUE(plan.notes.front().starts_with("interrupted during the search, after "))
        << plan.notes.front();
    EXPECT_EQ(plan.notes.front().find("none of"), std::string::npos) << plan.notes.front();
    EXPECT_EQ(plan.finalists.empty(), text == too_large + whole) << to_text(plan, {});
    EXPECT_NE(to_text(plan, {}).find("were not looked at"), std::string::npos);
  }
}

// Stopped before anything was bounded: the first answer is there, and the scenario beside it.
TEST(MakePlan, HasAnAnswerHoweverSoonItIsStopped) {
  PlanQuestion asked = question(small_text() + "plan: {}\n");
  std::stop_source source;
  source.request_stop();
  asked.stop = source.get_token();
  const Plan plan = plan_of(asked);
  EXPECT_EQ(plan.counts.seen, 0);
  ASSERT_FALSE(plan.finalists.empty());
  ASSERT_TRUE(plan.current);
  EXPECT_LE(plan.finalists.front().evaluation.step.step_time,
            plan.current->evaluation.step.step_time);
  ASSERT_FALSE(plan.notes.empty());
  EXPECT_NE(plan.notes.front().find("estimated in full"), std::string::npos) << plan.notes.front();
  EXPECT_EQ(plan.notes.front().find(" 0 "), std::string::npos) << "nothing was counted yet";
  EXPECT_TRUE(search_lines(plan).front().ends_with(" fit")) << search_lines(plan).front();
  EXPECT_FALSE(search_lines(plan).front().starts_with("0 layouts"));
}

TEST(MakePlan, NamesTheHeadroomWhereItIsWhyNothingFits) {
  PlanQuestion asked = question(small_text() + narrow_block());
  asked.spec.constraints.memory_headroom = gibibytes(78.0);
  const Plan plan = plan_of(asked);
  EXPECT_TRUE(plan.finalists.empty());
  ASSERT_FALSE(plan.notes.empty());
  EXPECT_NE(plan.notes.front().find("leaves 78.0 GiB of memory free, as the headroom asks"),
            std::string::npos)
      << plan.notes.front();
  EXPECT_EQ(plan.notes.front().find("fits in memory"), std::string::npos) << plan.notes.front();
}

// One line for layouts that differ in nothing but what they recompute or their chunks.
TEST(MakePlan, RanksLayoutsThatAreNearlyTheSameOnce) {
  const std::string block =
      replaced(replaced(narrow_block(), "recompute: [none, selective, full]",
                        "recompute: [none, {layers: 1}, {layers: 2}]"),
               "schedule: [none, 1f1b]", "schedule: [none, 1f1b, interleaved]");
  const PlanQuestion asked = question(small_text() + block);
  const Plan plan = plan_of(asked);
  ASSERT_GE(plan.finalists.size(), 2U);
  std::size_t near = 0;
  for (std::size_t i = 0; i < plan.finalists.size(); ++i) {
    const Proposal& one = plan.finalists[i].proposal;
    near += one.near.size();
    for (std::size_t k = 0; k < i; ++k) {
      Candidate other = plan.finalists[k].proposal.candidate;
      other.recompute = one.candidate.recompute;
      other.schedule = one.candidate.schedule;
      other.virtual_stages = one.candidate.virtual_stages;
      EXPECT_NE(other, one.candidate) << one.words;
    }
    for (const NearLayout& like : one.near) {
      EXPECT_GE(like.slower, 0.0);
      EXPECT_FALSE(like.differs.empty());
      Diagnostics diagnostics;
      EXPECT_TRUE(asked.base.with(like.changes, diagnostics)) << to_string(diagnostics);
    }
  }
  EXPECT_GT(near, 0U);
  EXPECT_NE(to_text(plan, {}).find(" like it: "), std::string::npos) << to_text(plan, {});
}

// Before one plan is simulated the steps of the best estimates are what is best so far.
TEST(MakePlan, RanksEstimatesWhenItIsStoppedBeforeAPlanIsSimulated) {
  PlanQuestion asked = question(small_text() + narrow_block());
  asked.spec.objective = Objective::cost;
  std::stop_source source;
  asked.threads = 1;
  asked.stop = source.get_token();
  asked.progress = [&source](Stage stage, std::int64_t, std::int64_t) {
    if (stage == Stage::simulate) {
      source.request_stop();
    }
  };
  const Plan plan = plan_of(asked);
  EXPECT_FALSE(plan.complete());
  EXPECT_EQ(plan.ranked_by, Objective::step_time);
  EXPECT_FALSE(plan.finalists.empty());
  EXPECT_EQ(plan.notes.front(),
            "interrupted before a plan was simulated: figures are estimates without failures");
}

// zero1 and zero2 spend their time alike where gradients are reduced once a step: one line, both
// names, and room for other choices.
TEST(MakePlan, NamesLayoutsThatAreAlikeInOneLine) {
  PlanQuestion asked = question(small_text() + replaced(narrow_block(), "sharding: [zero1, zero3]",
                                                        "sharding: [zero1, zero2]"));
  const Plan plan = plan_of(asked);
  ASSERT_EQ(plan.finalists.size(), 4U);
  for (std::size_t i = 0; i < plan.finalists.size(); ++i) {
    const Proposal& proposal = plan.finalists[i].proposal;
    ASSERT_EQ(proposal.alike.size(), 1U) << proposal.words;
    EXPECT_EQ(proposal.alike.front().axis, "sharding");
    EXPECT_EQ(proposal.alike.front().value, "zero2");
    EXPECT_NE(proposal.words.find("zero1 and zero2 alike"), std::string::npos) << proposal.words;
    Diagnostics diagnostics;
    const auto other = asked.base.with(proposal.alike.front().changes, diagnostics);
    ASSERT_TRUE(other) << to_string(diagnostics);
    EXPECT_EQ(evaluated(*other).step.step_time, plan.finalists[i].evaluation.step.step_time);
    for (std::size_t k = 0; k < i; ++k) {
      EXPECT_NE(plan.finalists[k].proposal.tag, proposal.tag);
    }
  }
  EXPECT_NE(to_json(plan).find("\"alike\""), std::string::npos);
}

TEST(MakePlan, SaysWhatTheStackDoesNotOffer) {
  const std::string block = replaced(narrow_block(), "    sharding: [zero1, zero3]\n", "");
  PlanQuestion asked = question(small_text() + "software: megatron-deepspeed\n" + block);
  const Plan plan = plan_of(asked);
  const std::string page = to_text(plan, {});
  EXPECT_EQ(plan.not_offered.what, (std::vector<std::string>{"sequence parallelism", "hsdp",
                                                             "zero2, zero3 beside a pipeline"}));
  EXPECT_NE(page.find("not offered by megatron-deepspeed: sequence parallelism; hsdp; "),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("plan.any_stack"), std::string::npos) << page;
  asked.spec.any_stack = true;
  EXPECT_TRUE(plan_of(asked).not_offered.what.empty());
}

// A date is a deadline counted from the start of the run.
TEST(MakePlan, ADateIsADeadline) {
  const std::string dated = replaced(small_text(), "training: {steps: 20000}",
                                     "training: {steps: 20000, start: 2027-01-01}");
  const auto with = [](const std::string& text, const std::string& key) {
    Diagnostics diagnostics;
    const auto scenario =
        scenario::load_text(text + replaced(narrow_block(), "plan:\n", "plan:\n  " + key + "\n"),
                            "a.yaml", diagnostics);
    return scenario ? format_time(*scenario->plan->deadline) : to_string(diagnostics);
  };
  EXPECT_EQ(with(dated, "done_by: 2027-03-02"), with(dated, "deadline: 60d"));
  EXPECT_NE(
      with(small_text(), "done_by: 2027-03-02").find("needs the date on which the run starts"),
      std::string::npos);
  EXPECT_NE(with(dated, "done_by: 2026-03-02").find("is not after training.start"),
            std::string::npos);
  EXPECT_NE(with(dated, "done_by: 2027-03-02\n  deadline: 60d").find("says again"),
            std::string::npos);
}

TEST(MakePlan, SaysWhatTheObjectiveNeeds) {
  const auto with = [](const std::string& objective, const std::string& text) {
    PlanQuestion asked = question(text + narrow_block());
    for (std::size_t i = 0; i < kObjectiveNames.size(); ++i) {
      if (kObjectiveNames[i] == objective) {
        asked.spec.objective = static_cast<Objective>(i);
      }
    }
    return errors_of(asked);
  };
  const std::string unpriced =
      replaced(small_text(), "prices: {gpu_hour: $2.50/h, as_of: 2026-11-01}\n", "");
  EXPECT_EQ(with("cost", unpriced), "plan.objective: cost needs a price\n");
  EXPECT_EQ(with("fewest_gpus", small_text()), "plan.objective: fewest_gpus needs a deadline\n");
  const std::string window =
      replaced(small_text(), "training: {steps: 20000}", "training: {duration: 10d}");
  EXPECT_EQ(with("finish_time", window),
            "plan.objective: finish_time is decided by training.duration, whatever the layout\n");
  PlanQuestion types = question(small_text() + narrow_block());
  types.spec.objective = Objective::cost;
  types.spec[Axis::gpu] = {AxisChoice::Mode::listed, {"h100-sxm-80gb", "a100-sxm-80gb"}, {}, {}};
  EXPECT_EQ(errors_of(types), "plan.gpu_hours: is needed to compare the cost of 2 GPU types\n");
}

// Where several types are searched the words of a plan begin with its own.
TEST(MakePlan, NamesTheGpuThatItChose) {
  PlanQuestion types = question(small_text() + narrow_block());
  types.spec[Axis::gpu] = {AxisChoice::Mode::listed, {"h100-sxm-80gb", "a100-sxm-80gb"}, {}, {}};
  const Plan plan = plan_of(types);
  ASSERT_FALSE(plan.finalists.empty());
  EXPECT_EQ(plan.gpu, "NVIDIA H100 SXM5 80 GB or NVIDIA A100 SXM4 80 GB");
  for (const Finalist& finalist : plan.finalists) {
    const Trait& gpu = finalist.proposal.traits.front();
    EXPECT_EQ(gpu.name, "gpu");
    EXPECT_EQ(finalist.proposal.words.find(gpu.value + ", "), 0U) << finalist.proposal.words;
  }
  EXPECT_EQ(plan_of(small_text() + narrow_block()).finalists.front().proposal.words.find("h100"),
            std::string::npos);
}

TEST(MakePlan, SaysHowShortOfMemoryTheNearestLayoutIs) {
  const std::string text = replaced(
      replaced(small_text(), "preset: llama2-7b", "preset: llama2-70b"), "nodes: 2", "nodes: 1");
  const Plan plan = plan_of(text + narrow_block());
  EXPECT_TRUE(plan.finalists.empty());
  ASSERT_FALSE(plan.notes.empty());
  EXPECT_NE(plan.notes.front().find("fits in memory"), std::string::npos) << plan.notes.front();
  ASSERT_FALSE(plan.neighbours.empty());
  EXPECT_GT(plan.neighbours.front().short_by, 0.0);
}

TEST(MakePlan, NamesWhatWouldMakeAFasterLayoutFit) {
  PlanQuestion asked = question(small_text() + narrow_block());
  asked.spec.constraints.memory_headroom = gibibytes(30.0);
  const Plan plan = plan_of(asked);
  ASSERT_FALSE(plan.finalists.empty());
  ASSERT_FALSE(plan.neighbours.empty());
  for (const Neighbour& neighbour : plan.neighbours) {
    EXPECT_GT(neighbour.short_by, 0.0);
    if (neighbour.remedy) {
      EXPECT_GE(
          neighbour.remedy->step_time,
          in_seconds(to_seconds(plan.finalists.front().evaluation.step.step_time)) * (1.0 - 1e-9));
    }
  }
}

}  // namespace
}  // namespace orrery::plan::test
