#include "sim/step/hardware/neutral_stack.hpp"

namespace orrery::hardware {

SoftwareProfile neutral_stack() {
  SoftwareProfile stack;
  stack.name = "bare library";
  stack.version = "1";
  return stack;
}

}  // namespace orrery::hardware
