#include "sim/import_config/training_log.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/import_config/logs/log_flavours.hpp"

namespace orrery::import_config {

namespace {

constexpr std::array<LogFlavour, 7> kFlavours = {
    {{ConfigFormat::megatron_log, megatron_log_settings, megatron_log_steps},
     {ConfigFormat::megatron_bridge_log, bridge_log_settings, megatron_log_steps},
     {ConfigFormat::nemo_log, nemo_log_settings, nemo_log_steps},
     {ConfigFormat::torchtitan_log, torchtitan_log_settings, torchtitan_log_steps},
     {ConfigFormat::deepspeed_log, deepspeed_log_settings, deepspeed_log_steps},
     {ConfigFormat::trainer_log, trainer_log_settings, trainer_log_steps},
     {ConfigFormat::nanotron_log, nanotron_log_settings, nanotron_log_steps}}};

const LogFlavour& flavour_of(ConfigFormat format) {
  const auto* found =
      std::find_if(kFlavours.begin(), kFlavours.end(), [format](const LogFlavour& flavour) {
        return flavour.format == format;
      });
  ORRERY_CHECK(found != kFlavours.end(), "a log that has no reader");
  return *found;
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
                                        ConfigFormat format) {
  std::vector<LoggedStep> steps = flavour_of(format).steps(text, file);
  const bool with_first = steps.size() < 2;
  if (!with_first) {
    steps.erase(steps.begin());
  }
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
