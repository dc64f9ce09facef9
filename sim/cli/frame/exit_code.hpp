#pragma once

// Exit codes of the command, for scripts: one per kind of ending.

#include <algorithm>
#include <iterator>

namespace orrery::cli {

enum class ExitCode {
  ok = 0,
  expectation_failed = 1,
  usage = 2,
  invalid = 3,       // scenario or data
  does_not_fit = 4,  // `check`, when no expectation mentions the memory; most trials gave up
  device = 5,        // device or profile missing or foreign
  io = 6,
  internal = 70,
  interrupted = 130,
};

// Of several files the first of 5 and 6 (the environment), 3, 4, 1, 0 that occurs.
[[nodiscard]] constexpr ExitCode worse(ExitCode a, ExitCode b) {
  constexpr ExitCode kOrder[] = {ExitCode::io,
                                 ExitCode::device,
                                 ExitCode::invalid,
                                 ExitCode::does_not_fit,
                                 ExitCode::expectation_failed,
                                 ExitCode::ok};
  const auto rank = [&kOrder](ExitCode code) {
    return std::find(std::begin(kOrder), std::end(kOrder), code) - std::begin(kOrder);
  };
  return rank(a) <= rank(b) ? a : b;
}

}  // namespace orrery::cli
