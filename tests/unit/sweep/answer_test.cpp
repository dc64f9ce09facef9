// Answers against what must hold of them.

#include "sim/answer/sweep/answer.hpp"

#include <cmath>
#include <map>

#include "tests/unit/sweep/sweep_fixture.hpp"

namespace orrery::sweep::test {
namespace {

Question question_of(const std::string& name, const std::vector<std::string>& vary = {}) {
  Question question{.name = name, .sweep = make_sweep(vary)};
  question.sweep.trials = 200;
  question.threads = 2;
  return question;
}

Answer must_answer(const Question& question) {
  Team alone;
  Diagnostics diagnostics;
  auto found = answer(question, alone, diagnostics);
  EXPECT_TRUE(found) << to_string(diagnostics);
  return found.value_or(Answer());
}

std::string refusal_of(const Question& question) {
  Team alone;
  Diagnostics diagnostics;
  EXPECT_FALSE(answer(question, alone, diagnostics));
  return to_string(diagnostics);
}

double fact(const Answer& answer, const std::string& name) {
  for (const Fact& candidate : answer.facts) {
    if (candidate.name == name) {
      const auto* number = std::get_if<double>(&candidate.value);
      return number != nullptr ? *number : std::nan("");
    }
  }
  ADD_FAILURE() << "no fact " << name;
  return std::nan("");
}

double cell(const Answer& answer, std::size_t row, const std::string& column) {
  for (std::size_t i = 0; i < answer.columns.size(); ++i) {
    if (answer.columns[i].name == column) {
      return std::get<double>(answer.rows[row][i]);
    }
  }
  ADD_FAILURE() << "no column " << column;
  return std::nan("");
}

std::string without(const std::string& part) {
  std::string text = small_scenario();
  text.erase(text.find(part), part.size());
  return text;
}

// A save of 20 s after every 100 steps of 10 s; a preemption costs the work since the last save and
// 300 s, then the node is there again. Nothing else fails.
std::string spot_scenario() {
  return R"(format: orrery/1
name: Spot
model: {preset: llama2-7b, sequence_length: 4096}
cluster: {gpu: h100-sxm-80gb, nodes: 2, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {tensor: 2, sequence_parallel: true, sharding: zero1}
batch: {global: 64, micro: 1}
recompute: selective
step: {time: 10s}
training: {steps: 20000}
checkpoint: {interval: 100 steps, stall: 20s}
recovery: {detect: 0s, reschedule: 300s, communicator_init: 0s, load: 0s, warm_up: 0s}
capacity: {spot: {rate: 0.2/h}}
prices: {gpu_hour: $4/h, spot_gpu_hour: $2/h, as_of: 2026-11-01}
simulation: {trials: 400, seed: 3}
)";
}

// Time per saved segment of `tau` seconds of work under preemptions at rate `lambda`, each followed
// by a recovery of R that may be struck itself, against the time without any (Daly's exact form):
//   e^(lambda R) (e^(lambda (tau + C)) - 1) / lambda  against  tau + C.
double slowdown(double per_node_hour) {
  constexpr double kNodes = 2.0;
  constexpr double kSegment = 100.0 * 10.0 + 20.0;
  constexpr double kRecovery = 300.0;
  const double lambda = kNodes * per_node_hour / 3600.0;
  return std::exp(lambda * kRecovery) * std::expm1(lambda * kSegment) / (lambda * kSegment);
}

// Exponential failures and a synchronous save: the simulated best lies where theory has it. The
// curve is flat there, so within a factor of two.
TEST(Answers, FindTheCheckpointIntervalOfTheory) {
  const Answer found = must_answer(question_of("checkpoint-interval"));
  double automatic = 0.0;
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    if (std::get<std::string>(found.rows[i].back()).find("auto") != std::string::npos) {
      automatic = cell(found, i, "checkpoint_interval_s");
    }
  }
  const double best = fact(found, "best_interval_s");
  EXPECT_GT(best, automatic / 2.0);
  EXPECT_LT(best, automatic * 2.0);
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    EXPECT_LE(cell(found, i, "goodput"), fact(found, "best_goodput"));
  }
}

