#include "sim/import_config/logs/training_log.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "sim/import_config/logs/log_flavours.hpp"
#include "sim/import_config/logs/log_scan.hpp"

namespace orrery::import_config {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Which steps count: those of runs with the settings of the last one, without the first step of
// every run, which warms up, where there are others.
std::vector<char> counted_steps(const ScannedLog& log) {
  std::vector<char> kept(log.steps.size(), 1);
  std::size_t left = kept.size();
  std::size_t end = kept.size();
  for (auto run = log.runs.rbegin(); run != log.runs.rend(); ++run) {
    const std::span before(log.steps.data(), end);
    const auto first = static_cast<std::size_t>(
        std::partition_point(before.begin(), before.end(),
                             [run](const ScannedStep& step) { return step.line < run->line; }) -
        before.begin());
    if (run->job != log.runs.back().job) {
      std::fill_n(kept.begin() + static_cast<std::ptrdiff_t>(first), end - first, char{0});
      left -= end - first;
    } else if (first < end) {
      // Every rank that writes the log prints the first step.
      const std::int64_t number = log.steps[first].number;
      const std::span steps(log.steps.data() + first, end - first);
      const bool counts = number >= 0 && std::any_of(steps.begin(), steps.end(), [&](auto& step) {
                            return step.number != number;
                          });
      for (std::size_t i = first; i < end && left > 1; ++i) {
        if (i == first || (counts && log.steps[i].number == number)) {
          kept[i] = 0;
          --left;
        }
      }
    }
    end = first;
  }
  return kept;
}

// The step before, as the same writer has told it in the same life of the job.
std::vector<std::size_t> steps_before(const ScannedLog& log) {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> before(log.steps.size(), kNone);
  std::vector<std::size_t> last(log.writers.size() + 1, kNone);
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    const ScannedStep& step = log.steps[i];
    if (step.anew) {
      std::fill(last.begin(), last.end(), kNone);
    }
    std::size_t& one = last[step.writer];
    if (one != kNone && step.number > log.steps[one].number && log.steps[one].number >= 0) {
      before[i] = one;
    }
    one = i;
  }
  return before;
}

class StepTimes {
 public:
  StepTimes(const ScannedLog& log, const LoggedJob& job)
      : log_(log), job_(job), before_(steps_before(log)) {}

  // Sequences of a step; 0 where the log does not say them.
  [[nodiscard]] double batch(std::size_t i) const {
    const ScannedStep& step = log_.steps[i];
    if (step.batch != 0.0 || before_[i] >= i) {
      return step.batch;
    }
    const ScannedStep& last = log_.steps[before_[i]];
    const double more =
        (step.so_far - last.so_far) / static_cast<double>(step.number - last.number);
    return step.so_far > last.so_far && more == std::floor(more) ? more : 0.0;
  }

  [[nodiscard]] double seconds(std::size_t i) const {
    const ScannedStep& step = log_.steps[i];
    const double sequences = batch(i) > 0.0 ? batch(i) : job_.sequences;
    const double tokens = sequences * job_.length;
    const auto at_rate = [&step](double work) {
      return work > 0.0 && step.value > 0.0 ? work / step.value : kUnknown;
    };
    switch (step.kind) {
      case Says::run_seconds: {
        const double passed = before_[i] < i ? step.value - log_.steps[before_[i]].value : 0.0;
        return passed > 0.0
                   ? passed / static_cast<double>(step.number - log_.steps[before_[i]].number)
                   : kUnknown;
      }
      case Says::steps_per_second:
        return at_rate(1.0);
      case Says::sequences_per_second:
        return at_rate(sequences);
      case Says::tokens_per_second:
        return at_rate(tokens);
      case Says::tokens_per_second_of_rank:
        return job_.ranks > 0.0 ? at_rate(tokens / job_.ranks) : kUnknown;
      case Says::units_per_second:
        return at_rate(tokens > 0.0 && std::fmod(static_cast<double>(step.number), tokens) == 0.0
                           ? tokens
                           : sequences);
      default:
        return step.value;
    }
  }

  // From the dates of two lines; where these are in whole seconds, of two that are far apart.
  [[nodiscard]] std::vector<double> by_dates() const {
    if (!log_.steps.empty() && log_.steps.front().kind == Says::units_per_second) {
      return std::vector<double>(log_.steps.size(), kUnknown);  // numbers count the work
    }
    constexpr std::int64_t kSecond = 1000;
    constexpr std::int64_t kFar = 20 * kSecond;
    const bool whole = std::all_of(log_.steps.begin(), log_.steps.end(), [](const auto& step) {
      return step.date == kNoDate || step.date % kSecond == 0;
    });
    std::vector<double> times(log_.steps.size(), kUnknown);
    std::vector<std::size_t> from(log_.steps.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
      const ScannedStep& step = log_.steps[i];
      from[i] = before_[i] < i ? from[before_[i]] : i;
      const ScannedStep& begin = log_.steps[from[i]];
      if (from[i] == i || step.date == kNoDate || begin.date == kNoDate) {
        from[i] = step.date == kNoDate ? from[i] : i;
        continue;
      }
      const std::int64_t passed = step.date - begin.date;
      if (passed > 0 && (!whole || passed >= kFar)) {
        times[i] = static_cast<double>(passed) / static_cast<double>(kSecond) /
                   static_cast<double>(step.number - begin.number);
        from[i] = i;
      }
    }
    return times;
  }

