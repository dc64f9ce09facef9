// The search finds what trying every layout finds, whoever does the work.

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "sim/base/error.hpp"
#include "tests/unit/plan/plan_fixture.hpp"
#include "tests/unit/sweep/simulated_mail.hpp"

namespace orrery::plan::test {
namespace {

std::vector<std::string> names(const std::vector<Ranked>& list, const Workbench& bench) {
  std::vector<std::string> result;
  for (const Ranked& ranked : list) {
    result.push_back(
        fmt::format("{} {}", tag(ranked.candidate, bench), ranked.estimate.step_time.ns));
  }
  return result;
}

// Every layout estimated by itself, sorted.
std::vector<std::string> brute_force(const Bench& bench, std::size_t keep) {
  std::vector<std::pair<double, std::string>> fitting;
  for (const Candidate& candidate : layouts(bench.space, bench.bench)) {
    Estimator estimator(bench.bench);
    const Estimate estimate = estimator.estimate(candidate);
    if (estimate.verdict == Verdict::fits) {
      fitting.emplace_back(
          static_cast<double>(estimate.step_time.ns) / candidate.global_batch,
          fmt::format("{} {}", tag(candidate, bench.bench), estimate.step_time.ns));
    }
  }
  std::stable_sort(fitting.begin(), fitting.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (std::size_t i = 0; i < std::min(keep, fitting.size()); ++i) {
    result.push_back(fitting[i].second);
  }
  return result;
}

PlanSpec few_degrees() {
  PlanSpec spec;
  spec.any_stack = true;
  spec[Axis::tensor] = listed({"1", "2", "4", "8"});
  spec[Axis::context] = listed({"1", "2"});
  spec[Axis::pipeline] = listed({"1", "2", "4"});
  spec[Axis::micro] = listed({"1", "2", "4"});
  spec[Axis::recompute] = listed({"none", "selective", "full"});
  return spec;
}

constexpr std::int64_t kKept = 20;

TEST(Search, OfASmallSpaceEqualsTryingEveryLayout) {
  for (const std::string& text : {dense_text(), mixture_text()}) {
    const Bench bench = make_bench(text, few_degrees());
    const SearchResult result =
        search(bench.bench, bench.space, bench.spec, {.threads = 2, .keep = kKept});
    EXPECT_EQ(names(result.best, bench.bench), brute_force(bench, kKept));
    EXPECT_TRUE(result.complete);
  }
}

// Whoever waits sees an answer at once, and then only better ones, up to the best.
TEST(Search, TellsTheBestSoFar) {
  for (const std::string& text : {dense_text(), mixture_text()}) {
    const Bench bench = make_bench(text, few_degrees());
    std::vector<double> told;
    bool early = false;
    SearchOptions options{.threads = 2, .keep = kKept};
    options.found = [&](const Ranked& one) { told.push_back(one.score); };
    options.progress = [&](std::int64_t, std::int64_t) { early = early || !told.empty(); };
    const SearchResult result = search(bench.bench, bench.space, bench.spec, options);
    ASSERT_FALSE(told.empty());
    EXPECT_TRUE(early) << "before the first layout is bounded";
    EXPECT_TRUE(std::ranges::is_sorted(told, std::greater<>()));
    EXPECT_EQ(told.back(), result.best.front().score);
  }
}

TEST(Search, LeavesOutOnlyWhatCannotBeAmongTheBest) {
  for (const std::string& text : {dense_text(), mixture_text()}) {
    PlanSpec spec = few_degrees();
    spec[Axis::nodes] = listed({"1", "2", "4"});
    const Bench bench = make_bench(text, spec);
    const SearchResult pruned =
        search(bench.bench, bench.space, bench.spec, {.threads = 2, .keep = kKept});
    const SearchResult all =
        search(bench.bench, bench.space, bench.spec, {.threads = 2, .keep = kKept, .prune = false});
    EXPECT_EQ(names(pruned.best, bench.bench), names(all.best, bench.bench));
    EXPECT_EQ(names(pruned.front, bench.bench), names(all.front, bench.bench));
    EXPECT_EQ(names(pruned.misses, bench.bench), names(all.misses, bench.bench));
    EXPECT_EQ(pruned.counts.layouts, all.counts.layouts);
  }
}

// A search that is stopped while it still bounds families knows how far it came, and has an answer.
TEST(Search, KeepsTheBestOfTheFamiliesSeenWhenItIsStopped) {
  const Bench bench = make_bench(dense_text());
  std::stop_source source;
  SearchOptions options{.threads = 1, .keep = kKept};
  options.stop = source.get_token();
  options.progress = [&source](std::int64_t, std::int64_t) { source.request_stop(); };
  const SearchResult found = search(bench.bench, bench.space, bench.spec, options);
  EXPECT_FALSE(found.complete);
  EXPECT_GT(found.counts.seen, 0);
  EXPECT_LT(found.counts.seen, found.counts.layouts);
  ASSERT_FALSE(found.best.empty());
  for (const Ranked& ranked : found.best) {
    EXPECT_EQ(ranked.estimate.verdict, Verdict::fits);
  }
  const SearchResult whole = search(bench.bench, bench.space, bench.spec, {.keep = kKept});
  EXPECT_EQ(whole.counts.seen, whole.counts.layouts);
}

// Stopped after so many reports of progress; 0: before it begins.
SearchResult stopped_after(const Bench& bench, int reports, SearchOptions options) {
  std::stop_source source;
  int seen = 0;
  options.stop = source.get_token();
  options.progress = [&](std::int64_t, std::int64_t) {
    if (++seen == reports) {
      source.request_stop();
    }
  };
  if (reports == 0) {
    source.request_stop();
  }
  return search(bench.bench, bench.space, bench.spec, options);
}

double best_score(const SearchResult& result) {
  return result.best.empty() ? std::numeric_limits<double>::infinity() : result.best.front().score;
}

TEST(Search, GoesOnOnlyToBetterThanItHad) {
  for (const std::string& text : {dense_text(), mixture_text()}) {
    const Bench bench = make_bench(text);
    const auto own = candidate_of(bench.bench.base, bench.bench);
    ASSERT_TRUE(own.has_value());
    const Estimate stated = Estimator(bench.bench).estimate(*own);
    ASSERT_EQ(stated.verdict, Verdict::fits);
    double before = static_cast<double>(stated.step_time.ns) * 1e-9 / own->global_batch;
    const double whole =
        best_score(search(bench.bench, bench.space, bench.spec, {.threads = 1, .keep = kKept}));
    for (const int reports : {0, 1, 2, 5, 20, 100, 1'000'000}) {
      const SearchResult result = stopped_after(bench, reports, {.threads = 1, .keep = kKept});
      EXPECT_LE(best_score(result), before * (1.0 + 1e-12)) << reports << " reports";
      EXPECT_LE(best_score(result), whole * 1.1) << reports << " reports";
      before = best_score(result);
    }
    EXPECT_EQ(before, whole);
  }
}

TEST(Search, StoppedProcessesAgree) {
  const Bench bench = make_bench(mixture_text());
  const SearchResult one = stopped_after(bench, 0, {.threads = 1});
  ASSERT_FALSE(one.best.empty());
  sweep::test::Launcher launcher(3, {});
  std::vector<SearchResult> results(3);
  {
    std::vector<std::jthread> threads;
    for (int number = 0; number < 3; ++number) {
      threads.emplace_back([&, number] {
        sweep::Team team(std::make_unique<sweep::test::SimulatedMail>(launcher, number));
        const int reports = number == 1 ? 0 : 1'000'000;  // one of them is asked to stop
        results[static_cast<std::size_t>(number)] =
            stopped_after(bench, reports, {.threads = 1, .team = &team});
      });
    }
  }
  for (const SearchResult& result : results) {
    EXPECT_FALSE(result.complete);
    EXPECT_EQ(names(result.best, bench.bench), names(one.best, bench.bench));
  }
}

// Where nothing fits every layout is a miss: those least short of memory are found all the same.
TEST(Search, FindsTheLeastShortOfMemoryWhereNothingFits) {
  for (const std::string& text : {dense_text(), mixture_text()}) {
    PlanSpec spec = few_degrees();
    spec.constraints.memory_headroom = gibibytes(79.0);
    const Bench bench = make_bench(text, spec);
    const SearchResult pruned = search(bench.bench, bench.space, bench.spec, {.threads = 2});
    const SearchResult all =
        search(bench.bench, bench.space, bench.spec, {.threads = 2, .prune = false});
    EXPECT_TRUE(pruned.best.empty());
    ASSERT_FALSE(pruned.misses.empty());
    EXPECT_EQ(names(pruned.misses, bench.bench), names(all.misses, bench.bench));
    EXPECT_EQ(pruned.counts.over_memory, all.counts.over_memory);
  }
}

TEST(Search, DoesNotDependOnTheNumberOfThreads) {
  const Bench bench = make_bench(mixture_text(), few_degrees());
  const SearchResult one = search(bench.bench, bench.space, bench.spec, {.threads = 1});
  for (const int threads : {2, 5}) {
    const SearchResult many = search(bench.bench, bench.space, bench.spec, {.threads = threads});
    EXPECT_EQ(names(many.best, bench.bench), names(one.best, bench.bench));
    EXPECT_EQ(names(many.misses, bench.bench), names(one.misses, bench.bench));
    EXPECT_EQ(many.counts.estimated, one.counts.estimated);
    EXPECT_EQ(many.counts.bounded, one.counts.bounded);
    EXPECT_EQ(many.counts.over_memory, one.counts.over_memory);
  }
}

TEST(Search, DoesNotDependOnTheNumberOfProcesses) {
  PlanSpec spec = few_degrees();
  spec.constraints.memory_headroom = gibibytes(20.0);
  const Bench bench = make_bench(mixture_text(), spec);
  const SearchResult one = search(bench.bench, bench.space, bench.spec, {.threads = 1});
  for (const int processes : {2, 3}) {
    sweep::test::Launcher launcher(processes, {});
    std::vector<SearchResult> results(static_cast<std::size_t>(processes));
    {
      std::vector<std::jthread> threads;
      for (int number = 0; number < processes; ++number) {
        threads.emplace_back([&, number] {
          sweep::Team team(std::make_unique<sweep::test::SimulatedMail>(launcher, number));
          results[static_cast<std::size_t>(number)] =
              search(bench.bench, bench.space, bench.spec, {.threads = 1, .team = &team});
        });
      }
    }
    for (const SearchResult& result : results) {
      EXPECT_EQ(names(result.best, bench.bench), names(one.best, bench.bench));
      EXPECT_EQ(names(result.misses, bench.bench), names(one.misses, bench.bench));
      EXPECT_EQ(names(result.front, bench.bench), names(one.front, bench.bench));
      EXPECT_EQ(result.counts.estimated, one.counts.estimated);
      EXPECT_EQ(result.counts.bounded, one.counts.bounded);
      EXPECT_EQ(result.counts.over_memory, one.counts.over_memory);
      EXPECT_TRUE(result.complete);
    }
  }
}

TEST(Search, CountsEveryLayoutOnce) {
  const Bench bench = make_bench(dense_text(), few_degrees());
  for (const bool prune : {true, false}) {
    const SearchCounts counts =
        search(bench.bench, bench.space, bench.spec, {.prune = prune}).counts;
    EXPECT_EQ(counts.layouts, counts.fits + counts.over_memory + counts.over_host_memory +
                                  counts.breaks_rule + counts.bounded);
    EXPECT_LE(counts.estimated, counts.layouts);
  }
}

TEST(Search, NeverKeepsWhatAConstraintForbids) {
  PlanSpec spec = few_degrees();
  spec.constraints.memory_headroom = gibibytes(20.0);
  spec.constraints.tensor_within_nvlink = true;
  const Bench bench = make_bench(mixture_text(), spec);
  const SearchResult result = search(bench.bench, bench.space, bench.spec, {.keep = 1000});
  ASSERT_FALSE(result.best.empty());
  for (const Ranked& ranked : result.best) {
    EXPECT_GE(ranked.estimate.headroom, gibibytes(20.0)) << tag(ranked.candidate, bench.bench);
    EXPECT_LE(ranked.candidate.tensor, 8);
  }
}

TEST(Search, MissesAreFasterThanTheBestAndDoNotFit) {
  const Bench bench = make_bench(mixture_text(), few_degrees());
  const SearchResult result = search(bench.bench, bench.space, bench.spec, {});
  ASSERT_FALSE(result.best.empty());
  for (const Ranked& miss : result.misses) {
    EXPECT_EQ(miss.estimate.verdict, Verdict::over_memory);
    EXPECT_LT(miss.score, result.best.front().score);
  }
}

TEST(Search, StopsWhenAsked) {
  const Bench bench = make_bench(dense_text());
  std::stop_source source;
  const SearchResult result = search(
      bench.bench, bench.space, bench.spec,
      {.threads = 1, .stop = source.get_token(), .progress = [&source](std::int64_t, std::int64_t) {
         source.request_stop();
       }});
  EXPECT_FALSE(result.complete);
}

TEST(Search, FewerGpusWinWhereTheDeadlineAllows) {
  PlanSpec spec = few_degrees();
  spec[Axis::nodes] = listed({"1", "2", "4"});
  spec.objective = Objective::fewest_gpus;
  const Bench bench = make_bench(dense_text(), spec);
  const SearchResult free = search(bench.bench, bench.space, bench.spec, {});
  ASSERT_FALSE(free.best.empty());
  EXPECT_EQ(free.best.front().candidate.nodes, 1);
  // A deadline that the best layout of one node just misses.
  const double sequences = 1000.0;
  const double one = in_seconds(to_seconds(free.best.front().estimate.step_time)) /
                     free.best.front().candidate.global_batch * sequences;
  PlanSpec late = bench.spec;
  late.deadline = seconds(one * 0.99);
  const SearchResult met = search(bench.bench, bench.space, late, {.sequences = sequences});
  EXPECT_EQ(met.best.front().candidate.nodes, 2);
}

}  // namespace
}  // namespace orrery::plan::test