TEST(Answers, FindTheSmallestNumberOfSparesThatIsEnough) {
  Question question = question_of("spares");
  question.sweep = make_sweep({}, [] {
    std::string text = small_scenario();
    text.replace(text.find("0.05/d"), 6, "0.5/d");
    return text;
  }());
  question.sweep.trials = 200;
  const Answer found = must_answer(question);
  const double enough = fact(found, "spares");
  ASSERT_GT(enough, 0.0);
  bool below = false;
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    const double spares = cell(found, i, "spares");
    if (spares == enough) {
      EXPECT_LE(cell(found, i, "waiting_s_p99"), 3600.0);
    }
    if (spares == enough - 1.0) {
      below = true;
      EXPECT_GT(cell(found, i, "waiting_s_p99"), 3600.0);
    }
  }
  EXPECT_TRUE(below);
}

// A price moves the cost by its share and nothing else; a step 20 % longer moves the end by about
// as much, the more so the fewer failures there are.
TEST(Answers, TellWhatMovesTheEndAndTheCost) {
  const Answer found = must_answer(question_of("sensitivity", {"capacity.spares=0,4"}));
  std::map<std::string, std::size_t> rows;
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    rows[std::get<std::string>(found.rows[i].front())] = i;
  }
  for (const char* name :
       {"step time", "mtbf", "checkpoint interval", "repair time", "price", "capacity.spares"}) {
    ASSERT_TRUE(rows.contains(name)) << name;
  }
  const double finish = fact(found, "finish_s");
  const double cost = fact(found, "cost_usd");
  EXPECT_EQ(cell(found, rows["price"], "finish_low_s"), 0.0);
  EXPECT_NEAR(cell(found, rows["price"], "cost_high_usd"), 0.2 * cost, 1e-3 * cost);
  EXPECT_NEAR(cell(found, rows["price"], "cost_low_usd"), -0.2 * cost, 1e-3 * cost);
  EXPECT_NEAR(cell(found, rows["step time"], "finish_high_s"), 0.2 * finish, 0.03 * finish);
  EXPECT_LT(cell(found, rows["mtbf"], "finish_high_s"), 0.0);
  EXPECT_GT(cell(found, rows["mtbf"], "finish_low_s"), 0.0);
  for (std::size_t i = 1; i < found.rows.size(); ++i) {
    EXPECT_LE(cell(found, i, "finish_swing"), cell(found, i - 1, "finish_swing"));
  }
}

TEST(Answers, CountTheTrialsThatAreDoneByADate) {
  Question question = question_of("finish-by");
  question.by = "1h";
  EXPECT_EQ(fact(must_answer(question), "probability"), 0.0);
  question.by = "1000d";
  EXPECT_EQ(fact(must_answer(question), "probability"), 1.0);
  const Answer all = must_answer(question);
  const double median = cell(all, 0, "finish_time_s_p50");
  question.by = std::to_string(median + 1.0) + "s";
  EXPECT_GE(fact(must_answer(question), "probability"), 0.5);
  question.by = std::to_string(median - 1.0) + "s";
  EXPECT_LE(fact(must_answer(question), "probability"), 0.5);
}

TEST(Answers, DrawAFanThatRisesAndEndsWithAllTokens) {
  const Answer found = must_answer(question_of("fan"));
  const std::size_t last = found.rows.size() - 1;
  constexpr double kTokens = 20'000.0 * 64.0 * 4096.0;
  EXPECT_DOUBLE_EQ(cell(found, last, "tokens_p5"), kTokens);
  EXPECT_DOUBLE_EQ(cell(found, last, "tokens_p95"), kTokens);
  EXPECT_EQ(cell(found, 0, "tokens_p50"), 0.0);
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    EXPECT_LE(cell(found, i, "tokens_p5"), cell(found, i, "tokens_p50"));
    EXPECT_LE(cell(found, i, "tokens_p50"), cell(found, i, "tokens_p95"));
  }
}

// A price s buys as many tokens as $4 without preemptions when s times the slowdown is 4.
TEST(Answers, FindThePriceAtWhichSpotBreaksEven) {
  Question question = question_of("spot");
  question.sweep = make_sweep({}, spot_scenario());
  const Answer found = must_answer(question);
  const double price = 4.0 / slowdown(0.2);
  EXPECT_NEAR(fact(found, "break_even_usd_per_gpu_hour"), price, 0.01 * price);
  EXPECT_NEAR(fact(found, "saving"), 1.0 - 2.0 / price, 0.01);
  EXPECT_NEAR(fact(found, "later_s"), 200.0 * 1020.0 * (slowdown(0.2) - 1.0),
              0.05 * 200.0 * 1020.0 * (slowdown(0.2) - 1.0));
  ASSERT_EQ(found.rows.size(), 6U);
  EXPECT_NEAR(cell(found, 0, "break_even_usd_per_gpu_hour"), 4.0, 1e-9);  // at no rate
  EXPECT_EQ(cell(found, 0, "preemptions"), 0.0);
  for (std::size_t i = 1; i < found.rows.size(); ++i) {
    EXPECT_LT(cell(found, i, "break_even_usd_per_gpu_hour"),
              cell(found, i - 1, "break_even_usd_per_gpu_hour"));
    EXPECT_EQ(cell(found, i, "finish_time_without_s"), cell(found, 0, "finish_time_without_s"));
  }
}

