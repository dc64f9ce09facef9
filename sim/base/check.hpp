#pragma once

// Checks of the program's own logic: a programming error aborts, in every build.
//
// ORRERY_CHECK(condition, "sentence with {}", values...) prints file, line, condition and the
// sentence to stderr and aborts. User input must never reach a failing check: bad input becomes a
// Diagnostic (diagnostics.hpp), a failing environment an Error (error.hpp).

#include <fmt/core.h>

#include <string>

namespace orrery::detail {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace orrery::detail

#define ORRERY_CHECK(condition, ...)                                                              \
  do {                                                                                            \
    if (!(condition)) [[unlikely]] {                                                              \
      ::orrery::detail::check_failed(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
    }                                                                                             \
  } while (false)
