#pragma once

// Cancellation of long work: a stop point throws where somebody has asked to stop.
//
// Loops whose passes may add up to more than a second, and the phases between them, call it. It
// costs a load. Everything on the way out is released as after any other Error(interrupted).

#include <stop_token>

#include "sim/base/error.hpp"

namespace orrery {

inline void stop_point(const std::stop_token& stop) {
  if (stop.stop_requested()) {
    throw Error(ErrorKind::interrupted, "interrupted");
  }
}

}  // namespace orrery
