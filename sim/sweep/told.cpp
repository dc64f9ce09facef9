#include "sim/sweep/told.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "sim/base/error.hpp"

namespace orrery::sweep {

namespace {

constexpr char kFound = 'R';
constexpr char kFailed = 'E';

}  // namespace

std::string told(std::string_view found) {
  return kFound + std::string(found);
}

std::string told(const std::exception& error) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  const ErrorKind kind = ours == nullptr ? ErrorKind::io : ours->kind();
  return fmt::format("{}{}{}", kFailed, static_cast<int>(kind), error.what());
}

std::vector<std::string> heard(std::vector<std::string> all) {
  for (std::size_t process = 0; process < all.size(); ++process) {
    std::string& text = all[process];
    if (!text.empty() && text.front() == kFound) {
      text.erase(0, 1);
      continue;
    }
    constexpr std::string_view kKinds = "012";  // of ErrorKind
    const bool known = text.size() > 1 && text.front() == kFailed &&
                       kKinds.find(text[1]) != std::string_view::npos;
    const auto kind = known ? static_cast<ErrorKind>(text[1] - '0') : ErrorKind::io;
    const std::string why = known ? text.substr(2) : "ended";
    throw Error(kind,
                all.size() == 1 || kind == ErrorKind::interrupted
                    ? why
                    : fmt::format("process {}: {}", process, why));
  }
  return all;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace orrery::sweep
