#include "sim/run/hours_spec.hpp"

#include <fmt/core.h>

namespace orrery::run {

std::variant<double, std::string> goodput_from_hours(HoursKind kind, Seconds productive,
                                                     Seconds published) {
  if (kind != HoursKind::billed) {
    return fmt::format(
        "{} GPU-hours do not tell the goodput: they contain {}", to_string(kind),
        kind == HoursKind::unknown ? "nobody says what" : "no losses, whatever the run lost");
  }
  if (!(published > Seconds{}) || !(productive > Seconds{})) {
    return std::string("the hours must be positive");
  }
  return productive / published;
}

}  // namespace orrery::run