  // Whether figures such as `tps: 8` leave the time open by more than a hundredth.
  [[nodiscard]] bool is_coarse() const {
    constexpr double kFew = 50.0;
    return std::all_of(log_.steps.begin(), log_.steps.end(), [](const ScannedStep& step) {
      return step.kind != Says::seconds && step.kind != Says::run_seconds && step.value < kFew &&
             step.value == std::floor(step.value);
    });
  }

 private:
  const ScannedLog& log_;
  LoggedJob job_;
  std::vector<std::size_t> before_;
};

double quantile(std::vector<double> values, double share) {
  if (!std::is_sorted(values.begin(), values.end())) {
    std::sort(values.begin(), values.end());
  }
  const double place = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
}

struct Timed {
  double seconds = 0.0;
  float batch = 0.0F;
  std::uint32_t step = 0;
};

double median_of(const std::vector<Timed>& steps) {
  std::vector<double> times;
  for (const Timed& step : steps) {
    times.push_back(step.seconds);
  }
  return times.empty() ? kUnknown : quantile(std::move(times), 0.5);
}

// A step that was skipped is printed as 0, or as no number.
UntimedSteps leave_out_untimed(std::vector<Timed>& steps, const ScannedLog& log) {
  UntimedSteps untimed{log.untimed, log.first_untimed};
  const auto is_zero = [](const Timed& step) { return step.seconds <= 0.0; };
  const auto zero = std::find_if(steps.begin(), steps.end(), is_zero);
  if (zero != steps.end() && !std::all_of(steps.begin(), steps.end(), is_zero)) {
    const int line = log.steps[zero->step].line;
    untimed.first = untimed.count > 0 ? std::min(untimed.first, line) : line;
    untimed.count += std::erase_if(steps, is_zero);
  }
  return untimed;
}

// Times that no GPU can take are an error.
bool are_times_of_steps(const std::vector<Timed>& steps, const ScannedLog& log,
                        const std::string& file, Diagnostics& diagnostics) {
  const double shortest = in_seconds(microseconds(1.0));
  const double longest = in_seconds(days(30.0));
  for (const Timed& step : steps) {
    if (!(step.seconds >= shortest && step.seconds <= longest)) {
      diagnostics.error({file, log.steps[step.step].line, 1}, "",
                        fmt::format("a step of {:.6g} s is none that a GPU can take", step.seconds),
                        "1 us to 30 d");
      return false;
    }
  }
  return true;
}

void keep_commonest_batch(std::vector<Timed>& steps) {
  std::map<float, std::size_t> batches;
  float commonest = 0.0F;
  for (const Timed& step : steps) {
    const std::size_t seen = ++batches[step.batch];
    commonest = seen >= batches[commonest] ? step.batch : commonest;
  }
  std::erase_if(steps, [commonest](const Timed& step) { return step.batch != commonest; });
}

// Ranks that a program without a pipeline and tensor parallelism has; others are told by dates.
double likely_ranks(const ScannedLog& log) {
  double global = 0.0;
  double local = 0.0;
  for (const ScannedFact& fact : log.facts) {
    const double value = number_behind(fact.value, "").value_or(0.0);
    global = fact.key == "batch.global" ? value : global;
    local = fact.key == fact::kLocalBatch ? value : local;
  }
  return local > 0.0 ? global / local : 0.0;
}

// The mean of a run counts where nothing else does.
void keep_best(const ScannedLog& log, std::vector<Timed>& steps) {
  constexpr std::ptrdiff_t kFew = 2;
  const auto is_mean = [&log](const Timed& step) { return log.steps[step.step].whole_run; };
  const auto means = std::count_if(steps.begin(), steps.end(), is_mean);
  const bool mean = means > 0 && std::ssize(steps) - means < kFew;
  std::erase_if(steps, [&](const Timed& step) { return is_mean(step) != mean; });
}

struct Choice {
  std::vector<Timed> steps;
  bool by_dates = false;
  std::optional<Seconds> dates;
};

