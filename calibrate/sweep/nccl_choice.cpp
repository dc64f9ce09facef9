#include "calibrate/sweep/nccl_choice.hpp"

#include <regex>

namespace orrery::calibrate {

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
