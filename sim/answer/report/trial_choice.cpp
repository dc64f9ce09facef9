#include "sim/answer/report/trial_choice.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "sim/base/text/format.hpp"

namespace orrery::report {

namespace {

double rate_of(const run::TrialTotals& trial) {
  return trial.wall > 0.0 ? trial.tokens / trial.wall : 0.0;
}

}  // namespace

std::uint32_t trial_at(const Evaluation& evaluation, double share) {
  const std::vector<run::TrialTotals>& first = evaluation.run->first;
  std::vector<std::uint32_t> numbers(first.size());
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::ranges::stable_sort(numbers, {},
                           [&first](std::uint32_t trial) { return rate_of(first[trial]); });
  return numbers[static_cast<std::size_t>(share * static_cast<double>(numbers.size() - 1))];
}

std::string trial_words(const Evaluation& evaluation) {
  if (!evaluation.run) {
    return {};
  }
  const std::vector<run::TrialTotals>& first = evaluation.run->first;
  const std::uint32_t shown = evaluation.timeline_trial;
  if (shown >= evaluation.run->trials) {  // any trial can be drawn, also beyond those of the answer
    return fmt::format("trial {}", format_integer(shown));
  }
  if (shown >= first.size() || evaluation.run->trials == 1) {
    return fmt::format("trial {} of {}", format_integer(shown),
                       format_integer(evaluation.run->trials));
  }
  const auto faster = std::ranges::count_if(
      first, [&](const run::TrialTotals& other) { return rate_of(other) > rate_of(first[shown]); });
  return fmt::format("trial {}, {} of {} faster", shown,
                     faster == 0 ? "none" : std::to_string(faster), first.size());
}

}  // namespace orrery::report