// Times as they are printed, unless they cannot be known, or the dates contradict a guess.
Choice chosen_times(const ScannedLog& log, LoggedJob job, const std::vector<char>& kept) {
  const auto take = [&kept](const StepTimes& times, const auto& seconds_of) {
    std::vector<Timed> steps;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const double seconds = seconds_of(i);
      if (kept[i] != 0 && !std::isnan(seconds)) {
        steps.push_back(
            {seconds, static_cast<float>(times.batch(i)), static_cast<std::uint32_t>(i)});
      }
    }
    return steps;
  };
  constexpr double kNear = 1.25;
  const bool guessed = job.ranks <= 0.0;
  job.ranks = guessed ? likely_ranks(log) : job.ranks;
  const StepTimes times(log, job);
  const std::vector<double> dates = times.by_dates();
  Choice printed{take(times, [&times](std::size_t i) { return times.seconds(i); }), false, {}};
  keep_best(log, printed.steps);
  Choice dated{take(times, [&dates](std::size_t i) { return dates[i]; }), true, {}};
  const double ratio = median_of(printed.steps) / median_of(dated.steps);
  const bool near = ratio < kNear && ratio > 1.0 / kNear;
  const bool per_rank =
      !log.steps.empty() && log.steps.back().kind == Says::tokens_per_second_of_rank;
  if (dated.steps.empty()) {
    return guessed && per_rank ? Choice{} : printed;
  }
  if (printed.steps.empty() || times.is_coarse() || (guessed && per_rank && !near)) {
    return dated;
  }
  constexpr double kOther = 1.5;
  if (!(ratio < kOther && ratio > 1.0 / kOther)) {
    printed.dates = seconds(median_of(dated.steps));
  }
  return printed;
}

// Tokens of all GPUs a second, where the log says them.
std::optional<double> token_rate(const ScannedLog& log, const LoggedJob& job,
                                 const std::vector<Timed>& steps) {
  std::vector<double> rates;
  for (const Timed& timed : steps) {
    const ScannedStep& step = log.steps[timed.step];
    const double batch = timed.batch > 0.0F ? static_cast<double>(timed.batch) : job.sequences;
    const double rate = step.tokens_per_second > 0.0 ? step.tokens_per_second
                        : step.kind == Says::tokens_per_second_of_rank
                            ? step.value * job.ranks
                            : batch * job.length / timed.seconds;
    if (rate > 0.0) {
      rates.push_back(rate);
    }
  }
  return rates.empty() ? std::nullopt : std::optional(quantile(std::move(rates), 0.5));
}

std::optional<SlowerSteps> slower_steps(const ScannedLog& log, const std::vector<Timed>& steps) {
  std::vector<StepTime> times;
  for (const Timed& timed : steps) {
    const ScannedStep& step = log.steps[timed.step];
    times.push_back({step.number < 0 ? static_cast<std::int64_t>(timed.step) : step.number,
                     timed.seconds, step.line});
  }
  return slower_steps(times);
}

LoggedJob filled(LoggedJob job, const LoggedJob& known) {
  job.sequences = job.sequences > 0.0 ? job.sequences : known.sequences;
  job.length = job.length > 0.0 ? job.length : known.length;
  job.ranks = job.ranks > 0.0 ? job.ranks : known.ranks;
  return job;
}

}  // namespace

std::optional<SlowerSteps> slower_steps(std::span<const StepTime> steps) {
  const std::size_t n = steps.size();
  std::vector<double> sorted;
  sorted.reserve(n);
  for (const StepTime& step : steps) {
    sorted.push_back(step.seconds);
  }
  std::sort(sorted.begin(), sorted.end());
  double sum = 0.0;  // U
  double largest = 0.0;
  std::size_t before = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), steps[k].seconds);
    // Twice the mean rank, from 1, of equal times.
    const auto twice = static_cast<double>((first - sorted.begin()) + (last - sorted.begin()) + 1);
    sum += twice - static_cast<double>(n + 1);
    if (-sum > largest) {  // times before it rank low
      largest = -sum;
      before = k + 1;
    }
  }
  constexpr double kSure = 0.001;
  constexpr double kWorthSaying = 1.05;
  const auto all = static_cast<double>(n);
  if (before == 0 || 2.0 * std::exp(-6.0 * largest * largest / (all * all * (all + 1.0))) > kSure) {
    return std::nullopt;
  }
  const auto median_in = [&steps](std::size_t begin, std::size_t end) {
    std::vector<double> times;
    for (std::size_t i = begin; i < end; ++i) {
      times.push_back(steps[i].seconds);
    }
    return seconds(quantile(std::move(times), 0.5));
  };
  const SlowerSteps slower{steps[before].number, steps[before].line, median_in(0, before),
                           median_in(before, n)};
  return slower.since / slower.before >= kWorthSaying ? std::optional(slower) : std::nullopt;
}

