#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "calibrate/sweep/sweep_runner.hpp"
#include "sim/base/percent.hpp"

namespace orrery::calibrate {

namespace {

constexpr double kNear = 0.02;

bool is_point(const Sample& sample) {
  return sample.supported && sample.condition.alone() && sample.repeat == 0 && !sample.functional;
}

const std::string* detail_of(const Sample& sample, std::string_view name) {
  for (const auto& [key, value] : sample.details) {
    if (key == name) {
      return &value;
    }
  }
  return nullptr;
}

void add_bursts(const std::vector<Sample>& samples, std::vector<std::string>& notes) {
  std::map<kernels::KernelCase, double> bursts;
  for (const Sample& sample : samples) {
    if (is_point(sample) && sample.regime == Regime::burst) {
      bursts[sample.kernel] = summarise(sample.times).median;
    }
  }
  for (const Sample& sample : samples) {
    const auto burst = bursts.find(sample.kernel);
    if (!is_point(sample) || sample.regime == Regime::burst || burst == bursts.end()) {
      continue;
    }
    const double slower = burst->second / summarise(sample.times).median - 1.0;
    if (slower > kNear) {
      notes.push_back(fmt::format(
          "{} took {:.1f} % longer in a burst than sustained: the GPU was not at rest before",
          kernels::to_text(sample.kernel), kPercent * slower));
    }
  }
}

void add_own_attention(const std::vector<Sample>& samples, std::vector<std::string>& notes) {
  std::size_t count = 0;
  std::set<std::string> reasons;
  for (const Sample& sample : samples) {
    if (is_point(sample) && sample.kernel.operation == kernels::Operation::attention &&
        sample.implementation == "own") {
      ++count;
      const std::string* reason = detail_of(sample, "without_cudnn");
      reasons.insert(reason == nullptr ? "no reason is kept" : *reason);
    }
  }
  if (count > 0) {
    notes.push_back(fmt::format(
        "{} cases of attention ran on kernels of our own, slower than what training uses: {}",
        count, fmt::join(reasons, "; ")));
  }
}

void add_unsteady(const std::vector<Sample>& samples, std::vector<std::string>& notes) {
  const auto points = std::ranges::count_if(samples, is_point);
  const auto moving = std::ranges::count_if(samples, [](const Sample& sample) {
    return detail_of(sample, "not_settled_after_ms") != nullptr;
  });
  const auto held = std::ranges::count_if(
      samples, [](const Sample& sample) { return sample.state.discarded > 0; });
  if (moving > 0) {
    notes.push_back(
        fmt::format("the time or the clock of {} cases still moved when they were timed", moving));
  }
  constexpr std::ptrdiff_t kSeldom = 20;
  if (held * kSeldom > points) {
    notes.push_back(fmt::format(
        "the GPU was held back by heat or hardware in {} of {} cases; those replays are discarded",
        held, points));
  }
  const auto late =
      std::ranges::count_if(samples, [](const Sample& sample) { return sample.state.late > 0; });
  if (late * kSeldom > points) {
    notes.push_back(fmt::format(
        "the host was late in {} of {} cases: the GPU rested between some of their replays", late,
        points));
  }
}

}  // namespace

FirstChoices first_choices(const std::vector<Sample>& samples) {
  std::vector<double> ratios;
  for (const Sample& sample : samples) {
    if (is_point(sample) && sample.first_choice) {
      ratios.push_back(*sample.first_choice);
    }
  }
  if (ratios.empty()) {
    return {};
  }
  const auto beyond =
      std::ranges::count_if(ratios, [](double ratio) { return ratio > 1.0 + kNear; });
  return {.searched = ratios.size(),
          .median = summarise(ratios).median,
          .worst = *std::ranges::max_element(ratios),
          .beyond = static_cast<std::size_t>(beyond)};
}

std::vector<std::string> sweep_notes(const std::vector<Sample>& samples) {
  std::vector<std::string> notes;
  add_bursts(samples, notes);
  add_own_attention(samples, notes);
  add_unsteady(samples, notes);
  if (const FirstChoices choices = first_choices(samples); choices.beyond > 0) {
    notes.push_back(fmt::format(
        "cuBLASLt's first choice is more than 2 % slower than its best for {} of {} products, at "
        "worst by {:.1f} %: the profile has the first choice, as frameworks do",
        choices.beyond, choices.searched, kPercent * (choices.worst - 1.0)));
  }
  return notes;
}

std::optional<NcclChoice> last_nccl_choice(std::string_view log) {
  static const std::regex line(
      R"(Bytes -> Algo (\w+) proto (\w+) channel\{Lo\.\.Hi\}=\{(\d{1,4})\.\.(\d{1,4})\})");
  const std::string text(log);
  std::optional<NcclChoice> last;
  for (std::sregex_iterator found(text.begin(), text.end(), line); found != std::sregex_iterator();
       ++found) {
    const std::smatch& match = *found;
    last = NcclChoice{.algorithm = match[1],
                      .protocol = match[2],
                      .channels = std::stoi(match[4]) - std::stoi(match[3]) + 1};
  }
  return last;
}

}  // namespace orrery::calibrate
