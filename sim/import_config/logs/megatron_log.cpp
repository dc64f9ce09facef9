// Megatron-LM, Megatron-Core, Megatron-DeepSpeed: `  num_layers ..... 32`, and one line a step.

#include <fmt/core.h>

#include "sim/base/units.hpp"
#include "sim/import_config/logs/log_flavours.hpp"

namespace orrery::import_config {

namespace {

// `  num_layers ......... 32`, whatever a launcher puts before it.
void read_dotted(const LogLine& line, LogSettings& settings) {
  constexpr std::string_view kDots = " ...";
  const std::size_t dots = line.text.find(kDots);
  if (dots == std::string_view::npos || dots == 0 ||
      line.text.find("[config.py") != std::string_view::npos) {
    return;
  }
  std::size_t begin = dots;
  while (begin > 0 && is_word(line.text[begin - 1])) {
    --begin;
  }
  const bool apart = begin == 0 || line.text[begin - 1] == ' ' || line.text[begin - 1] == ':';
  const std::size_t end = line.text.find_first_not_of('.', dots + 1);
  if (begin == dots || !apart || end == std::string_view::npos || line.text[end] != ' ') {
    return;
  }
  settings.put(std::string(line.text.substr(begin, dots - begin)),
               trimmed(line.text.substr(end)),
               line.number);
}

}  // namespace

std::vector<LogPart> megatron_log_settings(std::string_view text,
                                           const std::string& file,
                                           Diagnostics& /*diagnostics*/) {
  LogSettings settings(file);
  for (const LogLine& line : log_lines(text)) {
    read_dotted(line, settings);
    // > padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)
    if (line.text.find("padded vocab (size:") != std::string_view::npos) {
      if (const auto rows = number_behind(line.text, "new size:")) {
        settings.put("padded_vocab_size", fmt::format("{:.0f}", *rows), line.number);
      }
    }
  }
  return {{ConfigFormat::megatron_log, settings.take()}};
}

std::vector<LoggedStep> megatron_log_steps(std::string_view text, const std::string& /*file*/) {
  std::vector<LoggedStep> steps;
  for (const LogLine& line : log_lines(text)) {
    const auto thousandths = number_behind(line.text, "elapsed time per iteration (ms):");
    const auto whole = number_behind(line.text, "elapsed time per iteration (s):");
    const Seconds time = thousandths ? milliseconds(*thousandths) : seconds(whole.value_or(0.0));
    if (time <= Seconds{}) {
      continue;
    }
    auto tflops = number_behind(line.text, "throughput per GPU (TFLOP/s/GPU):");
    tflops = tflops ? tflops : number_behind(line.text, "TFLOPs:");
    steps.push_back({number_behind(line.text, "global batch size:").value_or(0.0),
                     in_seconds(time),
                     tflops,
                     line.number});
  }
  return steps;
}

}  // namespace orrery::import_config