std::string said_of(const UntimedSteps& untimed) {
  return fmt::format("{} {} a time of 0 or none that is a number from here on, left out",
                     untimed.count, untimed.count == 1 ? "step has" : "steps have");
}

LoggedJob job_of_log(const ScannedLog& log) {
  LoggedJob job;
  double step_tokens = 0.0;
  for (const ScannedFact& fact : log.facts) {
    const double value = fact.rounding > 0.0 ? 0.0 : number_behind(fact.value, "").value_or(0.0);
    job.sequences = fact.key == "batch.global" ? value : job.sequences;
    job.length = fact.key == "model.sequence_length" ? value : job.length;
    job.ranks = fact.key == fact::kRanks ? value : job.ranks;
    step_tokens = fact.key == fact::kStepTokens ? value : step_tokens;
  }
  if (step_tokens > 0.0 && job.length > 0.0) {
    job.sequences = step_tokens / job.length;
  }
  if (job.sequences <= 0.0) {
    job.sequences = batch_of_steps(log);
  }
  return job;
}

std::optional<LoggedSteps> steps_of_log(const ScannedLog& log, const std::string& file,
                                        const LoggedJob& known, Diagnostics& diagnostics,
                                        std::string* why) {
  const LoggedJob said = job_of_log(log);
  Choice choice = chosen_times(log, filled(said, known), counted_steps(log));
  const UntimedSteps untimed = leave_out_untimed(choice.steps, log);
  if (!are_times_of_steps(choice.steps, log, file, diagnostics)) {
    return std::nullopt;
  }
  keep_commonest_batch(choice.steps);
  if (choice.steps.empty()) {
    if (why != nullptr) {
      *why = log.steps.empty()
                 ? "holds no time of a step"
                 : "prints a rate, and not of how much work, or on how many GPUs: the "
                   "time of a step does not follow";
    }
    return std::nullopt;
  }
  std::vector<double> times;
  std::vector<double> rates;
  for (const Timed& step : choice.steps) {
    times.push_back(step.seconds);
    if (log.steps[step.step].tflops > 0.0F) {
      rates.push_back(static_cast<double>(log.steps[step.step].tflops));
    }
  }
  std::sort(times.begin(), times.end());
  constexpr double kTenth = 0.1;
  const ScannedStep& first = log.steps[choice.steps.front().step];
  LoggedSteps logged;
  logged.count = times.size();
  logged.untimed = untimed;
  logged.median = seconds(quantile(times, 0.5));
  logged.tenth = seconds(quantile(times, kTenth));
  logged.ninetieth = seconds(quantile(times, 1.0 - kTenth));
  logged.tokens_per_second = token_rate(log, said, choice.steps);
  logged.first = {file, first.line, 1};
  logged.with_first = log.steps.size() < 2;
  logged.whole_run = first.whole_run;
  logged.by_dates = choice.by_dates;
  logged.dates = choice.dates;
  logged.slower = slower_steps(log, choice.steps);
  if (!rates.empty()) {
    logged.tflops = quantile(rates, 0.5);
  }
  return logged;
}

double batch_of_steps(const ScannedLog& log) {
  const StepTimes times(log, {});
  std::vector<Timed> steps;
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    if (times.batch(i) > 0.0) {
      steps.push_back({0.0, static_cast<float>(times.batch(i)), static_cast<std::uint32_t>(i)});
    }
  }
  keep_commonest_batch(steps);
  return steps.empty() ? 0.0 : static_cast<double>(steps.front().batch);
}

std::optional<LoggedSteps> steps_of_log(const ConfigFile& file, const LoggedJob& known,
                                        Diagnostics& diagnostics, std::string* why) {
  const auto log = log_of(file);
  if (log == nullptr) {
    if (why != nullptr) {
      *why = "is no log of a program that is known";
    }
    return std::nullopt;
  }
  return steps_of_log(*log, file.name, known, diagnostics, why);
}

std::vector<double> seconds_of_steps(const ScannedLog& log) {
  const StepTimes times(log, job_of_log(log));
  const std::vector<double> dates = times.by_dates();
  std::vector<double> seconds;
  std::vector<double> dated;
  for (std::size_t i = 0; i < dates.size(); ++i) {
    seconds.push_back(times.seconds(i));
    if (!std::isnan(dates[i])) {
      dated.push_back(dates[i]);
    }
  }
  const double median = dated.empty() ? 0.0 : quantile(dated, 0.5);
  std::replace_if(
      seconds.begin(), seconds.end(), [](double time) { return std::isnan(time); }, median);
  return seconds;
}

std::vector<LogPart> settings_of_log(const ScannedLog& log, const std::string& file,
                                     Diagnostics& diagnostics) {
  return settings_of_text(log.format, log.text, file, diagnostics);
}

}  // namespace orrery::import_config