// At $2 of $4 the rate may slow the run down by a factor of 2.
TEST(Answers, FindTheRateOfPreemptionsAtWhichSpotBreaksEven) {
  Question question = question_of("spot", {});
  question.sweep = make_sweep({}, spot_scenario());
  double low = 0.01;
  double high = 10.0;
  while (high / low > 1.0001) {
    const double middle = std::sqrt(low * high);
    (slowdown(middle) < 2.0 ? low : high) = middle;
  }
  const Answer found = must_answer(question);
  EXPECT_NEAR(fact(found, "break_even_preemptions_per_node_hour"), low, 0.03 * low);
  std::string dear = spot_scenario();
  dear.replace(dear.find("spot_gpu_hour: $2/h"), 19, "spot_gpu_hour: $5/h");
  question.sweep = make_sweep({}, dear);
  const Answer never = must_answer(question);
  EXPECT_TRUE(never.sentences.back().starts_with("At that price spot is dearer at every rate"))
      << never.sentences.back();
}

TEST(Answers, CompareSpotAtTheValuesOfTheUser) {
  Question question = question_of("spot");
  question.sweep = make_sweep({"step.time=10s,20s"}, spot_scenario());
  question.sweep.trials = 50;
  const Answer found = must_answer(question);
  ASSERT_EQ(found.rows.size(), 2U);
  EXPECT_GT(cell(found, 1, "finish_time_without_s"), 1.9 * cell(found, 0, "finish_time_without_s"));
  EXPECT_GT(cell(found, 0, "break_even_usd_per_gpu_hour"),
            cell(found, 1, "break_even_usd_per_gpu_hour"));  // longer between two saves
}

TEST(Answers, SayWhyThereIsNone) {
  Question question = question_of("finish-by");
  EXPECT_EQ(refusal_of(question),
            "small.yaml: error: finish-by has no answer here: --by states no date or time\n");
  question.by = "2026-12-01";
  EXPECT_EQ(
      refusal_of(question),
      "small.yaml: error: training.start: finish-by has no answer here: a date needs the date "
      "of the start\n");
  question.by = "soon";
  EXPECT_TRUE(
      refusal_of(question).starts_with("small.yaml: error: finish-by has no answer here: "
                                       "--by: "));
  Question held = question_of("spot");
  EXPECT_EQ(refusal_of(held),
            "small.yaml: error: capacity.spot: spot has no answer here: no node is on spot\n");
  std::string free = spot_scenario();
  free.erase(free.find("gpu_hour: $4/h, "), 16);
  held.sweep = make_sweep({}, free);
  EXPECT_EQ(refusal_of(held),
            "small.yaml: error: prices.gpu_hour: spot has no answer here: nodes that are not on "
            "spot have no price\n");
  Question calm = question_of("checkpoint-interval");
  calm.sweep = make_sweep({}, without("failures: {node_rate: 0.05/d}\n"));
  EXPECT_EQ(refusal_of(calm),
            "small.yaml: error: checkpoint.interval: checkpoint-interval has no answer here: "
            "nothing fails, so that nothing has to be saved\n");
}

TEST(Answers, AreTheSameForAnyNumberOfThreads) {
  for (const AnswerName& name : answer_names()) {
    SCOPED_TRACE(name.name);
    Question question = question_of(std::string(name.name));
    question.sweep = make_sweep({}, name.name == "spot" ? spot_scenario() : small_scenario());
    question.sweep.trials = 30;
    question.by = "30d";
    question.threads = 1;
    const Answer one = must_answer(question);
    question.threads = 4;
    EXPECT_EQ(to_json(one), to_json(must_answer(question)));
    EXPECT_EQ(to_csv(one), to_csv(must_answer(question)));
  }
}

}  // namespace
}  // namespace orrery::sweep::test
