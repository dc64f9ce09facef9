#include "sim/import_config/training_log.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/import_config/logs/log_flavours.hpp"

namespace orrery::import_config {

namespace {

constexpr std::array<LogFlavour, 7> kFlavours = {
    {{ConfigFormat::megatron_log, "- arguments -", megatron_log_settings, megatron_log_steps},
     {ConfigFormat::megatron_bridge_log,
      "Task Configuration -----",
      bridge_log_settings,
      megatron_log_steps},
     {ConfigFormat::nemo_log, "* Experiment configuration *", nemo_log_settings, nemo_log_steps},
     {ConfigFormat::torchtitan_log, "device mesh", torchtitan_log_settings, torchtitan_log_steps},
     {ConfigFormat::deepspeed_log, "json = {", deepspeed_log_settings, deepspeed_log_steps},
     {ConfigFormat::trainer_log, "Running training", trainer_log_settings, trainer_log_steps},
     {ConfigFormat::nanotron_log, "Config(general=", nanotron_log_settings, nanotron_log_steps}}};

const LogFlavour& flavour_of(ConfigFormat format) {
  const auto* found =
      std::find_if(kFlavours.begin(), kFlavours.end(), [format](const LogFlavour& flavour) {
        return flavour.format == format;
      });
  ORRERY_CHECK(found != kFlavours.end(), "a log that has no reader");
  return *found;
}

bool is_same(const yaml::Value& one, const yaml::Value& other) {
  return one.kind == other.kind && one.text == other.text &&
         std::equal(
             one.items.begin(), one.items.end(), other.items.begin(), other.items.end(), is_same) &&
         std::equal(one.entries.begin(),
                    one.entries.end(),
                    other.entries.begin(),
                    other.entries.end(),
                    [](const auto& a, const auto& b) {
                      return a.key == b.key && is_same(a.value, b.value);
                    });
}

// Where these lines, ascending, begin; the first is 1. Lines behind the end begin at the end.
std::vector<std::size_t> offsets_of(std::string_view text, std::span<const int> lines) {
  std::vector<std::size_t> offsets;
  offsets.reserve(lines.size());
  std::size_t at = 0;
  int line = 1;
  for (const int wanted : lines) {
    for (; line < wanted && at < text.size(); ++line) {
      at = std::min(text.find('\n', at), text.size() - 1) + 1;
    }
    offsets.push_back(line < wanted ? text.size() : at);
  }
  return offsets;
}

// The lines at which runs begin. Settings that several ranks print are those of one run.
std::vector<int> run_begins(std::string_view text,
                            std::string_view words,
                            std::span<const LoggedStep> steps) {
  std::vector<int> begins = {1};
  auto next = steps.begin();
  for (const LogLine& line : log_lines(text)) {
    if (line.text.find(words) != std::string_view::npos) {
      const auto here = std::find_if(
          next, steps.end(), [&line](const LoggedStep& step) { return step.line > line.number; });
      if (here != next) {
        begins.push_back(line.number);
        next = here;
      }
    }
  }
  return begins;
}

bool is_same(std::span<const LogPart> one, std::span<const LogPart> other) {
  return std::equal(
      one.begin(), one.end(), other.begin(), other.end(), [](const LogPart& a, const LogPart& b) {
        return a.format == b.format && is_same(a.tree, b.tree);
      });
}

// Drops the steps of runs that had other settings than the last one, and the first step of every
// run, which warms up, where there are others.
void keep_last_run(std::string_view text,
                   const std::string& file,
                   const LogFlavour& flavour,
                   std::vector<LoggedStep>& steps) {
  std::vector<int> begins = run_begins(text, flavour.begins, steps);
  begins.push_back(std::numeric_limits<int>::max());
  const std::vector<std::size_t> offsets = offsets_of(text, begins);
  std::vector<char> kept(steps.size(), 1);
  std::size_t left = steps.size();
  std::size_t end = steps.size();  // of the steps of the run, which stand in the order of lines
  std::vector<LogPart> last;
  for (std::size_t i = begins.size() - 1; i > 0; --i) {
    std::size_t first = end;
    while (first > 0 && steps[first - 1].line >= begins[i - 1]) {
      --first;
    }
    bool other = false;
    if (begins.size() > 2) {
      Diagnostics unsaid;
      std::vector<LogPart> settings =
          flavour.settings(text.substr(offsets[i - 1], offsets[i] - offsets[i - 1]), file, unsaid);
      if (i == begins.size() - 1) {
        last = std::move(settings);
      } else {
        other = !is_same(settings, last);
      }
    }
    if (other) {
      std::fill(kept.begin() + static_cast<std::ptrdiff_t>(first),
                kept.begin() + static_cast<std::ptrdiff_t>(end),
                char{0});
      left -= end - first;
    } else if (first < end) {
      // Every rank that writes the log prints the first step.
      const std::optional<std::int64_t> number = steps[first].number;
      const bool counts =
          std::any_of(steps.begin() + static_cast<std::ptrdiff_t>(first),
                      steps.begin() + static_cast<std::ptrdiff_t>(end),
                      [&](const LoggedStep& step) { return step.number != number; });
      for (std::size_t at = first; at < end && left > 1; ++at) {
        if (at == first || (counts && number && steps[at].number == number)) {
          kept[at] = 0;
          --left;
        }
      }
    }
    end = first;
  }
  std::size_t at = 0;
  std::erase_if(steps, [&](const LoggedStep&) { return kept[at++] == 0; });
}

// A time of 0 is of a step that was skipped, where there are others.
bool are_times_of_steps(std::vector<LoggedStep>& steps,
                        const std::string& file,
                        Diagnostics& diagnostics) {
  const Seconds shortest = microseconds(1.0);
  const Seconds longest = days(30.0);
  const auto took = [](const LoggedStep& step) { return seconds(step.seconds); };
  const auto is_zero = [&](const LoggedStep& step) { return took(step) <= Seconds{}; };
  if (!std::all_of(steps.begin(), steps.end(), is_zero)) {
    std::erase_if(steps, is_zero);
  }
  const auto strange = std::find_if(steps.begin(), steps.end(), [&](const LoggedStep& step) {
    return !(took(step) >= shortest && took(step) <= longest);
  });
  if (strange != steps.end()) {
    diagnostics.error(
        {file, strange->line, 1},
        "",
        fmt::format("a step of {:.6g} s is none that a GPU can take", strange->seconds),
        "1 us to 30 d");
  }
  return strange == steps.end();
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
}

}  // namespace

std::vector<LogPart> settings_of_log(std::string_view text,
                                     const std::string& file,
                                     ConfigFormat format,
                                     Diagnostics& diagnostics) {
  return flavour_of(format).settings(text, file, diagnostics);
}

std::optional<LoggedSteps> steps_of_log(std::string_view text,
                                        const std::string& file,
                                        ConfigFormat format,
                                        Diagnostics& diagnostics) {
  const LogFlavour& flavour = flavour_of(format);
  std::vector<LoggedStep> steps = flavour.steps(text, file);
  if (!are_times_of_steps(steps, file, diagnostics)) {
    return std::nullopt;
  }
  const bool with_first = steps.size() < 2;
  keep_last_run(text, file, flavour, steps);
  std::map<double, std::size_t> batches;
  double commonest = 0.0;
  for (const LoggedStep& step : steps) {
    const std::size_t seen = ++batches[step.batch];
    commonest = seen >= batches[commonest] ? step.batch : commonest;
  }
  std::erase_if(steps, [commonest](const LoggedStep& step) { return step.batch != commonest; });
  if (steps.empty()) {
    return std::nullopt;
  }
  std::vector<double> times;
  std::vector<double> rates;
  for (const LoggedStep& step : steps) {
    times.push_back(step.seconds);
    if (step.tflops) {
      rates.push_back(*step.tflops);
    }
  }
  constexpr double kTenth = 0.1;
  LoggedSteps logged;
  logged.count = times.size();
  logged.median = seconds(quantile(times, 0.5));
  logged.tenth = seconds(quantile(times, kTenth));
  logged.ninetieth = seconds(quantile(times, 1.0 - kTenth));
  logged.first = {file, steps.front().line, 1};
  logged.with_first = with_first;
  logged.whole_run = steps.front().whole_run;
  if (!rates.empty()) {
    logged.tflops = quantile(rates, 0.5);
  }
  return logged;
}

std::vector<std::pair<int, double>> step_lines(std::string_view text,
                                               const std::string& file,
                                               ConfigFormat format) {
  std::vector<std::pair<int, double>> lines;
  for (const LoggedStep& step : flavour_of(format).steps(text, file)) {
    lines.emplace_back(step.line, step.seconds);
  }
  return lines;
}

std::string gpu_of_log(std::string_view text) {
  constexpr std::string_view kWords = "CUDA capacity: ";
  const std::size_t at = text.find(kWords);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(at + kWords.size());
  return std::string(rest.substr(0, std::min({rest.find(" with "), rest.find('\n'), rest.size()})));
}

}  // namespace orrery::import_config
