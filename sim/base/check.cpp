#include "sim/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace orrery::detail {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "%s:%d: internal error: %s [%s]\n", file, line, message.c_str(), condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace orrery::detail
