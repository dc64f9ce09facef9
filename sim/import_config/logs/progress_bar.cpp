#include "sim/import_config/logs/progress_bar.hpp"

#include "sim/base/units.hpp"
#include "sim/import_config/logs/log_lines.hpp"

namespace orrery::import_config {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// 3:05:26 or 01:58
std::optional<double> clock_seconds(std::string_view text) {
  double total = 0.0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(':'), text.size());
    const std::string_view part = text.substr(0, end);
    if (part.empty() || part.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::nullopt;
    }
    total = total * kSecondsPerMinute + number_behind(part, "").value_or(0.0);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return total;
}

}  // namespace

std::optional<ProgressBar::Stretch> ProgressBar::add(std::string_view line) {
  constexpr double kStretch = 20.0;
  is_bar_ = false;
  const std::size_t open = line.find(" [");
  const std::size_t slash = line.rfind('/', open);
  const std::size_t end = line.find('<', open);
  if (open == std::string_view::npos || slash == std::string_view::npos || slash == 0 ||
      end == std::string_view::npos) {
    return std::nullopt;
  }
  std::size_t begin = slash;
  while (begin > 0 && is_digit(line[begin - 1])) {
    --begin;
  }
  const std::string_view all = line.substr(slash + 1, open - slash - 1);
  const auto elapsed = clock_seconds(line.substr(open + 2, end - open - 2));
  const bool counts = begin < slash && !all.empty() &&
                      all.find_first_not_of("0123456789") == std::string_view::npos;
  if (!counts || !elapsed) {
    return std::nullopt;
  }
  const double total = number_behind(all, "").value_or(0.0);
  if (expected_ > 0.0 && total != expected_) {
    return std::nullopt;  // of an evaluation, of files
  }
  is_bar_ = true;
  const Place now{number_behind(line.substr(begin, slash - begin), "").value_or(0.0), *elapsed};
  const bool anew =
      !any_ || total != total_ || now.done < begin_.done || now.seconds < begin_.seconds;
  std::optional<Stretch> stretch;
  if (!anew && now.done > begin_.done && now.seconds - begin_.seconds >= kStretch) {
    stretch = Stretch{(now.seconds - begin_.seconds) / (now.done - begin_.done), now.done};
  }
  if (anew || stretch) {
    begin_ = now;
  }
  any_ = true;
  total_ = total;
  last_ = now;
  return stretch;
}

}  // namespace orrery::import_config
