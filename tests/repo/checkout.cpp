#include "tests/checkout.hpp"

namespace orrery {

const char* const kSourceDir = ORRERY_SOURCE_DIR;
const char* const kBinaryDir = ORRERY_BINARY_DIR;

}  // namespace orrery
