#include "sim/base/files/sealed_line.hpp"

#include <fmt/core.h>

#include <boost/crc.hpp>
#include <cstdint>

#include "sim/base/check.hpp"

namespace orrery {

namespace {

constexpr std::string_view kMember = "\"crc32\":\"";
constexpr std::string_view kEnd = "\"}";
constexpr std::size_t kDigits = 8;

// What a checksum adds to an object, in place of its last brace.
std::string seal_of(std::string_view object) {
  boost::crc_32_type crc;
  crc.process_bytes(object.data(), object.size());
  constexpr std::string_view kEmpty = "{}";
  return fmt::format("{}{}{:08x}{}", object == kEmpty ? "" : ",", kMember, crc.checksum(), kEnd);
}

}  // namespace

std::string sealed(std::string_view object) {
  ORRERY_CHECK(object.starts_with('{') && object.ends_with('}'), "`{}` is no object", object);
  return std::string(object.substr(0, object.size() - 1)) + seal_of(object);
}

std::optional<std::string> unsealed(std::string_view line) {
  constexpr std::size_t kLength = kMember.size() + kDigits + kEnd.size();
  if (line.size() <= kLength) {
    return std::nullopt;
  }
  std::string object(line.substr(0, line.size() - kLength));
  if (object.ends_with(',')) {
    object.pop_back();
  }
  object += '}';
  return object.starts_with('{') && sealed(object) == line ? std::optional(std::move(object))
                                                           : std::nullopt;
}

}  // namespace orrery
